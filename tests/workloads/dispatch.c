// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls that go to the program itself instead of the kernel, by syscall user dispatch, as Wine has
 * it: the kernel sees only how their handler returns. Says "none" where there is no such thing.
 */

#include "table.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_ON           1
#endif

#define ALLOW 0
#define BLOCK 1

static volatile char selector = ALLOW;
static volatile int dispatched;

static void on_call(int signal)
{
	/* Its own return, by rt_sigreturn, is to reach the kernel. */
	selector = ALLOW;
	dispatched++;
}

int main(int argc, char **argv)
{
	bool wait = table_init(&argc, &argv);

	signal_handle(SIGSYS, on_call);
	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &selector))
		return table_refuse();
	if (wait)
		table_barrier();
	for (int i = 0; i < 13; i++) {
		selector = BLOCK;
		raw_call(SYS_getppid);
		table_add(SYS_rt_sigreturn, 0, END_OK);
	}
	if (dispatched != 13)
		abort();
	repeat_call(7, SYS_getppid, 0);
	table_finish(0);
}
