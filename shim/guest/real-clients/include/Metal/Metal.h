// A stand-in for <Metal/Metal.h>: the part of its interface that ggml's Metal backend uses, from
// its 2024 versions to the current ones. Names and values are Metal's; metal/ implements them, and
// executes nothing. What a newer version uses beyond this fails to compile, or is told at run
// time by its selector: both are findings of `make client-watch`.

#ifndef REAL_CLIENTS_METAL_H
#define REAL_CLIENTS_METAL_H

#import <Foundation/Foundation.h>

#include "values.h"

// The program gets the recording device; the guest's own answers behind it.
#define MTLCreateSystemDefaultDevice recorder_default_device
#define MTLCopyAllDevices recorder_all_devices

@protocol MTLDevice;
@protocol MTLCommandBuffer;

@protocol MTLResource <NSObject>
@property(copy) NSString *label;
- (NSUInteger)setPurgeableState:(NSUInteger)state;
@end

@protocol MTLBuffer <MTLResource>
@property(readonly) NSUInteger length;
@property(readonly) NSUInteger gpuAddress;
- (void *)contents;
@end

@protocol MTLHeap <NSObject>
@property(readonly) NSUInteger size;
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(NSUInteger)options offset:(NSUInteger)offset;
- (NSUInteger)setPurgeableState:(NSUInteger)state;
- (NSUInteger)currentAllocatedSize;
@end

@protocol MTLFunction <NSObject>
@property(readonly) NSString *name;
@end

@protocol MTLLibrary <NSObject>
@property(copy) NSString *label;
@property(readonly) NSArray *functionNames;
- (id<MTLFunction>)newFunctionWithName:(NSString *)name;
- (id<MTLFunction>)newFunctionWithName:(NSString *)name constantValues:(id)values error:(NSError **)error;
@end

@protocol MTLComputePipelineState <NSObject>
@property(readonly) NSUInteger maxTotalThreadsPerThreadgroup;
@property(readonly) NSUInteger threadExecutionWidth;
@property(readonly) NSUInteger staticThreadgroupMemoryLength;
@end

@protocol MTLCommandEncoder <NSObject>
@property(copy) NSString *label;
- (void)endEncoding;
- (void)pushDebugGroup:(NSString *)name;
- (void)popDebugGroup;
@end

@protocol MTLComputeCommandEncoder <MTLCommandEncoder>
- (void)setComputePipelineState:(id<MTLComputePipelineState>)state;
- (void)setBytes:(const void *)bytes length:(NSUInteger)length atIndex:(NSUInteger)index;
- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index;
- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index;
- (void)dispatchThreadgroups:(MTLSize)groups threadsPerThreadgroup:(MTLSize)threads;
- (void)dispatchThreads:(MTLSize)threads threadsPerThreadgroup:(MTLSize)group;
- (void)memoryBarrierWithScope:(NSUInteger)scope;
@end

@protocol MTLBlitCommandEncoder <MTLCommandEncoder>
- (void)copyFromBuffer:(id<MTLBuffer>)from
	       sourceOffset:(NSUInteger)from_offset
		   toBuffer:(id<MTLBuffer>)to
	  destinationOffset:(NSUInteger)to_offset
		       size:(NSUInteger)size;
- (void)fillBuffer:(id<MTLBuffer>)buffer range:(NSRange)range value:(uint8_t)value;
@end

@protocol MTLEvent <NSObject>
@end

@protocol MTLSharedEvent <MTLEvent>
@property uint64_t signaledValue;
- (BOOL)waitUntilSignaledValue:(uint64_t)value timeoutMS:(uint64_t)milliseconds;
@end

@protocol MTLCommandBuffer <NSObject>
@property(copy) NSString *label;
@property(readonly) MTLCommandBufferStatus status;
@property(readonly) NSError *error;
- (void)enqueue;
- (void)commit;
- (void)waitUntilCompleted;
- (void)addCompletedHandler:(void (^)(id<MTLCommandBuffer>))handler;
- (id<MTLComputeCommandEncoder>)computeCommandEncoder;
- (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDispatchType:(MTLDispatchType)type;
- (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDescriptor:(id)descriptor;
- (id<MTLBlitCommandEncoder>)blitCommandEncoder;
- (void)encodeSignalEvent:(id<MTLEvent>)event value:(uint64_t)value;
- (void)encodeWaitForEvent:(id<MTLEvent>)event value:(uint64_t)value;
@end

@protocol MTLResidencySet <NSObject>
- (void)addAllocation:(id)allocation;
- (void)commit;
- (void)requestResidency;
- (void)endResidency;
- (void)removeAllAllocations;
@end

@protocol MTLCommandQueue <NSObject>
@property(copy) NSString *label;
@property(readonly) id<MTLDevice> device;
- (id<MTLCommandBuffer>)commandBuffer;
- (id<MTLCommandBuffer>)commandBufferWithUnretainedReferences;
- (void)addResidencySet:(id<MTLResidencySet>)set;
@end

@protocol MTLDevice <NSObject>
// Asked of the guest's device, and counted.
- (BOOL)supportsFamily:(MTLGPUFamily)family;
@property(readonly) NSUInteger maxThreadgroupMemoryLength;
// The guest's, not counted.
@property(readonly) NSString *name;
// Answered by the stand-in, as the published logs of such a guest show them.
@property(readonly) BOOL hasUnifiedMemory;
@property(readonly) uint64_t recommendedMaxWorkingSetSize;
@property(readonly) NSUInteger maxBufferLength;
@property(readonly) NSUInteger currentAllocatedSize;
@property(readonly) NSUInteger maxTransferRate;
@property(readonly) NSUInteger location;
- (id<MTLCommandQueue>)newCommandQueue;
- (id<MTLCommandQueue>)newCommandQueueWithMaxCommandBufferCount:(NSUInteger)count;
- (id<MTLLibrary>)newDefaultLibrary;
- (id<MTLLibrary>)newLibraryWithURL:(NSURL *)url error:(NSError **)error;
- (id<MTLLibrary>)newLibraryWithSource:(NSString *)source options:(id)options error:(NSError **)error;
- (id<MTLComputePipelineState>)newComputePipelineStateWithFunction:(id<MTLFunction>)function error:(NSError **)error;
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(NSUInteger)options;
- (id<MTLBuffer>)newBufferWithBytes:(const void *)bytes length:(NSUInteger)length options:(NSUInteger)options;
- (id<MTLBuffer>)newBufferWithBytesNoCopy:(void *)bytes
				   length:(NSUInteger)length
				  options:(NSUInteger)options
			      deallocator:(void (^)(void *, NSUInteger))deallocator;
- (id<MTLHeap>)newHeapWithDescriptor:(id)descriptor;
- (MTLSizeAndAlign)heapBufferSizeAndAlignWithLength:(NSUInteger)length options:(NSUInteger)options;
- (id<MTLSharedEvent>)newSharedEvent;
- (id<MTLEvent>)newEvent;
- (id<MTLResidencySet>)newResidencySetWithDescriptor:(id)descriptor error:(NSError **)error;
@end

// Created by the program, read by nobody here. (GNU's runtime has no instance variables that are
// declared by a property alone.)
@interface MTLCompileOptions : NSObject
{
	NSDictionary *preprocessorMacros;
	MTLLanguageVersion languageVersion;
	BOOL fastMathEnabled;
}
@property(retain) NSDictionary *preprocessorMacros;
@property MTLLanguageVersion languageVersion;
@property BOOL fastMathEnabled;
@end

@interface MTLFunctionConstantValues : NSObject
- (void)setConstantValue:(const void *)value type:(MTLDataType)type atIndex:(NSUInteger)index;
@end

@interface MTLComputePassDescriptor : NSObject
{
	MTLDispatchType dispatchType;
}
+ (instancetype)computePassDescriptor;
@property MTLDispatchType dispatchType;
@end

@interface MTLHeapDescriptor : NSObject
{
	NSUInteger size, storageMode, cpuCacheMode, hazardTrackingMode, type;
}
@property NSUInteger size, storageMode, cpuCacheMode, hazardTrackingMode, type;
@end

@interface MTLResidencySetDescriptor : NSObject
{
	NSString *label;
	NSUInteger initialCapacity;
}
@property(copy) NSString *label;
@property NSUInteger initialCapacity;
@end

@protocol MTLCaptureScope <NSObject>
@property(copy) NSString *label;
- (void)beginScope;
- (void)endScope;
@end

@interface MTLCaptureDescriptor : NSObject
{
	id captureObject;
	NSUInteger destination;
	NSURL *outputURL;
}
@property(retain) id captureObject;
@property NSUInteger destination;
@property(retain) NSURL *outputURL;
@end

@interface MTLCaptureManager : NSObject
+ (instancetype)sharedCaptureManager;
- (BOOL)startCaptureWithDescriptor:(MTLCaptureDescriptor *)descriptor error:(NSError **)error;
- (void)stopCapture;
- (id<MTLCaptureScope>)newCaptureScopeWithDevice:(id<MTLDevice>)device;
- (id<MTLCaptureScope>)newCaptureScopeWithCommandQueue:(id<MTLCommandQueue>)queue;
@end

id<MTLDevice> recorder_default_device(void);
NSArray *recorder_all_devices(void);

#endif
