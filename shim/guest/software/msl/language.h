// The words of the Metal Shading Language that the canary's kernels use, for clang.
//
// A kernel's file is compiled as it is, but for what the scanner (scan.cpp) does: qualifiers become
// the macros below and attributes are taken out. In the real build all address spaces are one; in
// the second pass, which only checks (MSL_ADDRESS_SPACES), they are different, so that a pointer of
// the wrong space is an error. What is not here does not compile: that is how one notices.
//
// Looser than Metal: recursion, double, and conversions that Metal wants written out.

#ifndef MSL_LANGUAGE_H
#define MSL_LANGUAGE_H

#ifdef MSL_ADDRESS_SPACES
#define MSL_DEVICE __attribute__((address_space(1)))
#define MSL_CONSTANT const __attribute__((address_space(2)))
#define MSL_THREADGROUP __attribute__((address_space(3)))
#else
#define MSL_DEVICE
#define MSL_CONSTANT const
#define MSL_THREADGROUP
#endif
#define MSL_THREAD
#define MSL_KERNEL static

using half = _Float16;
using bfloat = __bf16;
// The same as the C library's, where that has them.
using uint = unsigned int;
using ushort = unsigned short;
using ulong = unsigned long;

using uint2 = uint __attribute__((ext_vector_type(2)));
using uint4 = uint __attribute__((ext_vector_type(4)));
using float4 = float __attribute__((ext_vector_type(4)));

static_assert(sizeof(half) == 2 && sizeof(bfloat) == 2 && sizeof(ulong) == 8);

#undef INFINITY

namespace metal {

constexpr float INFINITY = __builtin_inff();

inline float exp(float x)
{
	return __builtin_expf(x);
}

inline float sqrt(float x)
{
	return __builtin_sqrtf(x);
}

inline float max(float a, float b)
{
	return __builtin_fmaxf(a, b);
}

inline float dot(float4 a, float4 b)
{
	return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

enum class mem_flags { mem_none, mem_device, mem_threadgroup };

} // namespace metal

#include "simd.h"

#endif
