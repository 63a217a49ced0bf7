/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code of processes that no table tells of: what was mapped at an address when a stack was taken, and
 * what a JIT says of its code.
 */
#ifndef BPFTRUSS_NAME_PROCESSES_H
#define BPFTRUSS_NAME_PROCESSES_H

#include "stacks/code_source.h"
#include "stacks/name_places.h"

/* Processes with such code, and perf maps that are read at a time. */
#define MAX_NAME_PROCESSES 64
#define MAX_PERF_MAPS      2

struct name_processes;

/* Borrows all; the watcher is an epoll instance, which waits for all descriptors. 0 or -ENOMEM. */
int name_processes_new(const struct code_source *source, int watcher, struct name_places *places,
		       struct name_processes **ret);

/* NULL is fine. */
void name_processes_free(struct name_processes *processes);

/* Describes a mapping. */
struct found_code {
	uint32_t file; /* FILE_NONE: of no file */
	uint64_t offset;
};

/*
 * What was mapped at an address when the stack was taken. False: nothing, or it cannot be told for
 * certain, as it may be something else by now.
 */
bool name_processes_find(struct name_processes *processes, const struct stack_event *event,
			 struct name_user *user, uint64_t address, struct found_code *ret);

/* A place of a process is to be named by its JIT. */
void name_processes_want(struct name_processes *processes, const struct process_id *id,
			 struct name_place *place);

/* As those of tasks. */
void name_processes_run(struct name_processes *processes);
int name_processes_patience_ms(const struct name_processes *processes);
bool name_processes_are_idle(const struct name_processes *processes);

#endif
