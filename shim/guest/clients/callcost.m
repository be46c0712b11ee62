// What one question costs: nanoseconds a call, for benchmarks.
//
//   callcost [N]         N defaults to 10 million
//
// N calls are made in blocks of 1,000, and the median block counts: whatever else ran on the processor
// meanwhile fell into a few of them.

#include "ask.h"

#include <time.h>

enum { BLOCK = 1000 };

static double now(void) // nanoseconds
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare(const void *one, const void *other)
{
	double difference = *(const double *)one - *(const double *)other;
	return (difference > 0) - (difference < 0);
}

static double median(double *times, long count)
{
	qsort(times, (size_t)count, sizeof *times, compare);
	return times[count / 2];
}

int main(int argc, char **argv)
{
	long calls = argc > 1 ? strtol(argv[1], NULL, 10) : 10000000;
	if (calls <= 0) {
		fprintf(stderr, "usage: callcost [CALLS]\n");
		return 2;
	}
	long blocks = (calls + BLOCK - 1) / BLOCK;
	double *family = calloc((size_t)blocks, sizeof *family);
	double *memory = calloc((size_t)blocks, sizeof *memory);
	if (!family || !memory)
		return 70;
	id<MTLDevice> device = need_device("callcost");
	unsigned long sum = 0;
	for (long block = 0; block < blocks; block++) {
		double start = now();
		for (long i = 0; i < BLOCK; i++)
			sum += [device supportsFamily:1009];
		double middle = now();
		for (long i = 0; i < BLOCK; i++)
			sum += [device maxThreadgroupMemoryLength];
		double end = now();
		family[block] = (middle - start) / BLOCK;
		memory[block] = (end - middle) / BLOCK;
	}
	print_answers(device, "none");
	printf("calls=%ld\n", blocks * BLOCK);
	printf("supports_family_ns=%.3f\n", median(family, blocks));
	printf("max_threadgroup_memory_ns=%.3f\n", median(memory, blocks));
	// The answers are used, so that no call can be left out.
	return sum == 0;
}
