// Read before every Objective-C file of the client: what an arm64 Mac's own headers would say.

#ifndef REAL_CLIENTS_PREFIX_H
#define REAL_CLIENTS_PREFIX_H

#define TARGET_OS_OSX 1
#define TARGET_OS_IOS 0
#define TARGET_OS_TV 0
#define TARGET_OS_VISION 0
#define TARGET_CPU_ARM64 1
#define TARGET_CPU_X86_64 0

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "dispatch/dispatch.h"

// Memory from the Mach kernel. The pages are not touched: most of what is asked for here never is.
typedef int kern_return_t;
typedef unsigned vm_map_t;
typedef uintptr_t vm_address_t;
typedef size_t vm_size_t;
#define KERN_SUCCESS 0
#define VM_FLAGS_ANYWHERE 1
#define mach_task_self() 0u

static inline kern_return_t vm_allocate(vm_map_t task, void *address, size_t size, int flags)
{
	(void)task;
	(void)flags;
	return posix_memalign((void **)address, (size_t)sysconf(_SC_PAGESIZE), size ? size : 1);
}

static inline kern_return_t vm_deallocate(vm_map_t task, vm_address_t address, size_t size)
{
	(void)task;
	(void)size;
	free((void *)address);
	return KERN_SUCCESS;
}

#endif
