// SPDX-License-Identifier: BSD-2-Clause
/*
 * herd PROCESSES KINDS RATE [SLEEPERS THREADS]: processes that each make KINDS different system
 * calls, RATE calls a second all together, until killed. Beside them are SLEEPERS processes of
 * THREADS threads each, which sleep but for one moment: after a line on stdin they make each of these
 * calls once. Says "ready" when all are there and those that are awake have made each call once.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Calls that change nothing when all their arguments are 0, or fail at once. */
static const long kinds[] = {
	SYS_getpid,      SYS_getppid, SYS_getuid,      SYS_geteuid,     SYS_getgid,
	SYS_getegid,     SYS_gettid,  SYS_sched_yield, SYS_getpgid,     SYS_getsid,
	SYS_close,       SYS_read,    SYS_lseek,       SYS_fstat,       SYS_dup2,
	SYS_fcntl,       SYS_fsync,   SYS_fdatasync,   SYS_ftruncate,   SYS_getcwd,
	SYS_chdir,       SYS_mkdir,   SYS_rmdir,       SYS_unlink,      SYS_readlink,
	SYS_chmod,       SYS_stat,    SYS_access,      SYS_getpriority, SYS_sched_getparam,
	SYS_munlock,     SYS_mincore, SYS_madvise,     SYS_shmdt,       SYS_getitimer,
	SYS_getsockname, SYS_listen,  SYS_shutdown,    SYS_uname,       SYS_times,
};

#define NR_KINDS   (sizeof(kinds) / sizeof(kinds[0]))
#define WAKE_UPS_S 10

static void make_call(unsigned int kind)
{
	/* Descriptors that are not open; NULL for paths. */
	syscall(kinds[kind], -1, 0, 0, 0, 0, 0);
}

static unsigned int nr_kinds, *ready, *woken;

static void make_calls(void)
{
	for (unsigned int i = 0; i < nr_kinds; i++)
		make_call(i);
}

static void be_ready(void)
{
	__atomic_add_fetch(ready, 1, __ATOMIC_RELEASE);
}

static void live(unsigned int calls)
{
	const struct timespec pause = { .tv_nsec = 1000000000 / WAKE_UPS_S };
	unsigned int next = 0;

	make_calls();
	be_ready();
	for (;;) {
		/* Sleeping is one of them. */
		for (unsigned int i = 1; i < calls; i++)
			make_call(next++ % nr_kinds);
		nanosleep(&pause, NULL);
	}
}

static void *sleep_on(void *unused)
{
	be_ready();
	while (!__atomic_load_n(woken, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, woken, FUTEX_WAIT, 0, NULL);
	make_calls();
	pause();
	return unused;
}

static void live_asleep(unsigned int threads)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 1 << 16);
	for (unsigned int i = 1; i < threads; i++) {
		if (pthread_create(&thread, &attr, sleep_on, NULL))
			abort();
	}
	sleep_on(NULL);
}

static unsigned int argument(int argc, char **argv, int i)
{
	return i < argc ? (unsigned int)atoi(argv[i]) : 0;
}

int main(int argc, char **argv)
{
	unsigned int processes = argument(argc, argv, 1), rate = argument(argc, argv, 3);
	unsigned int sleepers = argument(argc, argv, 4), threads = argument(argc, argv, 5);

	nr_kinds = argument(argc, argv, 2);
	ready = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	woken = ready + 1;
	if (!processes || !nr_kinds || nr_kinds > NR_KINDS || ready == MAP_FAILED) {
		fprintf(stderr, "usage: herd PROCESSES KINDS(1..%zu) RATE [SLEEPERS THREADS]\n",
			NR_KINDS);
		return 2;
	}
	for (unsigned int i = 0; i < processes + sleepers; i++) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (i < sleepers)
			live_asleep(threads);
		live(rate / processes / WAKE_UPS_S);
	}
	while (__atomic_load_n(ready, __ATOMIC_ACQUIRE) < processes + sleepers * threads)
		usleep(1000);
	puts("ready");
	fflush(stdout);
	if (getchar() != EOF) {
		__atomic_store_n(woken, 1, __ATOMIC_RELEASE);
		syscall(SYS_futex, woken, FUTEX_WAKE, INT_MAX);
	}
	pause();
	return 0;
}
