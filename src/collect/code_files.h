/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files whose code runs, and their tables for the kernel. A file is what the kernel takes for one,
 * an inode; it is parsed by a worker (elf/worker.h).
 */
#ifndef BPFTRUSS_CODE_FILES_H
#define BPFTRUSS_CODE_FILES_H

#include <stdbool.h>

#include "collect/code_identity.h"
#include "collect/collector.h"
#include "stacks/names.h"
#include "collect/unwind_tables.h"

struct code_files;

/* Begins with the vdso. Borrows tables and options. Returns 0 or -errno. */
int code_files_new(struct unwind_tables *tables, const struct code_identity *identity,
		   const struct collector_options *options, struct code_files **ret);

/* NULL is fine. */
void code_files_free(struct code_files *files);

static inline void code_files_freep(struct code_files **files)
{
	code_files_free(*files);
}

/*
 * Learns the files of mappings, several at a time; those that are known cost nothing. One that
 * cannot be parsed has frame pointers and no names. Those for which there is no time left, or that
 * are not read when a signal tells us to end, are asked for again. Returns 0 or -ENOMEM.
 */
int code_files_learn(struct code_files *files, const struct pending_event *mappings, size_t count,
		     uint64_t budget_ns);

/* By which their frames are named. */
struct code_source code_files_source(struct code_files *files);

/* Closes those that were not used for a while, if counting may go on for long. */
void code_files_tidy(struct code_files *files);

/* How many have been opened, the vdso included. */
size_t code_files_count(const struct code_files *files);

#endif
