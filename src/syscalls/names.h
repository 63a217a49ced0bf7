/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names and numbers of system calls, per ABI. Numbers are the kernel's, x32 ones without
 * X32_CALL_BIT. Every look-up accepts any abi and nr, also ones read from a damaged file.
 */
#ifndef SYSCALLS_NAMES_H
#define SYSCALLS_NAMES_H

#include <stddef.h>

#include "bpftruss/abi.h"

/* Bytes that hold any name, its final NUL and the fallback of syscall_name() included. */
#define SYSCALL_NAME_MAX 32

/* "x86_64", …; "unknown" beyond the ABIs we know. */
const char *abi_name(enum syscall_abi abi);

/* NULL if the ABI has no call of that number. */
const char *syscall_find_name(enum syscall_abi abi, int nr);

/* As syscall_find_name(), but a call without a name is "syscall_0x…". */
void syscall_name(enum syscall_abi abi, int nr, char *buf, size_t size);

/* The number of a call, or -ENOENT if the ABI does not have it. */
int syscall_find(enum syscall_abi abi, const char *name);

/* The lowest number above nr that has a name, or -1: to go through an ABI, start with -1. */
int syscall_next(enum syscall_abi abi, int nr);

/* The nearest name in any ABI to a misspelt one, NULL if none is near enough to be helpful. */
const char *syscall_find_near(const char *name);

#endif
