/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Computes what each process did in an interval, from two readings of one counting: the question of
 * prstat -m. Its threads' time is split into microstates (see below), which add up to the interval
 * times the threads. They are shown as percentages of that, so a line adds up to 100; the CPU time
 * is shown as a percentage of one CPU, too: two busy threads make 200.
 */
#pragma once

#include "model/argument.h"
#include "model/group.h"

/*
 * Splits the time of threads as prstat -m does. A thread is at any moment in one of these:
 *
 *   user    on a CPU, running its program
 *   system  on a CPU, in the kernel: system calls, page faults, interrupts that came meanwhile
 *   runq    runnable, waiting for a CPU
 *   lock    asleep in futex(2)
 *   sleep   asleep in another call, in a page fault, or stopped
 *
 * They add up to the time of all threads. CPU time is measured at each context switch; how much of
 * it was the program's the kernel knows, mostly by looking at each clock tick (utime and stime of
 * /proc/PID/stat). Without a tick it is what went by outside of calls. Run-queue time is that of
 * /proc/PID/schedstat: of a wait that goes on it is known afterwards.
 */
struct microstates {
	uint64_t user_ns, system_ns, runq_ns, lock_ns, sleep_ns;
};

void microstates_add(struct microstates *into, const struct microstates *from);

/* Sum of the five. */
uint64_t microstates_total_ns(const struct microstates *states);

/*
 * Splits the time of a row's calls, whether they have ended or not; user_ns is 0. Run-queue time of
 * calls that have not ended, or began before counting, stands as sleep.
 */
void row_microstates(const struct row *row, struct microstates *ret);

/*
 * How the threads of all processes spent their time. Returns false if not all calls are in it: then
 * time asleep for a lock is not known from other sleep, and all of it is in sleep_ns.
 */
bool snapshot_microstates(const struct snapshot *snapshot, struct microstates *ret);

enum rate_by {
	RATE_BY_PID,
	RATE_BY_COMM,
	RATE_BY_UNIT,
	RATE_BY_USER,
	RATE_BY_CONTAINER,
	RATE_BY_POD,
	RATE_BY_SYSCALL,
	RATE_BY_PATH, /* these three only of readings that are split so */
	RATE_BY_DIR,
	RATE_BY_FILE,
	RATE_BY_TID, /* only of readings that tell threads apart */
	NR_RATE_BY,
};

enum rate_key {
	RATE_PID,
	RATE_COMM,
	RATE_USER,
	RATE_UNIT,
	RATE_CONTAINER,
	RATE_POD,
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

/* Latencies of a line: below 64 ns, then an octave each, then from 73 minutes up. */
#define RATE_LATENCIES ((HIST_BUCKETS - 2) / HIST_OCTAVE_BUCKETS + 2)

/* The least latency in ns of one of these; of RATE_LATENCIES, UINT64_MAX. */
uint64_t rate_latency_ns(size_t index);

/*
 * A process, a thread, or all of one name, unit, user, container or pod; or the calls of one kind, or
 * those that are about one path, directory or file, which have neither process nor threads. Pointers lead
 * into the rates' own snapshot.
 */
struct rate {
	uint32_t pid; /* 0: of more than one process, or of nobody */
	uint64_t boot_ns;
	const struct process *process; /* the first of them; NULL: calls that found no room */
	uint32_t tid; /* of a thread; 0: no thread, or those of the process that have ended */
	uint64_t tid_ns;
	const struct thread *thread; /* of a thread that lives */
	const char *unit;            /* not NUL-terminated */
	size_t unit_length;
	struct container container;
	const char *user; /* NULL: unknown */
	const char
		*argument; /* path, directory or file, not NUL-terminated; NULL: none, or unknown */
	size_t argument_length;
	enum argument_key argument_key; /* why it is unknown; ARGUMENT_ABSENT: not such a line */
	uint64_t nr_processes;          /* with folded ones; 0: nobody */
	uint64_t threads;               /* alive at the end; 0: ended */

	uint64_t calls, errors; /* in the interval */
	struct microstates states;
	struct usage usage; /* faults and context switches; the times are in states */
	uint32_t latencies[RATE_LATENCIES]; /* calls that took that long; UINT32_MAX: or more */
	uint64_t worst_ns; /* bound of the longest call that ended, at most 25% more; 0: none */
	uint64_t p50_ns, p99_ns; /* of a line of calls */
	uint64_t bytes;          /* of a line of a file */

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
	uint64_t boot_ns, tid_ns;
	uint32_t tid;
	/* comm, unit, container, pod, or uid or call as numbers, for those groupings; no bytes are left over */
	char name[260];
};

/* Returns 0, or what snapshot_diff() returns. Lines are those that live or made calls, by pid. */
int rates_new(const struct snapshot *earlier, const struct snapshot *later, enum rate_by by,
	      struct rates **ret);
void rates_free(struct rates *rates);
CLEANUP_OF(rates, rates_free)

/* Makes other lines of the same interval; a failure leaves the old ones. 0 or -ENOMEM. */
int rates_group(struct rates *rates, enum rate_by by);

/* Whether a key is a name or a pid, which begin with the least. */
bool rate_key_is_name(enum rate_key key);

/* Orders numbers from high to low, names and pids from low to high; equal ones by pid. */
int rate_compare(const struct rate *a, const struct rate *b, enum rate_key key);
void rates_sort(struct rates *rates, enum rate_key key, bool reversed);

void rate_identify(const struct rates *rates, const struct rate *rate, struct rate_identity *ret);

/* NULL when absent. */
const struct rate *rates_find(const struct rates *rates, const struct rate_identity *identity);

/* The rows that a line adds up; both must live as long as the test does. */
struct rate_rows {
	const struct rates *rates;
	const struct rate *rate;
};
struct row_test rate_rows_test(const struct rate_rows *of);

/*
 * The calls of a line (NULL: all) in the interval and in flight as lines, by ABI and number; time asleep
 * for a lock is in sleep_ns. *ret is to be freed. 0 or -ENOMEM.
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

/* Makes a line of the calls of a row. */
void rate_of_calls(const struct rates *rates, const struct row *row, struct rate *ret);

/* --- rate_arguments.c --------------------------------------------------------------------------- */

/* What readings have to be split by for such lines; SPLIT_NONE: by nothing. */
enum call_split rate_by_split(enum rate_by by);

/* Whether it is a line of a path, a directory or a file. */
bool rate_has_argument(const struct rate *rate);

int rate_compare_arguments(const struct rate *a, const struct rate *b);

/* Whether a row is one of the calls of such a line. */
bool rate_has_argument_of(const struct rates *rates, const struct rate *rate,
			  const struct row *row);

/* Lines of all that have a path or file. *ret is to be freed. 0 or -ENOMEM. */
int rates_arguments(const struct rates *rates, enum rate_by by, struct rate **ret,
		    size_t *ret_count);

/* Words for users. */
extern const char *const rate_key_names[NR_RATE_KEY];
extern const char *const rate_by_names[NR_RATE_BY];
