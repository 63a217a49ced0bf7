/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is at an address of a live process, for code that no file's table tells of: what a JIT
 * made, or a file that was not known when the stack was taken.
 */
#ifndef BPFTRUSS_PROCESS_CODE_H
#define BPFTRUSS_PROCESS_CODE_H

#include "collect/code_files.h"

struct process_mapping {
	struct code_mapping memory;
	uint32_t file; /* FILE_NONE: not opened so far */
};

/* Remembers the process that was asked about last. All zero is right to begin with. */
struct process_code {
	struct process_id id;
	int process; /* as /proc shows it; valid while there are mappings */
	struct process_mapping *mappings;
	size_t nr_mappings;
	struct elf_symbols *jit;
	struct process_id jit_id;
	uint64_t jit_bytes; /* size of the map when it was read: it only grows */
};

void process_code_done(struct process_code *code);

/* To be called once for a batch of stacks: processes change in between. */
void process_code_forget(struct process_code *code);

/* Reads what process_code_name() will need, before the process ends. */
void process_code_read(struct process_code *code, const struct process_id *id);

/*
 * Works as code_files_name() for an address in a process; a process that has ended or executes
 * another program by now.
 */
void process_code_name(struct process_code *code, struct code_files *files,
		       const struct process_id *id, uint64_t address, bool exact,
		       struct code_name *ret);

#endif
