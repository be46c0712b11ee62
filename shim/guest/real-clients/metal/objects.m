// Libraries, pipelines, buffers and what is made by naming it: every kernel exists.

#include "objects.h"

#include <stdlib.h>
#include <string.h>

@implementation RecorderObject
@synthesize label;
- (void)doesNotRecognizeSelector:(SEL)selector
{
	recorder_unknown([NSStringFromClass([self class]) UTF8String], sel_getName(selector));
}
@end

@implementation RecorderFunction
- (NSString *)name
{
	return name;
}
- (void)dealloc
{
	[name release];
	[super dealloc];
}
@end

@implementation RecorderLibrary
- (NSArray *)functionNames
{
	return [NSArray array];
}
- (id<MTLFunction>)newFunctionWithName:(NSString *)name
{
	RecorderFunction *function = [RecorderFunction new];
	function->name = [name copy];
	return function;
}
- (id<MTLFunction>)newFunctionWithName:(NSString *)name constantValues:(id)values error:(NSError **)error
{
	return [self newFunctionWithName:name];
}
@end

@implementation RecorderPipeline
// What an Apple GPU reports for most kernels.
- (NSUInteger)maxTotalThreadsPerThreadgroup
{
	return 1024;
}
- (NSUInteger)threadExecutionWidth
{
	return 32;
}
- (NSUInteger)staticThreadgroupMemoryLength
{
	return 0;
}
@end

@implementation RecorderBuffer
- (NSUInteger)length
{
	return size;
}
- (NSUInteger)gpuAddress
{
	return (NSUInteger)bytes;
}
- (void *)contents
{
	return bytes;
}
- (NSUInteger)setPurgeableState:(NSUInteger)state
{
	return state;
}
- (void)dealloc
{
	if (owned)
		free(bytes);
	[super dealloc];
}
@end

@implementation RecorderHeap
- (NSUInteger)size
{
	return size;
}
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(NSUInteger)options offset:(NSUInteger)offset
{
	return [recorder_default_device() newBufferWithLength:length options:options];
}
- (NSUInteger)setPurgeableState:(NSUInteger)state
{
	return state;
}
- (NSUInteger)currentAllocatedSize
{
	return 0;
}
@end

@implementation RecorderEvent
@synthesize signaledValue;
- (BOOL)waitUntilSignaledValue:(uint64_t)value timeoutMS:(uint64_t)milliseconds
{
	return YES;
}
@end

@implementation MTLCompileOptions
@synthesize preprocessorMacros, languageVersion, fastMathEnabled;
@end

@implementation MTLFunctionConstantValues
- (void)setConstantValue:(const void *)value type:(MTLDataType)type atIndex:(NSUInteger)index
{
}
@end

@implementation MTLComputePassDescriptor
@synthesize dispatchType;
+ (instancetype)computePassDescriptor
{
	return [[self new] autorelease];
}
@end

@implementation MTLHeapDescriptor
@synthesize size, storageMode, cpuCacheMode, hazardTrackingMode, type;
@end

@implementation MTLResidencySetDescriptor
@synthesize label, initialCapacity;
@end

@implementation MTLCaptureDescriptor
@synthesize captureObject, destination, outputURL;
@end

@implementation MTLCaptureManager
+ (instancetype)sharedCaptureManager
{
	return nil;
}
- (BOOL)startCaptureWithDescriptor:(MTLCaptureDescriptor *)descriptor error:(NSError **)error
{
	return NO;
}
- (void)stopCapture
{
}
- (id<MTLCaptureScope>)newCaptureScopeWithDevice:(id<MTLDevice>)device
{
	return nil;
}
- (id<MTLCaptureScope>)newCaptureScopeWithCommandQueue:(id<MTLCommandQueue>)queue
{
	return nil;
}
@end
