// What one question costs: nanoseconds a call, over N calls, for benchmarks.
//
//   callcost [N]         N defaults to 10 million

#include "ask.h"

#include <time.h>

static double now(void) // nanoseconds
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

int main(int argc, char **argv)
{
	long calls = argc > 1 ? strtol(argv[1], NULL, 10) : 10000000;
	if (calls <= 0) {
		fprintf(stderr, "usage: callcost [CALLS]\n");
		return 2;
	}
	id<MTLDevice> device = need_device("callcost");
	unsigned long sum = 0;
	double start = now();
	for (long i = 0; i < calls; i++)
		sum += [device supportsFamily:1009];
	double middle = now();
	for (long i = 0; i < calls; i++)
		sum += [device maxThreadgroupMemoryLength];
	double end = now();
	print_answers(device, "none");
	printf("calls=%ld\n", calls);
	printf("supports_family_ns=%.3f\n", (middle - start) / (double)calls);
	printf("max_threadgroup_memory_ns=%.3f\n", (end - middle) / (double)calls);
	// The answers are used, so that no call can be left out.
	return sum == 0;
}
