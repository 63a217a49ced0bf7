/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is at an address of a live process, for code that no file's table tells of: what a JIT
 * made, or a file that was not known when the stack was taken.
 */
#ifndef BPFTRUSS_PROCESS_CODE_H
#define BPFTRUSS_PROCESS_CODE_H

#include "collect/code_files.h"

/* Remembers the process that was asked about last. All zero is right to begin with. */
struct process_code {
	uint32_t pid;
	struct code_mapping *mappings;
	size_t nr_mappings;
	struct elf_symbols *jit;
	uint32_t jit_pid;
	uint64_t jit_bytes; /* size of the map when it was read: it only grows */
};

void process_code_done(struct process_code *code);

/* To be called once for a batch of stacks: processes change in between. */
void process_code_forget(struct process_code *code);

/* As code_files_name(), of an address in a process; what has ended has no names. */
void process_code_name(struct process_code *code, struct code_files *files, uint32_t pid,
		       uint64_t address, bool exact, struct code_name *ret);

#endif
