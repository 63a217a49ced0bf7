// SPDX-License-Identifier: BSD-2-Clause
/*
 * awake WHERE: says ready and then runs on. In user mode ("user") until SIGUSR1, whose return is
 * its next call; or inside one long call ("kernel").
 */
#include "table.h"

#define LONG_CALL_BYTES (256 << 20)

static char buf[LONG_CALL_BYTES];
static volatile int signalled;

static void on_signal(int signal)
{
	(void)signal;
	signalled = 1;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };
	bool wait = table_init(&argc, &argv);
	bool in_kernel = argc > 1 && !strcmp(argv[1], "kernel");
	long result;

	if (!wait)
		return 1;
	sigaction(SIGUSR1, &action, NULL);
	raw_call(SYS_write, STDOUT_FILENO, "ready\n", 6);
	if (in_kernel) {
		result = raw_call(SYS_getrandom, buf, sizeof(buf), 0);
		table_add(SYS_getrandom, result, END_UNTIMED);
	} else {
		while (!signalled)
			;
		table_add(SYS_rt_sigreturn, 0, END_OK);
	}
	repeat_call(31, SYS_getppid, 0);
	table_finish(0);
}
