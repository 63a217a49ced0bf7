// SPDX-License-Identifier: BSD-2-Clause
/*
 * pace ROUNDS [spin | spread | busy]: prints no table. Each round is ten getppid, one close that fails,
 * and a sleep of 10 ms or, with spin, as many loops in user mode: eleven or twelve calls. With
 * spread each round is a sleep, the first of 1 us, each other twice as long, and in front of all
 * there is one that fails. With busy it makes calls without a pause until it is killed. Else the last
 * call is exit_group; there are no others.
 */
#include "table.h"

#define LOOPS 5000000

static void spin(void)
{
	for (volatile long i = 0; i < LOOPS; i++)
		;
}

static void spread(int rounds)
{
	const struct timespec invalid = { .tv_nsec = -1 };

	raw_call(SYS_nanosleep, &invalid, NULL);
	for (int round = 0; round < rounds; round++)
		raw_sleep_ns(1000L << round);
}

WORKLOAD(argc, argv)
{
	const char *how = arg_text(argc, argv, 2);
	int rounds = arg_number(argc, argv, 1, 0);

	while (!strcmp(how, "busy"))
		raw_calls(1000, SYS_getppid);
	if (!strcmp(how, "spread")) {
		spread(rounds);
		rounds = 0;
	}
	for (int round = 0; round < rounds; round++) {
		raw_calls(10, SYS_getppid);
		raw_call(SYS_close, -1);
		if (!strcmp(how, "spin"))
			spin();
		else
			raw_sleep_ns(10000000);
	}
	raw_call(SYS_exit_group, 0);
}
