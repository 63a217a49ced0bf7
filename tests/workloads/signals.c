// SPDX-License-Identifier: BSD-2-Clause
/*
 * signals HOW NUMBER [SECONDS]: what the test's SIGUSR1 interrupts, NUMBER times.
 *   restart  a read that the kernel starts again      eintr  a read that gives up with EINTR
 *   spin     user code with a negative value in its result register
 *   stop     a nanosleep, of two seconds if not said otherwise, that the test stops and continues
 */
#include "table.h"

static volatile int left;
static bool restarts;

/* The interrupted code sleeps or spins, so the table is not locked. */
static void on_signal(int signal)
{
	table_add(SYS_rt_sigreturn, 0, END_OK);
	if (restarts)
		table_add(SYS_read, 0, END_INTERRUPTED);
	left--;
}

static void read_until_done(void)
{
	char line[16];
	long result;

	do {
		result = raw_call(SYS_read, STDIN_FILENO, line, sizeof(line));
		table_add(SYS_read, result, result == -EINTR ? END_INTERRUPTED : END_OK);
	} while (result == -EINTR && left > 0);
}

static void spin_until_done(void)
{
#if defined(__x86_64__)
	long kept = -5;

	__asm__ volatile("1: cmpl $0, %1\n\tjg 1b" : "+a"(kept) : "m"(left) : "memory", "cc");
	if (kept != -5)
		abort();
#else
	while (left > 0)
		;
#endif
}

static void sleep_through_stops(int number, int seconds)
{
	for (int i = 0; i < number; i++)
		table_add(SYS_nanosleep, 0, END_INTERRUPTED);
	table_add(SYS_nanosleep, raw_sleep_ns((uint64_t)seconds * 1000000000), END_OK);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };
	bool wait = table_init(&argc, &argv);

	if (!wait || argc < 3)
		return 1;
	left = atoi(argv[2]);
	restarts = !strcmp(argv[1], "restart");
	action.sa_flags = restarts ? SA_RESTART : 0;
	sigaction(SIGUSR1, &action, NULL);
	table_barrier();
	if (!strcmp(argv[1], "spin"))
		spin_until_done();
	else if (!strcmp(argv[1], "stop"))
		sleep_through_stops(left, arg_number(argc, argv, 3, 2));
	else
		read_until_done();
	table_finish(0);
}
