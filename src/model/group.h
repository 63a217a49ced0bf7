/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows added up by what they have in common, sorted and cut: what --by, --sort and --top ask for. */
#pragma once

#include "base/diag.h"
#include "model/container.h"
#include "model/snapshot.h"

enum group_key {
	GROUP_PID = 1 << 0,
	GROUP_TID = 1 << 1, /* implies GROUP_PID */
	GROUP_COMM = 1 << 2,
	GROUP_UNIT = 1 << 3,
	GROUP_USER = 1 << 4,
	GROUP_SYSCALL = 1 << 5, /* ABI and number */
	GROUP_ABI = 1 << 6,
	/* Rows may be split by these; those of arguments imply GROUP_SYSCALL. */
	GROUP_ARG0 = 1 << 7,
	GROUP_CPU = 1 << 13,
	GROUP_PATH = 1 << 14,
	GROUP_FILE = 1 << 15,
	GROUP_DIR = 1 << 16, /* the folder of a path, by which rows are split */
	GROUP_CGROUP = 1 << 17,
	GROUP_CONTAINER = 1 << 18,
	GROUP_THREAD = 1 << 19, /* the name of a thread */
	GROUP_POD = 1 << 20,
	GROUP_HOST = 1 << 21,
#define GROUPS_OF_THREADS (GROUP_TID | GROUP_THREAD)
};

/* The key of a split, and all that need one. */
#define GROUP_OF_SPLIT(split) ((unsigned int)GROUP_ARG0 << ((split) - SPLIT_ARG0))
#define GROUP_SPLITS          (2U * GROUP_DIR - GROUP_ARG0)

/* Those of splits that have names. */
#define GROUPS_OF_NAMES (GROUP_PATH | GROUP_FILE | GROUP_DIR)

/* The split that keys ask for, of which there is one at most. */
enum call_split group_split(unsigned int keys);

/* The name of a key that is among these. */
const char *group_key_for(unsigned int keys);

/* Reads a list such as comm,syscall into a mask of keys. A fault begins with what was given: option. */
int group_keys_parse(const char *option, const char *list, unsigned int *ret, struct diag *d);

/* A group remembers this many rows, those with the slowest calls. */
#define GROUP_SLOWEST 5

/* Holds one group. In sum's identity only the fields that the keys ask for mean anything. */
struct group {
	struct row sum;
	bool moves_data;  /* some of its calls move data; only then does bytes mean anything */
	uint64_t bytes;   /* result_sum of the calls that move data */
	size_t nr_merged; /* for a row of "others": how many groups were added up to it; else 0 */
	size_t place;     /* in the order of the keys */
	const struct process *process; /* of one of its rows, for pid, comm, unit, user; or NULL */
	const struct thread *thread;   /* likewise; NULL: of an ended one, or not told apart */
	const struct row
		*slowest[GROUP_SLOWEST]; /* its rows by max_ns, largest first; NULL: no more */
};

struct group_list {
	struct group *groups; /* owned; process, thread and slowest point into the snapshot */
	size_t nr_groups;
	unsigned int keys;
};

void group_list_done(struct group_list *list);

/* Which rows are to be grouped. */
struct row_test {
	bool (*has)(const struct row *row, const void *closure);
	const void *closure;
};

/* Adds up the rows that the test has (NULL: all) by keys, ordered by key. Returns 0 or -ENOMEM. */
int snapshot_group(const struct snapshot *snapshot, unsigned int keys, const struct row_test *test,
		   struct group_list *ret);

/* A row with what its keys may ask for. */
struct group_member {
	const struct row *row;
	const struct process *process; /* NULL: of nobody */
	const struct thread *thread;   /* NULL: it has ended, or is not told apart */
	const char *host;              /* the name of where it was counted */
	const char *cgroup;            /* its path; NULL: not known */
	const char *unit;              /* not NUL-terminated */
	size_t unit_length;
	struct container container;
	const char *user; /* NULL: without a name */
	const char
		*argument; /* path or file, if rows are split by it; NULL: argument_key says why */
	enum argument_key argument_key;
	bool in_b;
};

struct group_members {
	struct group_member *items; /* owned; in order */
	size_t count;
	unsigned int keys;
	bool has_hosts; /* they are of several hosts, on which a uid may be of different users */
	bool by_name; /* they are of two snapshots, in which users and processes are known by their names */
};

void group_members_done(struct group_members *members);

/*
 * Lists the rows of a that the test has, and, unless b is NULL, those of both snapshots with calls that
 * ended. Returns 0 or -ENOMEM.
 */
int group_members_make(const struct snapshot *a, const struct snapshot *b, unsigned int keys,
		       const struct row_test *test, struct group_members *ret);

/* Whether a member is the first of its group. */
bool group_member_is_first(const struct group_members *members, size_t at);

/* Makes an empty group, with the identity of a member unless that is NULL. */
void group_init(struct group *group, const struct group_member *member);

/* Adds the numbers of a member. Returns 0 or -ENOMEM. */
int group_add_member(struct group *group, const struct group_member *member);

/* Adds the numbers, not the identity. Returns 0 or -ENOMEM (the group is then to be discarded). */
int group_merge(struct group *into, const struct group *from);

/* Adds up the groups from the first on; row_done() the sum. Returns 0 or -ENOMEM. */
int group_list_sum(const struct group_list *list, size_t first, struct group *ret);

struct group_cut {
	uint64_t min_calls;
	bool ended_only;                  /* without calls in flight that no other ended with */
	bool errors_only, successes_only; /* with any */
	size_t top;                       /* 0: all */
	/* Orders groups; of equal ones the earlier is first. NULL keeps the order of the list. */
	int (*compare)(const struct group *a, const struct group *b, const void *closure);
	const void *closure;
};

/*
 * Sorts a list that snapshot_group() made, and cuts it. Groups that are left out are added up in
 * one last group with nr_merged set, so that the sum of the list stays the same; only groups
 * without any call, ended or in flight as the filter has it, go without trace. Returns 0 or -ENOMEM; all groups are
 * there then.
 */
int group_list_select(struct group_list *list, const struct group_cut *filter);
