// A client at risk above 1007: 64-bit atomics that the silicon may not have, as wgpu offers
// them (minimum and maximum at Apple8 with Mac2 or at Apple9, all of them at Apple9).

#include "ask.h"

int main(void)
{
	id<MTLDevice> device = need_device("wgpu");
	bool full = [device supportsFamily:1009];
	bool min_max = full || ([device supportsFamily:1008] && [device supportsFamily:2002]);
	print_answers(device, full ? "atomics_64" : min_max ? "atomics_64_min_max" : "atomics_32");
	return 0;
}
