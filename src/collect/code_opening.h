/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the files of mappings by errands (stacks/errand.h): whose file system it is may keep them. */
#ifndef BPFTRUSS_CODE_OPENING_H
#define BPFTRUSS_CODE_OPENING_H

#include <stdbool.h>

#include "collect/mapped_file.h"
#include "stacks/code_source.h"

/* At a time. Each asks by a number of its own, beyond those of searches. */
#define MAX_OPENINGS (FILE_ASKERS - MAX_SEARCHERS - 1)

struct code_openings;

/* Where a file is mapped. */
struct mapped_place {
	uint32_t pid;
	uint64_t start, end;
};

/* The identity is copied, the watcher an epoll instance. 0 or -ENOMEM. */
int code_openings_new(const struct code_identity *identity, int watcher,
		      struct code_openings **ret);

/* NULL is fine. */
void code_openings_free(struct code_openings *openings);

/* Opens a file, which has a number, as soon as it can. Returns 0 or -ENOMEM. */
int code_openings_add(struct code_openings *openings, uint32_t number,
		      const struct mapped_place *place);

/*
 * The next that is over; false: none now. What was opened is the caller's. err: 0, what
 * mapped_file_open() returns, or -ETIMEDOUT.
 */
bool code_openings_next(struct code_openings *openings, uint32_t *number, int *err,
			struct mapped_file *ret);

bool code_openings_are_busy(const struct code_openings *openings);
int code_openings_patience_ms(const struct code_openings *openings);

/* Packs and unpacks an opened file for the way home from an errand. */
void mapped_file_pack(struct mapped_file *file, struct errand_answer *ret);
void mapped_file_unpack(struct errand_answer *answer, struct mapped_file *ret);

#endif
