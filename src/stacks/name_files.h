/* SPDX-License-Identifier: BSD-2-Clause */
/* Files whose places want names, and whose turn it is: users take turns, not files. */
#ifndef BPFTRUSS_NAME_FILES_H
#define BPFTRUSS_NAME_FILES_H

#include "stacks/code_source.h"
#include "stacks/name_places.h"

/* Holds what is known of a file. */
struct name_file {
	uint32_t number;
	struct process_id process; /* the last one that had it mapped */
	struct name_user *user;    /* whose process that is */
	struct place_list wanted;
	bool is_queued;
	bool is_busy;          /* a task is at it */
	bool is_lost;          /* nobody had it: whoever comes may have it */
	bool is_barren;        /* nothing can be read of it, nor could another time, or hardly */
	bool is_barren_oddly;  /* though it may be an ELF file, which others are not */
	bool is_fetched;       /* servers were asked */
	int fetched;           /* what they gave; -1: nothing */
	unsigned int delays;   /* since it is not known yet */
	unsigned int failures; /* to read it, one after the other */
	uint64_t retry_ns;     /* not before */
	unsigned int more_failures; /* to read its debug information */
	uint64_t more_ns;           /* that is not read before */
};

/* So often it is tried in vain before its places are said to have failed; it is tried on. */
#define MAX_NAME_TRIES 3

/* Then, after a quarter of an hour, it is only tried for those who ask again. */
#define MAX_NAME_WAITS 6

struct name_files;

int name_files_new(struct name_places *places, struct name_files **ret);

/* NULL is fine. */
void name_files_free(struct name_files *files);

/* NULL: no memory. */
struct name_file *name_files_get(struct name_files *files, uint32_t number);

/* A process of a user has it mapped. */
void name_file_met(struct name_file *file, const struct process_id *process,
		   struct name_user *user);

/* Whether it may tell now what it could not tell before. */
bool name_file_may_tell(const struct name_file *file);

/* A place that is not settled is to be named. */
void name_files_want(struct name_files *files, struct name_file *file, struct name_place *place);

/*
 * The one that is to be read next, of a user with less than so many tasks; some of what it wants is in
 * the batch then, and it is busy until it is given back. NULL: none.
 */
struct name_file *name_files_take(struct name_files *files, unsigned int max_running,
				  struct place_list *batch);

/* With what became of it: its batch is settled, or else wanted as before, but not soon. */
void name_files_done(struct name_files *files, struct name_file *file);
void name_files_delayed(struct name_files *files, struct name_file *file, struct place_list *batch,
			uint64_t until_ns);
void name_files_failed(struct name_files *files, struct name_file *file, struct place_list *batch,
		       int err);

/* When to try again what has failed so often, one after the other. */
uint64_t retry_at_ns(unsigned int failures);

size_t name_files_waiting(const struct name_files *files);

/* Since when the first of them waits. */
uint64_t name_files_since_ns(const struct name_files *files);

/* When there is one to be taken; UINT64_MAX: none waits. */
uint64_t name_files_next_ns(const struct name_files *files, unsigned int max_running);

#endif
