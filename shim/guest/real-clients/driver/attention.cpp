// Flash attention over the sizes that models have, one graph each.

#include "driver.h"

#include <cmath>
#include <cstdio>

const ggml_type kv_types[] = {
	GGML_TYPE_F16, GGML_TYPE_F32, GGML_TYPE_BF16, GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1, GGML_TYPE_Q8_0,
};
const size_t kv_type_count = sizeof kv_types / sizeof kv_types[0];

const head heads[] = {
	{ 32, 32 },   { 40, 40 },   { 48, 48 },   { 64, 64 },	{ 72, 72 },   { 80, 80 },   { 96, 96 },	  { 96, 64 },
	{ 112, 112 }, { 128, 128 }, { 192, 192 }, { 192, 128 }, { 256, 256 }, { 320, 256 }, { 512, 512 }, { 576, 512 },
};
const size_t head_count = sizeof heads / sizeof heads[0];

// Queries: decoding, speculative and small batches, both sides of the limits between kernels
// (4, 8, 20), a prompt.
static const int64_t queries[] = { 1, 2, 3, 4, 5, 8, 9, 19, 20, 31, 32, 512 };
// Cache lengths: multiples of 32, which old versions demand, just under the tuning's limits.
static const int64_t lengths[] = { 992, 4064, 16352, 32768 };

ggml_tensor *attention(graph &g, ggml_type type, head size, int64_t n, int64_t kv)
{
	ggml_tensor *q = g.tensor(GGML_TYPE_F32, size.k, n, 1);
	ggml_tensor *k = g.tensor(type, size.k, kv, 1);
	ggml_tensor *v = g.tensor(type, size.v, kv, 1);
	// Padded as llama.cpp pads it.
	ggml_tensor *mask = g.tensor(GGML_TYPE_F16, kv, (n + 63) / 64 * 64, 1);
	return ggml_flash_attn_ext(g.context, q, k, v, mask, 1.0f / sqrtf((float)size.k), 0.0f, 0.0f);
}

static void sizes_of(ggml_backend_t backend, ggml_type type, head size)
{
	for (int64_t n : queries) {
		for (int64_t kv : lengths) {
			graph g;
			ggml_tensor *last = attention(g, type, size, n, kv);
			if (!ggml_backend_supports_op(backend, last))
				continue;
			if (!g.encode(backend, last))
				continue;
			struct dispatch most = largest_request();
			printf("attention\t%s\t%d\t%d\t%lld\t%lld\t%s\t%lu\n", ggml_type_name(type), size.k, size.v, (long long)n, (long long)kv,
			       most.kernel, most.memory);
		}
	}
}

void encode_attention(ggml_backend_t backend)
{
	for (ggml_type type : kv_types) {
		for (const head &size : heads) {
			// A quantized row is whole blocks of 32.
			if (size.k % ggml_blck_size(type) || size.v % ggml_blck_size(type))
				continue;
			char what[64];
			snprintf(what, sizeof what, "attention %s %d %d", ggml_type_name(type), size.k, size.v);
			apart(what, [&] { sizes_of(backend, type, size); });
		}
	}
}
