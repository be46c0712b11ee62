// Threadgroup memory of any size, and a buffer over the pages of a file.

#include <metal_stdlib>
using namespace metal;

static uint scramble(uint value)
{
    value = (value ^ (value >> 16)) * 0x85ebca6bu;
    value = (value ^ (value >> 13)) * 0xc2b2ae35u;
    return value ^ (value >> 16);
}

// Every word is written by one thread and read by another; every threadgroup has its own values,
// so that two which are given the same memory at a time show.
kernel void threadgroup_words(device const uint *seeds [[buffer(0)]],
                              device uint *results [[buffer(1)]],
                              constant uint &words [[buffer(2)]],
                              threadgroup uint *tile [[threadgroup(0)]],
                              uint group [[threadgroup_position_in_grid]],
                              uint first [[thread_position_in_threadgroup]],
                              uint step [[threads_per_threadgroup]])
{
    for (uint i = first; i < words; i += step)
        tile[i] = scramble(seeds[group] + i);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint sum = 0;
    for (uint i = first; i < words; i += step)
        sum = 31 * sum + tile[words - 1 - i];
    results[group * step + first] = sum;
}

struct Pages {
    ulong quads; // 16-byte units in a page
    ulong count;
};

// The first 16 bytes of every page.
kernel void file_pages(device const uint4 *file [[buffer(0)]],
                       device uint4 *stamps [[buffer(1)]],
                       constant Pages &pages [[buffer(2)]],
                       uint index [[thread_position_in_grid]])
{
    if (index < pages.count)
        stamps[index] = file[index * pages.quads];
}
