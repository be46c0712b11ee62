// Metal's entry points: the driver is loaded when the first device is made, and not before.

#include "classes.h"
#include "metal.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// The driver's exported function: the class of its devices, or of the sibling; Nil for none.
typedef Class driver_class(bool sibling);

#ifdef __APPLE__
#define SUFFIX ".dylib"
#else
#define SUFFIX ".so"
#endif

void *guest_load(const char *library, bool keep_going)
{
	// By full path, beside this library: a bare name would be searched by the run path of
	// whoever calls dlopen, and that is somebody else once dlopen itself is interposed.
	Dl_info self;
	char path[4096];
	if (!dladdr((void *)(uintptr_t)guest_load, &self))
		guest_fail("cannot tell where libMetal is");
	const char *slash = strrchr(self.dli_fname, '/');
	int folder = slash ? (int)(slash - self.dli_fname) : 1;
	snprintf(path, sizeof path, "%.*s/lib%s" SUFFIX, folder, slash ? self.dli_fname : ".", library);
	void *image = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!image && !keep_going)
		guest_fail("%s", dlerror());
	return image;
}

static driver_class *driver;

static void load_driver(void)
{
	void *image = guest_load(guest_scenario("no-driver") ? "NoSuchDriver" : "AppleParavirtGPU", true);
	if (image)
		*(void **)&driver = dlsym(image, "guest_driver_class");
}

static id new_device(bool sibling)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, load_driver);
	if (guest_scenario("device-hangs"))
		sleep(60);
	Class cls = driver ? driver(sibling) : Nil;
	if (!cls)
		return nil;
	// Not by a message: `early-device` comes here before this image's selectors are registered.
	SEL init = sel_registerName("initWithAcceleratorPort:");
	id device = class_createInstance(cls, 0);
	device = ((id(*)(id, SEL, unsigned))class_getMethodImplementation(cls, init))(device, init, 1);
	return guest_scenario("wrapper") && !sibling ? guest_wrap(device) : device;
}

static id default_device(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static id device;
	if (guest_scenario("fresh-devices"))
		return new_device(false);
	pthread_mutex_lock(&lock);
	if (!device)
		device = new_device(false);
	id result = device;
	pthread_mutex_unlock(&lock);
	return result;
}

GUEST_EXPORT id<MTLDevice> MTLCreateSystemDefaultDevice(void)
{
	if (guest_scenario("sibling-first"))
		new_device(true);
	return default_device();
}

GUEST_EXPORT id<GuestArray> MTLCopyAllDevices(void)
{
	id devices[2];
	unsigned long count = 0;
	id device = MTLCreateSystemDefaultDevice();
	if (device)
		devices[count++] = device;
	if (guest_scenario("sibling") || guest_scenario("sibling-first")) {
		id sibling = new_device(true);
		if (sibling)
			devices[count++] = sibling;
	}
	return guest_array(devices, count);
}

__attribute__((constructor)) static void start(void)
{
	guest_register_values();
	guest_register_base();
	guest_register_wrapper();
	if (guest_scenario("other-shim-base") || guest_scenario("other-shim-init")) {
		void (*hook)(bool);
		*(void **)&hook = dlsym(guest_load("OtherShim", false), "other_shim_hook_base");
		hook(guest_scenario("other-shim-init"));
	}
	if (guest_scenario("early-device"))
		default_device();
}
