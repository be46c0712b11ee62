// A stand-in for llama.cpp's llama-bench: the same options and the same JSON, with speeds that
// follow from what the device answers. No model is run.
//
// The speeds are about those of a small model on an M1 Ultra: without the SIMD-group operations
// that ggml asks for (Apple7) the matrix work is the processor's. A model whose name has `flat` in
// it does not care, as MLX does not; one with `noisy` in it scatters more than it gains.
//
// Known: -m -p -n -pg -d -r -o -v -b -ub -t -ngl -fa -mmp -ctk -ctv, with their long names; lists
// with commas for the numbers of -p, -n and -d.

#include "ask.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define LINE "ggml_metal_device_init: "
#define MOST 16

struct list {
	long of[MOST];
	int count;
};

struct test {
	long prompt, generated, depth;
};

static struct {
	const char *model, *output, *type_k, *type_v;
	struct list prompts, generated, depths;
	struct test both;
	long repetitions, batch, ubatch, threads, layers, flash_attention;
	bool verbose;
} options = {
	.model = "models/7B/ggml-model-q4_0.gguf", .output = "md", .type_k = "f16", .type_v = "f16",
	.prompts = {{512}, 1}, .generated = {{128}, 1}, .depths = {{0}, 1},
	.repetitions = 5, .batch = 2048, .ubatch = 512, .threads = 8, .layers = -1, .flash_attention = -1,
};

static void bad(const char *says, const char *what)
{
	fprintf(stderr, "error: %s: %s\n", says, what);
	exit(1);
}

static long number(const char *text)
{
	char *end;
	errno = 0;
	long value = strtol(text, &end, 10);
	if (end == text || *end || errno)
		bad("invalid parameter for argument", text);
	return value;
}

static struct list numbers(char *text)
{
	struct list list = {{0}, 0};
	for (char *rest = NULL, *word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		if (list.count == MOST)
			bad("too many values", word);
		list.of[list.count++] = number(word);
	}
	return list;
}

static bool is(const char *argument, const char *brief, const char *name)
{
	return !strcmp(argument, brief) || !strcmp(argument, name);
}

static void read_options(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *name = argv[i];
		if (is(name, "-v", "--verbose")) {
			options.verbose = true;
			continue;
		}
		if (i + 1 == argc)
			bad("invalid parameter for argument", name);
		char *value = argv[++i];
		if (is(name, "-m", "--model"))
			options.model = value;
		else if (is(name, "-p", "--n-prompt"))
			options.prompts = numbers(value);
		else if (is(name, "-n", "--n-gen"))
			options.generated = numbers(value);
		else if (is(name, "-d", "--n-depth"))
			options.depths = numbers(value);
		else if (is(name, "-pg", "--pg")) {
			struct list both = numbers(value);
			options.both = (struct test){both.of[0], both.of[1], 0};
		} else if (is(name, "-r", "--repetitions"))
			options.repetitions = number(value);
		else if (is(name, "-o", "--output"))
			options.output = value;
		else if (is(name, "-b", "--batch-size"))
			options.batch = number(value);
		else if (is(name, "-ub", "--ubatch-size"))
			options.ubatch = number(value);
		else if (is(name, "-t", "--threads"))
			options.threads = number(value);
		else if (is(name, "-ngl", "--n-gpu-layers"))
			options.layers = number(value);
		else if (is(name, "-fa", "--flash-attn"))
			options.flash_attention = number(value);
		else if (is(name, "-ctk", "--cache-type-k"))
			options.type_k = value;
		else if (is(name, "-ctv", "--cache-type-v"))
			options.type_v = value;
		else if (!is(name, "-mmp", "--mmap"))
			bad("invalid parameter for argument", name);
	}
	if (strcmp(options.output, "json") && strcmp(options.output, "jsonl") && strcmp(options.output, "md"))
		bad("invalid parameter for argument", options.output);
	struct stat found;
	if (stat(options.model, &found))
		bad("failed to load model", options.model);
}

// What the answers allow.
struct can {
	bool reduction, matrix, bfloat, tensor;
	const char *name;
};

static const char *truth(bool value)
{
	return value ? "true" : "false";
}

static void say(id<MTLDevice> device, const struct can *can)
{
	long apple = apple_family(device), common = highest_family(device, 3001, 3006), metal = highest_family(device, 5001, 5006);
	fprintf(stderr, LINE "GPU name:   MTL0 (%s)\n", can->name);
	if (apple)
		fprintf(stderr, LINE "GPU family: MTLGPUFamilyApple%ld  (%ld)\n", apple - 1000, apple);
	if (common)
		fprintf(stderr, LINE "GPU family: MTLGPUFamilyCommon%ld (%ld)\n", common - 3000, common);
	if (metal)
		fprintf(stderr, LINE "GPU family: MTLGPUFamilyMetal%ld  (%ld)\n", metal - 4998, metal);
	fprintf(stderr, LINE "simdgroup reduction   = %s\n", truth(can->reduction));
	fprintf(stderr, LINE "simdgroup matrix mul. = %s\n", truth(can->matrix));
	fprintf(stderr, LINE "has bfloat            = %s\n", truth(can->bfloat));
	fprintf(stderr, LINE "has tensor            = %s\n", truth(can->tensor));
}

// Tokens a second, before what scatters.
static double speed(const struct test *test, const struct can *can)
{
	bool gpu = can->reduction && options.layers != 0;
	if (strstr(options.model, "flat"))
		return test->generated ? 171 : 1660;
	if (strstr(options.model, "noisy"))
		return gpu ? 110 : 100;
	double prompt = gpu && can->matrix ? 4780 : gpu ? 1200 : 430;
	double generated = gpu ? 205 : 12.5;
	if (!test->generated)
		return prompt;
	if (!test->prompt)
		return generated;
	double tokens = test->prompt + test->generated;
	return tokens / (test->prompt / prompt + test->generated / generated);
}

// The same for every run of the same command: between -1 and 1.
static double scatter(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (double)(*state >> 33) / (double)(UINT64_C(1) << 30) - 1;
}

static void print_row(const struct test *test, const struct can *can, bool *first, uint64_t *state)
{
	double mean = 0, width = strstr(options.model, "noisy") ? 0.3 : 0.01;
	double samples[1000];
	long count = options.repetitions < 1 ? 1 : options.repetitions > 1000 ? 1000 : options.repetitions;
	for (long i = 0; i < count; i++) {
		samples[i] = speed(test, can) * (1 + width * scatter(state));
		mean += samples[i] / count;
	}
	char when[32];
	time_t now = time(NULL);
	strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
	bool lines = !strcmp(options.output, "jsonl");
	const char *gap = lines ? " " : "\n    ";
	if (!*first)
		printf(lines ? "\n" : ",\n");
	*first = false;
	printf(lines ? "{" : "  {%s", gap);
	printf("\"build_commit\": \"ee3d1b54c\",%s\"build_number\": 10167,%s", gap, gap);
	printf("\"cpu_info\": \"Accelerate, Apple M1 Ultra (Virtual)\",%s\"gpu_info\": \"%s\",%s", gap, can->name, gap);
	printf("\"backends\": \"MTL,BLAS\",%s\"model_filename\": \"", gap);
	for (const char *c = options.model; *c; c++)
		printf((unsigned char)*c < ' ' || *c == '"' || *c == '\\' ? "\\u%04x" : "%c", (unsigned char)*c);
	printf("\",%s\"model_type\": \"llama 1B Q4_K - Medium\",%s\"model_size\": 667078656,%s", gap, gap, gap);
	printf("\"model_n_params\": 1100048384,%s\"n_batch\": %ld,%s\"n_ubatch\": %ld,%s", gap, options.batch, gap, options.ubatch, gap);
	printf("\"n_threads\": %ld,%s\"type_k\": \"%s\",%s\"type_v\": \"%s\",%s", options.threads, gap, options.type_k, gap, options.type_v, gap);
	printf("\"n_gpu_layers\": %ld,%s\"flash_attn\": %ld,%s", options.layers, gap, options.flash_attention, gap);
	printf("\"n_prompt\": %ld,%s\"n_gen\": %ld,%s\"n_depth\": %ld,%s", test->prompt, gap, test->generated, gap, test->depth, gap);
	printf("\"test_time\": \"%s\",%s\"avg_ts\": %f,%s\"samples_ts\": [", when, gap, mean, gap);
	for (long i = 0; i < count; i++)
		printf("%s %.6g", i ? "," : "", samples[i]);
	printf(" ]%s", lines ? "}" : "\n  }");
}

int main(int argc, char **argv)
{
	read_options(argc, argv);
	id<MTLDevice> device = need_device("llama-bench");
	struct can can = {
		.reduction = [device supportsFamily:1007] || [device supportsFamily:5001],
		.matrix = [device supportsFamily:1007],
		.bfloat = [device supportsFamily:5001] || [device supportsFamily:1006],
		.tensor = [device supportsFamily:5002],
		.name = [[device name] UTF8String],
	};
	if (options.verbose)
		say(device, &can);
	if (!strcmp(options.output, "md")) {
		printf("| model | test | t/s |\n");
		return 0;
	}
	uint64_t state = can.matrix ? 7 : 5;
	bool first = true;
	bool lines = !strcmp(options.output, "jsonl");
	if (!lines)
		printf("[\n");
	for (int d = 0; d < options.depths.count; d++) {
		for (int i = 0; i < options.prompts.count; i++) {
			struct test test = {options.prompts.of[i], 0, options.depths.of[d]};
			if (test.prompt)
				print_row(&test, &can, &first, &state);
		}
		for (int i = 0; i < options.generated.count; i++) {
			struct test test = {0, options.generated.of[i], options.depths.of[d]};
			if (test.generated)
				print_row(&test, &can, &first, &state);
		}
		if (options.both.prompt)
			print_row(&options.both, &can, &first, &state);
	}
	printf(lines ? "\n" : "\n]\n");
	return 0;
}
