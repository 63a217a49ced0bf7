// SPDX-License-Identifier: BSD-2-Clause
/*
 * chain MODE [NUMBER]: calls read from a stack that is known. Each byte of input is one read, all of
 * them from one place: so the one that is waited in has the stack of those that follow. 'q' ends
 * the wait.
 *   plain      main, one, two, three, wait_here
 *   deep       NUMBER frames of one function
 *   syscall    by libc's syscall(), which is written in assembler
 *   realigned  below a function whose stack is realigned and grows (DRAP)
 *   timer      from a handler of a signal that came into a loop
 *   altstack   the same on a stack of its own
 *   fault      from a handler of a signal at the very first instruction of a function
 *   steps      from a handler that is called after each of the NUMBER instructions of a return and
 *              of a call through the PLT, whose stub goes to the linker
 *   threads    in NUMBER threads
 *   vfork      in a child that borrows its parent's memory
 *   turns      sleeps for ever, below 16 frames of a function and 10 of another one in turn
 * fault and steps are there on x86-64 alone.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

/* After a call: or it would be a jump, and its caller would be in no stack. */
#define BARRIER() __asm__ volatile("" ::: "memory")

static volatile int sink;
static volatile bool stop;

static NOINLINE void wait_here(void)
{
	char byte;

	do {
		if (read(STDIN_FILENO, &byte, 1) != 1)
			_exit(3);
	} while (byte != 'q');
	BARRIER();
}

static NOINLINE void wait_by_number(void)
{
	char byte;

	do {
		if (syscall(SYS_read, STDIN_FILENO, &byte, 1) != 1)
			_exit(3);
	} while (byte != 'q');
	BARRIER();
}

static NOINLINE void three(void (*wait)(void))
{
	wait();
	BARRIER();
}

static NOINLINE void two(void (*wait)(void))
{
	volatile int local[100];

	local[sink & 63] = 1;
	three(wait);
	sink += local[99];
	BARRIER();
}

/* Many registers to save, and a frame of a size that is known only when it runs. */
NOINLINE int one(void (*wait)(void), int size)
{
	volatile char *grown = alloca((size_t)size);

	grown[0] = 1;
	two(wait);
	BARRIER();
	return grown[0] + size;
}

static NOINLINE int deeper(int left)
{
	volatile int here = left;

	if (left > 1)
		sink = deeper(left - 1);
	else
		wait_here();
	BARRIER();
	return here;
}

static NOINLINE int realigned(int size, int a, int b, int c, int d, int e, int on_stack)
{
	alignas(64) volatile char line[64];
	volatile char *grown = alloca((size_t)size);

	line[size & 63] = 1;
	grown[0] = line[0];
	one(wait_here, size);
	return grown[0] + line[1] + a + b + c + d + e + on_stack;
}

/* --- signals ---------------------------------------------------------------------------------- */

static void on_alarm(int signal)
{
	one(wait_here, 32);
	stop = true;
}

static NOINLINE void spin(void)
{
	while (!stop)
		sink++;
	BARRIER();
}

static void interrupt_spin(int flags)
{
	static char stack[1 << 16];
	stack_t other = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = flags };
	struct itimerval soon = { .it_value = { .tv_usec = 10000 } };

	sigaltstack(&other, NULL);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	spin();
}

#if defined(__x86_64__)
/* The byte before it belongs to no function that could be called. */
void fault(void);
__asm__(".text\n\t.p2align 4\n\tnop\n\t.globl fault\n\t.type fault, @function\n"
	"fault:\n\t.cfi_startproc\n\tud2\n\tret\n\t.cfi_endproc\n\t.size fault, . - fault\n");

static void on_fault(int signal, siginfo_t *info, void *context)
{
	one(wait_here, 32);
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

static NOINLINE void step_over_fault(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	sigaction(SIGILL, &action, NULL);
	fault();
	BARRIER();
}

static volatile int steps_left;

static void on_step(int signal, siginfo_t *info, void *context)
{
	wait_here();
	if (!--steps_left)
		((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~0x100LL;
}

/* Each instruction traps, from the one after popf on. */
static NOINLINE void set_trap_flag(void)
{
	__asm__ volatile("subq $128, %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\t"
			 "addq $128, %%rsp" ::
				 : "memory", "cc");
}

static NOINLINE void step_through_plt(int steps)
{
	struct sigaction action = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };

	sigaction(SIGTRAP, &action, NULL);
	steps_left = steps;
	set_trap_flag();
	sink = getppid();
	BARRIER();
}
#endif

/* --- threads and processes -------------------------------------------------------------------- */

static void *in_thread(void *unused)
{
	one(wait_here, 32);
	return unused;
}

static void wait_in_threads(int number)
{
	pthread_t threads[64];

	for (int i = 0; i < number; i++)
		pthread_create(&threads[i], NULL, in_thread, NULL);
	for (int i = 0; i < number; i++)
		pthread_join(threads[i], NULL);
}

static NOINLINE void wait_in_vfork(void)
{
	int pid = vfork();

	if (!pid) {
		one(wait_here, 32);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	BARRIER();
}

static NOINLINE void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	BARRIER();
}

/* These leave other frames where those of the other one were. */
static NOINLINE int narrow(int left)
{
	volatile int here = left;

	if (left)
		sink = narrow(left - 1);
	else
		nap();
	BARRIER();
	return here;
}

static NOINLINE int wide(int left)
{
	volatile int here[6] = { left, left, left, left, left, left };

	if (left)
		sink = wide(left - 1);
	else
		nap();
	BARRIER();
	return here[sink & 3];
}

static NOINLINE void nap_in_turns(void)
{
	for (;;) {
		narrow(15);
		wide(9);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int number = argc > 2 ? atoi(argv[2]) : 0;

	if (!strcmp(mode, "plain"))
		one(wait_here, 100);
	else if (!strcmp(mode, "deep"))
		deeper(number);
	else if (!strcmp(mode, "syscall"))
		one(wait_by_number, 100);
	else if (!strcmp(mode, "realigned"))
		realigned(100, 1, 2, 3, 4, 5, 6);
	else if (!strcmp(mode, "timer") || !strcmp(mode, "altstack"))
		interrupt_spin(mode[0] == 'a' ? SA_ONSTACK : 0);
#if defined(__x86_64__)
	else if (!strcmp(mode, "fault"))
		step_over_fault();
	else if (!strcmp(mode, "steps"))
		step_through_plt(number);
#endif
	else if (!strcmp(mode, "threads"))
		wait_in_threads(number);
	else if (!strcmp(mode, "vfork"))
		wait_in_vfork();
	else if (!strcmp(mode, "turns"))
		nap_in_turns();
	else
		return 2;
	BARRIER();
	return 0;
}
