// What every sample client asks and prints.

#ifndef CLIENT_ASK_H
#define CLIENT_ASK_H

#include "../metal/metal.h"

#include <objc/runtime.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

// The highest family between `from` and `to` that the device answers yes to; 0 for none.
static inline long highest_family(id<MTLDevice> device, long from, long to)
{
	for (long family = to; family >= from; family--)
		if ([device supportsFamily:family])
			return family;
	return 0;
}

static inline bool responds(id object, const char *selector)
{
	return class_getInstanceMethod(object_getClass(object), sel_registerName(selector)) != NULL;
}

// As ggml looks for it: far above what exists, so that a claim too much is seen.
static inline long apple_family(id<MTLDevice> device)
{
	return highest_family(device, 1001, 1021);
}

static inline id<MTLDevice> need_device(const char *client)
{
	id<MTLDevice> device = MTLCreateSystemDefaultDevice();
	if (!device) {
		fprintf(stderr, "%s: no Metal device\n", client);
		exit(1);
	}
	return device;
}

static inline void print_answers(id<MTLDevice> device, const char *kernel)
{
	printf("apple_family=%ld\n", apple_family(device));
	printf("max_threadgroup_memory=%lu\n", [device maxThreadgroupMemoryLength]);
	printf("kernel=%s\n", kernel);
}

#endif
