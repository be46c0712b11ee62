// Constants and plain structures of Metal, with Metal's values.

#ifndef REAL_CLIENTS_VALUES_H
#define REAL_CLIENTS_VALUES_H

typedef enum {
	MTLGPUFamilyApple1 = 1001,
	MTLGPUFamilyApple2,
	MTLGPUFamilyApple3,
	MTLGPUFamilyApple4,
	MTLGPUFamilyApple5,
	MTLGPUFamilyApple6,
	MTLGPUFamilyApple7,
	MTLGPUFamilyApple8,
	MTLGPUFamilyApple9,
	MTLGPUFamilyApple10,
	MTLGPUFamilyMac1 = 2001,
	MTLGPUFamilyMac2,
	MTLGPUFamilyCommon1 = 3001,
	MTLGPUFamilyCommon2,
	MTLGPUFamilyCommon3,
	MTLGPUFamilyMetal3 = 5001,
	MTLGPUFamilyMetal4,
} MTLGPUFamily;

typedef enum {
	MTLCommandBufferStatusNotEnqueued,
	MTLCommandBufferStatusEnqueued,
	MTLCommandBufferStatusCommitted,
	MTLCommandBufferStatusScheduled,
	MTLCommandBufferStatusCompleted,
	MTLCommandBufferStatusError,
} MTLCommandBufferStatus;

typedef enum { MTLDispatchTypeSerial, MTLDispatchTypeConcurrent } MTLDispatchType;
typedef enum { MTLDataTypeInt = 29, MTLDataTypeShort = 37, MTLDataTypeBool = 53 } MTLDataType;
typedef NSUInteger MTLLanguageVersion;

enum {
	MTLResourceCPUCacheModeDefaultCache = 0,
	MTLResourceStorageModeShared = 0,
	MTLResourceStorageModePrivate = 2 << 4,
	MTLResourceHazardTrackingModeUntracked = 1 << 8,
	MTLStorageModeShared = 0,
	MTLStorageModePrivate = 2,
	MTLCPUCacheModeDefaultCache = 0,
	MTLHazardTrackingModeUntracked = 1,
	MTLHeapTypePlacement = 1,
	MTLPurgeableStateNonVolatile = 2,
	MTLPurgeableStateVolatile = 3,
	MTLPurgeableStateEmpty = 4,
	MTLBarrierScopeBuffers = 1,
	MTLCaptureDestinationDeveloperTools = 1,
	MTLCaptureDestinationGPUTraceDocument = 2,
	MTLDeviceLocationExternal = 2,
};

typedef struct {
	NSUInteger width, height, depth;
} MTLSize;

typedef struct {
	NSUInteger size, align;
} MTLSizeAndAlign;

static inline MTLSize MTLSizeMake(NSUInteger width, NSUInteger height, NSUInteger depth)
{
	return (MTLSize){ width, height, depth };
}

#endif
