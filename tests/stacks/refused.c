// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls that seccomp refuses, so that only their ends are seen: getuid from one function, getppid
 * from another, a hundred times in turn.
 */
#include "../workloads/filter.h"

#define TIMES 100

__attribute__((noinline)) void asks_user(void)
{
	syscall(SYS_getuid);
	__asm__ volatile("");
}

__attribute__((noinline)) void asks_parent(void)
{
	syscall(SYS_getppid);
	__asm__ volatile("");
}

int main(void)
{
	const struct filtered refused[] = {
		{ SYS_getuid, SECCOMP_RET_ERRNO | EPERM },
		{ SYS_getppid, SECCOMP_RET_ERRNO | EPERM },
	};
	char byte;

	/* The test lets it go on. */
	if (read(0, &byte, 1) != 1)
		return 1;
	filter_install(refused, 2, 0);
	for (int i = 0; i < TIMES; i++) {
		asks_user();
		asks_parent();
	}
	return 0;
}
