// A program that knows nothing of Metal and loads a client at run time, as Python and node do.
//
//   interpreter CLIENT.so [ARGS..]
//
// On a Mac the Objective-C runtime is in every process from the start; here it is linked for that.

#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: interpreter CLIENT [ARGS..]\n");
		return 2;
	}
	void *image = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	int (*client)(int, char **);
	*(void **)&client = image ? dlsym(image, "client_main") : NULL;
	if (!client) {
		fprintf(stderr, "interpreter: %s\n", dlerror());
		return 1;
	}
	return client(argc - 1, argv + 1);
}
