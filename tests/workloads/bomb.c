// SPDX-License-Identifier: BSD-2-Clause
/*
 * bomb ATTEMPTS: every process that there is tries to make more, ATTEMPTS times all together.
 * Refused attempts are counted as well. Then each waits for its own children and ends.
 */
#include "table.h"

static struct {
	uint64_t attempts, made, refused, waited;
} *shared;

static uint64_t add(uint64_t *number)
{
	return __atomic_fetch_add(number, 1, __ATOMIC_RELAXED);
}

static void explode(uint64_t attempts)
{
	long pid;

	/* A child goes on in the same loop. */
	while (add(&shared->attempts) < attempts) {
		pid = raw_call(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		if (pid > 0)
			add(&shared->made);
		else if (pid == -EAGAIN)
			add(&shared->refused);
		else if (pid)
			abort();
	}
	while (raw_call(SYS_wait4, -1, 0, 0, 0) > 0)
		add(&shared->waited);
}

int main(int argc, char **argv)
{
	int first;

	shared = shared_make(sizeof(*shared));
	table_start(&argc, &argv);
	first = table_pid;
	table_pid = 0;
	explode(arg_number(argc, argv, 1, 1000));
	if (raw_call(SYS_getpid) != first) {
		raw_call(SYS_exit_group, 0);
		abort();
	}
	table_add_many(SYS_getpid, 0, END_OK, shared->made + 1);
	table_add_many(SYS_clone, 0, END_OK, shared->made);
	table_add_many(SYS_clone, -EAGAIN, END_OK, shared->refused);
	table_add_many(SYS_wait4, 0, END_OK, shared->waited);
	table_add_many(SYS_wait4, -ECHILD, END_OK, shared->made + 1);
	table_add_many(SYS_exit_group, 0, END_NO_RETURN, shared->made);
	table_finish(shared->waited != shared->made);
}
