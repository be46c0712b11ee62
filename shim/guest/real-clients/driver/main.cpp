#include "driver.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

static void print_calls(const char *phase)
{
	const struct family_calls *families;
	size_t count = recorder_families(&families);
	for (size_t i = 0; i < count; i++)
		printf("queries\t%s\t%ld\t%lu\n", phase, families[i].family, families[i].calls);
	printf("reads\t%s\t%lu\n", phase, recorder_memory_calls());
}

int main(int argc, char **argv)
{
	// A failed assertion is to end the process, not to start a debugger: old versions look for
	// one in PATH, new ones read the other variable.
	setenv("PATH", "/nonexistent", 1);
	setenv("GGML_NO_BACKTRACE", "1", 1);
	setvbuf(stdout, nullptr, _IOFBF, 1 << 20);

	recorder_start();
	recorder_reset();
	ggml_backend_t backend = ggml_backend_metal_init();
	if (!backend) {
		fprintf(stderr, "real-clients: ggml_backend_metal_init found no device\n");
		return 1;
	}
	print_calls("start");
	printf("told\tfamily\t%ld\n", recorder_told_family());
	printf("told\tmemory\t%lu\n", recorder_told_memory());

	recorder_reset();
	print_ops(backend);
	print_calls("ops");

	// Without matrix products and attention on the GPU there is no such graph.
	if (recorder_told_family() >= 1007) {
		recorder_reset();
		encode_decode_step(backend);
		print_calls("graph");
		encode_sizes(backend);
		if (argc > 1 && strcmp(argv[1], "short") == 0)
			return 0;
		encode_attention(backend);
		print_tuning(backend);
	}
	return 0;
}
