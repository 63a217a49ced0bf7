// SPDX-License-Identifier: BSD-2-Clause
/*
 * Two children, one after the other, under one pid: the second asks for it (clone3 with set_tid).
 * They make 7 and 11 calls. Ends with 77 where the kernel does not grant that.
 */
#include <linux/sched.h>

#include "table.h"

static int make_child(int *wanted)
{
	struct clone_args args = { .flags = CLONE_CHILD_SETTID,
				   .child_tid = (uintptr_t)&table_pid,
				   .exit_signal = SIGCHLD };

	if (*wanted) {
		args.set_tid = (uintptr_t)wanted;
		args.set_tid_size = 1;
	}
	return raw_call(SYS_clone3, &args, sizeof(args));
}

static void child(int calls)
{
	repeat_call(calls, SYS_getppid, 0);
	counted_exit(SYS_exit_group, 0);
}

int main(int argc, char **argv)
{
	int first, second, none = 0;

	table_start(&argc, &argv);
	first = make_child(&none);
	if (!first)
		child(7);
	table_add(SYS_clone3, first, END_OK);
	counted_wait(first);
	second = make_child(&first);
	if (!second)
		child(11);
	table_add(SYS_clone3, second, END_OK);
	if (second < 0)
		table_finish(77);
	counted_wait(second);
	table_finish(0);
}
