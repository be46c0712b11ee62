// What Debian 12's libgcc lacks: float to bfloat, to the nearest, ties to even.

#include <cstring>

extern "C" __attribute__((weak)) __bf16 __truncsfbf2(float value)
{
	unsigned bits;
	memcpy(&bits, &value, sizeof bits);
	if ((bits & 0x7fffffffu) > 0x7f800000u)
		bits |= 0x400000u; // NaN stays NaN
	else
		bits += 0x7fffu + (bits >> 16 & 1);
	unsigned short upper = static_cast<unsigned short>(bits >> 16);
	__bf16 result;
	memcpy(&result, &upper, sizeof result);
	return result;
}
