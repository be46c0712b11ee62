// What the stand-in for Metal says of its device, asked as any client asks: through the
// Objective-C runtime, so that a shim in this process counts.

#ifndef SOFTWARE_ANSWERS_H
#define SOFTWARE_ANSWERS_H

#ifdef __cplusplus
extern "C" {
#endif

struct answers {
	const char *class_name; // null: there is no device
	long apple_family;
	unsigned long max_threadgroup_memory, max_buffer_length, recommended_working_set; // bytes
};

struct answers software_answers(void);

// Whether a scenario is played: guest.h has it for C.
int software_scenario(const char *name);

#ifdef __cplusplus
}
#endif

#endif
