// SPDX-License-Identifier: BSD-2-Clause
/*
 * pace wait ROUNDS [spin | spread]: says ready and sleeps in read(0) until the test writes a line. Then each
 * round is ten getppid, one close that fails, and a sleep of 10 ms or, with spin, as many loops in
 * user mode: eleven or twelve calls. With spread each round is a sleep, the first of 1 us, each other
 * twice as long, and in front of all there is one that fails. The last call is exit_group; there are
 * no others.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOOPS 5000000

static void spin(void)
{
	for (volatile long i = 0; i < LOOPS; i++)
		;
}

static void spread(long rounds)
{
	struct timespec pause = { .tv_nsec = -1 };

	syscall(SYS_nanosleep, &pause, NULL);
	for (long round = 0; round < rounds; round++) {
		pause.tv_nsec = 1000L << round;
		syscall(SYS_nanosleep, &pause, NULL);
	}
}

int main(int argc, char **argv)
{
	struct timespec pause = { .tv_nsec = 10000000 };
	long rounds = argc > 2 ? atol(argv[2]) : 0;
	int spins = argc > 3 && !strcmp(argv[3], "spin");
	char line[16];

	if (argc < 3 || strcmp(argv[1], "wait"))
		return 2;
	syscall(SYS_write, STDOUT_FILENO, "ready\n", 6);
	syscall(SYS_read, STDIN_FILENO, line, sizeof(line));
	if (argc > 3 && !strcmp(argv[3], "spread")) {
		spread(rounds);
		rounds = 0;
	}
	for (long round = 0; round < rounds; round++) {
		for (int i = 0; i < 10; i++)
			syscall(SYS_getppid);
		syscall(SYS_close, -1);
		if (spins)
			spin();
		else
			syscall(SYS_nanosleep, &pause, NULL);
	}
	syscall(SYS_exit_group, 0);
}
