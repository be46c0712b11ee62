// The object that Metal's API validation puts in front of a device: it forwards every
// question to the device behind it, and is of no class that the device is of.

#include "classes.h"
#include "metal.h"

@protocol WrappedDevice <MTLDevice, MTLDeviceHost>
@end

static ptrdiff_t base_offset;

static id<WrappedDevice> base(id self)
{
	return *(id *)(void *)((char *)self + base_offset);
}

static id base_object(id self, SEL selector)
{
	(void)selector;
	return base(self);
}

static BOOL supports_family(id self, SEL selector, long family)
{
	(void)selector;
	return [base(self) supportsFamily:family];
}

static BOOL host_supports_family(id self, SEL selector, long family)
{
	(void)selector;
	return [base(self) hostSupportsFamily:family];
}

static unsigned long memory_length(id self, SEL selector)
{
	(void)selector;
	return [base(self) maxThreadgroupMemoryLength];
}

static BOOL has_unified_memory(id self, SEL selector)
{
	(void)selector;
	return [base(self) hasUnifiedMemory];
}

static unsigned long max_buffer_length(id self, SEL selector)
{
	(void)selector;
	return [base(self) maxBufferLength];
}

static unsigned long working_set(id self, SEL selector)
{
	(void)selector;
	return [base(self) recommendedMaxWorkingSetSize];
}

static id name(id self, SEL selector)
{
	(void)selector;
	return [base(self) name];
}

void guest_register_wrapper(void)
{
	Class cls = guest_new_class("MTLDebugDevice", GUEST_ROOT);
	class_addIvar(cls, "_baseObject", sizeof(id), 3, "@");
	guest_add(cls, "baseObject", (IMP)base_object, "@16@0:8");
	guest_add(cls, "supportsFamily:", (IMP)supports_family, GUEST_BOOL "24@0:8q16");
	guest_add(cls, "maxThreadgroupMemoryLength", (IMP)memory_length, "Q16@0:8");
	guest_add(cls, "name", (IMP)name, "@16@0:8");
	guest_add(cls, "hasUnifiedMemory", (IMP)has_unified_memory, GUEST_BOOL "16@0:8");
	guest_add(cls, "maxBufferLength", (IMP)max_buffer_length, "Q16@0:8");
	guest_add(cls, "recommendedMaxWorkingSetSize", (IMP)working_set, "Q16@0:8");
	if (guest_facts()->host_apple_family)
		guest_add(cls, "hostSupportsFamily:", (IMP)host_supports_family, GUEST_BOOL "24@0:8q16");
	objc_registerClassPair(cls);
	base_offset = ivar_getOffset(class_getInstanceVariable(cls, "_baseObject"));
}

id guest_wrap(id device)
{
	id wrapper = class_createInstance((Class)objc_getClass("MTLDebugDevice"), 0);
	*(id *)(void *)((char *)wrapper + base_offset) = device;
	return wrapper;
}
