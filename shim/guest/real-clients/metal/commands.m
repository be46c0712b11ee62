// Queues, command buffers and encoders: each dispatch is written down with the threadgroup
// memory that was asked for since its pipeline was set.

#include "objects.h"

#include <string.h>

@implementation RecorderEncoder
- (void)setComputePipelineState:(id<MTLComputePipelineState>)state
{
	kernel = ((RecorderPipeline *)state)->kernel;
	memset(memory, 0, sizeof memory);
}
- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index
{
	if (index < sizeof memory / sizeof memory[0])
		memory[index] = length;
}
- (void)dispatchThreadgroups:(MTLSize)groups threadsPerThreadgroup:(MTLSize)threads
{
	NSUInteger total = 0;
	for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++)
		total += memory[i];
	recorder_dispatch(kernel, total);
}
- (void)dispatchThreads:(MTLSize)threads threadsPerThreadgroup:(MTLSize)group
{
	[self dispatchThreadgroups:threads threadsPerThreadgroup:group];
}
- (void)setBytes:(const void *)bytes length:(NSUInteger)length atIndex:(NSUInteger)index
{
}
- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index
{
}
- (void)memoryBarrierWithScope:(NSUInteger)scope
{
}
- (void)copyFromBuffer:(id<MTLBuffer>)from
	       sourceOffset:(NSUInteger)from_offset
		   toBuffer:(id<MTLBuffer>)to
	  destinationOffset:(NSUInteger)to_offset
		       size:(NSUInteger)size
{
}
- (void)fillBuffer:(id<MTLBuffer>)buffer range:(NSRange)range value:(uint8_t)value
{
}
- (void)endEncoding
{
}
- (void)pushDebugGroup:(NSString *)name
{
}
- (void)popDebugGroup
{
}
@end

@implementation RecorderCommandBuffer
- (MTLCommandBufferStatus)status
{
	return state;
}
- (NSError *)error
{
	return nil;
}
- (void)enqueue
{
	state = MTLCommandBufferStatusEnqueued;
}
- (void)commit
{
	state = MTLCommandBufferStatusCompleted;
}
- (void)waitUntilCompleted
{
}
- (void)addCompletedHandler:(void (^)(id<MTLCommandBuffer>))handler
{
}
- (id<MTLComputeCommandEncoder>)computeCommandEncoder
{
	return [[RecorderEncoder new] autorelease];
}
- (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDispatchType:(MTLDispatchType)type
{
	return [self computeCommandEncoder];
}
- (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDescriptor:(id)descriptor
{
	return [self computeCommandEncoder];
}
- (id<MTLBlitCommandEncoder>)blitCommandEncoder
{
	return [[RecorderEncoder new] autorelease];
}
- (void)encodeSignalEvent:(id<MTLEvent>)event value:(uint64_t)value
{
}
- (void)encodeWaitForEvent:(id<MTLEvent>)event value:(uint64_t)value
{
}
@end

@implementation RecorderQueue
- (id<MTLDevice>)device
{
	return recorder_default_device();
}
- (id<MTLCommandBuffer>)commandBuffer
{
	return [[RecorderCommandBuffer new] autorelease];
}
- (id<MTLCommandBuffer>)commandBufferWithUnretainedReferences
{
	return [self commandBuffer];
}
- (void)addResidencySet:(id<MTLResidencySet>)set
{
}
@end
