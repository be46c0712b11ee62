// The device that the client gets: families, threadgroup memory and name come from the simulated
// guest's own device, through the Objective-C runtime, so that the shim is between. The client's
// calls are counted here, in front of it; what the shim asks by itself is not seen.

#include "objects.h"

#include <stdlib.h>
#include <string.h>

// The guest's libMetal.
@protocol GuestText
- (const char *)UTF8String;
@end
@protocol GuestDevice
- (BOOL)supportsFamily:(long)family;
- (unsigned long)maxThreadgroupMemoryLength;
- (id<GuestText>)name;
@end
#undef MTLCreateSystemDefaultDevice
extern id MTLCreateSystemDefaultDevice(void);

static id<GuestDevice> guest(void)
{
	static id<GuestDevice> device;
	if (!device)
		device = MTLCreateSystemDefaultDevice();
	return device;
}

@interface RecorderDevice : RecorderObject <MTLDevice>
@end

@implementation RecorderDevice
- (BOOL)supportsFamily:(MTLGPUFamily)family
{
	recorder_family(family);
	return [guest() supportsFamily:family];
}
- (NSUInteger)maxThreadgroupMemoryLength
{
	recorder_memory();
	return [guest() maxThreadgroupMemoryLength];
}
- (NSString *)name
{
	return [NSString stringWithUTF8String:[[guest() name] UTF8String]];
}
- (BOOL)hasUnifiedMemory
{
	return YES;
}
- (uint64_t)recommendedMaxWorkingSetSize
{
	// Bytes; 11453.25 MB in the published logs of the guest.
	return 11453250000;
}
- (NSUInteger)maxBufferLength
{
	// Bytes. Large enough that nothing here is split.
	return 1ul << 34;
}
- (NSUInteger)currentAllocatedSize
{
	return 0;
}
- (NSUInteger)maxTransferRate
{
	return 0;
}
- (NSUInteger)location
{
	return 0;
}
- (id<MTLCommandQueue>)newCommandQueue
{
	return [RecorderQueue new];
}
- (id<MTLCommandQueue>)newCommandQueueWithMaxCommandBufferCount:(NSUInteger)count
{
	return [RecorderQueue new];
}
- (id<MTLLibrary>)newDefaultLibrary
{
	return [RecorderLibrary new];
}
- (id<MTLLibrary>)newLibraryWithURL:(NSURL *)url error:(NSError **)error
{
	return [RecorderLibrary new];
}
- (id<MTLLibrary>)newLibraryWithSource:(NSString *)source options:(id)options error:(NSError **)error
{
	return [RecorderLibrary new];
}
- (id<MTLComputePipelineState>)newComputePipelineStateWithFunction:(id<MTLFunction>)function error:(NSError **)error
{
	RecorderPipeline *pipeline = [RecorderPipeline new];
	pipeline->kernel = strdup([[function name] UTF8String]);
	return pipeline;
}
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(NSUInteger)options
{
	RecorderBuffer *buffer = [RecorderBuffer new];
	buffer->size = length;
	buffer->owned = YES;
	if (posix_memalign(&buffer->bytes, (size_t)getpagesize(), length ? length : 1))
		return nil;
	return buffer;
}
- (id<MTLBuffer>)newBufferWithBytes:(const void *)bytes length:(NSUInteger)length options:(NSUInteger)options
{
	RecorderBuffer *buffer = (RecorderBuffer *)[self newBufferWithLength:length options:options];
	if (buffer)
		memcpy(buffer->bytes, bytes, length);
	return buffer;
}
- (id<MTLBuffer>)newBufferWithBytesNoCopy:(void *)bytes
				   length:(NSUInteger)length
				  options:(NSUInteger)options
			      deallocator:(void (^)(void *, NSUInteger))deallocator
{
	RecorderBuffer *buffer = [RecorderBuffer new];
	buffer->bytes = bytes;
	buffer->size = length;
	return buffer;
}
- (id<MTLHeap>)newHeapWithDescriptor:(id)descriptor
{
	RecorderHeap *heap = [RecorderHeap new];
	heap->size = [(MTLHeapDescriptor *)descriptor size];
	return heap;
}
- (MTLSizeAndAlign)heapBufferSizeAndAlignWithLength:(NSUInteger)length options:(NSUInteger)options
{
	return (MTLSizeAndAlign){ length, 256 };
}
- (id<MTLSharedEvent>)newSharedEvent
{
	return [RecorderEvent new];
}
- (id<MTLEvent>)newEvent
{
	return [RecorderEvent new];
}
- (id<MTLResidencySet>)newResidencySetWithDescriptor:(id)descriptor error:(NSError **)error
{
	// As the paravirtual device does it.
	return nil;
}
@end

id<MTLDevice> recorder_default_device(void)
{
	static RecorderDevice *device;
	if (!device && guest())
		device = [RecorderDevice new];
	return [device retain];
}

void recorder_start(void)
{
	// Never drained: the program is short, and the client's own pools are inside this one.
	[NSAutoreleasePool new];
}

NSArray *recorder_all_devices(void)
{
	return [[NSArray alloc] initWithObjects:recorder_default_device(), nil];
}

unsigned long recorder_told_memory(void)
{
	return [guest() maxThreadgroupMemoryLength];
}

long recorder_told_family(void)
{
	for (long family = 1021; family >= 1001; family--)
		if ([guest() supportsFamily:family])
			return family;
	return 0;
}
