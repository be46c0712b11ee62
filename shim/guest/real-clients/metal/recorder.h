// What the stand-in for Metal has seen of the client.

#ifndef RECORDER_H
#define RECORDER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// One dispatch of a kernel.
struct dispatch {
	const char *kernel;   // the function's name
	unsigned long memory; // bytes of threadgroup memory asked for, all indices together
};

// Calls of `supportsFamily:` since the last reset, one number for each family asked for.
struct family_calls {
	long family;
	unsigned long calls;
};

// Once, before anything else of the client or of this.
void recorder_start(void);

void recorder_reset(void);
size_t recorder_dispatches(const struct dispatch **out);
size_t recorder_families(const struct family_calls **out);

// Calls of `maxThreadgroupMemoryLength` since the last reset.
unsigned long recorder_memory_calls(void);

// What the guest's device answers at this moment, without counting.
unsigned long recorder_told_memory(void);
long recorder_told_family(void);

// For the stand-in itself.
void recorder_family(long family);
void recorder_memory(void);
void recorder_dispatch(const char *kernel, unsigned long memory);

// A message that the stand-in does not know: says so and ends the process with status 70.
void recorder_unknown(const char *receiver, const char *selector) __attribute__((noreturn));

#ifdef __cplusplus
}
#endif

#endif
