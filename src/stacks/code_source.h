/* SPDX-License-Identifier: BSD-2-Clause */
/* A source knows the files of frames by their numbers. */
#ifndef BPFTRUSS_CODE_SOURCE_H
#define BPFTRUSS_CODE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "bpftruss/stack_abi.h"

#include "stacks/errand.h"
#include "stacks/process_maps.h"

/* A file of code. Descriptors and path are whoever opened it. */
struct opened_code {
	int fd;
	int root;       /* below which its debug file may be looked for; -1: nowhere */
	char *path;     /* there; NULL: unknown */
	uint32_t owner; /* of the file: he may name its functions, and so may root */
	bool is_dated;  /* it is the file as long as that was when it was written last */
	struct timespec written;
};

#define NO_CODE (struct opened_code){ .fd = -1, .root = -1 }

void opened_code_close(struct opened_code *code);

/* Whoever writes into a file while it is mapped gets no names of what it was, or is. Waits for nobody. */
bool opened_code_is_unchanged(const struct opened_code *code);

/* How many may search at a time: numbers from 1 up. */
#define MAX_SEARCHERS 7

/* A search, as the copy of this process has it that goes through with it. */
struct code_search {
	void *closure; /* the source's */
	unsigned int searcher;
	uint32_t file;
	struct process_id process; /* that may have it mapped */
};

struct code_source {
	void *closure;
	/* A file that is open still. 0, -ESRCH (it is not), -EAGAIN (not known yet) or -errno. */
	int (*open)(void *closure, uint32_t file, struct opened_code *ret);
	/* An errand, whose closure is a struct code_search. -ESRCH: nobody has it. */
	errand_function search;
	/* Lists those of our descriptors that the errand needs; returns how many. */
	size_t (*search_fds)(void *closure, int *fds, size_t max);
	/* Takes what it has brought back. 0 or -ESRCH. */
	int (*searched)(void *closure, uint32_t file, struct errand_answer *answer,
			struct opened_code *ret);
	/* The number of what a process, by its folder, has mapped; its name, NULL if that is unknown. */
	uint32_t (*find)(void *closure, uint32_t pid, int process,
			 const struct code_mapping *mapping, const char *name);
	/* Asks the kernel for the layout of a process now; 0: nothing. */
	uint32_t (*layout)(void *closure, const struct process_id *process);
	/* Returns its name, as long as the source lives; NULL: unknown. */
	const char *(*module)(void *closure, uint32_t file);
	/* From an offset in it to an address, as far as that is known. */
	uint64_t (*address)(void *closure, uint32_t file, uint64_t offset);
};

#endif
