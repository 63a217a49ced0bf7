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

/* Writes such a list; of no keys it is empty. */
#define GROUP_KEYS_MAX 64
void group_keys_format(unsigned int keys, char buf[GROUP_KEYS_MAX]);

/* One group. Of sum's identity only the fields that the keys ask for mean anything. */
struct group {
	struct row sum;
	bool moves_data;  /* some of its calls move data; only then does bytes mean anything */
	uint64_t bytes;   /* result_sum of the calls that move data */
	size_t nr_merged; /* for a row of "others": how many groups were added up to it; else 0 */
	const struct process *process; /* of one of its rows, for pid, comm, unit, user; or NULL */
	uint64_t
		user_ns; /* CPU time outside calls of its processes, when grouped by process only */
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

/* Adds the numbers, not the identity. Returns 0 or -ENOMEM (the group is then to be discarded). */
int group_merge(struct group *into, const struct group *from);

/* Adds up all groups; a list without any gives a group of zeroes. row_done() its sum. 0, -ENOMEM. */
int group_list_sum(const struct group_list *list, struct group *ret);

#endif
