// What the shim costs a program that uses Metal, once: nanoseconds, for benchmarks.
//
//   installcost SHIM
//
// Puts the shim's name where an inserted library's is, loads it itself, which runs the constructor,
// and makes the first device. Prints how long each took. With METALSHIM_TICKET in the environment against
// without: what is added to the first is the constructor's work, what is added to the second is
// that of the hook which decides and installs.

#include "../clients/ask.h"

#include <dlfcn.h>
#include <time.h>

#ifdef __APPLE__
#define INSERT "DYLD_INSERT_LIBRARIES"
#else
#define INSERT "LD_PRELOAD"
#endif

static double now(void) // nanoseconds
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: installcost SHIM\n");
		return 2;
	}
	// The runtime has read all classes before, as it has when the shim is inserted.
	objc_getClass("_MTLDevice");
	setenv(INSERT, argv[1], 1);
	double start = now();
	void *shim = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	double loaded = now();
	if (!shim) {
		fprintf(stderr, "installcost: %s\n", dlerror());
		return 1;
	}
	double before = now();
	id<MTLDevice> device = need_device("installcost");
	double after = now();
	print_answers(device, "none");
	printf("load_ns=%.0f\n", loaded - start);
	printf("device_ns=%.0f\n", after - before);
	return 0;
}
