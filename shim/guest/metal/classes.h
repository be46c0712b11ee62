// The classes that the stand-in for Metal makes at run time, and helpers to make them.

#ifndef GUEST_CLASSES_H
#define GUEST_CLASSES_H

#include <objc/runtime.h>

#include "../system/guest.h"

// Type encodings, as on an arm64 Mac, and on an x86_64 one for BOOL.
#if defined(__APPLE__) && defined(__x86_64__)
#define GUEST_BOOL "c"
#else
#define GUEST_BOOL "B"
#endif

#ifdef __APPLE__
#define GUEST_ROOT "NSObject"
#else
#define GUEST_ROOT "Object"
#endif

// A new class, not yet registered. Ends the process when there is no such superclass, or the
// name is taken.
GUEST_EXPORT Class guest_new_class(const char *name, const char *superclass);

// Adds a method that the class must not have itself yet; ends the process when it has.
GUEST_EXPORT void guest_add(Class cls, const char *selector, IMP implementation, const char *types);

// The three methods that matter, added to any class: `_MTLDevice`, or the concrete one in
// the scenarios where that owns them.
GUEST_EXPORT void guest_add_supports_family(Class cls);
GUEST_EXPORT void guest_add_memory_length(Class cls);

// The name of the base class in this scenario: `_MTLDevice`.
GUEST_EXPORT const char *guest_base_name(void);

// Calls `selector` as the superclass of `cls` implements it: `[super selector]`.
GUEST_EXPORT id guest_super(id self, Class cls, SEL selector);

// Loads another library of this guest, named without `lib` and suffix, from beside libMetal.
// When it cannot be loaded: NULL with `keep_going`, else the process ends.
GUEST_EXPORT void *guest_load(const char *library, bool keep_going);

void guest_register_base(void);
void guest_register_values(void);
void guest_register_wrapper(void);
id guest_string(const char *text);
id guest_array(const id *items, unsigned long count);
id guest_wrap(id device);

#endif
