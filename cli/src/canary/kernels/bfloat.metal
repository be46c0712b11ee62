// Arithmetic of bfloat: a sum, a product, and a product and sum in float, rounded once.

#include <metal_stdlib>
using namespace metal;

kernel void bfloat_arithmetic(device const bfloat *a [[buffer(0)]],
                              device const bfloat *b [[buffer(1)]],
                              device const bfloat *c [[buffer(2)]],
                              device bfloat *results [[buffer(3)]],
                              uint index [[thread_position_in_grid]])
{
    device bfloat *own = results + 3 * index;
    own[0] = a[index] + b[index];
    own[1] = a[index] * b[index];
    own[2] = bfloat(float(a[index]) * float(b[index]) + float(c[index]));
}
