// Runs a kernel: threadgroup by threadgroup, every thread on a fiber.

#ifndef SOFTWARE_GROUP_H
#define SOFTWARE_GROUP_H

#include <string>

#include "msl/kernels.h"

struct Launch {
	const msl::Kernel *kernel;
	msl::Memory buffers[msl::most_buffers];
	msl::Size groups, threads;
	size_t memory_length; // bytes of threadgroup memory, at index 0
};

// In which order the threads of a group get their turns, and groups theirs: a result that hangs
// on it is a missing barrier. `shuffled` is another order at every launch, the same in every process.
enum class Order { forward, reverse, shuffled };

// What is wrong with the results on purpose.
extern bool sums_miss_a_lane, products_sum_in_half;

// Runs it. Empty, or why it could not be done.
std::string launch(const Launch &launch, Order order);

#endif
