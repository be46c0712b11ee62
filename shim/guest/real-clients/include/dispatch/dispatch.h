// A stand-in for libdispatch that does everything at once, on the calling thread: recording needs
// no second thread, and what is recorded is then the same every time.

#ifndef REAL_CLIENTS_DISPATCH_H
#define REAL_CLIENTS_DISPATCH_H

#include <stddef.h>
#include <stdint.h>

typedef struct standin_queue *dispatch_queue_t;
typedef struct standin_group *dispatch_group_t;
typedef struct standin_semaphore *dispatch_semaphore_t;
typedef uint64_t dispatch_time_t;
typedef void (^dispatch_block_t)(void);

#define DISPATCH_QUEUE_CONCURRENT ((void *)0)
#define DISPATCH_QUEUE_SERIAL ((void *)0)
#define DISPATCH_TIME_FOREVER (~(dispatch_time_t)0)
#define QOS_CLASS_DEFAULT 0x15
#define QOS_CLASS_USER_INITIATED 0x19

// Never nil, never used.
#define STANDIN_OBJECT ((void *)16)
#define dispatch_queue_create(name, attributes) ((dispatch_queue_t)STANDIN_OBJECT)
#define dispatch_get_global_queue(quality, flags) ((dispatch_queue_t)STANDIN_OBJECT)
#define dispatch_group_create() ((dispatch_group_t)STANDIN_OBJECT)
#define dispatch_semaphore_create(value) ((dispatch_semaphore_t)STANDIN_OBJECT)
#define dispatch_semaphore_signal(semaphore) ((void)(semaphore), 0L)
#define dispatch_semaphore_wait(semaphore, time) ((void)(semaphore), 0L)
#define dispatch_group_wait(group, time) ((void)(group), 0L)
#define dispatch_release(object) ((void)(object))
#define dispatch_retain(object) ((void)(object))

static inline void dispatch_apply(size_t count, dispatch_queue_t queue, void (^block)(size_t))
{
	(void)queue;
	for (size_t i = 0; i < count; i++)
		block(i);
}

static inline void dispatch_async(dispatch_queue_t queue, dispatch_block_t block)
{
	(void)queue;
	block();
}

static inline void dispatch_sync(dispatch_queue_t queue, dispatch_block_t block)
{
	(void)queue;
	block();
}

static inline void dispatch_group_async(dispatch_group_t group, dispatch_queue_t queue, dispatch_block_t block)
{
	(void)group;
	(void)queue;
	block();
}

#include <Block.h>

#endif
