// Products of matrices by 8x8 tiles, one SIMD-group a tile of the result: C = A B, all of them
// row by row, with sides that are multiples of 8.

#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

struct Sides {
    uint inner;   // columns of A, rows of B
    uint columns; // of B and C
};

// Half times half into float, the tiles brought through threadgroup memory, as llama.cpp does it.
kernel void matrix_half(device const half *a [[buffer(0)]],
                        device const half *b [[buffer(1)]],
                        device float *c [[buffer(2)]],
                        constant Sides &sides [[buffer(3)]],
                        threadgroup half *tiles [[threadgroup(0)]],
                        uint2 tile [[threadgroup_position_in_grid]],
                        uint lane [[thread_index_in_simdgroup]])
{
    threadgroup half *left_tile = tiles;
    threadgroup half *right_tile = tiles + 64;
    simdgroup_float8x8 sum = make_filled_simdgroup_matrix<float, 8>(0.0f);
    for (uint k = 0; k < sides.inner; k += 8) {
        for (uint i = lane; i < 64; i += 32) {
            left_tile[i] = a[(8 * tile.y + i / 8) * sides.inner + k + i % 8];
            right_tile[i] = b[(k + i / 8) * sides.columns + 8 * tile.x + i % 8];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_half8x8 left;
        simdgroup_half8x8 right;
        simdgroup_load(left, left_tile, 8);
        simdgroup_load(right, right_tile, 8);
        simdgroup_multiply_accumulate(sum, left, right, sum);
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    simdgroup_store(sum, c + 8 * tile.y * sides.columns + 8 * tile.x, sides.columns);
}

// Float times float, straight from device memory.
kernel void matrix_float(device const float *a [[buffer(0)]],
                         device const float *b [[buffer(1)]],
                         device float *c [[buffer(2)]],
                         constant Sides &sides [[buffer(3)]],
                         uint2 tile [[threadgroup_position_in_grid]])
{
    simdgroup_float8x8 sum = make_filled_simdgroup_matrix<float, 8>(0.0f);
    for (uint k = 0; k < sides.inner; k += 8) {
        simdgroup_float8x8 left;
        simdgroup_float8x8 right;
        simdgroup_load(left, a + 8 * tile.y * sides.inner + k, sides.inner);
        simdgroup_load(right, b + k * sides.columns + 8 * tile.x, sides.columns);
        simdgroup_multiply_accumulate(sum, left, right, sum);
    }
    simdgroup_store(sum, c + 8 * tile.y * sides.columns + 8 * tile.x, sides.columns);
}
