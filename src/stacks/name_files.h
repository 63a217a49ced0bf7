/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads files for the names of their places. A file that has failed is tried again, less often
 * after each failure, and never given up for good.
 */
#pragma once

#include "stacks/code_source.h"
#include "base/errand.h"
#include "stacks/name_places.h"

struct names_options {
	bool inlines;    /* also the functions that were inlined */
	bool debuginfod; /* servers are asked for debug files */
	bool at_once;    /* as soon as stacks come, not only once names_begin() is called */
};

struct name_files;
struct name_task;

/* Holds what is known of a file. */
struct name_file {
	uint32_t number; /* first, since files are sorted by it */
	struct name_files *files;
	struct process_id process; /* the last one that had it mapped */
	struct place_list wanted;
	struct errand errand;   /* reads it; user: whose process that is */
	struct name_task *task; /* that is at it; NULL: none */
	bool is_lost;           /* nobody had it: whoever comes may have it */
	bool is_barren;         /* nothing can be read of it, nor could another time, or hardly */
	bool is_barren_oddly;   /* though it may be an ELF file, which others are not */
	bool is_fetched;        /* servers were asked */
	int fetched;            /* what they gave; -1: nothing */
	unsigned int delays;    /* since it is not known yet */
	unsigned int waits;     /* for the end of its opening, one after the other */
	unsigned int failures;  /* to read it, one after the other */
	unsigned int more_failures; /* to read its debug information */
	uint64_t more_ns;           /* that is not read before */
};

/* So often it is tried in vain before its places are said to have failed; it is tried on. */
#define MAX_NAME_TRIES 3

/* Then, after a quarter of an hour, it is only tried for those who ask again. */
#define MAX_NAME_WAITS 6

/* Borrows all but the options and the source. 0 or -errno. */
int name_files_new(const struct code_source *source, const struct names_options *options,
		   struct errands *errands, struct name_places *places, struct name_files **ret);
void name_files_free(struct name_files *files);

/* NULL: no memory. */
struct name_file *name_files_get(struct name_files *files, uint32_t number);

/* A process of a user has it mapped. */
void name_file_met(struct name_file *file, const struct process_id *process, uint32_t user);

/* Whether it may tell now what it could not tell before. */
bool name_file_may_tell(const struct name_file *file);

/* Names a place that is not settled. */
void name_file_want(struct name_file *file, struct name_place *place);
