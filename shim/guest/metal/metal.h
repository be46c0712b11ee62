// The part of Metal's interface that the sample clients use.

#ifndef GUEST_METAL_H
#define GUEST_METAL_H

#include <objc/objc.h>

// What `name` returns: GNU's runtime has no NSString without Foundation.
@protocol GuestString
- (const char *)UTF8String;
@end

@protocol MTLDevice
- (BOOL)supportsFamily:(long)family;
- (unsigned long)maxThreadgroupMemoryLength;
- (id<GuestString>)name;
- (BOOL)hasUnifiedMemory;
- (unsigned long)maxBufferLength;
- (unsigned long)recommendedMaxWorkingSetSize;
@end

// Private on the real thing as well: asked by Apple's own MPS, never overridden.
@protocol MTLDeviceHost
- (BOOL)hostSupportsFamily:(long)family;
@end

// What MTLCopyAllDevices returns: no NSArray either.
@protocol GuestArray
- (unsigned long)count;
- (id)objectAtIndex:(unsigned long)index;
@end

// The default device, or nil. The same object at every call, as Metal does it.
id<MTLDevice> MTLCreateSystemDefaultDevice(void);

// All devices: the default one and, where a scenario has one, a sibling of another class.
id<GuestArray> MTLCopyAllDevices(void);

#endif
