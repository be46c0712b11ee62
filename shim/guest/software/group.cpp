#include "group.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "fiber.h"

namespace
{

enum class State { fresh, ready, together, barrier, done };

struct Lane {
	State state;
	Fiber *fiber;
	msl::Thread thread;
	unsigned place;
	const msl::Operation *operation;
	void *operand, *result;
};

struct Misuse {
	std::string says;
};

const msl::Kernel *kernel;
std::vector<Lane> lanes;
Lane *current; // the one whose fiber runs; null on the scheduler
std::string wrong; // said on a fiber, thrown by the scheduler

void run_thread(void *context)
{
	Lane *lane = static_cast<Lane *>(context);
	kernel->call(*kernel, lane->thread);
	lane->state = State::done;
}

void turn(Lane &lane)
{
	current = &lane;
	if (lane.state == State::fresh)
		fiber_start(run_thread, &lane, &lane.fiber);
	else
		fiber_go_on(&lane.fiber);
	current = nullptr;
	if (!wrong.empty())
		throw Misuse{wrong};
}

bool runs(const Lane &lane)
{
	return lane.state == State::fresh || lane.state == State::ready;
}

// Does the foremost operation that lanes of this SIMD-group wait at. False when none waits.
bool operate(Lane *first, size_t count)
{
	const Lane *foremost = nullptr;
	for (size_t i = 0; i < count; i++)
		if (first[i].state == State::together && (!foremost || first[i].place < foremost->place))
			foremost = &first[i];
	if (!foremost)
		return false;
	// By value: the lanes are about to change.
	const msl::Operation *operation = foremost->operation;
	unsigned place = foremost->place, mask = 0;
	void *operands[msl::simd_width] = {}, *results[msl::simd_width] = {};
	for (size_t i = 0; i < count; i++) {
		Lane &lane = first[i];
		if (lane.state == State::together && lane.place == place && lane.operation == operation) {
			mask |= 1u << i;
			operands[i] = lane.operand;
			results[i] = lane.result;
			lane.state = State::ready;
		}
	}
	operation->run(operation, mask, operands, results);
	return true;
}

void release_barrier()
{
	unsigned place = 0;
	for (const Lane &lane : lanes) {
		if (lane.state == State::done)
			throw Misuse{"a thread has ended, and others wait for it at a barrier"};
		if (place && lane.place != place)
			throw Misuse{"threads wait at different barriers"};
		place = lane.place;
	}
	for (Lane &lane : lanes)
		lane.state = State::ready;
}

void run_group(const std::vector<unsigned> &order)
{
	for (;;) {
		for (unsigned i : order)
			if (runs(lanes[i]))
				turn(lanes[i]);
		bool operated = false;
		for (size_t first = 0; first < lanes.size(); first += msl::simd_width)
			operated |= operate(&lanes[first], std::min<size_t>(msl::simd_width, lanes.size() - first));
		if (operated)
			continue;
		if (std::all_of(lanes.begin(), lanes.end(), [](const Lane &lane) { return lane.state == State::done; }))
			return;
		release_barrier();
	}
}

// Threadgroup memory ends at a page that nobody may touch.
class Arena
{
	char *start = nullptr;
	size_t mapped = 0, length;

public:
	explicit Arena(size_t bytes) : length(bytes)
	{
		size_t page = size_t(sysconf(_SC_PAGESIZE));
		mapped = (bytes + page - 1) / page * page + page;
		void *memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
		if (memory == MAP_FAILED || mprotect(static_cast<char *>(memory) + mapped - page, page, PROT_NONE))
			throw Misuse{"no memory"};
		start = static_cast<char *>(memory) + mapped - page - bytes;
		mapping = memory;
	}
	Arena(const Arena &) = delete;
	~Arena() { munmap(mapping, mapped); }

	msl::Memory poisoned()
	{
		// As a float a NaN: what is read before it was written shows.
		memset(start, 0xff, length);
		return {start, length};
	}

private:
	void *mapping = nullptr;
};

std::vector<unsigned> in_order(size_t count, Order order, unsigned long &seed)
{
	std::vector<unsigned> all(count);
	std::iota(all.begin(), all.end(), 0u);
	if (order == Order::reverse)
		std::reverse(all.begin(), all.end());
	if (order == Order::shuffled) {
		for (size_t i = count; i > 1; i--) {
			seed = seed * 6364136223846793005ul + 1442695040888963407ul;
			std::swap(all[i - 1], all[(seed >> 33) % i]);
		}
	}
	return all;
}

void run_all(const Launch &launch, Order order)
{
	static unsigned long seed = 1;
	Arena arena(launch.memory_length);
	msl::Size groups = launch.groups, threads = launch.threads;
	size_t per_group = size_t(threads.x) * threads.y * threads.z;
	for (unsigned number : in_order(size_t(groups.x) * groups.y * groups.z, order, seed)) {
		msl::Memory memories[msl::most_memories] = {arena.poisoned()};
		lanes.assign(per_group, {});
		for (unsigned i = 0; i < per_group; i++) {
			lanes[i].thread = {launch.buffers,
			                   memories,
			                   threads,
			                   {number % groups.x, number / groups.x % groups.y, number / groups.x / groups.y},
			                   {i % threads.x, i / threads.x % threads.y, i / threads.x / threads.y},
			                   i};
		}
		run_group(in_order(per_group, order, seed));
	}
}

} // namespace

bool sums_miss_a_lane, products_sum_in_half;

std::string launch(const Launch &launch, Order order)
{
	kernel = launch.kernel;
	for (const msl::Binding &binding : kernel->bindings) {
		bool buffer = binding.kind == msl::Kind::buffer, memory = binding.kind == msl::Kind::threadgroup;
		if (buffer && (binding.index >= msl::most_buffers || !launch.buffers[binding.index].start))
			return std::string(kernel->name) + ": nothing is bound to buffer " + std::to_string(binding.index);
		if (memory && (binding.index || !launch.memory_length))
			return std::string(kernel->name) + ": no threadgroup memory is bound to " + std::to_string(binding.index);
	}
	try {
		run_all(launch, order);
		return "";
	} catch (const Misuse &misuse) {
		for (Lane &lane : lanes)
			if (lane.fiber)
				fiber_abandon(&lane.fiber);
		wrong.clear();
		return std::string(kernel->name) + ": " + misuse.says;
	}
}

namespace msl
{

std::vector<Kernel> &kernels()
{
	static std::vector<Kernel> all;
	return all;
}

void misuse(const char *message)
{
	if (!fiber_here())
		throw Misuse{message};
	wrong = message;
	for (;;)
		fiber_wait();
}

bool sums_miss()
{
	return sums_miss_a_lane;
}

bool half_sums()
{
	return products_sum_in_half;
}

unsigned lane()
{
	return current->thread.linear % simd_width;
}

void together(unsigned place, const Operation *operation, void *operand, void *result)
{
	Lane *own = current;
	own->place = place;
	own->operation = operation;
	own->operand = operand;
	own->result = result;
	own->state = State::together;
	fiber_wait();
}

void barrier(unsigned place)
{
	Lane *own = current;
	own->place = place;
	own->state = State::barrier;
	fiber_wait();
}

} // namespace msl
