// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls that seccomp turns into a signal, and that leave in the register of their result what looks
 * like bytes that were moved, or like an error: the number of the call or its first argument.
 */
#include "filter.h"

#define NO_CALL (-ENODEV)

static const struct filtered trapped[] = {
	{ SYS_pread64, SECCOMP_RET_TRAP },
	{ (unsigned int)NO_CALL, SECCOMP_RET_TRAP },
};

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
	filter_install(trapped, sizeof(trapped) / sizeof(*trapped), 0);
	if (wait)
		table_barrier();
	call_trapped(7, SYS_pread64, 12345);
	call_trapped(5, NO_CALL, -ENODEV);
	table_finish(0);
}
