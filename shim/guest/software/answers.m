#include "answers.h"

#include "../clients/ask.h"
#include "../system/guest.h"

struct answers software_answers(void)
{
	struct answers answers = {0};
	id<MTLDevice> device = MTLCreateSystemDefaultDevice();
	if (!device)
		return answers;
	answers.class_name = class_getName(object_getClass(device));
	answers.apple_family = apple_family(device);
	answers.max_threadgroup_memory = [device maxThreadgroupMemoryLength];
	answers.max_buffer_length = [device maxBufferLength];
	answers.recommended_working_set = [device recommendedMaxWorkingSetSize];
	return answers;
}

int software_scenario(const char *name)
{
	return guest_scenario(name);
}
