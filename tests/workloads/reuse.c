// SPDX-License-Identifier: BSD-2-Clause
/*
 * reuse [thread]: two children, or two threads, one after the other under one id. The second
 * child asks for it (clone3 with set_tid) and makes more calls than the first, 11 after 7; the
 * second thread, which sleeps before and after its calls as the first did, makes fewer: 7 after
 * 11. Ends with 77 where the kernel does not grant that.
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

/* Returns how a child came to be that made so many calls. */
static int run_child(int *wanted, int calls)
{
	int child = make_child(wanted);

	if (!child) {
		repeat_call(calls, SYS_getppid, 0);
		counted_exit(SYS_exit_group, 0);
	}
	table_add(SYS_clone3, child, END_OK);
	if (child > 0)
		counted_wait(child);
	return child;
}

static struct thread thread;
static int first_tid;

static int run_thread(void *arg)
{
	int tid = raw_call(SYS_gettid), calls = first_tid ? 7 : 11;

	if (!first_tid || tid == first_tid) {
		first_tid = -tid;
		raw_calls(calls, SYS_getppid);
		raw_sleep_ns(300000000);
	}
	raw_exit();
}

/* The kernel hands out the id after the one that is written here, unless somebody else is faster. */
static void ask_for_tid(int tid)
{
	int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY);

	if (fd < 0 || dprintf(fd, "%d", tid - 1) < 0)
		exit(77);
	close(fd);
}

static void run_threads(void)
{
	thread_start(&thread, 0, run_thread);
	thread_join(&thread);
	first_tid = -first_tid;
	for (int i = 0; i < 1000 && first_tid > 0; i++) {
		ask_for_tid(first_tid);
		thread_start(&thread, 0, run_thread);
		thread_join(&thread);
	}
	exit(first_tid < 0 ? 0 : 77);
}

int main(int argc, char **argv)
{
	int first, none = 0;

	table_start(&argc, &argv);
	if (argc > 1)
		run_threads();
	first = run_child(&none, 7);
	table_finish(run_child(&first, 11) < 0 ? 77 : 0);
}
