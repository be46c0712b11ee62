// The operations that a scheduler asks about, and graphs of a few.

#include "driver.h"

#include <cstdio>
#include <map>
#include <string>

// Not in every version: asked about where it is there.
extern "C" {
__attribute__((weak)) ggml_tensor *ggml_l2_norm(ggml_context *, ggml_tensor *, float);
__attribute__((weak)) ggml_tensor *ggml_cumsum(ggml_context *, ggml_tensor *);
__attribute__((weak)) ggml_tensor *ggml_mean(ggml_context *, ggml_tensor *);
}

static ggml_backend_t asked;

static void ask(const char *name, const std::function<ggml_tensor *(graph &)> &make)
{
	graph g;
	ggml_tensor *op = make(g);
	if (op)
		printf("op\t%s\t%s\n", name, ggml_backend_supports_op(asked, op) ? "gpu" : "cpu");
}

static ggml_tensor *product(graph &g, ggml_type type, int64_t columns, int64_t rows = 256)
{
	return ggml_mul_mat(g.context, g.tensor(type, 256, rows), g.tensor(GGML_TYPE_F32, 256, columns));
}

static ggml_tensor *routed(graph &g, ggml_type type, int64_t tokens, int64_t experts = 8, int64_t used = 2)
{
	ggml_tensor *weights = g.tensor(type, 256, 256, experts);
	ggml_tensor *input = g.tensor(GGML_TYPE_F32, 256, 1, tokens);
	return ggml_mul_mat_id(g.context, weights, input, g.tensor(GGML_TYPE_I32, used, tokens));
}

static ggml_tensor *rows(graph &g, ggml_type type)
{
	return ggml_get_rows(g.context, g.tensor(type, 256, 64), g.tensor(GGML_TYPE_I32, 4));
}

static ggml_tensor *copy(graph &g, ggml_type from, ggml_type to)
{
	return ggml_cpy(g.context, g.tensor(from, 256, 4), g.tensor(to, 256, 4));
}

static ggml_tensor *floats(graph &g)
{
	return g.tensor(GGML_TYPE_F32, 256, 4);
}

void print_ops(ggml_backend_t backend)
{
	asked = backend;
	static const ggml_type weights[] = {
		GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q4_0, GGML_TYPE_Q8_0, GGML_TYPE_Q4_K, GGML_TYPE_Q6_K, GGML_TYPE_IQ4_XS,
	};
	for (ggml_type type : weights) {
		std::string name = ggml_type_name(type);
		ask(("MUL_MAT " + name).c_str(), [=](graph &g) { return product(g, type, 4); });
		ask(("MUL_MAT_ID " + name).c_str(), [=](graph &g) { return routed(g, type, 4); });
		ask(("GET_ROWS " + name).c_str(), [=](graph &g) { return rows(g, type); });
	}
	for (ggml_type type : { GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q4_0, GGML_TYPE_Q8_0 }) {
		std::string name = ggml_type_name(type);
		ask(("FLASH_ATTN_EXT " + name).c_str(), [=](graph &g) { return attention(g, type, { 128, 128 }, 1, 512); });
	}
	ask("SOFT_MAX", [](graph &g) { return ggml_soft_max(g.context, floats(g)); });
	ask("NORM", [](graph &g) { return ggml_norm(g.context, floats(g), 1e-5f); });
	ask("RMS_NORM", [](graph &g) { return ggml_rms_norm(g.context, floats(g), 1e-5f); });
	ask("GROUP_NORM", [](graph &g) { return ggml_group_norm(g.context, floats(g), 2, 1e-5f); });
	ask("L2_NORM", [](graph &g) { return ggml_l2_norm ? ggml_l2_norm(g.context, floats(g), 1e-5f) : nullptr; });
	ask("SUM_ROWS", [](graph &g) { return ggml_sum_rows(g.context, floats(g)); });
	ask("MEAN", [](graph &g) { return ggml_mean ? ggml_mean(g.context, floats(g)) : nullptr; });
	ask("CUMSUM", [](graph &g) { return ggml_cumsum ? ggml_cumsum(g.context, floats(g)) : nullptr; });
	ask("ARGMAX", [](graph &g) { return ggml_argmax(g.context, floats(g)); });
	ask("ADD", [](graph &g) { return ggml_add(g.context, floats(g), floats(g)); });
	ask("MUL", [](graph &g) { return ggml_mul(g.context, floats(g), floats(g)); });
	ask("SCALE", [](graph &g) { return ggml_scale(g.context, floats(g), 0.5f); });
	ask("SILU", [](graph &g) { return ggml_silu(g.context, floats(g)); });
	ask("ROPE", [](graph &g) {
		return ggml_rope(g.context, g.tensor(GGML_TYPE_F32, 128, 2, 4), g.tensor(GGML_TYPE_I32, 4), 128, 0);
	});
	ask("CPY f32 f16", [](graph &g) { return copy(g, GGML_TYPE_F32, GGML_TYPE_F16); });
	ask("CPY f32 bf16", [](graph &g) { return copy(g, GGML_TYPE_F32, GGML_TYPE_BF16); });
	ask("CPY f32 q8_0", [](graph &g) { return copy(g, GGML_TYPE_F32, GGML_TYPE_Q8_0); });
}

// The kernels of one graph, each with its largest request.
static void print_encoded(const char *kind)
{
	const struct dispatch *all;
	size_t count = recorder_dispatches(&all);
	std::map<std::string, unsigned long> kernels;
	for (size_t i = 0; i < count; i++) {
		unsigned long &most = kernels[all[i].kernel];
		if (all[i].memory > most)
			most = all[i].memory;
	}
	for (const auto &[kernel, memory] : kernels)
		printf("encode\t%s\t%s\t%lu\n", kind, kernel.c_str(), memory);
}

static void one(ggml_backend_t backend, const char *kind, const std::function<ggml_tensor *(graph &)> &make)
{
	apart(kind, [&] {
		graph g;
		ggml_tensor *last = make(g);
		if (ggml_backend_supports_op(backend, last) && g.encode(backend, last))
			print_encoded(kind);
	});
}

void encode_sizes(ggml_backend_t backend)
{
	for (ggml_type type : { GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q4_K }) {
		std::string name = ggml_type_name(type);
		one(backend, ("MUL_MAT " + name + " x1").c_str(), [=](graph &g) { return product(g, type, 1); });
		one(backend, ("MUL_MAT " + name + " x512").c_str(), [=](graph &g) { return product(g, type, 512); });
	}
	// Rows routed to experts: tokens times experts used. 6136 is the most that 2024 versions take at 32768 bytes.
	for (int64_t tokens : { 1, 1024, 3068, 7164 }) {
		std::string kind = "MUL_MAT_ID q4_K " + std::to_string(tokens * 2) + " rows";
		one(backend, kind.c_str(), [=](graph &g) { return routed(g, GGML_TYPE_Q4_K, tokens); });
	}
	// More experts used than any model does: the map of experts in current versions.
	one(backend, "MUL_MAT_ID q4_K 512 experts", [](graph &g) { return routed(g, GGML_TYPE_Q4_K, 64, 512, 10); });
	one(backend, "SOFT_MAX", [](graph &g) { return ggml_soft_max(g.context, g.tensor(GGML_TYPE_F32, 32768, 4)); });
	one(backend, "RMS_NORM", [](graph &g) { return ggml_rms_norm(g.context, g.tensor(GGML_TYPE_F32, 8192, 4), 1e-5f); });
	one(backend, "ARGSORT", [](graph &g) { return ggml_argsort(g.context, g.tensor(GGML_TYPE_F32, 1024, 4), GGML_SORT_ORDER_DESC); });
}

// One token of a model with 32 layers: seven products a layer and the output's, as in a Llama.
void encode_decode_step(ggml_backend_t backend)
{
	graph g;
	ggml_context *c = g.context;
	ggml_tensor *x = g.tensor(GGML_TYPE_F32, 256, 1);
	auto weight = [&] { return g.tensor(GGML_TYPE_Q4_K, 256, 256); };
	auto norm = [&](ggml_tensor *t) { return ggml_mul(c, ggml_rms_norm(c, t, 1e-5f), g.tensor(GGML_TYPE_F32, 256)); };
	ggml_tensor *position = g.tensor(GGML_TYPE_I32, 1);
	ggml_tensor *mask = g.tensor(GGML_TYPE_F16, 512, 64);
	for (int layer = 0; layer < 32; layer++) {
		ggml_tensor *in = norm(x);
		ggml_tensor *q = ggml_rope(c, ggml_reshape_3d(c, ggml_mul_mat(c, weight(), in), 128, 2, 1), position, 128, 0);
		// The new K and V go into the cache; attention reads the whole of it.
		ggml_tensor *k = g.tensor(GGML_TYPE_F16, 128, 512, 2);
		ggml_tensor *v = g.tensor(GGML_TYPE_F16, 128, 512, 2);
		for (ggml_tensor *cache : { k, v }) {
			ggml_tensor *row = ggml_view_1d(c, cache, 256, 0);
			ggml_build_forward_expand(g.nodes, ggml_cpy(c, ggml_mul_mat(c, weight(), in), row));
		}
		ggml_tensor *mixed = ggml_flash_attn_ext(c, ggml_permute(c, q, 0, 2, 1, 3), k, v, mask, 0.088f, 0.0f, 0.0f);
		x = ggml_add(c, x, ggml_mul_mat(c, weight(), ggml_reshape_2d(c, mixed, 256, 1)));
		in = norm(x);
		ggml_tensor *gate = ggml_silu(c, ggml_mul_mat(c, weight(), in));
		ggml_tensor *up = ggml_mul_mat(c, weight(), in);
		x = ggml_add(c, x, ggml_mul_mat(c, weight(), ggml_mul(c, gate, up)));
	}
	if (g.encode(backend, ggml_mul_mat(c, weight(), norm(x))))
		print_encoded("decode");
}
