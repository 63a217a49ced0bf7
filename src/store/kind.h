/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kinds of process: what the history keeps instead of pids. A kind is a name, a user and a cgroup;
 * two more stand for processes of all further kinds and for calls that belong to nobody.
 */
#ifndef BPFTRUSS_STORE_KIND_H
#define BPFTRUSS_STORE_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "model/filter.h"
#include "model/snapshot.h"
#include "store/db.h"

/* Serial numbers of kinds, as boot_ns of processes with pid 0, and ids of cgroups start here. */
#define KIND_FIRST FOLDED_FIRST

/* Kinds beyond this many become the one of others: names are chosen by programs. */
#define KINDS_MAX 20000

/* Ids that always mean the same; the others have a row for each. */
enum {
	KIND_ALL = 0,    /* all kinds together, in a sum by call; in no file */
	KIND_NOBODY = 1, /* calls that found no room */
	KIND_OTHERS = 2, /* process_of_other_kinds() */
};

/* A kind by value; it borrows from a snapshot. */
struct kind {
	int64_t id; /* 0: not known */
	char comm[PROCESS_COMM_SIZE];
	uint32_t uid;
	const char *user, *cgroup; /* NULL: unknown */
};

/* Returns the kind of a process; NULL is nobody. The id is filled only if it is always the same. */
struct kind kind_of(const struct snapshot *snapshot, const struct process *process);

/* Fills the id, if it is not known, and there is such a kind. */
int kind_find(struct db *db, struct kind *kind);

/* How many kinds may still be added. */
int kinds_room(struct db *db, int64_t *ret);

/* Does what kind_find() does, but adds a new kind while there is room, which is counted down. */
int kind_take(struct db *db, struct kind *kind, int64_t *room);

/* Notes that an interval, which is written, has its kinds. */
int kinds_touch(struct db *db, int64_t interval);

/* Removes kinds that no interval has any more. */
int kinds_retire(struct db *db);

/* Reads one as a process with its serial number, and adds its user and cgroup to a snapshot's names. */
int kind_read(struct db *db, int64_t id, struct snapshot *names, struct process *ret);

/* The ids of some kinds, in order. */
struct kind_set {
	int64_t *ids; /* owned; NULL: all kinds are in it */
	size_t count;
};

/* Those that match; without selectors, all. */
int kind_set_fill(struct db *db, const struct process_filter *filter, struct kind_set *ret);
bool kind_set_has(const struct kind_set *set, int64_t id);

#endif
