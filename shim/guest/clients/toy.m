// The smallest client: a fast kernel when the device says family 9 and 64 KB, else the CPU.

#include "ask.h"

int main(void)
{
	id<MTLDevice> device = need_device("toy");
	bool fast = [device supportsFamily:1009] && [device maxThreadgroupMemoryLength] >= 65536;
	print_answers(device, fast ? "fast_gpu_kernel" : "cpu_fallback");
	return 0;
}
