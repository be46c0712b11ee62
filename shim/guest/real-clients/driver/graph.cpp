#include "driver.h"

#include <cstdio>
#include <sys/wait.h>
#include <unistd.h>

graph::graph()
{
	ggml_init_params params = {};
	params.mem_size = 64 << 20;
	params.no_alloc = true;
	context = ggml_init(params);
	nodes = ggml_new_graph_custom(context, 4096, false);
}

graph::~graph()
{
	ggml_free(context);
}

ggml_tensor *graph::tensor(ggml_type type, int64_t a, int64_t b, int64_t c)
{
	return ggml_new_tensor_3d(context, type, a, b, c);
}

bool graph::encode(ggml_backend_t backend, ggml_tensor *last)
{
	ggml_build_forward_expand(nodes, last);
	ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(context, backend);
	if (!buffer) {
		fprintf(stderr, "real-clients: no buffer for the graph\n");
		return false;
	}
	recorder_reset();
	bool done = ggml_backend_graph_compute(backend, nodes) == GGML_STATUS_SUCCESS;
	ggml_backend_synchronize(backend);
	ggml_backend_buffer_free(buffer);
	return done;
}

struct dispatch largest_request()
{
	const struct dispatch *all;
	size_t count = recorder_dispatches(&all);
	struct dispatch largest = { "-", 0 };
	for (size_t i = 0; i < count; i++)
		if (i == 0 || all[i].memory > largest.memory)
			largest = all[i];
	return largest;
}

void apart(const std::string &what, const std::function<void()> &part)
{
	fflush(nullptr);
	pid_t child = fork();
	if (child == 0) {
		part();
		fflush(stdout);
		_exit(0);
	}
	int status = 0;
	if (child < 0 || waitpid(child, &status, 0) < 0) {
		perror("real-clients: fork");
		_exit(70);
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 70)
		_exit(70);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		printf("aborted\t%s\n", what.c_str());
}
