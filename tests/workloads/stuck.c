// SPDX-License-Identifier: BSD-2-Clause
/*
 * stuck [child|thread]: a thread sleeps in the kernel, on its way to memory that nobody fills (userfaultfd). Says
 * "stuck" when it does.
 *
 *           it was in rt_sigsuspend, a signal has interrupted it, and the frame of the handler goes there
 *   child   a new process, which the kernel is to write the id of there: a line has it made, another one ends it
 *   thread  a thread in a clone, before there is another one. A line has the process take the name "left", and
 *           the new thread then calls getppid 1009 times. Exits with 77 where threads have no pidfd (before 6.9)
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
#include <sys/prctl.h>
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

static volatile bool is_done;

static int thread_run(void *arg)
{
	(void)arg;
	for (int i = 0; i < 1009; i++)
		syscall(SYS_getppid);
	is_done = true;
	syscall(SYS_exit, 0);
	return 0;
}

static void *clone_thread(void *arg)
{
	static char stack[STACK_BYTES] __attribute__((aligned(16)));
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			  CLONE_SYSVSEM | CLONE_PIDFD;

	(void)arg;
	if (clone(thread_run, stack + sizeof(stack), flags, NULL, memory, NULL, NULL) < 0)
		_exit(77);
	return NULL;
}

static int thread_make(void)
{
	pthread_t thread;

	line_await();
	return pthread_create(&thread, NULL, clone_thread, NULL);
}

static int thread_finish(void)
{
	while (!is_done)
		;
	return 0;
}

static int child_finish(void)
{
	return wait(NULL) < 0;
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
	const char *how = argc > 1 ? argv[1] : "";
	bool is_child = !strcmp(how, "child"), is_thread = !strcmp(how, "thread");
	struct uffd_msg message;
	int (*make)(void) = is_child ? child_make : is_thread ? thread_make : interrupt_thread;

	if (memory_make() || make() || read(faults, &message, sizeof(message)) != sizeof(message))
		return 1;
	puts("stuck");
	fflush(stdout);
	if (make == interrupt_thread) {
		pause();
		return 0;
	}
	line_await();
	if (is_thread && prctl(PR_SET_NAME, "left"))
		return 1;
	return memory_fill() || (is_child ? child_finish() : thread_finish());
}
