/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls in which programs wait for work. Their time says how idle a program is, not what it does,
 * so reports keep them apart. A wake-up through futex() has the same name and goes with them.
 */
#ifndef SYSCALLS_WAITING_H
#define SYSCALLS_WAITING_H

#include "syscalls/syscall_set.h"

/* True if the call is in the set; a NULL set is the list in waiting.inc. */
bool syscall_waits(const struct syscall_set *set, enum syscall_abi abi, int nr);

/* The names of waiting.inc; NULL from the first index on that is out of range. */
const char *waiting_name(size_t index);

#endif
