/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names and numbers of system calls, per ABI, what they belong to, and names of errors. Numbers are the
 * kernel's, x32 ones without X32_CALL_BIT. Every look-up accepts any abi and nr, also ones read from a
 * damaged file.
 */
#pragma once

#include "base/mem.h"
#include "bpftruss/abi.h"

/* Bytes that hold any name, its final NUL and the fallback of syscall_name() included. */
#define SYSCALL_NAME_MAX 32

/* "x86_64", …; "unknown" beyond the ABIs we know. */
const char *abi_name(enum syscall_abi abi);

/* NULL if the ABI has no call of that number. */
const char *syscall_find_name(enum syscall_abi abi, int nr);

/* Works like syscall_find_name(), but a call without a name is "syscall_0x…". */
void syscall_name(enum syscall_abi abi, int nr, char *buf, size_t size);

/* The number of a call, or -ENOENT if the ABI does not have it. */
int syscall_find(enum syscall_abi abi, const char *name);

/* The lowest number above nr that has a name, or -1: to go through an ABI, start with -1. */
int syscall_next(enum syscall_abi abi, int nr);

/* Whether any ABI has a call of that name. */
bool syscall_exists(const char *name);

/*
 * Says what a system call belongs to: the classes that a user selects as %class, and facts that reports
 * depend on. Membership goes by name, so that one table serves every ABI.
 */
enum syscall_trait {
	TRAIT_FILE = 1 << 0, /* takes a path */
	TRAIT_DESC = 1 << 1, /* takes or returns a file descriptor */
	TRAIT_NETWORK = 1 << 2,
	TRAIT_MEMORY = 1 << 3,  /* changes or asks about mappings */
	TRAIT_PROCESS = 1 << 4, /* starts, replaces, ends, signals or waits for processes */
	TRAIT_SIGNAL = 1 << 5,
	TRAIT_IPC = 1 << 6, /* System V IPC and POSIX message queues */
	TRAIT_IO = 1 << 7,  /* moves data through descriptors, or submits such transfers */
	TRAIT_CREDS = 1 << 8,
	TRAIT_CLOCK = 1 << 9, /* reads or sets clocks; sleeping and timers are not in it */
	TRAIT_STAT = 1 << 10,
	TRAIT_LSTAT = 1 << 11,
	TRAIT_FSTAT = 1 << 12, /* relative to a descriptor as well */
	TRAIT_STATFS = 1 << 13,
	TRAIT_FSTATFS = 1 << 14,

	/*
	 * The result counts the bytes of a transfer. That excludes counts of messages (recvmmsg)
	 * and lengths of a name or attribute (readlink, getcwd, getxattr).
	 */
	TRAIT_MOVES_DATA = 1 << 15,
	TRAIT_NO_RETURN = 1 << 16,

	/*
	 * Programs wait for work in it: its time says how idle a program is, not what it does, so
	 * reports keep such calls apart. A wake-up through futex() has the same name and goes with them.
	 */
	TRAIT_WAITS = 1 << 17,
};

/* True if the call has any of the traits in mask. */
bool syscall_has_trait(enum syscall_abi abi, int nr, unsigned int mask);

/* All traits of a name, which may be of any ABI; 0 if it has none. */
unsigned int syscall_name_traits(const char *name);

/* The trait that a class stands for, 0 if there is no such class; name is without its "%". */
unsigned int class_find(const char *name);

/* The names of the classes, without "%"; NULL from the first index on that is out of range. */
const char *class_name(size_t index);

/* Linux error numbers: all ABIs we know share the kernel's generic ones. */

/* Bytes that hold any label, its final NUL included. */
#define ERRNO_LABEL_MAX 24

/* "ENOENT" for 2, "ERESTARTSYS" for 512; NULL if the number has no name. */
const char *errno_name(int err);

/* The number of a name, or -ENOENT. */
int errno_find(const char *name);

/* Works like errno_name(), but a number without a name is "errno_…". */
void errno_label(int err, char *buf, size_t size);
