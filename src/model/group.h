/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows added up by what they have in common, sorted and cut: what --by, --sort and --top ask for. */
#ifndef BPFTRUSS_GROUP_H
#define BPFTRUSS_GROUP_H

#include "base/diag.h"
#include "model/snapshot.h"

enum group_key {
	GROUP_PID = 1 << 0,
	GROUP_TID = 1 << 1, /* implies GROUP_PID */
	GROUP_COMM = 1 << 2,
	GROUP_UNIT = 1 << 3,
	GROUP_USER = 1 << 4,
	GROUP_SYSCALL = 1 << 5, /* ABI and number */
	GROUP_ABI = 1 << 6,
	GROUP_ARG0 = 1 << 7, /* implies GROUP_SYSCALL */
};

/* Reads a list such as comm,syscall into a mask of keys. A fault begins with what was given: option. */
int group_keys_parse(const char *option, const char *list, unsigned int *ret, struct diag *d);

/* One group. Of sum's identity only the fields that the keys ask for mean anything. */
struct group {
	struct row sum;
	bool moves_data;  /* some of its calls move data; only then does bytes mean anything */
	uint64_t bytes;   /* result_sum of the calls that move data */
	size_t nr_merged; /* for a row of "others": how many groups were added up to it; else 0 */
	size_t place;     /* in the order of the keys */
	const struct process *process; /* of one of its rows, for pid, comm, unit, user; or NULL */
};

struct group_list {
	struct group *groups; /* owned; process points into the snapshot */
	size_t nr_groups;
	unsigned int keys;
};

void group_list_done(struct group_list *list);

/* Adds up the snapshot's rows by keys, ordered by key. Returns 0 or -ENOMEM. */
int snapshot_group(const struct snapshot *snapshot, unsigned int keys, struct group_list *ret);

/* Which rows are to be grouped. */
struct row_test {
	bool (*has)(const struct row *row, const void *closure);
	const void *closure;
};

/* As snapshot_group(), of some rows only; a NULL test has all. */
int snapshot_group_some(const struct snapshot *snapshot, unsigned int keys,
			const struct row_test *test, struct group_list *ret);

/* A row with what its keys may ask for. */
struct group_member {
	const struct row *row;
	const struct process *process; /* NULL: of nobody */
	const char *unit;              /* not NUL-terminated */
	size_t unit_length;
	const char *user; /* NULL: without a name */
};

/* A row of the snapshot, or a sum of such rows of one process. */
struct group_member member_of(const struct snapshot *snapshot, const struct row *row,
			      const struct process *process);

/*
 * Orders members by keys: within one snapshot, or, by name, of two, in which a user and a process
 * are known by their names.
 */
int group_members_compare(const struct group_member *a, const struct group_member *b,
			  unsigned int keys, bool by_name);

/* Adds the numbers, not the identity. Returns 0 or -ENOMEM (the group is then to be discarded). */
int group_merge(struct group *into, const struct group *from);

/* Adds up all groups; a list without any gives a group of zeroes. row_done() its sum. 0, -ENOMEM. */
int group_list_sum(const struct group_list *list, struct group *ret);

struct group_filter {
	uint64_t min_calls;
	bool errors_only;
	size_t top; /* 0: all */
	/* Orders groups; of equal ones the earlier is first. NULL keeps the order of the list. */
	int (*compare)(const struct group *a, const struct group *b, const void *closure);
	const void *closure;
};

/*
 * Sorts a list that snapshot_group() made, and cuts it. Groups that are left out are added up in
 * one last group with nr_merged set, so that the sum of the list stays the same; only groups
 * without any call, ended or in flight, go without trace. Returns 0 or -ENOMEM; all groups are
 * there then.
 */
int group_list_select(struct group_list *list, const struct group_filter *filter);

#endif
