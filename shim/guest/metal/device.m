// `_MTLDevice`: the base class that owns the answers and builds the family list.
//
// Made at run time and not by @implementation, so that a scenario can leave out, rename or
// retype any part of it. Everything is as public reports describe the real one: the concrete
// class inherits both answers, and initialisation passes through `initGPUFamilySupport` on
// the device object itself.

#include "classes.h"

#include <stdlib.h>

// One device's own values, in the instance variable `_capabilities`.
struct capabilities {
	long families[64];
	int family_count;
	unsigned long memory_length; // bytes
};

// Set once, when the class is registered: no question looks anything up.
static ptrdiff_t capabilities_offset;
static bool memory_moves, more_moves;

static struct capabilities **slot(id device)
{
	return (struct capabilities **)(void *)((char *)device + capabilities_offset);
}

static unsigned long memory_length(id self, SEL selector)
{
	(void)selector;
	return (*slot(self))->memory_length;
}

static BOOL supports_family(id self, SEL selector, long family)
{
	if (more_moves && family == 5001 && class_getMethodImplementation(object_getClass(self), selector) != (IMP)supports_family)
		return YES;
	if (memory_moves)
		class_addMethod(object_getClass(self), sel_registerName("maxThreadgroupMemoryLength"), (IMP)memory_length, "Q16@0:8");
	const struct capabilities *own = *slot(self);
	for (int i = 0; i < own->family_count; i++)
		if (own->families[i] == family)
			return YES;
	return NO;
}

static BOOL host_supports_family(id self, SEL selector, long family)
{
	(void)self;
	(void)selector;
	return family >= 1001 && family <= guest_facts()->host_apple_family;
}

static id name(id self, SEL selector)
{
	(void)self;
	(void)selector;
	return guest_string(guest_facts()->device_name);
}

// What a public report of a guest with 7 GB has.
static BOOL has_unified_memory(id self, SEL selector)
{
	(void)self;
	(void)selector;
	return YES;
}

static unsigned long max_buffer_length(id self, SEL selector)
{
	(void)self;
	(void)selector;
	return 3758096384;
}

static unsigned long working_set(id self, SEL selector)
{
	(void)self;
	(void)selector;
	return 5010800640;
}

static void add_family(struct capabilities *own, long family)
{
	if (own->family_count < (int)(sizeof own->families / sizeof own->families[0]))
		own->families[own->family_count++] = family;
}

static void init_families(id self, SEL selector)
{
	(void)selector;
	const struct guest_facts *facts = guest_facts();
	struct capabilities *own = *slot(self);
	own->family_count = 0;
	for (long family = 1001; family <= facts->apple_family; family++)
		add_family(own, family);
	for (long family = 3001; family <= facts->common_family; family++)
		add_family(own, family);
	// Every paravirtual guest that current clients describe answers yes to Mac2.
	add_family(own, 2002);
	if (facts->metal3)
		add_family(own, 5001);
}

static id init(id self, SEL selector)
{
	(void)selector;
	struct capabilities *own = calloc(1, sizeof *own);
	if (!own)
		guest_fail("out of memory");
	*slot(self) = own;
	if (!guest_scenario("zero-until-ready"))
		own->memory_length = (unsigned long)guest_facts()->max_threadgroup_memory;
	if (guest_scenario("no-init-families")) {
		init_families(self, NULL);
	} else {
		// By the method found at this moment: that is what lets a hook see this device.
		SEL families = sel_registerName("initGPUFamilySupport");
		((void (*)(id, SEL))class_getMethodImplementation(object_getClass(self), families))(self, families);
	}
	// A driver may ask for a limit of its own before it is set.
	SEL length = sel_registerName("maxThreadgroupMemoryLength");
	if (guest_scenario("zero-until-ready"))
		((unsigned long (*)(id, SEL))class_getMethodImplementation(object_getClass(self), length))(self, length);
	own->memory_length = (unsigned long)guest_facts()->max_threadgroup_memory;
	return self;
}

Class guest_new_class(const char *class_name, const char *superclass)
{
	Class parent = (Class)objc_getClass(superclass);
	Class cls = parent ? objc_allocateClassPair(parent, class_name, 0) : Nil;
	if (!cls)
		guest_fail("cannot make class %s under %s", class_name, superclass);
	return cls;
}

void guest_add(Class cls, const char *selector, IMP implementation, const char *types)
{
	if (!class_addMethod(cls, sel_registerName(selector), implementation, types))
		guest_fail("%s has its own %s already", class_getName(cls), selector);
}

void guest_add_supports_family(Class cls)
{
	const char *types = GUEST_BOOL "24@0:8q16";
	if (guest_scenario("family-types"))
		types = GUEST_BOOL "20@0:8i16";
	if (guest_scenario("offsets"))
		types = GUEST_BOOL "32@0:8q24";
	guest_add(cls, "supportsFamily:", (IMP)supports_family, types);
}

void guest_add_memory_length(Class cls)
{
	const char *types = "Q16@0:8";
	if (guest_scenario("memory-types"))
		types = "I16@0:8";
	if (guest_scenario("offsets"))
		types = "Q24@0:8";
	guest_add(cls, "maxThreadgroupMemoryLength", (IMP)memory_length, types);
}

const char *guest_base_name(void)
{
	return guest_scenario("base-renamed") ? "_MTLDeviceNext" : "_MTLDevice";
}

id guest_super(id self, Class cls, SEL selector)
{
	return ((id(*)(id, SEL))class_getMethodImplementation(class_getSuperclass(cls), selector))(self, selector);
}

void guest_register_base(void)
{
	Class cls = guest_new_class(guest_base_name(), GUEST_ROOT);
	if (!class_addIvar(cls, "_capabilities", sizeof(void *), 3, "^v"))
		guest_fail("cannot add an instance variable to %s", class_getName(cls));
	guest_add(cls, "init", (IMP)init, "@16@0:8");
	guest_add(cls, "name", (IMP)name, "@16@0:8");
	guest_add(cls, "hasUnifiedMemory", (IMP)has_unified_memory, GUEST_BOOL "16@0:8");
	guest_add(cls, "maxBufferLength", (IMP)max_buffer_length, "Q16@0:8");
	guest_add(cls, "recommendedMaxWorkingSetSize", (IMP)working_set, "Q16@0:8");
	if (!guest_scenario("no-init-families"))
		guest_add(cls, "initGPUFamilySupport", (IMP)init_families, guest_scenario("init-types") ? "v24@0:8@16" : "v16@0:8");
	if (!guest_scenario("no-supports-family"))
		guest_add_supports_family(cls);
	if (!guest_scenario("no-memory-length"))
		guest_add_memory_length(cls);
	if (guest_facts()->host_apple_family)
		guest_add(cls, "hostSupportsFamily:", (IMP)host_supports_family, GUEST_BOOL "24@0:8q16");
	objc_registerClassPair(cls);
	capabilities_offset = ivar_getOffset(class_getInstanceVariable(cls, "_capabilities"));
	memory_moves = guest_scenario("memory-moves");
	more_moves = guest_scenario("more-moves");
}
