/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files whose code runs: their tables for the kernel, their symbols for the reports. A file is
 * what the kernel takes for one, an inode; it is parsed by a worker (elf/worker.h).
 */
#ifndef BPFTRUSS_CODE_FILES_H
#define BPFTRUSS_CODE_FILES_H

#include <stdbool.h>

#include "collect/code_identity.h"
#include "collect/collector.h"
#include "collect/process_maps.h"
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

/* What a frame of a file is called. */
struct code_name {
	const char *module; /* lives as long as the files; NULL: unknown */
	const char *symbol; /* the same */
	uint64_t offset;    /* from the symbol, else in the file */
};

/*
 * The name of the code before an address in a file, or at it if exact; loads the file's symbols
 * when they are first asked for.
 */
void code_files_name(struct code_files *files, uint32_t file, uint64_t address, bool exact,
		     struct code_name *ret);

/*
 * Asks the servers of debuginfod for the debug file, if there is none here and that was not done
 * before. It may take a minute.
 */
void code_files_fetch(struct code_files *files, uint32_t file);

/*
 * Where a file's DWARF is, in itself or in a debug file (-1: none); both stay the files' own. False:
 * nowhere. Only with collector_options.inlines.
 */
bool code_files_dwarf(struct code_files *files, uint32_t file, int *fd, int *debug_fd);

/*
 * The number of the file that a process has mapped there now, which is made if the programs have not
 * seen it: where they cannot ask for mappings, or the table of files is full. Such a file has names,
 * but no table. FILE_NONE if that cannot be.
 */
uint32_t code_files_open(struct code_files *files, int process, const struct code_mapping *mapping);

/* From an offset in a file, as in frames, to an address in it. */
uint64_t code_files_address(const struct code_files *files, uint32_t file, uint64_t offset);

/* How many have been opened, the vdso included. */
size_t code_files_count(const struct code_files *files);

#endif
