// Sums, extremes and shuffles across the 32 lanes of a SIMD-group.
//
// Every lane writes what it got, so that one wrong lane shows.

#include <metal_stdlib>
using namespace metal;

kernel void simd_sums(device const float *values [[buffer(0)]],
                      device float *sums [[buffer(1)]],
                      uint index [[thread_position_in_grid]])
{
    sums[index] = simd_sum(values[index]);
}

// Eight results a lane. What a shuffle brings from beyond the group is undefined: 0 is written.
kernel void simd_shuffles(device const uint *values [[buffer(0)]],
                          device uint *results [[buffer(1)]],
                          uint index [[thread_position_in_grid]],
                          uint lane [[thread_index_in_simdgroup]])
{
    const uint value = values[index];
    const uint down = simd_shuffle_down(value, ushort(4));
    const uint up = simd_shuffle_up(value, ushort(3));
    device uint *own = results + 8 * index;
    own[0] = simd_shuffle(value, ushort(31 - lane));
    own[1] = simd_shuffle_xor(value, ushort(16));
    own[2] = simd_shuffle_xor(value, ushort(5));
    own[3] = lane < 28 ? down : 0;
    own[4] = lane >= 3 ? up : 0;
    own[5] = simd_broadcast(value, ushort(7));
    own[6] = simd_max(value);
    own[7] = simd_min(value);
}
