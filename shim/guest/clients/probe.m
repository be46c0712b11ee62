// What `metalshim probe` starts: every answer of the default device, one `key=value` a line.
//
// The lines are those that the command prints of itself on a Mac; cli/src/probe.rs reads both.

#include "../system/guest.h"
#include "ask.h"

#include <time.h>

static const struct {
	long first, last;
} asked[] = {{1001, 1021}, {2001, 2002}, {3001, 3009}, {4001, 4002}, {5001, 5009}};

static void print_families(id<MTLDevice> device)
{
	const char *comma = "";
	printf("families=");
	for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
		for (long family = asked[i].first; family <= asked[i].last; family++) {
			if ([device supportsFamily:family]) {
				printf("%s%ld", comma, family);
				comma = ",";
			}
		}
	}
	printf("\n");
}

static void print_host(id device)
{
	if (!responds(device, "hostSupportsFamily:"))
		return;
	long family = 1021;
	while (family > 1000 && ![(id<MTLDeviceHost>)device hostSupportsFamily:family])
		family--;
	printf("host_family=%ld\n", family);
}

static double now(void) // microseconds
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

int main(void)
{
	printf("metalshim-probe 1\n");
	double start = now();
	id<MTLDevice> device = MTLCreateSystemDefaultDevice();
	double end = now();
	if (!device) {
		printf("device=none\n");
		return 0;
	}
	printf("created_us=%.0f\n", end - start);
	printf("name=%s\n", [[device name] UTF8String]);
	printf("class=%s\n", class_getName(object_getClass(device)));
	print_families(device);
	printf("max_threadgroup_memory=%lu\n", [device maxThreadgroupMemoryLength]);
	print_host(device);
	printf("metal_uuid=%s\n", metalshim_guest_image_uuid("Metal"));
	printf("driver_uuid=%s\n", metalshim_guest_image_uuid("driver"));
	if (responds(device, "hasUnifiedMemory"))
		printf("feature.unified_memory=%s\n", [device hasUnifiedMemory] ? "true" : "false");
	if (responds(device, "maxBufferLength"))
		printf("feature.max_buffer_length=%lu\n", [device maxBufferLength]);
	if (responds(device, "recommendedMaxWorkingSetSize"))
		printf("feature.recommended_working_set=%lu\n", [device recommendedMaxWorkingSetSize]);
	return 0;
}
