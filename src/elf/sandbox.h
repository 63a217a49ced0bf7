/* SPDX-License-Identifier: BSD-2-Clause */
/* A worker's cage, and what it agrees on with the process that starts it. */
#pragma once

#include "elf/debug_file.h"

/* argv of a worker: name, ELF_WORKER_ARGUMENT, the extras that it has, the kind. */
enum worker_argument {
	WORKER_ARGUMENT = 1,
	WORKER_EXTRAS,
	WORKER_KIND,
	NR_WORKER_ARGUMENT,
};

/* Its descriptors; 0 to 2 are /dev/null. */
enum worker_fd {
	WORKER_FD_FILE = 3,
	WORKER_FD_OUTPUT,
	WORKER_FD_DEBUG, /* from here on extras: each may be missing; MAX_DEBUG_FILES of these */
	WORKER_FD_QUESTION = WORKER_FD_DEBUG + MAX_DEBUG_FILES, /* addresses */
	NR_WORKER_FD,
};

#define WORKER_EXTRA(fd)    (1U << ((fd) - WORKER_FD_DEBUG))
#define WORKER_READS_FILE   WORKER_EXTRA(NR_WORKER_FD) /* else it may map its file, no more */
#define WORKER_EXTRAS_LIMIT WORKER_EXTRA(NR_WORKER_FD + 1)

/* Exit status: 0, the errno of a parser, or one of these. */
#define WORKER_NO_CAGE    200 /* it would not work without its cage */
#define WORKER_NOT_OPENED 201 /* a file could not be opened */
#define WORKER_OTHER_FILE 202 /* it is not the file that is meant */

#define WORKER_SECONDS     30
#define WORKER_CPU_SECONDS 10

/* Inlined functions are worth a wait, but a short one: a report may be held up by it. */
#define WORKER_INLINES_SECONDS 12

/* Besides the files themselves, which are mapped. */
#define WORKER_MEMORY_BYTES (192ULL << 20)

/* The kernel ends a worker before any other process when memory is short. */
#define WORKER_OOM_SCORE "1000"

#define MAX_ELF_FILE_BYTES (8ULL << 30)

/* User and group of all that we start. */
#define NOBODY 65534

/*
 * Gives up all that the process could do but read and write what it has open. 0 or a negative errno,
 * upon which it must not go on.
 */
int sandbox_enter(unsigned int extras);

/* Becomes nobody, without capabilities; what the system does not let go of stays. */
void sandbox_drop_privileges(void);
