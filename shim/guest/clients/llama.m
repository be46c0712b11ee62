// Asks what llama.cpp's ggml asks at start, and says where its matrix products would go.
//
// Gates as of ggml in August 2026 (facts in the client record of llama.cpp): reductions over a
// SIMD group at Apple7 or Metal3, matrix products of SIMD groups at Apple7 only, bfloat at Apple6
// or Metal3, tensors at Metal4. Without the first there is no matrix product on the GPU at all.

#include "ask.h"

#define LINE "ggml_metal_device_init: "

static const char *truth(bool value)
{
	return value ? "true" : "false";
}

// One line for the highest family of a kind, as its banner has.
static void say_family(id<MTLDevice> device, const char *kind, long first, long last)
{
	long family = highest_family(device, first, last);
	// Metal's families start with the one called Metal3: 5001.
	long number = family - first + (first == 5001 ? 3 : 1);
	const char *gap = first == 3001 ? " " : "  ";
	if (family)
		fprintf(stderr, LINE "GPU family: MTLGPUFamily%s%ld%s(%ld)\n", kind, number, gap, family);
}

int main(void)
{
	id<MTLDevice> device = need_device("llama");
	bool reduction = [device supportsFamily:1007] || [device supportsFamily:5001];
	bool matrix = [device supportsFamily:1007];
	bool bfloat = [device supportsFamily:5001] || [device supportsFamily:1006];
	bool tensor = [device supportsFamily:5002];

	fprintf(stderr, LINE "GPU name:   MTL0 (%s)\n", [[device name] UTF8String]);
	say_family(device, "Apple", 1001, 1021);
	say_family(device, "Common", 3001, 3006);
	say_family(device, "Metal", 5001, 5006);
	fprintf(stderr, LINE "simdgroup reduction   = %s\n", truth(reduction));
	fprintf(stderr, LINE "simdgroup matrix mul. = %s\n", truth(matrix));
	fprintf(stderr, LINE "has bfloat            = %s\n", truth(bfloat));
	fprintf(stderr, LINE "has tensor            = %s\n", truth(tensor));

	print_answers(device, !reduction ? "cpu" : matrix ? "mul_mm" : "mul_mv");
	printf("flash_attention=%s\n", truth(matrix));
	printf("bfloat=%s\n", truth(bfloat));
	return 0;
}
