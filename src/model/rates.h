/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What each process did in an interval, from two readings of one counting: the question of
 * prstat -m. Its threads' time is split into microstates (model/microstates.h), which add up to the
 * interval times the threads. They are shown as percentages of that, so a line adds up to 100;
 * the CPU time is shown as a percentage of one CPU, too: two busy threads make 200.
 */
#ifndef BPFTRUSS_RATES_H
#define BPFTRUSS_RATES_H

#include "model/microstates.h"
#include "model/query.h"
#include "model/snapshot.h"

enum rate_by {
	RATE_BY_PID,
	RATE_BY_COMM,
	RATE_BY_UNIT,
	NR_RATE_BY,
};

enum rate_key {
	RATE_PID,
	RATE_COMM,
	RATE_USER,
	RATE_UNIT,
	RATE_THREADS,
	RATE_CALLS,
	RATE_ERRORS,
	RATE_CPU,
	RATE_USR,
	RATE_SYS,
	RATE_RUNQ,
	RATE_LOCK,
	RATE_SLEEP,
	RATE_WORST,
	RATE_OLDEST,
	NR_RATE_KEY,

	/* Bits of lines of calls. */
	RATE_CALL = NR_RATE_KEY,
	RATE_P50,
	RATE_P99,
	RATE_OPEN,
	NR_LINE_KEY,
};

/*
 * A process, or all of one name or unit; or the calls of one kind that such a line made, which have
 * neither process nor threads. Pointers lead into the rates' own snapshot.
 */
struct rate {
	uint32_t pid; /* 0: of more than one process, or of nobody */
	uint64_t boot_ns;
	const struct process *process; /* the first of them; NULL: calls that found no room */
	const char *unit;              /* not NUL-terminated */
	size_t unit_length;
	const char *user;      /* NULL: unknown */
	uint64_t nr_processes; /* with folded ones; 0: nobody */
	uint64_t threads;      /* alive at the end; 0: ended */

	uint64_t calls, errors; /* in the interval */
	struct microstates states;
	struct usage usage; /* faults and context switches; the times are in states */
	uint64_t worst_ns;  /* bound of the longest call that ended, at most 25% more; 0: none */
	uint64_t p50_ns, p99_ns; /* of a line of calls */

	uint64_t in_flight;          /* calls, at the end */
	uint64_t oldest_ns;          /* age of the oldest */
	bool oldest_early;           /* it is at least that old */
	enum syscall_abi oldest_abi; /* which call that is; of a line of calls, all of them */
	int64_t oldest_nr;
};

struct rates {
	struct snapshot *diff; /* owned: what happened in the interval */
	struct losses losses;  /* since counting began */
	uint64_t counting_ns;
	enum rate_by by;
	struct rate *lines; /* owned */
	size_t nr_lines;
	struct rate total;
};

/* Names one line over many intervals. */
struct rate_identity {
	enum rate_by by;
	uint32_t pid;
	uint64_t boot_ns;
	char name[256]; /* comm or unit, for those groupings */
};

/* Returns 0, or what snapshot_diff() returns. Lines are those that live or made calls, by pid. */
int rates_new(const struct snapshot *earlier, const struct snapshot *later, enum rate_by by,
	      struct rates **ret);

/* NULL is fine. */
void rates_free(struct rates *rates);

static inline void rates_freep(struct rates **rates)
{
	rates_free(*rates);
}

/* Makes other lines of the same interval; a failure leaves the old ones. 0 or -ENOMEM. */
int rates_group(struct rates *rates, enum rate_by by);

/* Orders numbers from high to low, names and pids from low to high; equal ones by pid. */
int rate_compare(const struct rate *a, const struct rate *b, enum rate_key key);
void rates_sort(struct rates *rates, enum rate_key key);

void rate_identify(const struct rates *rates, const struct rate *rate, struct rate_identity *ret);

/* NULL when absent. */
const struct rate *rates_find(const struct rates *rates, const struct rate_identity *identity);

/*
 * The calls of a line in the interval and in flight as lines, by ABI and number; time asleep for a
 * lock is in sleep_ns. *ret is to be freed. 0 or -ENOMEM.
 */
int rates_calls(const struct rates *rates, const struct rate *rate, struct rate **ret,
		size_t *ret_count);

double rates_per_second(const struct rates *rates, uint64_t count);

/* Percentage of one CPU. */
double rates_cpu_pct(const struct rates *rates, uint64_t ns);

/* CPU time of a line. */
uint64_t rate_cpu_ns(const struct rate *rate);

/* Percentage of the time of a line's threads. */
double rate_share_pct(const struct rate *rate, uint64_t ns);

/* Words for users. */
extern const char *const rate_key_names[NR_RATE_KEY];
extern const char *const rate_by_names[NR_RATE_BY];

#endif
