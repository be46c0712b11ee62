// What the parts of the simulated guest share: facts and scenarios.
//
// Contract: both are read once, at the first question, and never change after. A facts
// file or a scenario that cannot be understood ends the process with one line on stderr
// and status 70: a test must never go on with a guest other than the one it asked for.

#ifndef METALSHIM_GUEST_H
#define METALSHIM_GUEST_H

#include <stdbool.h>
#include <stdint.h>

#define GUEST_EXPORT __attribute__((visibility("default")))

struct guest_facts {
	char build[32];        // kern.osversion
	char version[32];      // kern.osproductversion
	char model[64];        // hw.model
	char chip[96];         // machdep.cpu.brand_string
	char boot_session[64]; // kern.bootsessionuuid
	bool vm;               // kern.hv_vmm_present
	bool host_known;
	long host_apple_family; // 0 when not known
	char device_class[64];
	char device_name[96];
	long apple_family;           // highest one answered yes to, 1001..
	long common_family;          // highest one, 3001..; 0 for none
	bool metal3;                 // 5001
	long max_threadgroup_memory; // bytes
	char metal_uuid[64];         // LC_UUID of Metal's image, as text
	char driver_uuid[64];        // LC_UUID of the driver's image, as text
};

// The facts of METALSHIM_FACTS, else of the built-in sample.
GUEST_EXPORT const struct guest_facts *guest_facts(void);

// Whether METALSHIM_GUEST_SCENARIO names this scenario (README.md has the table).
GUEST_EXPORT bool guest_scenario(const char *name);

// LC_UUID of an image that this guest stands for, as text: "Metal" or "driver". NULL for any
// other name. The ELF files of the simulated guest have no LC_UUID of their own.
GUEST_EXPORT const char *metalshim_guest_image_uuid(const char *image);

// Ends the process: one line on stderr, status 70.
GUEST_EXPORT _Noreturn void guest_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
