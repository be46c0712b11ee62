// The program around the client's code: it asks ggml's Metal backend what a real program asks,
// and prints what the stand-in for Metal saw. Data on stdout, one fact a line, tab between the
// words; ggml's own log on stderr.
//
//   told family F / told memory B            what the guest's device answers (not counted)
//   queries PHASE FAMILY CALLS               supportsFamily: by family, in the phases start, ops, graph
//   reads PHASE CALLS                        maxThreadgroupMemoryLength
//   op NAME gpu|cpu                          does the backend take the operation?
//   encode KIND KERNEL BYTES                 the kernels of a small graph, and their largest request
//   attention TYPE DK DV QUERIES KV KERNEL BYTES
//   tuned FAMILY TYPE DK DV QUERIES KV Q NE BYTES   the choice, and what it would ask for; BYTES of
//                                            a family that is not claimed is what its choice would ask for
//   aborted WHAT                             the client's own assertion ended that part
//   unknown CLASS SELECTOR                   the client sends something that the stand-in does not know

#ifndef DRIVER_H
#define DRIVER_H

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-metal.h"
#include "ggml.h"
#include "recorder.h"

#include <cstdint>
#include <functional>
#include <string>

// A graph in the making, and where it runs. Tensors get addresses and no contents.
struct graph {
	ggml_context *context;
	ggml_cgraph *nodes;

	graph();
	~graph();
	graph(const graph &) = delete;
	graph &operator=(const graph &) = delete;

	ggml_tensor *tensor(ggml_type type, int64_t a, int64_t b = 1, int64_t c = 1);
	// Encodes everything that leads to `last`; false when the backend says that it failed.
	bool encode(ggml_backend_t backend, ggml_tensor *last);
};

struct head {
	int k, v; // elements of a head, of K and of V
};

// Types that K and V may have, and head sizes that models have.
extern const ggml_type kv_types[];
extern const size_t kv_type_count;
extern const head heads[];
extern const size_t head_count;

ggml_tensor *attention(graph &g, ggml_type type, head size, int64_t queries, int64_t kv);

// The largest request since the last reset, and its kernel; "-" and 0 when there was none.
struct dispatch largest_request();

// Runs a part in a process of its own: what the client asserts ends that part only.
void apart(const std::string &what, const std::function<void()> &part);

void print_ops(ggml_backend_t backend);
void encode_sizes(ggml_backend_t backend);
void encode_decode_step(ggml_backend_t backend);
void encode_attention(ggml_backend_t backend);

// Only where the client has a tuning table: else false, and nothing printed.
bool print_tuning(ggml_backend_t backend);

#endif
