/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adds up what was counted in some intervals by kind of process and system call: an interval
 * becomes a sum before it is written, and roll-ups and steps of an answer are sums. In the file a
 * sum is content: cells (a kind and a call), shares (a kind alone) and losses. See db.h for the
 * errors.
 */
#pragma once

#include "model/builder.h"
#include "model/kind_list.h"
#include "model/query.h"
#include "store/db.h"
#include "store/history_options.h"

/* --- intervals and runs ----------------------------------------------------------------------- */

/*
 * Rows of interval and run: when something was counted, and by whom. Intervals of a level cover what
 * finer ones cover, so that a moment may be in one of each; those of one level and run do not overlap.
 */

/* Bits of interval.flags. */
enum interval_flag {
	INTERVAL_HAS_RUNQ = 1 << 0,
	INTERVAL_CALLER_PIDNS = 1 << 1,
};

/* The fields are what INTERVAL_SELECT yields, in its order. Wall-clock times may go backwards. */
struct interval {
	int64_t id; /* of its cells */
	int64_t level, run, start_mono_ns;
	int64_t end_mono_ns;
	int64_t start_ns, end_ns;
	int64_t flags;
	int64_t threads_unknown;
	int64_t run_start_ns, run_start_mono_ns; /* of its run */
};

#define INTERVAL_SELECT                                                                          \
	"SELECT i.id, i.level, i.run, i.start_mono_ns, i.end_mono_ns, i.start_ns, i.end_ns, "    \
	"i.flags, i.threads_unknown, r.start_ns, r.start_mono_ns FROM interval i JOIN run r ON " \
	"r.id = i.run "

struct interval_list {
	struct interval *items; /* owned */
	size_t count;
};

void interval_list_done(struct interval_list *list);

/* Reads all rows of a query that begins with INTERVAL_SELECT. See db.h for the errors. */
int intervals_read(sqlite3_stmt *rows, struct interval_list *ret);

/* Reads the first row of such a query: 1, or 0 when there is none. */
int interval_read(struct db *db, const char *sql, const int64_t *numbers, size_t count,
		  struct interval *ret);

/* Writes a new row, and fills its id. */
int interval_write(struct db *db, struct interval *interval);

/* Removes the intervals of levels up to a last that lie inside one, with all that belongs to them. */
int interval_remove_inside(struct db *db, const struct interval *outer, int64_t last_level);

/*
 * A run: what was counted without a break by one reader. Monotonic times are compared only inside
 * one.
 */
struct run {
	int64_t id;                    /* ascending in time; 0: it has no row yet */
	char *host, *boot_id, *kernel; /* owned */
	int64_t start_ns, start_mono_ns;
	int64_t end_ns, end_mono_ns; /* end of its last interval; its start while there is none */
};

void run_done(struct run *run);

/* Replaces a run by one that begins at a moment of a host. 0, or -ENOMEM: it is as it was. */
int run_set(struct run *run, const struct snapshot *host, int64_t start_ns, int64_t start_mono_ns);

/* Writes a row, and fills its id. */
int run_write(struct db *db, struct run *run);

/* Fills host, boot and kernel of a snapshot. */
int run_read(struct db *db, int64_t id, struct snapshot *ret);

/* --- kinds ------------------------------------------------------------------------------------ */

/*
 * Kinds of process: what the history keeps instead of pids. A kind is a name, a user and a cgroup;
 * two more stand for processes of all further kinds and for calls that belong to nobody.
 */

/* Serial numbers of kinds, as boot_ns of processes with pid 0, and ids of cgroups start here. */
#define KIND_FIRST FOLDED_FIRST

/* Kinds beyond this many become the one of others: names are chosen by programs. */
#define KINDS_MAX 20000

/* Ids that always mean the same; the others have a row for each. */
enum {
	KIND_NONE = -1,  /* not wanted; in no file */
	KIND_ALL = 0,    /* all kinds together; in no file */
	KIND_NOBODY = 1, /* calls that found no room */
	KIND_OTHERS = 2, /* process_of_other_kinds() */
};

/* A kind by value; it borrows from a snapshot. */
struct kind {
	int64_t id; /* 0: not known */
	char comm[PROCESS_COMM_SIZE + 1];
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

/*
 * Fills name, user and cgroup of a process but for the fields that are folded, and adds the latter two
 * to a snapshot's names.
 */
int kind_read(struct db *db, int64_t id, unsigned int folded, struct snapshot *names,
	      struct process *ret);

/* The kinds that an answer has, and those to which it adds them. */
struct kind_set {
	unsigned int folded; /* mask of enum kind_field */
	struct kind_entry {
		int64_t id;
		int64_t into; /* itself, or the first of those that differ only in folded fields */
	} *entries;           /* owned, by id; NULL: all kinds */
	size_t count;
};

/* Collects the kinds that match; without selectors, all. */
int kind_set_fill(struct db *db, const struct process_filter *filter, unsigned int folded,
		  struct kind_set *ret);

/* Returns the kind to which a kind is added; KIND_NONE if it is not wanted. A set that is NULL changes none. */
int64_t kind_set_find(const struct kind_set *set, int64_t id);

/* --- blobs ------------------------------------------------------------------------------------ */

/*
 * Histograms and errnos of a cell as bytes. Numbers are varints: 7 bits a byte, the least
 * significant first, all but the last byte with its top bit set; they have 64 bits.
 *
 * histogram: for each bucket with calls, in ascending order, (count << 2 | skipped), where skipped
 * is the number of buckets without between it and the one before it; or 3, and then a varint of
 * that number less 3 follows. Counts are below 2^62.
 *
 * errnos: for each errno, in ascending order, its distance from the one before it, then the count.
 */
struct blob {
	uint8_t *bytes; /* owned; the memory is used again */
	size_t size, room;
};

void blob_done(struct blob *blob);

/* Replace what the blob has. Return 0, -ENOMEM, or -ERANGE for a count that is too large. */
int blob_from_hist(struct blob *blob, const struct hist *hist);
int blob_from_errnos(struct blob *blob, const struct errno_count *errnos, size_t count);

/* Add to what the row has. Return 0, -ENOMEM, or -EUCLEAN for bytes that were not made above. */
int blob_to_hist(const void *bytes, size_t size, struct hist *hist);
int blob_to_errnos(const void *bytes, size_t size, struct row *row);

/* --- sums ------------------------------------------------------------------------------------- */

struct sum {
	const struct kind_set *kinds; /* that are wanted, borrowed; NULL: all */
	struct builder *builder; /* made when needed: rows of pid 0, and a process for each kind */
	struct losses losses;
	uint64_t covered_ns;
	struct interval first, last; /* in the order in which they were added */
	int64_t start_ns, end_ns;    /* the extremes of all */
	int64_t start_mono_ns;       /* on the clock of the last one */
	size_t nr_intervals;
};

void sum_done(struct sum *sum);

/* The kind that the start of a row or process of a sum stands for: nobody has no serial number. */
int64_t sum_kind(uint64_t boot_ns);

/* Adds the numbers of a row whose kind is known, and takes over what it owns. -ENOMEM. */
int sum_add_row(struct sum *sum, int64_t kind, struct row *row);

/* Adds what belongs to no call: the most processes in any of the intervals, and user time. -ENOMEM. */
int sum_add_share(struct sum *sum, int64_t kind, uint64_t processes, uint64_t user_ns);

/* Adds the times and the flags of an interval. */
void sum_add_interval(struct sum *sum, const struct interval *interval);

/* Writes it, whose rows are taken out, as what belongs to an interval that is written. */
int content_write(struct db *db, int64_t interval, struct sum *sum);

/* Adds what belongs to an interval, of its kinds those that are wanted. */
int content_add(struct db *db, int64_t interval, struct sum *sum);

/* Adds what was counted in a snapshot, but not its times; new kinds are written. See db.h. */
int sum_add_snapshot(struct sum *sum, struct db *db, const struct snapshot *snapshot);

/*
 * Turns it into a snapshot of the host of the last interval's run, with kinds as processes; the sum
 * is empty afterwards. See db.h for the errors.
 */
int sum_finish(struct sum *sum, struct db *db, struct snapshot **ret);
