#include "recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct dispatch dispatches[65536];
static size_t dispatch_count;
static struct family_calls families[64];
static size_t family_count;
static unsigned long memory_calls;

static void fail(const char *what)
{
	fprintf(stderr, "real-clients: %s\n", what);
	exit(70);
}

void recorder_reset(void)
{
	dispatch_count = family_count = 0;
	memory_calls = 0;
}

size_t recorder_dispatches(const struct dispatch **out)
{
	*out = dispatches;
	return dispatch_count;
}

size_t recorder_families(const struct family_calls **out)
{
	*out = families;
	return family_count;
}

unsigned long recorder_memory_calls(void)
{
	return memory_calls;
}

void recorder_family(long family)
{
	for (size_t i = 0; i < family_count; i++) {
		if (families[i].family == family) {
			families[i].calls++;
			return;
		}
	}
	if (family_count == sizeof families / sizeof families[0])
		fail("more different families asked for than there is room for");
	families[family_count++] = (struct family_calls){ family, 1 };
}

void recorder_memory(void)
{
	memory_calls++;
}

void recorder_dispatch(const char *kernel, unsigned long memory)
{
	if (dispatch_count == sizeof dispatches / sizeof dispatches[0])
		fail("more dispatches in one graph than there is room for");
	dispatches[dispatch_count++] = (struct dispatch){ kernel, memory };
}

void recorder_unknown(const char *receiver, const char *selector)
{
	printf("unknown\t%s\t%s\n", receiver, selector);
	fprintf(stderr, "real-clients: the client sends %s to %s, which the stand-in for Metal does not know\n", selector, receiver);
	fflush(NULL);
	_Exit(70);
}
