// Which tuning the client would choose at each family, by its own table. Compiled with the table where the
// version has one.

#include "driver.h"

#ifdef HAVE_TUNING

#include "ggml-metal-tuning.h"

#include <cstdio>

using namespace ggml_metal_tuning;

static const int64_t queries[] = { 1, 2, 3, 4, 19 };
static const int64_t lengths[] = { 992, 4064, 16352, 32768 };

static void rows_of(ggml_backend_t backend, int family, ggml_type type, head size)
{
	for (int64_t n : queries) {
		for (int64_t kv : lengths) {
			fa_vec_cfg_t choice = fa_vec_pick(family, (int)type, size.k, size.v, kv, n);
			fa_vec_cfg_t base = fa_vec_baseline_cfg(size.k, size.v);
			if (choice.Q == base.Q && choice.NE == base.NE)
				continue;
			graph g;
			ggml_tensor *last = attention(g, type, size, n, kv);
			if (!ggml_backend_supports_op(backend, last))
				continue;
			// The choice is forced, so that no family has to be claimed for it.
			fa_vec_set_override(choice);
			bool done = g.encode(backend, last);
			fa_vec_clear_override();
			if (done)
				printf("tuned\t%d\t%s\t%d\t%d\t%lld\t%lld\t%d\t%d\t%lu\n", family, ggml_type_name(type), size.k, size.v, (long long)n,
				       (long long)kv, choice.Q, choice.NE, largest_request().memory);
		}
	}
}

bool print_tuning(ggml_backend_t backend)
{
	for (int family : { 7, 8, 9, 10 }) {
		for (size_t t = 0; t < kv_type_count; t++) {
			char what[64];
			snprintf(what, sizeof what, "tuning %d %s", family, ggml_type_name(kv_types[t]));
			apart(what, [&] {
				for (size_t h = 0; h < head_count; h++) {
					const head &size = heads[h];
					if (size.k % ggml_blck_size(kv_types[t]) == 0 && size.v % ggml_blck_size(kv_types[t]) == 0)
						rows_of(backend, family, kv_types[t], size);
				}
			});
		}
	}
	return true;
}

#else

bool print_tuning(ggml_backend_t)
{
	return false;
}

#endif
