/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code of processes that no table tells of: what was mapped at an address when a stack was taken, and
 * what a JIT says of its code. All of it is asked for by errands.
 */
#pragma once

#include "stacks/code_source.h"
#include "base/errand.h"
#include "stacks/name_places.h"

/* Processes with such code. */
#define MAX_NAME_PROCESSES 64

struct name_processes;

/* Borrows all. 0 or -ENOMEM. */
int name_processes_new(const struct code_source *source, struct errands *errands,
		       struct name_places *places, struct name_processes **ret);
void name_processes_free(struct name_processes *processes);

/*
 * Asks what the process of an event has mapped, unless that is known. True: the stack is given back by
 * name_processes_take() once it is known, or will not be.
 */
bool name_processes_ask(struct name_processes *processes, const struct stack_event *event,
			struct unnamed_stack *stack);

/* Returns a stack that waits no longer for what its process has mapped; NULL: there is none. */
struct unnamed_stack *name_processes_take(struct name_processes *processes);

/* Describes a mapping. */
struct found_code {
	uint32_t file; /* FILE_NONE: of no file */
	uint64_t offset;
};

/*
 * Finds what a process had mapped at an address when it had so many pages of code. False: nothing,
 * or it cannot be told for certain, as it may be something else by now.
 */
bool name_processes_find(struct name_processes *processes, const struct process_id *id,
			 uint32_t exec_pages, uint64_t address, struct found_code *ret);

/* A place of a process is to be named by its JIT; again: if that says anything else than before. */
void name_processes_want(struct name_processes *processes, const struct process_id *id,
			 struct name_place *place, bool again);
