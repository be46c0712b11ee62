// Makes the first device and adds a method to a class: does the runtime let it?
//
//   addmethod CLASS SELECTOR

#include "ask.h"

static unsigned long added(id self, SEL selector)
{
	(void)self;
	(void)selector;
	return 1;
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: addmethod CLASS SELECTOR\n");
		return 2;
	}
	need_device("addmethod");
	Class cls = (Class)objc_getClass(argv[1]);
	if (!cls) {
		fprintf(stderr, "addmethod: no class %s\n", argv[1]);
		return 1;
	}
	BOOL done = class_addMethod(cls, sel_registerName(argv[2]), (IMP)added, "Q16@0:8");
	printf("added=%s\n", done ? "true" : "false");
	return 0;
}
