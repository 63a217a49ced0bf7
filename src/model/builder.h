/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adds up rows and processes, in any order, and turns them into a snapshot. A builder may also be
 * kept for good, as the total of what has ended.
 */
#pragma once

#include "model/snapshot.h"

struct builder;

/* Returns 0 or -ENOMEM. */
int builder_new(struct builder **ret);
void builder_free(struct builder *builder);
CLEANUP_OF(builder, builder_free)

/* Adds the numbers of a row to the one of the same identity. Returns 0 or -ENOMEM. */
int builder_add_row(struct builder *builder, const struct row *row);

/*
 * Works like builder_add_row(), without copies: what the row owns becomes the builder's, and it is
 * as after row_init(). On -ENOMEM it is either that or as it was.
 */
int builder_move_row(struct builder *builder, struct row *row);

/* Adds a row of row_new(), and takes it over from the caller's list; on -ENOMEM it stays there. */
int builder_adopt_row(struct builder *builder, struct row *row);

/* The same, but it stays in the caller's list, too. Returns 0 or -ENOMEM. */
int builder_share_row(struct builder *builder, struct row *row);

/*
 * Adds a process's counts; its name is that of the same thread whoever comes first, see process_take_name().
 * Alive beats ended. Returns 0 or -ENOMEM.
 */
int builder_add_process(struct builder *builder, const struct process *process, bool is_newer);

/* The process of that pid and start, whose numbers may be changed; NULL when absent. */
struct process *builder_find_process(const struct builder *builder, const struct process *key);

/* Adds everything of another builder. Returns 0 or -ENOMEM. */
int builder_merge(struct builder *into, const struct builder *from);

/* Calls visit for each process, up to the first error, which it returns. */
typedef int builder_visit(void *closure, const struct process *process);
int builder_visit_processes(const struct builder *builder, builder_visit *visit, void *closure);

/* Number of processes in it. */
size_t builder_processes(const struct builder *builder);

/* Number of rows in it, and bytes of memory that it takes. Both fall when rows are merged. */
size_t builder_rows(const struct builder *builder);
size_t builder_bytes(const struct builder *builder);

/* Merges all rows of one identity now. Returns 0 or -ENOMEM. */
int builder_settle(struct builder *builder);

/*
 * Moves what was added into a snapshot's rows and processes, which must be empty. The builder is
 * empty afterwards. Returns 0 or -ENOMEM (the snapshot is then to be freed).
 */
int builder_finish(struct builder *builder, struct snapshot *snapshot);

/* --- folding ---------------------------------------------------------------------------------- */

/*
 * Adds up ended processes by name, user and cgroup, within a budget of memory: these groups have
 * pid 0. Where the budget is spent, a new group is that of process_of_other_kinds(), and a new row
 * of a group is that of ROW_NR_OTHER. As the rows of groups only grow, no budget has room again once
 * it is spent, unless groups are retired: a group or row that exists has all that was folded of its
 * kind or number since then.
 */

/* There are no more groups than these; no user has more than half of them. */
#define FOLD_MAX_KINDS 2000

struct fold_options {
	/*
	 * Whether a process is to be folded. A group is retired: it joins that of other kinds. Between
	 * two readings of which one is subtracted from the other, only in front of all other folds.
	 */
	bool (*folds)(const struct process *process, const void *closure);
	const void *closure;
	size_t max_bytes; /* of the rows of all groups; no user's take more than half of it */
	uint64_t *serial; /* of the next new group, FOLDED_FIRST or more; counted on */
	uint64_t *
		unsplit; /* counts calls that lost what their rows were split by; NULL: they are not */
};

/*
 * Moves the rows and processes of a snapshot into a builder, those that are to be folded into
 * groups. Returns 0 or -ENOMEM: then some are in neither, and both are to be freed.
 */
int snapshot_fold(struct snapshot *from, const struct fold_options *options, struct builder *into);

/*
 * Adds what a snapshot has lost by folding: ended processes in the group of other kinds, calls in rows
 * of ROW_NR_OTHER of any process.
 */
void snapshot_count_folded(const struct snapshot *snapshot, struct losses *losses);
