#include "fiber.h"

#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

// Keeps what a function call keeps, stores the stack pointer in *from, and goes on with `to`.
extern "C" void msl_switch(void **from, void *to) asm("msl_switch");

#if defined(__x86_64__)
constexpr int kept = 6; // words that msl_switch leaves on a stack, without the address to go on at
asm(".text\n"
    ".globl msl_switch\n"
    "msl_switch:\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
    "  ret\n");
#elif defined(__aarch64__)
constexpr int kept = 20;
asm(".text\n"
    ".globl msl_switch\n"
    ".p2align 2\n"
    "msl_switch:\n"
    "  sub sp, sp, #160\n"
    "  stp x19, x20, [sp]\n  stp x21, x22, [sp, #16]\n  stp x23, x24, [sp, #32]\n  stp x25, x26, [sp, #48]\n"
    "  stp x27, x28, [sp, #64]\n  stp x29, x30, [sp, #80]\n"
    "  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n  stp d12, d13, [sp, #128]\n  stp d14, d15, [sp, #144]\n"
    "  mov x9, sp\n  str x9, [x0]\n  mov sp, x1\n"
    "  ldp x19, x20, [sp]\n  ldp x21, x22, [sp, #16]\n  ldp x23, x24, [sp, #32]\n  ldp x25, x26, [sp, #48]\n"
    "  ldp x27, x28, [sp, #64]\n  ldp x29, x30, [sp, #80]\n"
    "  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n  ldp d12, d13, [sp, #128]\n  ldp d14, d15, [sp, #144]\n"
    "  add sp, sp, #160\n"
    "  ret\n");
#else
#error "no switch between fibers for this processor"
#endif

struct Fiber {
	void *at; // its stack pointer while it does not run
	void (*work)(void *);
	void *context;
	bool ended;
};

constexpr size_t stack_size = 128 << 10;

static void *scheduler;  // the stack pointer of whoever runs fibers
static Fiber *running;   // null there
static std::vector<Fiber *> idle;

static void run_on_fiber()
{
	for (;;) {
		running->work(running->context);
		running->ended = true;
		fiber_wait();
	}
}

static Fiber *new_fiber()
{
	size_t guard = size_t(sysconf(_SC_PAGESIZE));
	void *memory = mmap(nullptr, guard + stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
	if (memory == MAP_FAILED || mprotect(memory, guard, PROT_NONE)) {
		perror("canary-device: no memory for a stack");
		exit(70);
	}
	void **stack = reinterpret_cast<void **>(static_cast<char *>(memory) + guard + stack_size);
#if defined(__x86_64__)
	*--stack = nullptr; // as if somebody had called
	*--stack = reinterpret_cast<void *>(run_on_fiber);
	for (int i = 0; i < kept; i++)
		*--stack = nullptr;
#else
	for (int i = 0; i < kept; i++)
		*--stack = nullptr;
	stack[11] = reinterpret_cast<void *>(run_on_fiber); // x30
#endif
	return new Fiber{stack, nullptr, nullptr, false};
}

void fiber_go_on(Fiber **fiber)
{
	running = *fiber;
	msl_switch(&scheduler, running->at);
	if ((*fiber)->ended) {
		idle.push_back(*fiber);
		*fiber = nullptr;
	}
	running = nullptr;
}

void fiber_start(void (*work)(void *), void *context, Fiber **fiber)
{
	if (idle.empty())
		idle.push_back(new_fiber());
	*fiber = idle.back();
	idle.pop_back();
	(*fiber)->work = work;
	(*fiber)->context = context;
	(*fiber)->ended = false;
	fiber_go_on(fiber);
}

void fiber_wait()
{
	msl_switch(&running->at, scheduler);
}

bool fiber_here()
{
	return running;
}

void fiber_abandon(Fiber **fiber)
{
	*fiber = nullptr;
}
