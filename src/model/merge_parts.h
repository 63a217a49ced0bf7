/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists the parts of what is merged, refuses those that overlap, and tells which are the latest. */
#pragma once

#include "model/merge_fit.h"

/* An origin of an input. */
struct merge_part {
	struct origin origin;            /* borrows its texts */
	const struct merge_input *given; /* the input; borrowed */
	size_t input;                    /* its number */
	uint32_t index;                  /* in the origins of the input */
	bool is_latest;                  /* calls in flight of its host are those of this input */
};

struct merge_parts {
	struct merge_part *list; /* owned, by origin_compare() */
	size_t count;
};

void merge_parts_done(struct merge_parts *parts);

/* Whether a snapshot has neither rows nor processes. */
bool merge_is_empty(const struct snapshot *snapshot);

/* How many parts an input has: one, unless it was merged itself. */
size_t merge_count_parts(const struct snapshot *snapshot);

/* Adds the parts of an input, which must live as long as the list. Returns 0 or -ENOMEM. */
int merge_parts_add(struct merge_parts *parts, size_t input, const struct merge_input *given);

/*
 * Sorts the parts once all are there, and sets is_latest. Returns 0, or -errno with d filled: -EINVAL if parts of
 * two inputs overlap.
 */
int merge_parts_settle(struct merge_parts *parts, struct diag *d);
