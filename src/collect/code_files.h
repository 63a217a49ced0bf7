/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files whose code runs, and their tables for the kernel. A file is what the kernel takes for one,
 * an inode; it is parsed by a worker (elf/worker.h).
 */
#ifndef BPFTRUSS_CODE_FILES_H
#define BPFTRUSS_CODE_FILES_H

#include "collect/mapped_file.h"
#include "collect/unwind_tables.h"
#include "base/errand.h"

struct code_files;

/*
 * Begins with the vdso. Borrows tables and errands. Lasting: no file stays open for long. Returns 0 or
 * -errno.
 */
int code_files_new(struct unwind_tables *tables, const struct code_identity *identity,
		   struct errands *errands, bool lasting, struct code_files **ret);
void code_files_free(struct code_files *files);
CLEANUP_OF(code_files, code_files_free)

/*
 * Has the file of a mapping opened, and its table made, by an errand; one that is known costs nothing. A
 * file that cannot be parsed has frame pointers only; one that cannot be opened, takes too long or finds
 * no room is asked for again.
 */
void code_files_learn(struct code_files *files, const struct pending_event *mapping);

/* Waits until all are read, or some moment, or a signal tells us to end; the rest is read later. */
void code_files_wait(struct code_files *files, uint64_t until_ns);

/* By which their frames are named. */
struct code_source code_files_source(struct code_files *files);

/* Closes those that were not used for a while, if counting may go on for long. */
void code_files_tidy(struct code_files *files);

/* How many have been opened, the vdso included. */
size_t code_files_count(const struct code_files *files);

#endif
