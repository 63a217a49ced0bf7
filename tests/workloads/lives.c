// SPDX-License-Identifier: BSD-2-Clause
/*
 * lives FILE: makes getppid calls without a pause and says in FILE, which the test maps, how many
 * it has begun and done, so that its end may come at any moment. The test writes there what it is
 * to do next. After an exec of itself it counts on.
 */

#include "table.h"

enum order {
	ORDER_WORK = 0,
	ORDER_END = 1,
	ORDER_EXEC = 2,
	ORDER_RENAME = 3,
};

static volatile struct {
	uint64_t begun, done;
	uint64_t order; /* enum order; back to ORDER_WORK once it was obeyed */
} *shared;

static void obey(char **argv)
{
	static const char name[] = "of another name";
	char *again[] = { argv[0], "again", argv[2], NULL };
	uint64_t order = shared->order;

	shared->order = ORDER_WORK;
	if (order == ORDER_END)
		raw_call(SYS_exit_group, 0);
	else if (order == ORDER_RENAME)
		raw_call(SYS_prctl, PR_SET_NAME, name);
	else if (order == ORDER_EXEC)
		raw_call(SYS_execve, argv[0], again, environ);
}

int main(int argc, char **argv)
{
	int fd = argc == 3 ? open(argv[2], O_RDWR) : -1;
	char line[16];

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED)
		return 1;
	if (!strcmp(argv[1], "wait")) {
		raw_call(SYS_write, STDOUT_FILENO, "ready\n", 6);
		raw_call(SYS_read, STDIN_FILENO, line, sizeof(line));
	}
	for (;;) {
		shared->begun++;
		raw_call(SYS_getppid);
		shared->done++;
		if (shared->order)
			obey(argv);
	}
}
