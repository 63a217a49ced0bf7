/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a system call belongs to: the classes a user selects as %class, and facts that reports
 * depend on. Membership goes by name, so that one table serves every ABI.
 */
#ifndef SYSCALLS_CLASSES_H
#define SYSCALLS_CLASSES_H

#include <stdbool.h>
#include <stddef.h>

#include "bpftruss/abi.h"

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
};

/* All traits of a call, 0 if it has no name. */
unsigned int syscall_traits(enum syscall_abi abi, int nr);

/* True if the call has any of the traits in mask. */
bool syscall_has_trait(enum syscall_abi abi, int nr, unsigned int mask);

/* As syscall_traits(), for a name that may be of any ABI. */
unsigned int syscall_name_traits(const char *name);

/* The trait that a class stands for, 0 if there is no such class; name is without its "%". */
unsigned int class_find(const char *name);

/* The names of the classes, without "%"; NULL from the first index on that is out of range. */
const char *class_name(size_t index);

#endif
