// Which scenarios are played: METALSHIM_GUEST_SCENARIO, a comma list of names.

#include "guest.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// README.md says what each does. A name that is not here is an error, never ignored.
static const char *const names[] = {
    "base-renamed",     "class-renamed",    "class-missing",   "no-driver",          "no-supports-family",
    "no-memory-length", "no-init-families", "family-types",    "memory-types",       "init-types",
    "offsets",          "zero-until-ready", "other-metal-uuid", "other-driver-uuid", "other-device",
    "sibling",          "sibling-first",    "own-methods",     "own-init",           "chain",
    "wrapper",          "other-shim-base",  "other-shim-init", "other-shim-device",  "memory-moves",
    "second-add-fails", "slow-add",         "early-device",    "fresh-devices",    "more-moves",       "device-hangs",
    "gpu-no-compile",   "gpu-zeros",        "gpu-stale",       "gpu-stale-pages",    "gpu-wrong-sums",
    "gpu-half-sums",    "gpu-hang",         "gpu-crash",       "gpu-32k-fails",      "gpu-32k-wrong",
    "gpu-32k-hangs",    "gpu-32k-crashes",
};

#define NAMES (sizeof names / sizeof names[0])

static bool played[NAMES];

static size_t index_of(const char *name, size_t length)
{
	size_t i = 0;
	while (i < NAMES && (strlen(names[i]) != length || strncmp(names[i], name, length)))
		i++;
	return i;
}

static void read_scenarios(void)
{
	const char *list = getenv("METALSHIM_GUEST_SCENARIO");
	while (list && *list) {
		size_t length = strcspn(list, ",");
		size_t i = index_of(list, length);
		if (i == NAMES)
			guest_fail("METALSHIM_GUEST_SCENARIO: \"%.*s\" is not a scenario; shim/guest/README.md lists them", (int)length, list);
		played[i] = true;
		list += length;
		list += *list == ',';
	}
}

bool guest_scenario(const char *name)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, read_scenarios);
	size_t i = index_of(name, strlen(name));
	if (i == NAMES)
		guest_fail("\"%s\" is asked for, and is not a scenario", name);
	return played[i];
}
