// SPDX-License-Identifier: BSD-2-Clause
/*
 * faked HOW CALLS: calls that somebody else answers in place of the kernel, and that look like
 * something else.
 *
 *   seccomp  forks of every kind, answered with 0, by a process and by a child of its own
 *   notify   the same, answered by a supervisor while they sleep
 *   sigsys   refused with EPERM while a SIGSYS is blocked and pending
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

#include "table.h"

/* glibc's own calls must go through: only these numbers are answered. */
static const int forks[] = {
#ifdef SYS_fork
	SYS_fork,
	SYS_vfork,
#endif
	SYS_clone3,
};

#define NR_FORKS (sizeof(forks) / sizeof(*forks))

static struct thread supervisor;
static int listener;

static int filter_install(uint32_t action, unsigned int flags)
{
	struct sock_filter code[NR_FORKS * 2 + 4], *next = code;

	*next++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					       offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < NR_FORKS; i++) {
		*next++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, forks[i], 0, 1);
		*next++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
	}
	*next++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1);
	*next++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	*next++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		abort();
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags,
		       &(struct sock_fprog){ .len = next - code, .filter = code });
}

static void fork_in_vain(int times, int end)
{
	for (int i = 0; i < times; i++) {
		int nr = forks[i % NR_FORKS];

		if (raw_call(nr, 0))
			abort();
		table_add(nr, 0, end);
	}
}

static int run_supervisor(void *arg)
{
	int times = ((struct thread *)arg)->index;

	for (int i = 0; i < times; i++) {
		struct seccomp_notif asked = { 0 };
		struct seccomp_notif_resp answer = { 0 };

		if (counted_call(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_RECV, &asked))
			abort();
		answer.id = asked.id;
		if (counted_call(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_SEND, &answer))
			abort();
	}
	counted_exit(SYS_exit, 0);
}

static void sigsys(int times)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGSYS);
	counted_call(SYS_rt_sigprocmask, SIG_BLOCK, &set, 0, 8);
	counted_call(SYS_tkill, table_pid, SIGSYS);
	for (int i = 0; i < times; i++) {
		raw_call(SYS_getppid, 0);
		table_add(SYS_getppid, -EPERM, END_DENIED);
	}
}

int main(int argc, char **argv)
{
	bool wait = table_init(&argc, &argv);
	const char *how = argv[1];
	int times = arg_number(argc, argv, 2, 1000), child;

	if (!strcmp(how, "notify"))
		listener = filter_install(SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER);
	else
		listener = filter_install(SECCOMP_RET_ERRNO, 0);
	if (listener < 0)
		abort();
	if (wait)
		table_barrier();
	if (!strcmp(how, "notify")) {
		thread_start(&supervisor, times, run_supervisor);
		table_add(SYS_clone, 1, END_OK);
		fork_in_vain(times, END_DENIED);
		thread_join(&supervisor);
	} else if (!strcmp(how, "sigsys")) {
		sigsys(times);
	} else {
		fork_in_vain(times, END_DENIED);
		child = counted_fork();
		if (!child) {
			fork_in_vain(times, END_DENIED);
			counted_exit(SYS_exit_group, 0);
		}
		counted_wait(child);
	}
	table_finish(0);
}
