/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Holds the numbers of what one process did with one system call, merges and subtracts them. Of the
 * calls that ended, the timed ones are those whose start and end were both seen: hist_total(hist) =
 * calls - untimed - no_return.
 */
#pragma once

#include "base/text.h"
#include "bpftruss/abi.h"
#include "hist/hist.h"

/* Instead of a host: a sum of several. */
#define HOST_ALL UINT32_MAX

/* Instead of a number: calls whose number was lost with their room in the tables. */
#define ROW_NR_OTHER INT64_MIN

struct errno_count {
	int err;
	uint64_t count;
};

/* Calls that ended, by the stack that made them; times are of the timed ones. */
struct stack_count {
	uint64_t id; /* in a struct stack_table, or STACK_OTHERS */
	uint64_t calls;
	uint64_t errors;
	uint64_t wall_ns;
	uint64_t off_ns;
	uint64_t runq_ns;
	uint64_t max_ns; /* in a difference that of the whole */
};

/* One of the slowest calls, in the words of a saved report. */
struct told_call {
	uint64_t wall_ns;
	int64_t end_ns; /* CLOCK_REALTIME */
	uint32_t tid;
	char *comm, *line; /* owned; the line has arguments and result */
};

/* Indexed by enum call_split: arg0, …, file. Part of the JSON contract; NULL for SPLIT_NONE. */
extern const char *const row_split_names[NR_CALL_SPLIT];

struct row {
	uint32_t refs; /* how many lists share it; 0: it is in none, but a variable */

	/* Identity. pid 0 is the row of calls that found no room: counts only. */
	uint32_t host; /* in the origins of a merged snapshot, or HOST_ALL; else 0 */
	uint32_t pid;
	uint32_t tid;     /* 0: of all threads, or of those that have ended */
	uint64_t boot_ns; /* start of the process; with pid, its identity */
	uint64_t tid_ns;  /* CLOCK_MONOTONIC at which counting that thread began: tids come again */
	enum syscall_abi abi;
	enum call_split split; /* what its calls have in common besides, and its value */
	int64_t nr;            /* 32 bits of the kernel's, or ROW_NR_OTHER */
	uint64_t split_value;

	/* Counts of calls that ended; see struct call_slot. */
	uint64_t calls;
	uint64_t errors;
	uint64_t interrupted;
	uint64_t untimed;
	uint64_t denied;
	uint64_t no_return;
	uint64_t result_sum;

	/* Sums over the timed calls. cpu = wall - off, asleep = off - runq. */
	uint64_t wall_ns;
	uint64_t off_ns;
	uint64_t runq_ns;
	uint64_t min_ns; /* UINT64_MAX when none was timed */
	uint64_t max_ns;
	uint64_t
		max_start_ns; /* CLOCK_MONOTONIC start of the call that took max_ns; 0: not known */
	uint32_t max_tid;     /* and its thread */
	uint32_t nr_told;
	struct hist hist; /* owned */

	/* Calls running now: in no number above. */
	uint64_t in_flight;
	uint64_t in_flight_early; /* of those, begun before counting: their age is a minimum */
	uint64_t oldest_start_ns; /* CLOCK_MONOTONIC, UINT64_MAX when none */

	/*
	 * Time in calls that wall_ns and off_ns lack: what those in flight have taken so far, since they
	 * were counted, and what early ones took that are over. Together they make the time spent in
	 * calls up to now. In a difference the growth, below 0 once calls end.
	 */
	int64_t open_wall_ns;
	int64_t open_off_ns;

	struct errno_count *errnos; /* owned, by errno */
	size_t nr_errnos;
	struct stack_count *stacks; /* owned, by id; the row's other calls found no room */
	size_t nr_stacks;
	struct told_call *told; /* owned; of a saved report, slowest first; sums have none */
};

/*
 * The counters of a row that are added up when rows are merged. The first NR_ROW_COUNTS count calls,
 * and JSON has them by the same names; the others are sums of times and results.
 */
#define NR_ROW_COUNTS   8
#define NR_ROW_COUNTERS 14

struct row_counter {
	const char *name;
	size_t offset; /* of 64 bits */
	bool grows;    /* never less in a later reading of the same row */
	bool now;      /* of the calls that run now: the later reading's, not a difference */
};

extern const struct row_counter row_counters[NR_ROW_COUNTERS];

static inline uint64_t *row_counter(struct row *row, size_t i)
{
	return (uint64_t *)((char *)row + row_counters[i].offset);
}

static inline uint64_t row_count(const struct row *row, size_t i)
{
	return *(const uint64_t *)((const char *)row + row_counters[i].offset);
}

void row_init(struct row *row);

void row_done(struct row *row);

/*
 * Makes a row that several lists may share: what the other owns becomes the new one's, and the other
 * is as after row_init(). NULL: no memory; the other is then as it was.
 */
struct row *row_new(struct row *from);

/* Makes such a row as a copy. NULL: no memory. */
struct row *row_new_like(const struct row *from);

/* Makes such a row a member of one more list: from then on nobody changes it. Returns it. */
struct row *row_ref(struct row *row);

/* Takes it out of a list, and frees it with the last one; NULL is fine. */
void row_unref(struct row *row);

/*
 * Before a member of a list is changed: replaces it by a copy if others share it. Returns 0 or
 * -ENOMEM.
 */
int row_unshare(struct row **row);

/* Orders by identity: host, pid, start, tid and its start, ABI, number, first argument. */
int row_compare(const struct row *a, const struct row *b);

/* Adds the numbers, not the identity. Returns 0 or -ENOMEM (the row is then to be discarded). */
int row_merge(struct row *into, const struct row *from);

/*
 * Makes the numbers of a row that was torn, or of a difference to one, fit each other: a part of a call's is
 * in it, and none is above what the whole call makes of it.
 */
void row_settle(struct row *row);

/*
 * Subtracts an earlier reading of the same row. min and max of the difference cannot be known:
 * they become the bounds of its histogram, cut to those of the whole; unless the slowest call of the whole is
 * another one than before: then it is that of the difference. Returns 0, or -EINVAL when
 * it is no earlier reading, since a counter would have shrunk; from is then as it was.
 */
int row_subtract(struct row *from, const struct row *earlier);

/*
 * Undoes row_merge(), but for the extremes and the start of the oldest call, which stay. Returns 0, or
 * -EINVAL when the part is in no such sum; from is then as it was.
 */
int row_take_out(struct row *from, const struct row *part);

/* Adds to the count of an errno. Returns 0 or -ENOMEM. */
int row_add_errno(struct row *row, int err, uint64_t count);

/* Takes over whose calls these are, and which. */
void row_copy_identity(struct row *to, const struct row *from);

/* Makes it a row of nobody: of one system call, whoever made it. */
void row_forget_owner(struct row *row);

/* Makes it a row of all calls of its number. */
void row_forget_split(struct row *row);

/* Makes it a row of calls without a number. */
void row_forget_number(struct row *row);

/* Adds counts; the maximum is that of both. */
void stack_count_add(struct stack_count *into, const struct stack_count *from);

/* Adds to the counts of a stack. Returns 0 or -ENOMEM. */
int row_add_stack(struct row *row, const struct stack_count *stack);

/* Does so with several, in any order, which it sorts: takes far less time than one by one. */
int row_add_stacks(struct row *row, struct stack_count *stacks, size_t count);

/*
 * Whether no counter is smaller than in another reading of the same row: without that, the other is
 * no earlier one.
 */
bool row_is_after(const struct row *row, const struct row *earlier);

/* Copies everything, errnos and stacks included. Returns 0 or -ENOMEM. */
int row_copy(struct row *to, const struct row *from);

/* The memory that it takes, with what it owns and what malloc() adds. */
size_t row_bytes(const struct row *row);

/* Errors whose errno was not kept. */
uint64_t row_errors_unnamed(const struct row *row);

/* Whether its results count bytes of a transfer. */
bool row_moves_data(const struct row *row);

/* How many of its calls are timed. */
static inline uint64_t row_timed(const struct row *row)
{
	return row->calls - row->untimed - row->no_return;
}

/* How many of its calls succeeded. */
static inline uint64_t row_successes(const struct row *row)
{
	return above(row->calls, row->errors + row->interrupted + row->no_return);
}

static inline uint64_t row_cpu_ns(const struct row *row)
{
	return row->wall_ns - row->off_ns;
}

static inline uint64_t row_sleep_ns(const struct row *row)
{
	return row->off_ns - row->runq_ns;
}
