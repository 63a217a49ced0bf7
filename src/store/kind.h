/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kinds of process: what the history keeps instead of pids. A kind is a name, a user and a cgroup;
 * two more stand for processes of all further kinds and for calls that belong to nobody.
 */
#ifndef BPFTRUSS_STORE_KIND_H
#define BPFTRUSS_STORE_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "model/snapshot.h"

struct db;

/* Serial numbers of kinds, as boot_ns of processes with pid 0, and ids of cgroups start here. */
#define KIND_FIRST FOLDED_FIRST

/* Kinds beyond this many become the one of others: names are chosen by programs. */
#define KINDS_MAX 20000

/* The values are in files. */
enum kind_sort {
	KIND_PROCESSES = 0,
	KIND_OTHERS = 1, /* process_of_other_kinds() */
	KIND_NOBODY = 2, /* calls that found no room */
	NR_KIND_SORT,
};

struct kind {
	int64_t id;
	enum kind_sort sort;
	char comm[PROCESS_COMM_SIZE];
	uint32_t uid;
	char *user, *cgroup; /* owned; NULL: unknown */
	int64_t seen;        /* an interval not long before the latest that has it */
};

struct kinds {
	struct kind **items; /* owned, by id */
	size_t count;
	void *by_value;  /* tree of the same */
	int64_t last_id; /* the greatest of all rows, damaged ones included: none comes twice */
	bool loaded;
};

void kinds_done(struct kinds *kinds);

/* NULL when there is none. */
struct kind *kinds_find(const struct kinds *kinds, int64_t id);

/* The kind of this value; NULL when there is none. */
struct kind *kinds_lookup(const struct kinds *kinds, const struct kind *value);

/* Looks up a kind by value, adding a copy with the next id when it is new. -ENOMEM. */
int kinds_take(struct kinds *kinds, const struct kind *value, struct kind **ret, bool *ret_new);

/* As kinds_take(), but what is new once there are KINDS_MAX becomes the kind of others. */
int kinds_take_bounded(struct kinds *kinds, const struct kind *value, struct kind **ret,
		       bool *ret_new);

/* Takes back all that was added since there were so many, and last_id was this. */
void kinds_rewind(struct kinds *kinds, size_t count, int64_t last_id);

/* Whether a kind is wanted: wanted has a flag for each of items; NULL: all are. */
bool kinds_want(const struct kinds *kinds, const bool *wanted, int64_t id);

/* What a process of a snapshot is; NULL is nobody. Borrows from the snapshot. */
struct kind kind_of(const struct snapshot *snapshot, const struct process *process);

/* A kind as a process with its serial number; ids of cgroups are those of the kinds. */
struct process kind_process(const struct kind *kind);

/* Names a kind's user and cgroup in a snapshot; of one uid the first name stays. -ENOMEM. */
int kind_name(const struct kind *kind, struct snapshot *snapshot);

/* Reads and writes rows of kind; see db.h for the errors. */
int kinds_load(struct db *db);

/* As kinds_load(), going on behind what cannot be read. */
void kinds_salvage(struct db *db);

int kind_write(struct db *db, const struct kind *kind);

/* As those, in baseline_kind. */
int kinds_load_baseline(struct db *db, int64_t baseline, struct kinds *ret);
int kind_write_baseline(struct db *db, int64_t baseline, const struct kind *kind);

/* The kind of a process in the database, written when new or not seen for long. */
int kind_take(struct db *db, const struct kind *value, int64_t interval, struct kind **ret);

/* Notes that an interval has it. */
int kind_touch(struct db *db, struct kind *kind, int64_t interval);

/* Removes kinds that no interval from this id on can have. */
int kinds_retire(struct db *db, int64_t oldest);

#endif
