/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses foreign files where it can do no harm: in a process of its own, without rights, that has
 * the file, a buffer for its answer and nothing else. Its answer is checked before it is believed.
 * A failure there is an error here, and nothing more.
 *
 *	elf_worker_start(&(struct elf_question){ .kind = ELF_UNWIND, .fd = fd }, &child);
 *	poll(child.pidfd, child_timeout_ms(&child));
 *	elf_worker_unwind(&child, &unwind);
 */
#pragma once

#include "bpftruss/stack_abi.h"
#include "base/child.h"
#include "elf/functions.h"
#include "elf/unwind_rows.h"

/* The first argument by which the program knows that it is a worker. */
#define ELF_WORKER_ARGUMENT "--elf-worker"

enum elf_question_kind {
	ELF_UNWIND,   /* elf_unwind_read() */
	ELF_SYMBOLS,  /* elf_symbols_read() */
	ELF_PERF_MAP, /* perf_map_read() */
	ELF_INLINES,  /* elf_inlines_read() */
	NR_ELF_QUESTION,
};

/* Proves that an open file is the one that is meant. */
struct elf_proof {
	/* Runs in a copy (base/child.h); the file is open for reading. 0, -ESTALE or -errno. */
	int (*is_it)(const struct elf_proof *proof, int fd);
	const void *closure;
	int fd;              /* that it needs besides; -1: none */
	unsigned int number; /* no other one that runs has it */
	struct inode_key key;
};

struct elf_question {
	enum elf_question_kind kind;
	int fd;                                /* of a regular file; O_PATH will do */
	const struct debug_files *debug;       /* that may be its debug file; NULL: none */
	const struct elf_addresses *addresses; /* NULL: of an unwind table, there are none */
	const struct elf_proof *proof;         /* of the file; NULL: nobody asks for one */
};

/*
 * Starts a worker, which is to be watched, and stopped when it is overdue. Descriptors stay the caller's
 * and may be closed at once; the worker opens the files for itself, as their servers may keep it waiting.
 * -EINVAL: no regular file, -EFBIG: too large, or another negative errno.
 */
int elf_worker_start(const struct elf_question *question, struct child *ret);

/*
 * Take the answer of a worker, for whose end they wait if they have to; the child is done then. Besides
 * what the parsers return: -ETIMEDOUT, -EPROTO (it crashed, or its answer made no sense), -ENOSYS (no
 * file can be read here, as the kernel offers no sandbox), -EAGAIN (a file could not be opened now),
 * -ESTALE (it is another file than the one that is meant).
 */
int elf_worker_unwind(struct child *worker, struct elf_unwind **ret);
int elf_worker_functions(struct child *worker, struct elf_functions **ret);

/* main() of the worker; does not return. */
_Noreturn void elf_worker_main(int argc, char **argv);
