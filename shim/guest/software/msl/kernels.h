// Which kernels there are, and how one is called: the scanner writes a registration for each.
//
// What a parameter is bound to comes from its attribute; its type comes from the function itself,
// so that nothing here parses types.

#ifndef MSL_KERNELS_H
#define MSL_KERNELS_H

#include <cstddef>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <vector>

#include "language.h"

namespace msl {

enum class Kind {
	buffer,
	threadgroup,
	thread_position_in_grid,
	threadgroup_position_in_grid,
	thread_position_in_threadgroup,
	threads_per_threadgroup,
	thread_index_in_simdgroup,
	simdgroup_index_in_threadgroup,
};

struct Binding {
	Kind kind;
	unsigned index; // of a buffer or threadgroup memory
};

constexpr unsigned most_buffers = 8, most_memories = 2;

struct Memory {
	void *start = nullptr;
	size_t length = 0; // bytes
};

struct Size {
	unsigned x = 1, y = 1, z = 1;
};

// What a launch binds, and where in it a thread is.
struct Thread {
	const Memory *buffers;  // most_buffers of them
	const Memory *memories; // threadgroup memory, most_memories of them
	Size group_size;
	Size group;  // this threadgroup in the grid
	Size inside; // this thread in the threadgroup
	unsigned linear; // the same in one number
};

struct Kernel {
	const char *library; // the file, without `.metal`
	unsigned long hash;  // of the file's text
	const char *name;
	std::vector<Binding> bindings;
	void (*function)();
	void (*call)(const Kernel &own, const Thread &thread);
};

// All of them.
std::vector<Kernel> &kernels();

template <class T> T position(const Binding &binding, const Thread &thread)
{
	Size size = {0, 0, 0};
	switch (binding.kind) {
	case Kind::thread_position_in_grid:
		size = {thread.group.x * thread.group_size.x + thread.inside.x, thread.group.y * thread.group_size.y + thread.inside.y, 0};
		break;
	case Kind::threadgroup_position_in_grid: size = thread.group; break;
	case Kind::thread_position_in_threadgroup: size = thread.inside; break;
	case Kind::threads_per_threadgroup: size = thread.group_size; break;
	case Kind::thread_index_in_simdgroup: size.x = thread.linear % simd_width; break;
	case Kind::simdgroup_index_in_threadgroup: size.x = thread.linear / simd_width; break;
	default: misuse("a position is bound to a buffer");
	}
	if constexpr (std::is_integral_v<T>)
		return T(size.x);
	else
		return T{size.x, size.y};
}

template <class T> T argument(const Binding &binding, const Thread &thread)
{
	const Memory *memories = binding.kind == Kind::threadgroup ? thread.memories : thread.buffers;
	if constexpr (std::is_pointer_v<T>) {
		return static_cast<T>(memories[binding.index].start);
	} else if constexpr (std::is_reference_v<T>) {
		using Value = std::remove_reference_t<T>;
		if (memories[binding.index].length < sizeof(Value))
			misuse("a buffer is shorter than the value that is read from it");
		return *static_cast<Value *>(memories[binding.index].start);
	} else {
		return position<T>(binding, thread);
	}
}

struct Registration {
	template <class... T>
	Registration(const char *library, unsigned long hash, const char *name, void (*function)(T...), std::initializer_list<Binding> bindings)
	{
		auto call = [](const Kernel &own, const Thread &thread) {
			auto typed = reinterpret_cast<void (*)(T...)>(own.function);
			[&]<size_t... i>(std::index_sequence<i...>) {
				typed(argument<T>(own.bindings[i], thread)...);
			}(std::index_sequence_for<T...>{});
		};
		kernels().push_back({library, hash, name, bindings, reinterpret_cast<void (*)()>(function), call});
	}
};

} // namespace msl

#endif
