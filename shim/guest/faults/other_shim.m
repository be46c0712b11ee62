// Somebody else's shim, in an image of its own: what images ship that raise answers already.

#include "../metal/classes.h"

GUEST_EXPORT void other_shim_hook_base(bool at_init);
GUEST_EXPORT void other_shim_hook_class(Class cls);

static BOOL supports_family(id self, SEL selector, long family)
{
	(void)self;
	(void)selector;
	return (family >= 1001 && family <= 1009) || (family >= 3001 && family <= guest_facts()->common_family);
}

static unsigned long memory_length(id self, SEL selector)
{
	(void)self;
	(void)selector;
	return 65536;
}

static void (*stock_init)(id, SEL);

static void init_families(id self, SEL selector)
{
	stock_init(self, selector);
	other_shim_hook_class(object_getClass(self));
}

static IMP replace(Class cls, const char *selector, IMP implementation)
{
	Method method = class_getInstanceMethod(cls, sel_registerName(selector));
	if (!method)
		guest_fail("the other shim finds no %s", selector);
	return method_setImplementation(method, implementation);
}

void other_shim_hook_base(bool at_init)
{
	Class base = (Class)objc_getClass(guest_base_name());
	if (at_init) {
		stock_init = (void (*)(id, SEL))replace(base, "initGPUFamilySupport", (IMP)init_families);
	} else {
		replace(base, "supportsFamily:", (IMP)supports_family);
		replace(base, "maxThreadgroupMemoryLength", (IMP)memory_length);
	}
}

void other_shim_hook_class(Class cls)
{
	class_addMethod(cls, sel_registerName("supportsFamily:"), (IMP)supports_family, GUEST_BOOL "24@0:8q16");
	class_addMethod(cls, sel_registerName("maxThreadgroupMemoryLength"), (IMP)memory_length, "Q16@0:8");
}
