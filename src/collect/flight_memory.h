/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies what a walk up the stacks of a process needs: its mappings of code, and parts of the
 * memory of some of its threads. A copy of this process does it, since it may have to wait for a
 * lock of the other process, or for a disk.
 */
#pragma once

#include "base/process.h"
#include "bpftruss/abi.h"

#define MAX_CODE_MAPPINGS 4096

/*
 * The top of a stack, what arguments of the call point at, and other places as far as a walk asks for
 * them, such as a signal's stack.
 */
#define MAX_WINDOWS   12
#define TOP_BYTES     (128u * 1024)
#define WINDOW_BYTES  4096u
#define WINDOWS_BYTES (TOP_BYTES + (MAX_WINDOWS - 1) * WINDOW_BYTES)

struct code_name_mapping {
	struct code_mapping memory;
	uint32_t name; /* offset in names */
};

struct memory_window {
	uint64_t start;
	uint32_t place; /* in memory */
	uint32_t size;  /* as wanted, and what is there once it is taken */
	bool is_taken;
};

struct thread_memory {
	const struct listed_thread *thread; /* borrowed */
	bool is_still;                      /* it has slept all the time since it was listed */
	size_t nr_windows;
	struct memory_window windows[MAX_WINDOWS];
	uint8_t memory[WINDOWS_BYTES];
};

/* Shared with the copy that fills it. Only what is used takes memory. */
struct process_memory {
	size_t bytes; /* of all this */
	uint32_t pid;
	bool has_mappings;
	size_t nr_mappings, names_bytes;
	struct code_name_mapping mappings[MAX_CODE_MAPPINGS];
	char names[MAX_CODE_MAPPINGS * (NAME_MAX + 1)]; /* each ends in NUL */
	size_t nr_threads;
	struct thread_memory threads[];
};

/* Makes room for so many threads, which the caller fills in. NULL: no memory. */
struct process_memory *process_memory_new(uint32_t pid, size_t nr_threads);
void process_memory_free(struct process_memory *memory);

/*
 * Wants so many bytes of a thread's memory from an address on, WINDOW_BYTES at most. False: they are not there, or
 * there is no more room.
 */
bool thread_memory_want(struct thread_memory *memory, uint64_t address, size_t size);

/*
 * Takes everything that is wanted from some processes and was not taken yet: then it is there, or
 * never will be. If a process is gone or took too long, its memory is freed and replaced by NULL.
 */
void process_memory_take(struct process_memory **processes, size_t nr);

/* Eight bytes that were taken; false: they were not. */
bool thread_memory_read(const struct thread_memory *memory, uint64_t address, uint64_t *ret);

/* Copies what was taken from an address on; returns how much that was. */
size_t thread_memory_copy(const struct thread_memory *memory, uint64_t address, void *to,
			  size_t size);

/* The mapping of code at an address; NULL: there is none. */
const struct code_name_mapping *process_memory_find(const struct process_memory *memory,
						    uint64_t address);
