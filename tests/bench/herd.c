// SPDX-License-Identifier: BSD-2-Clause
/*
 * herd PROCESSES KINDS RATE: processes that each make KINDS different system calls, RATE calls a
 * second all together, until killed. Says "ready" when each has made each of its calls once.
 */
#include <errno.h>
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

static void live(unsigned int nr_kinds, unsigned int calls, unsigned int *ready)
{
	const struct timespec pause = { .tv_nsec = 1000000000 / WAKE_UPS_S };
	unsigned int next = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned int i = 0; i < nr_kinds; i++)
		make_call(i);
	__atomic_add_fetch(ready, 1, __ATOMIC_RELEASE);
	for (;;) {
		/* Sleeping is one of them. */
		for (unsigned int i = 1; i < calls; i++)
			make_call(next++ % nr_kinds);
		nanosleep(&pause, NULL);
	}
}

int main(int argc, char **argv)
{
	unsigned int processes = argc > 3 ? (unsigned int)atoi(argv[1]) : 0;
	unsigned int nr_kinds = argc > 3 ? (unsigned int)atoi(argv[2]) : 0;
	unsigned int rate = argc > 3 ? (unsigned int)atoi(argv[3]) : 0;
	unsigned int *ready =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (!processes || !nr_kinds || nr_kinds > NR_KINDS || ready == MAP_FAILED) {
		fprintf(stderr, "usage: herd PROCESSES KINDS(1..%zu) RATE\n", NR_KINDS);
		return 2;
	}
	for (unsigned int i = 0; i < processes; i++) {
		if (!fork())
			live(nr_kinds, rate / processes / WAKE_UPS_S, ready);
	}
	while (__atomic_load_n(ready, __ATOMIC_ACQUIRE) < processes)
		usleep(1000);
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
