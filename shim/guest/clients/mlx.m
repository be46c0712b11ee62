// A client that goes by the device's name, as MLX does: raised families change nothing.
//
// It believes Metal3 (5001) all the same, and fails there: a paravirtual device makes no
// residency set. This is what a shim that claims too much does to MLX.

#include "ask.h"

#include <string.h>

int main(void)
{
	id<MTLDevice> device = need_device("mlx");
	const char *name = [[device name] UTF8String];
	if ([device supportsFamily:5001]) {
		fprintf(stderr, "mlx: Metal3 is claimed, but the device \"%s\" makes no residency set\n", name);
		return 1;
	}
	bool large = strstr(name, "Max") || strstr(name, "Ultra");
	print_answers(device, large ? "large_tiles" : "base_tiles");
	printf("device_name=%s\n", name);
	return 0;
}
