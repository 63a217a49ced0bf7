// SPDX-License-Identifier: BSD-2-Clause
/*
 * stuck: a thread sleeps on its way out of rt_sigsuspend, for good. A signal has interrupted it, and the
 * kernel writes the frame of the handler to memory that nobody fills (userfaultfd). Says "stuck" when it does.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK_BYTES (1UL << 16)

static void handler(int signal)
{
	(void)signal;
}

static void *await_signal(void *memory)
{
	const stack_t stack = { .ss_sp = memory, .ss_size = STACK_BYTES };
	sigset_t none;

	sigemptyset(&none);
	if (!sigaltstack(&stack, NULL))
		sigsuspend(&none);
	return NULL;
}

int main(void)
{
	const struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	struct uffdio_api api = { .api = UFFD_API };
	struct uffd_msg message;
	pthread_t thread;
	sigset_t blocked;
	char *memory =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register range = { .range = { (unsigned long)memory, STACK_BYTES },
					 .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range) ||
	    sigaction(SIGUSR1, &action, NULL))
		return 1;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	/* It is taken once the thread suspends itself. */
	if (pthread_sigmask(SIG_BLOCK, &blocked, NULL) ||
	    pthread_create(&thread, NULL, await_signal, memory) || pthread_kill(thread, SIGUSR1) ||
	    read(fd, &message, sizeof(message)) != sizeof(message))
		return 1;
	puts("stuck");
	fflush(stdout);
	pause();
	return 0;
}
