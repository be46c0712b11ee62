// What the lanes of a SIMD-group do together, and the barrier of a threadgroup.
//
// A lane that comes to such an operation leaves its operand and where in the source it is, and
// waits. When no lane of its group runs any more, the operation is done once, over the lanes that
// wait at the same place: the foremost place in the source first. That is right for partial
// groups, branches that part, loops of unequal length and early returns.

#ifndef MSL_SIMD_H
#define MSL_SIMD_H

namespace msl {

constexpr unsigned simd_width = 32;

// One operation over the lanes of `mask`: `operands` and `results` have a slot for each lane.
struct Operation {
	void (*run)(const Operation *own, unsigned mask, void *const *operands, void *const *results);
};

// Waits as described above. `place` orders the places of the source.
void together(unsigned place, const Operation *operation, void *operand, void *result);
// Waits until every thread of the threadgroup is there.
void barrier(unsigned place);
// Ends the launch with this message: a kernel did what no kernel may.
[[noreturn]] void misuse(const char *message);

constexpr unsigned at(unsigned line, unsigned column)
{
	return line << 10 | column;
}

#define MSL_PLACE unsigned place = ::msl::at(__builtin_LINE(), __builtin_COLUMN())

// Faults on purpose: group.h.
bool sums_miss();
bool half_sums();

inline bool active(unsigned mask, unsigned lane)
{
	return lane < simd_width && (mask >> lane & 1);
}

template <class T> const T &of(void *const *slots, unsigned lane)
{
	return *static_cast<const T *>(slots[lane]);
}

// Folds the operands of the active lanes into one value that all of them get.
template <class T, class Fold> T fold(unsigned place, T value, Fold)
{
	static const Operation operation = {[](const Operation *, unsigned mask, void *const *operands, void *const *results) {
		bool first = true;
		T all{};
		for (unsigned lane = 0; lane < simd_width; lane++) {
			if (active(mask, lane)) {
				if (Fold::is_sum && lane == simd_width - 1 && sums_miss())
					continue;
				all = first ? of<T>(operands, lane) : Fold{}(all, of<T>(operands, lane));
				first = false;
			}
		}
		for (unsigned lane = 0; lane < simd_width; lane++)
			if (active(mask, lane))
				*static_cast<T *>(results[lane]) = all;
	}};
	T result{};
	together(place, &operation, &value, &result);
	return result;
}

struct Sent {
	unsigned long bits;
	unsigned from; // the lane whose value is wanted
};

// The value of another lane. Metal leaves open what comes from a lane that is not there: here it
// is a pattern, so that a kernel that uses it goes wrong.
template <class T> T fetch(unsigned place, T value, unsigned from)
{
	static_assert(sizeof(T) <= sizeof(Sent::bits));
	static const Operation operation = {[](const Operation *, unsigned mask, void *const *operands, void *const *results) {
		for (unsigned lane = 0; lane < simd_width; lane++) {
			if (!active(mask, lane))
				continue;
			unsigned from = of<Sent>(operands, lane).from;
			unsigned long bits = active(mask, from) ? of<Sent>(operands, from).bits : 0xdbdbdbdbdbdbdbdb;
			*static_cast<unsigned long *>(results[lane]) = bits;
		}
	}};
	Sent sent = {0, from};
	__builtin_memcpy(&sent.bits, &value, sizeof value);
	unsigned long bits = 0;
	together(place, &operation, &sent, &bits);
	__builtin_memcpy(&value, &bits, sizeof value);
	return value;
}

// This lane's number in its SIMD-group.
unsigned lane();

struct Add {
	static constexpr bool is_sum = true;
	template <class T> T operator()(T a, T b) const { return a + b; }
};
struct Larger {
	static constexpr bool is_sum = false;
	template <class T> T operator()(T a, T b) const { return a < b ? b : a; }
};
struct Smaller {
	static constexpr bool is_sum = false;
	template <class T> T operator()(T a, T b) const { return b < a ? b : a; }
};

} // namespace msl

namespace metal {

template <class T> T simd_sum(T value, MSL_PLACE)
{
	return msl::fold(place, value, msl::Add{});
}

template <class T> T simd_max(T value, MSL_PLACE)
{
	return msl::fold(place, value, msl::Larger{});
}

template <class T> T simd_min(T value, MSL_PLACE)
{
	return msl::fold(place, value, msl::Smaller{});
}

template <class T> T simd_shuffle(T value, ushort lane, MSL_PLACE)
{
	return msl::fetch(place, value, lane);
}

template <class T> T simd_broadcast(T value, ushort lane, MSL_PLACE)
{
	return msl::fetch(place, value, lane);
}

template <class T> T simd_shuffle_xor(T value, ushort mask, MSL_PLACE)
{
	return msl::fetch(place, value, msl::lane() ^ mask);
}

template <class T> T simd_shuffle_down(T value, ushort delta, MSL_PLACE)
{
	return msl::fetch(place, value, msl::lane() + delta);
}

template <class T> T simd_shuffle_up(T value, ushort delta, MSL_PLACE)
{
	return msl::fetch(place, value, msl::lane() - delta);
}

inline void threadgroup_barrier(mem_flags, MSL_PLACE)
{
	msl::barrier(place);
}

} // namespace metal

#endif
