// Preloaded in front of the runtime: `class_addMethod` that refuses the second override.
//
// The runtime refuses by itself only when another thread has added the same method between
// the look and the change; a test cannot wait for that.

#include "../metal/classes.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

// gobjc's and Apple's header declare it; this is a definition of the same name.
GUEST_EXPORT BOOL class_addMethod(Class cls, SEL selector, IMP implementation, const char *types)
{
	static BOOL (*next)(Class, SEL, IMP, const char *);
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "class_addMethod");
	if (guest_scenario("second-add-fails") && !strcmp(class_getName(cls), guest_facts()->device_class) &&
	    !strcmp(sel_getName(selector), "maxThreadgroupMemoryLength"))
		return NO;
	// Wide enough for other threads to make devices while the first one is being decided on.
	if (guest_scenario("slow-add") && !strcmp(class_getName(cls), guest_facts()->device_class))
		usleep(20000);
	return next(cls, selector, implementation, types);
}
