// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls that seccomp refuses, so that only their ends are seen: getuid from one function, getppid
 * from another, a hundred times in turn.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

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
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getuid, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };
	char byte;

	/* The test lets it go on. */
	if (read(0, &byte, 1) != 1 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 1;
	for (int i = 0; i < TIMES; i++) {
		asks_user();
		asks_parent();
	}
	return 0;
}
