// SPDX-License-Identifier: BSD-2-Clause
/*
 * stuck [child]: a thread sleeps in the kernel, on its way to memory that nobody fills (userfaultfd). Says
 * "stuck" when it does.
 *
 *           it was in rt_sigsuspend, a signal has interrupted it, and the frame of the handler goes there
 *   child   a new process, which the kernel is to write the id of there: a line has it made, another one ends it
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_BYTES (1UL << 16)

static char *memory;
static int faults;

static void handler(int signal)
{
	(void)signal;
}

static void *await_signal(void *arg)
{
	const stack_t stack = { .ss_sp = memory, .ss_size = STACK_BYTES };
	sigset_t none;

	(void)arg;
	sigemptyset(&none);
	if (!sigaltstack(&stack, NULL))
		sigsuspend(&none);
	return NULL;
}

static int interrupt_thread(void)
{
	const struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	pthread_t thread;
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	/* It is taken once the thread suspends itself. */
	return sigaction(SIGUSR1, &action, NULL) || pthread_sigmask(SIG_BLOCK, &blocked, NULL) ||
	       pthread_create(&thread, NULL, await_signal, NULL) || pthread_kill(thread, SIGUSR1);
}

static void line_await(void)
{
	char line[8];

	if (read(STDIN_FILENO, line, sizeof(line)) <= 0)
		_exit(1);
}

static int child_run(void *arg)
{
	(void)arg;
	_exit(0);
}

static int child_make(void)
{
	static char stack[STACK_BYTES] __attribute__((aligned(16)));
	const int flags = CLONE_VM | CLONE_CHILD_SETTID | SIGCHLD;

	line_await();
	return clone(child_run, stack + sizeof(stack), flags, NULL, NULL, NULL, memory) < 0;
}

static int memory_make(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	memory =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	range.range = (struct uffdio_range){ (unsigned long)memory, STACK_BYTES };
	return faults < 0 || ioctl(faults, UFFDIO_API, &api) ||
	       ioctl(faults, UFFDIO_REGISTER, &range);
}

static int memory_fill(void)
{
	struct uffdio_zeropage zero = { .range = { (unsigned long)memory, STACK_BYTES } };

	return ioctl(faults, UFFDIO_ZEROPAGE, &zero);
}

int main(int argc, char **argv)
{
	bool is_child = argc > 1 && !strcmp(argv[1], "child");
	struct uffd_msg message;

	if (memory_make() || (is_child ? child_make() : interrupt_thread()) ||
	    read(faults, &message, sizeof(message)) != sizeof(message))
		return 1;
	puts("stuck");
	fflush(stdout);
	if (!is_child) {
		pause();
		return 0;
	}
	line_await();
	return memory_fill() || wait(NULL) < 0;
}
