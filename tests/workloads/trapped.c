// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls that seccomp turns into a signal, and that leave in the register of their result what looks
 * like bytes that were moved, or like an error: the number of the call or its first argument.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "table.h"

#define NO_CALL (-ENODEV)

#define trap(call)                                         \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP)

static void install_filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		trap(SYS_pread64),
		trap((unsigned int)NO_CALL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(*code), .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		abort();
}

static void on_trap(int signal)
{
	(void)signal;
	table_add(SYS_rt_sigreturn, 0, END_OK);
}

static void call_trapped(int times, int nr, long a)
{
	for (int i = 0; i < times; i++) {
		raw_call(nr, a);
		table_add(nr, 0, END_DENIED);
	}
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_trap };
	bool wait = table_init(&argc, &argv);

	sigaction(SIGSYS, &action, NULL);
	install_filter();
	if (wait)
		table_barrier();
	call_trapped(7, SYS_pread64, 12345);
	call_trapped(5, NO_CALL, -ENODEV);
	table_finish(0);
}
