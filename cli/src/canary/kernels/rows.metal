// Soft-max and RMS-norm over rows, one threadgroup a row, in the shapes that llama.cpp uses: a
// reduction in every SIMD-group, then one over what the groups found.

#include <metal_stdlib>
using namespace metal;

struct SoftMax {
    uint columns;
    float scale;
};

// `partial` has room for 32 values: a threadgroup has at most 32 SIMD-groups.
kernel void soft_max(device const float *scores [[buffer(0)]],
                     device const half *mask [[buffer(1)]],
                     device float *results [[buffer(2)]],
                     constant SoftMax &args [[buffer(3)]],
                     threadgroup float *partial [[threadgroup(0)]],
                     uint row [[threadgroup_position_in_grid]],
                     uint first [[thread_position_in_threadgroup]],
                     uint step [[threads_per_threadgroup]],
                     uint lane [[thread_index_in_simdgroup]],
                     uint group [[simdgroup_index_in_threadgroup]])
{
    device const float *own = scores + row * args.columns;
    device float *out = results + row * args.columns;

    float highest = -INFINITY;
    for (uint i = first; i < args.columns; i += step)
        highest = max(highest, own[i] * args.scale + float(mask[i]));
    highest = simd_max(highest);
    if (group == 0)
        partial[lane] = -INFINITY;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lane == 0)
        partial[group] = highest;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    highest = simd_max(partial[lane]);
    threadgroup_barrier(mem_flags::mem_threadgroup);

    float sum = 0.0f;
    for (uint i = first; i < args.columns; i += step) {
        const float power = exp(own[i] * args.scale + float(mask[i]) - highest);
        out[i] = power;
        sum += power;
    }
    sum = simd_sum(sum);
    if (group == 0)
        partial[lane] = 0.0f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lane == 0)
        partial[group] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sum = simd_sum(partial[lane]);

    for (uint i = first; i < args.columns; i += step)
        out[i] = out[i] / sum;
}

struct RmsNorm {
    uint quads; // columns / 4
    float epsilon;
};

kernel void rms_norm(device const float4 *values [[buffer(0)]],
                     device float4 *results [[buffer(1)]],
                     constant RmsNorm &args [[buffer(2)]],
                     threadgroup float *partial [[threadgroup(0)]],
                     uint row [[threadgroup_position_in_grid]],
                     uint first [[thread_position_in_threadgroup]],
                     uint step [[threads_per_threadgroup]],
                     uint lane [[thread_index_in_simdgroup]],
                     uint group [[simdgroup_index_in_threadgroup]])
{
    device const float4 *own = values + row * args.quads;
    device float4 *out = results + row * args.quads;

    float sum = 0.0f;
    for (uint i = first; i < args.quads; i += step)
        sum += dot(own[i], own[i]);
    sum = simd_sum(sum);
    if (group == 0)
        partial[lane] = 0.0f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lane == 0)
        partial[group] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sum = simd_sum(partial[lane]);

    const float scale = 1.0f / sqrt(sum / float(4 * args.quads) + args.epsilon);
    for (uint i = first; i < args.quads; i += step)
        out[i] = own[i] * scale;
}
