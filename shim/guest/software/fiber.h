// Fibers: a thread of a kernel runs on one, and gives way where it waits.

#ifndef SOFTWARE_FIBER_H
#define SOFTWARE_FIBER_H

// Runs `work(context)` on a fiber until it ends or calls fiber_wait.
struct Fiber;

// Starts the work on a fiber that is free, or a new one. Returns when it waits or has ended;
// *fiber is then the fiber to go on with, or null when it has ended.
void fiber_start(void (*work)(void *), void *context, Fiber **fiber);
// Goes on with one that waits. Returns as fiber_start does.
void fiber_go_on(Fiber **fiber);
// On a fiber: back to whoever started it or went on with it.
void fiber_wait();
// Whether this is a fiber.
bool fiber_here();
// Gives up one that waits and never goes on. Its stack is lost.
void fiber_abandon(Fiber **fiber);

#endif
