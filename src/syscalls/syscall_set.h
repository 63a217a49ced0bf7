/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A choice of system calls: what follows -t. A set is immutable once parsed.
 *
 *	LIST = ["!"] TERM { ("," | blanks) ["!"] TERM }
 *	TERM = name | number | "syscall_0x…" | "%" class | "all"
 *
 * Names and numbers count in every ABI that has them. Terms add calls and "!" before one takes
 * them out again; the last term that matches a call decides. A "!" before the first term inverts
 * the list as a whole: everything except its terms, whether or not these have a "!" of their own.
 */
#pragma once

#include "base/diag.h"
#include "bpftruss/abi.h"

struct syscall_set;

/* Returns 0, or -EINVAL or -ENOMEM with d filled; which option it was is the caller's to say. */
int syscall_set_parse(const char *list, struct syscall_set **ret, struct diag *d);

/* A NULL set has every call. */
bool syscall_set_has(const struct syscall_set *set, enum syscall_abi abi, int nr);

/* Whether programs wait for work in a call: those of the set, or, if it is NULL, of TRAIT_WAITS. */
bool syscall_waits(const struct syscall_set *set, enum syscall_abi abi, int nr);

void syscall_set_free(struct syscall_set *set);
CLEANUP_OF(syscall_set, syscall_set_free)
