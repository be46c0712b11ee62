// sysctlbyname, answering for the simulated guest. Linux has no such function; a Mac's own
// answers for every name that is not simulated.

#include "guest.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

GUEST_EXPORT int sysctlbyname(const char *name, void *old, size_t *old_size, void *new, size_t new_size);

static int answer(const void *value, size_t size, void *old, size_t *old_size)
{
	if (!old_size)
		return 0;
	size_t room = *old_size;
	*old_size = size;
	if (!old)
		return 0;
	if (room < size) {
		errno = ENOMEM;
		return -1;
	}
	memcpy(old, value, size);
	return 0;
}

int sysctlbyname(const char *name, void *old, size_t *old_size, void *new, size_t new_size)
{
	const struct guest_facts *facts = guest_facts();
	const struct {
		const char *name, *value;
	} texts[] = {
	    {"kern.osversion", facts->build},
	    {"kern.osproductversion", facts->version},
	    {"kern.bootsessionuuid", facts->boot_session},
	    {"hw.model", facts->model},
	    {"machdep.cpu.brand_string", facts->chip},
	};
	if (!new && new_size == 0) {
		for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
			if (!strcmp(name, texts[i].name))
				return answer(texts[i].value, strlen(texts[i].value) + 1, old, old_size);
		int32_t vm = facts->vm;
		if (!strcmp(name, "kern.hv_vmm_present"))
			return answer(&vm, sizeof vm, old, old_size);
	}
	int (*next)(const char *, void *, size_t *, void *, size_t);
	*(void **)&next = dlsym(RTLD_NEXT, "sysctlbyname");
	if (next)
		return next(name, old, old_size, new, new_size);
	errno = ENOENT;
	return -1;
}
