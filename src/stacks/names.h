/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gives the frames of call stacks their names, while everything else goes on: symbols, debug files,
 * inlined functions and perf maps are read by workers, and nobody waits for one. A stack is in the
 * table at once, with its frames as places in files; their names follow.
 *
 *	names_add_stack(names, event);
 *	poll(names_fd(names), names_patience_ms(names));
 *	names_run(names);
 *
 * What it keeps is bounded: names of places that were seen, never the symbols of a file.
 */
#ifndef BPFTRUSS_NAMES_H
#define BPFTRUSS_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpftruss/stack_abi.h"

#include "model/stack.h"
#include "stacks/process_maps.h"

struct names;

/* A file of code. Descriptors and path are whoever opened it. */
struct opened_code {
	int fd;
	int root;       /* below which its debug file may be looked for; -1: nowhere */
	char *path;     /* there; NULL: unknown */
	uint32_t owner; /* of the file: he may name its functions, and so may root */
};

void opened_code_close(struct opened_code *code);

/* Who knows the files of frames by their numbers. Nothing here may wait. */
struct code_source {
	void *closure;
	/* Opens one, which that process may have mapped. 0, -ESRCH (nobody has it) or -errno. */
	int (*open)(void *closure, uint32_t file, const struct process_id *process,
		    struct opened_code *ret);
	/* The number of what a process has mapped, by its folder in /proc; FILE_NONE: unknown. */
	uint32_t (*find)(void *closure, int process, const struct code_mapping *mapping);
	/* What it is called, as long as the source lives; NULL: unknown. */
	const char *(*module)(void *closure, uint32_t file);
	/* From an offset in it to an address, as far as that is known. */
	uint64_t (*address)(void *closure, uint32_t file, uint64_t offset);
};

/* Whether a folder of /proc is that of a process, and not of another program of it. */
bool process_is(int process, const struct process_id *id);

struct names_options {
	bool inlines;    /* also the functions that were inlined */
	bool debuginfod; /* servers are asked for debug files */
	bool at_once;    /* as soon as stacks come, not only once names_begin() is called */
};

/* Fills the table, which is borrowed. Returns 0 or -errno. */
int names_new(const struct code_source *source, const struct names_options *options,
	      struct stack_table *table, struct names **ret);

/* NULL is fine. */
void names_free(struct names *names);

static inline void names_freep(struct names **names)
{
	names_free(*names);
}

/* Puts a stack of a user into the table. Returns 0 or -ENOMEM. */
int names_add_stack(struct names *names, const struct stack_event *event);

/* Names all that was added so far. */
void names_begin(struct names *names);

/* Whether all that was added before names_begin() has its names, or never will. */
bool names_are_done(const struct names *names);

/* Readable when names_run() has something to do. */
int names_fd(const struct names *names);

/* How long at most to wait for it: milliseconds as poll() takes them, -1 for ever. */
int names_patience_ms(const struct names *names);

/* Takes what workers have answered, starts others, and brings the table up to date. 0 or -ENOMEM. */
int names_run(struct names *names);

/* Of places in code. */
struct names_counts {
	uint64_t places;  /* that were seen */
	uint64_t bytes;   /* of memory for them and their names */
	uint64_t waiting; /* for a worker, or for one to be tried again */
	uint64_t failed;  /* without a name since no worker could tell one */
	uint64_t refused; /* beyond what is kept: each time one was met */
};

void names_count(const struct names *names, struct names_counts *ret);

#endif
