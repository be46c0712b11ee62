// What the software device has to get right, or to catch. None of these ships.

#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

// Odd lanes sum up among themselves, then each lane as often as it is told, then some are gone.
kernel void partial_groups(device uint *results [[buffer(0)]],
                           uint lane [[thread_index_in_simdgroup]])
{
    device uint *own = results + 3 * lane;
    own[0] = 0;
    if (lane % 2)
        own[0] = simd_sum(lane);
    own[1] = 0;
    for (uint i = 0; i < lane % 3; i++)
        own[1] += simd_sum(1u);
    own[2] = 0;
    if (lane >= 20)
        return;
    own[2] = simd_sum(1u);
}

// Reads what another thread writes, and does not wait for it.
kernel void no_barrier(device uint *results [[buffer(0)]],
                       threadgroup uint *tile [[threadgroup(0)]],
                       uint index [[thread_position_in_threadgroup]],
                       uint count [[threads_per_threadgroup]])
{
    tile[index] = index;
    results[index] = tile[count - 1 - index];
}

kernel void barrier_of_some(device uint *results [[buffer(0)]],
                            uint index [[thread_position_in_threadgroup]])
{
    results[index] = index;
    if (index > 3)
        return;
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

kernel void two_barriers(device uint *results [[buffer(0)]],
                         uint index [[thread_position_in_threadgroup]])
{
    results[index] = index;
    if (index > 3)
        threadgroup_barrier(mem_flags::mem_threadgroup);
    else
        threadgroup_barrier(mem_flags::mem_device);
}

kernel void beyond_a_buffer(device uint *results [[buffer(0)]],
                            uint index [[thread_position_in_threadgroup]])
{
    results[index + 1] = index;
}

kernel void beyond_threadgroup_memory(device uint *results [[buffer(0)]],
                                      threadgroup uint *tile [[threadgroup(0)]],
                                      uint index [[thread_position_in_threadgroup]])
{
    tile[index + 1] = index;
    results[index] = tile[index];
}

kernel void product_of_some(device float *results [[buffer(0)]],
                            uint lane [[thread_index_in_simdgroup]])
{
    simdgroup_float8x8 sum = make_filled_simdgroup_matrix<float, 8>(1.0f);
    if (lane < 16)
        simdgroup_multiply_accumulate(sum, sum, sum, sum);
    simdgroup_store(sum, results, 8);
}
