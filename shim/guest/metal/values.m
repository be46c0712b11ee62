// The objects that stand for NSString and NSArray, which GNU's runtime has not.

#include "classes.h"

#include <stdlib.h>
#include <string.h>

struct list {
	unsigned long count;
	id items[8];
};

// Each of both classes has one instance variable, a pointer, at this offset.
static ptrdiff_t text_offset, list_offset;

static void **at(id object, ptrdiff_t offset)
{
	return (void **)(void *)((char *)object + offset);
}

static const char *utf8(id self, SEL selector)
{
	(void)selector;
	return *at(self, text_offset);
}

static unsigned long count(id self, SEL selector)
{
	(void)selector;
	return ((struct list *)*at(self, list_offset))->count;
}

static id object_at(id self, SEL selector, unsigned long index)
{
	(void)selector;
	struct list *list = *at(self, list_offset);
	return index < list->count ? list->items[index] : nil;
}

static ptrdiff_t register_with_pointer(Class cls)
{
	if (!class_addIvar(cls, "_value", sizeof(void *), 3, "^v"))
		guest_fail("cannot add an instance variable to %s", class_getName(cls));
	objc_registerClassPair(cls);
	return ivar_getOffset(class_getInstanceVariable(cls, "_value"));
}

void guest_register_values(void)
{
	Class text = guest_new_class("GuestString", GUEST_ROOT);
	guest_add(text, "UTF8String", (IMP)utf8, "*16@0:8");
	text_offset = register_with_pointer(text);

	Class array = guest_new_class("GuestArray", GUEST_ROOT);
	guest_add(array, "count", (IMP)count, "Q16@0:8");
	guest_add(array, "objectAtIndex:", (IMP)object_at, "@24@0:8Q16");
	list_offset = register_with_pointer(array);
}

id guest_string(const char *text)
{
	id object = class_createInstance((Class)objc_getClass("GuestString"), 0);
	*at(object, text_offset) = (void *)(uintptr_t)text;
	return object;
}

id guest_array(const id *items, unsigned long item_count)
{
	struct list *list = calloc(1, sizeof *list);
	if (!list || item_count > sizeof list->items / sizeof list->items[0])
		guest_fail("a list of %lu objects cannot be made", item_count);
	list->count = item_count;
	memcpy(list->items, items, item_count * sizeof items[0]);
	id object = class_createInstance((Class)objc_getClass("GuestArray"), 0);
	*at(object, list_offset) = list;
	return object;
}
