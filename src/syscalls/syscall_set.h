/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A choice of system calls: what follows -t. A set is immutable once parsed.
 *
 *	LIST = ["!"] TERM { ("," | blanks) ["!"] TERM }
 *	TERM = ["?"] (NAME | "=" name | GLOB | "/" REGEX ["/"] | number | "syscall_0x…") |
 *	       "%" class | "all" | "none"
 *
 * NAME is a system call or a function of the C library, and means all calls that the function may
 * make (families.h); "=" takes the call of that name alone. GLOB has "*", "[" or a "?" behind its
 * first letter, REGEX is a POSIX extended one without commas and blanks, found anywhere in a name.
 * After "?" it is no fault that there is no such call. A second "%" before a class is for strace.
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

/*
 * Writes what names stand for that mean other calls of an ABI than their own: "open means open, openat,
 * openat2; fork means ...", as many as the buffer holds. Returns whether there is one.
 */
bool syscall_set_explain(const struct syscall_set *set, enum syscall_abi abi, char *buf,
			 size_t size);

/* A NULL set has every call. */
bool syscall_set_has(const struct syscall_set *set, enum syscall_abi abi, int nr);

/* Whether programs wait for work in a call: those of the set, or, if it is NULL, of TRAIT_WAITS. */
bool syscall_waits(const struct syscall_set *set, enum syscall_abi abi, int nr);

void syscall_set_free(struct syscall_set *set);
CLEANUP_OF(syscall_set, syscall_set_free)
