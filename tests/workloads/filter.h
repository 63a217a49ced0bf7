/* SPDX-License-Identifier: BSD-2-Clause */
/* Installs a seccomp filter that does something of its own to some calls, and allows all others. */
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "table.h"

#define MAX_FILTERED 16

/* A call, and its SECCOMP_RET_. */
struct filtered {
	unsigned int nr;
	unsigned int action;
};

/* Returns what seccomp(2) does: with SECCOMP_FILTER_FLAG_NEW_LISTENER the descriptor to listen at. */
static inline int filter_load(struct sock_filter *code, size_t length, unsigned int flags)
{
	struct sock_fprog program = { .len = length, .filter = code };
	int result;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		abort();
	result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	if (result < 0)
		abort();
	return result;
}

static inline int filter_install(const struct filtered *calls, size_t count, unsigned int flags)
{
	struct sock_filter code[2 + 2 * MAX_FILTERED], *next = code;

	*next++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					       offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < count && i < MAX_FILTERED; i++) {
		*next++ =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].nr, 0, 1);
		*next++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, calls[i].action);
	}
	*next++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	return filter_load(code, next - code, flags);
}
