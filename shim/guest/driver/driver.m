// The driver's bundle: the concrete device classes. Loaded by Metal for the first device.

#include "../metal/classes.h"

#include <dlfcn.h>
#include <string.h>

#define SIBLING "GuestSiblingDevice"

GUEST_EXPORT Class guest_driver_class(bool sibling);

static Class device_class;

static id init_with_port(id self, SEL selector, unsigned port)
{
	(void)selector;
	(void)port;
	return guest_super(self, object_getClass(self), sel_registerName("init"));
}

static void init_families(id self, SEL selector)
{
	guest_super(self, device_class, selector);
}

static const char *class_name(void)
{
	if (guest_scenario("class-renamed"))
		return "AppleParavirtDeviceNext";
	if (guest_scenario("other-device"))
		return "GuestOtherDevice";
	return guest_facts()->device_class;
}

// A class between the base and the concrete one: the real chain is longer than two.
static const char *parent_name(void)
{
	if (!guest_scenario("chain"))
		return guest_base_name();
	objc_registerClassPair(guest_new_class("GuestMiddleDevice", guest_base_name()));
	return "GuestMiddleDevice";
}

static Class register_device(void)
{
	Class cls = guest_new_class(class_name(), parent_name());
	guest_add(cls, "initWithAcceleratorPort:", (IMP)init_with_port, "@20@0:8I16");
	if (guest_scenario("own-methods")) {
		guest_add_supports_family(cls);
		guest_add_memory_length(cls);
	}
	if (guest_scenario("own-init"))
		guest_add(cls, "initGPUFamilySupport", (IMP)init_families, "v16@0:8");
	objc_registerClassPair(cls);
	return cls;
}

Class guest_driver_class(bool sibling)
{
	return sibling ? (Class)objc_getClass(SIBLING) : device_class;
}

__attribute__((constructor)) static void start(void)
{
	Class sibling = guest_new_class(SIBLING, guest_base_name());
	guest_add(sibling, "initWithAcceleratorPort:", (IMP)init_with_port, "@20@0:8I16");
	objc_registerClassPair(sibling);
	if (guest_scenario("class-missing"))
		return;
	device_class = register_device();
	if (guest_scenario("other-shim-device")) {
		void (*hook)(Class);
		*(void **)&hook = dlsym(guest_load("OtherShim", false), "other_shim_hook_class");
		hook(device_class);
	}
}
