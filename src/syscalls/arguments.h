/* SPDX-License-Identifier: BSD-2-Clause */
/* Says what the arguments of calls are that wait: enough to find out what for. */
#pragma once

#include "base/mem.h"
#include "bpftruss/abi.h"

/* A letter of call_arguments(). */
enum argument_kind {
	ARGUMENT_NUMBER = 'n',  /* signed, 32 bits */
	ARGUMENT_SIZE = 'z',    /* unsigned */
	ARGUMENT_HEX = 'x',     /* flags, pointers */
	ARGUMENT_FD = 'f',      /* of a file or a socket */
	ARGUMENT_DIRFD = 'd',   /* that a path begins at; AT_FDCWD */
	ARGUMENT_PATH = 's',    /* address of a text */
	ARGUMENT_ADDRESS = 'a', /* of a socket; its length is the next argument */
	ARGUMENT_CHILD = 'c',   /* the pid of a child, or -1: any */
	ARGUMENT_FUTEX = 'u',   /* address of a futex */
	ARGUMENT_MS = 'm',      /* a timeout; negative: none */
	ARGUMENT_SPAN = 't',    /* address of a timespec that says how long, or 0 */
	ARGUMENT_UNTIL = 'T',   /* the same that may be a moment */
	ARGUMENT_TIMEVAL = 'v', /* address of a timeval that says how long, or 0 */
};

/* A letter an argument: enum argument_kind. A call that is not known has six of ARGUMENT_HEX. */
const char *call_arguments(enum syscall_abi abi, int nr);
