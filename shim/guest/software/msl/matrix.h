// Matrices of 8x8 that a SIMD-group holds together, two elements a lane. Which two is not told:
// no kernel here looks at its own elements.

#ifndef MSL_MATRIX_H
#define MSL_MATRIX_H

#include "language.h"

namespace msl {

constexpr unsigned side = 8, per_lane = 2;

// All of one lane's part in a product.
template <class T, class L, class R> struct Factors {
	L left[per_lane];
	R right[per_lane];
	T sum[per_lane];
};

} // namespace msl

namespace metal {

template <class T, int rows, int columns> struct simdgroup_matrix {
	static_assert(rows == 8 && columns == 8);
	T own[msl::per_lane];
};

using simdgroup_half8x8 = simdgroup_matrix<half, 8, 8>;
using simdgroup_float8x8 = simdgroup_matrix<float, 8, 8>;

template <class T, int size> simdgroup_matrix<T, size, size> make_filled_simdgroup_matrix(T value)
{
	return {{value, value}};
}

// `Pointer` may be of any address space; `stride` is the distance of two rows in elements.
template <class T, class Pointer> void simdgroup_load(simdgroup_matrix<T, 8, 8> &matrix, Pointer from, ulong stride)
{
	for (unsigned i = 0; i < msl::per_lane; i++) {
		unsigned element = msl::lane() * msl::per_lane + i;
		matrix.own[i] = from[element / msl::side * stride + element % msl::side];
	}
}

template <class T, class Pointer> void simdgroup_store(const simdgroup_matrix<T, 8, 8> &matrix, Pointer to, ulong stride)
{
	for (unsigned i = 0; i < msl::per_lane; i++) {
		unsigned element = msl::lane() * msl::per_lane + i;
		to[element / msl::side * stride + element % msl::side] = matrix.own[i];
	}
}

// result = left right + sum
template <class T, class L, class R>
void simdgroup_multiply_accumulate(simdgroup_matrix<T, 8, 8> &result, const simdgroup_matrix<L, 8, 8> &left,
                                   const simdgroup_matrix<R, 8, 8> &right, const simdgroup_matrix<T, 8, 8> &sum, MSL_PLACE)
{
	using Factors = msl::Factors<T, L, R>;
	static const msl::Operation operation = {[](const msl::Operation *, unsigned mask, void *const *operands, void *const *results) {
		if (mask != ~0u)
			msl::misuse("a product of matrices is done by part of a SIMD-group");
		auto factors = [&](unsigned element) -> const Factors & { return msl::of<Factors>(operands, element / msl::per_lane); };
		for (unsigned element = 0; element < msl::side * msl::side; element++) {
			unsigned row = element / msl::side, column = element % msl::side, own = element % msl::per_lane;
			T all = factors(element).sum[own];
			for (unsigned k = 0; k < msl::side; k++) {
				unsigned l = row * msl::side + k, r = k * msl::side + column;
				all += T(factors(l).left[l % msl::per_lane]) * T(factors(r).right[r % msl::per_lane]);
				if (msl::half_sums())
					all = T(half(all));
			}
			static_cast<T *>(results[element / msl::per_lane])[own] = all;
		}
	}};
	Factors own;
	T out[msl::per_lane];
	for (unsigned i = 0; i < msl::per_lane; i++) {
		own.left[i] = left.own[i];
		own.right[i] = right.own[i];
		own.sum[i] = sum.own[i];
	}
	msl::together(place, &operation, &own, out);
	for (unsigned i = 0; i < msl::per_lane; i++)
		result.own[i] = out[i];
}

} // namespace metal

#endif
