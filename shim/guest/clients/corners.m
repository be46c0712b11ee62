// Prints all that a test of a corner needs to know about this process and its devices.
//
//   corners              describes the default device, what it wraps, and its siblings
//   corners none         makes no device
//   corners watch        hooks `initGPUFamilySupport` itself, and tells what the first device answers meanwhile
//   corners threads N    N threads make a device and ask it at the same time

#include "../system/guest.h"
#include "ask.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static const struct {
	long first, last;
} probed[] = {{1001, 1021}, {2001, 2002}, {3001, 3006}, {4001, 4002}, {5001, 5006}};

static void print_process(void)
{
	printf("pid=%ld\n", (long)getpid());
	printf("fds=");
	const char *comma = "";
	for (int fd = 0; fd < 1024; fd++) {
		if (fcntl(fd, F_GETFD) >= 0) {
			printf("%s%d", comma, fd);
			comma = ",";
		}
	}
	printf("\n");
	for (char **entry = environ; *entry; entry++)
		if (!strncmp(*entry, "METALSHIM_", 10) || !strncmp(*entry, "LD_", 3) || !strncmp(*entry, "DYLD_", 5))
			printf("env.%s\n", *entry);
}

// The class in the chain that has the method itself: the owner.
static const char *owner(id object, const char *selector)
{
	SEL wanted = sel_registerName(selector);
	for (Class cls = object_getClass(object); cls; cls = class_getSuperclass(cls)) {
		unsigned count = 0;
		Method *methods = class_copyMethodList(cls, &count);
		bool found = false;
		for (unsigned i = 0; i < count; i++)
			found |= sel_isEqual(method_getName(methods[i]), wanted);
		free(methods);
		if (found)
			return class_getName(cls);
	}
	return "none";
}

static void print_method(const char *who, const char *key, id object, const char *selector)
{
	Method method = class_getInstanceMethod(object_getClass(object), sel_registerName(selector));
	printf("%s.%s_owner=%s\n", who, key, owner(object, selector));
	// The file that the code is in: who answers.
	Dl_info image = {0};
	if (method)
		dladdr((void *)(uintptr_t)method_getImplementation(method), &image);
	const char *path = image.dli_fname ? image.dli_fname : "none", *slash = strrchr(path, '/');
	printf("%s.%s_image=%s\n", who, key, slash ? slash + 1 : path);
	printf("%s.%s_types=%s\n", who, key, method ? method_getTypeEncoding(method) : "none");
}

static void print_chain(const char *who, id object)
{
	printf("%s.chain=", who);
	const char *comma = "";
	for (Class cls = object_getClass(object); cls; cls = class_getSuperclass(cls)) {
		printf("%s%s", comma, class_getName(cls));
		comma = ",";
	}
	printf("\n");
}

static void print_families(const char *who, const char *key, id<MTLDevice> device)
{
	printf("%s.%s=", who, key);
	if (!responds(device, "supportsFamily:")) {
		printf("missing\n");
		return;
	}
	const char *comma = "";
	for (size_t i = 0; i < sizeof probed / sizeof probed[0]; i++) {
		for (long family = probed[i].first; family <= probed[i].last; family++) {
			if ([device supportsFamily:family]) {
				printf("%s%ld", comma, family);
				comma = ",";
			}
		}
	}
	printf("\n");
}

static void print_memory(const char *who, id<MTLDevice> device)
{
	if (responds(device, "maxThreadgroupMemoryLength"))
		printf("%s.max_threadgroup_memory=%lu\n", who, [device maxThreadgroupMemoryLength]);
	else
		printf("%s.max_threadgroup_memory=missing\n", who);
}

static void describe(const char *who, id device)
{
	printf("%s.class=%s\n", who, class_getName(object_getClass(device)));
	print_chain(who, device);
	print_families(who, "families", device);
	print_memory(who, device);
	// Again: the first question for memory is where a shim may have found that it must not.
	print_families(who, "families_again", device);
	printf("%s.name=%s\n", who, [[device name] UTF8String]);
	if (responds(device, "hostSupportsFamily:")) {
		long family = 1021;
		while (family > 1000 && ![(id<MTLDeviceHost>)device hostSupportsFamily:family])
			family--;
		printf("%s.host_family=%ld\n", who, family);
	}
	print_method(who, "family", device, "supportsFamily:");
	print_method(who, "memory", device, "maxThreadgroupMemoryLength");
	print_method(who, "init", device, "initGPUFamilySupport");
}

@protocol Wrapper
- (id)baseObject;
@end

static int describe_all(void)
{
	printf("metal_uuid=%s\n", metalshim_guest_image_uuid("Metal"));
	printf("driver_uuid=%s\n", metalshim_guest_image_uuid("driver"));
	id<MTLDevice> device = MTLCreateSystemDefaultDevice();
	if (!device) {
		printf("device=none\n");
		return 0;
	}
	describe("device", device);
	if (responds(device, "baseObject"))
		describe("base", [(id<Wrapper>)device baseObject]);
	printf("same_device=%s\n", device == MTLCreateSystemDefaultDevice() ? "true" : "false");
	id<GuestArray> all = MTLCopyAllDevices();
	printf("devices=%lu\n", [all count]);
	for (unsigned long i = 1; i < [all count]; i++)
		describe("sibling", [all objectAtIndex:i]);
	if (responds(device, "supportsFamily:") && responds(device, "maxThreadgroupMemoryLength"))
		print_answers(device, "none");
	return 0;
}

static void (*watched)(id, SEL);

static void watch_init(id self, SEL selector)
{
	printf("before.max_threadgroup_memory=%lu\n", [(id<MTLDevice>)self maxThreadgroupMemoryLength]);
	watched(self, selector);
	printf("within.class=%s\n", class_getName(object_getClass(self)));
	printf("within.max_threadgroup_memory=%lu\n", [(id<MTLDevice>)self maxThreadgroupMemoryLength]);
	printf("within.apple_family=%ld\n", apple_family(self));
}

static int watch(void)
{
	Class base = (Class)objc_getClass("_MTLDevice");
	Method method = class_getInstanceMethod(base, sel_registerName("initGPUFamilySupport"));
	if (!method)
		return 1;
	watched = (void (*)(id, SEL))method_setImplementation(method, (IMP)watch_init);
	// No driver yet: it arrives with the first device.
	printf("before.driver_class=%s\n", objc_getClass("AppleParavirtDevice") ? "there" : "none");
	return describe_all();
}

struct asker {
	pthread_t thread;
	long first, last;             // highest Apple family, at the first question and the last
	unsigned long memory, memory_last; // bytes
};

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *ask(void *context)
{
	struct asker *own = context;
	// All are started before any goes on.
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	id<MTLDevice> device = MTLCreateSystemDefaultDevice();
	if (!device)
		return NULL;
	own->first = apple_family(device);
	own->memory = [device maxThreadgroupMemoryLength];
	for (int i = 0; i < 1000; i++) {
		own->last = apple_family(device);
		own->memory_last = [device maxThreadgroupMemoryLength];
	}
	return NULL;
}

static int ask_at_once(long count)
{
	struct asker *askers = calloc((size_t)count, sizeof *askers);
	if (!askers)
		return 1;
	pthread_mutex_lock(&gate);
	for (long i = 0; i < count; i++)
		if (pthread_create(&askers[i].thread, NULL, ask, &askers[i]))
			return 1;
	pthread_mutex_unlock(&gate);
	for (long i = 0; i < count; i++)
		pthread_join(askers[i].thread, NULL);
	for (long i = 0; i < count; i++)
		printf("thread.%ld=%ld/%lu,%ld/%lu\n", i, askers[i].first, askers[i].memory, askers[i].last, askers[i].memory_last);
	free(askers);
	return 0;
}

int main(int argc, char **argv)
{
	print_process();
	if (argc == 1)
		return describe_all();
	if (argc == 2 && !strcmp(argv[1], "none"))
		return 0;
	if (argc == 2 && !strcmp(argv[1], "watch"))
		return watch();
	long count = argc == 3 && !strcmp(argv[1], "threads") ? strtol(argv[2], NULL, 10) : 0;
	if (count > 0 && count <= 1024)
		return ask_at_once(count);
	fprintf(stderr, "usage: corners [none | watch | threads N]\n");
	return 2;
}
