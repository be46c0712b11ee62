// The classes behind the protocols of <Metal/Metal.h>. None of them does any work.

#ifndef OBJECTS_H
#define OBJECTS_H

#import <Metal/Metal.h>

#include "recorder.h"

// The root of all: a message that is not known is a finding, not an exception to be caught.
@interface RecorderObject : NSObject
{
	NSString *label;
}
@property(copy) NSString *label;
@end

@interface RecorderFunction : RecorderObject <MTLFunction>
{
@public
	NSString *name;
}
@end

@interface RecorderLibrary : RecorderObject <MTLLibrary>
@end

@interface RecorderPipeline : RecorderObject <MTLComputePipelineState>
{
@public
	const char *kernel;
}
@end

@interface RecorderBuffer : RecorderObject <MTLBuffer>
{
@public
	void *bytes;
	NSUInteger size;
	BOOL owned;
}
@end

@interface RecorderHeap : RecorderObject <MTLHeap>
{
@public
	NSUInteger size;
}
@end

@interface RecorderEvent : RecorderObject <MTLSharedEvent>
{
	uint64_t signaledValue;
}
@property uint64_t signaledValue;
@end

@interface RecorderEncoder : RecorderObject <MTLComputeCommandEncoder, MTLBlitCommandEncoder>
{
	const char *kernel;
	NSUInteger memory[32]; // bytes, by index
}
@end

@interface RecorderCommandBuffer : RecorderObject <MTLCommandBuffer>
{
	MTLCommandBufferStatus state;
}
@end

@interface RecorderQueue : RecorderObject <MTLCommandQueue>
@end

#endif
