/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts the system calls of processes. Life: collector_open (load and attach; counts nothing yet),
 * collector_add_target for each process, collector_start, then collector_reclaim whenever
 * collector_fd is readable, collector_read as often as wanted, collector_stop for a last exact
 * reading, collector_free. Nothing stays in the kernel once it is freed or its process has died.
 */
#pragma once

#include "collect/options.h"
#include "stacks/names.h"

struct collector;

/* How a target is counted. */
struct target_options {
	bool follow;     /* its children too */
	bool await_exec; /* nothing before its first execve */
};

int collector_open(const struct collector_options *options, struct collector **ret, struct diag *d);

/* With stacks: whether only frame pointers can be followed, so that most stacks will be short. */
bool collector_lacks_unwinding(const struct collector *collector);

/* With stacks: of how many files there are unwind tables, and their bytes in the kernel. */
void collector_tables(const struct collector *collector, size_t *files, size_t *bytes);

/* Detaches everything; NULL is fine. */
void collector_free(struct collector *collector);
CLEANUP_OF(collector, collector_free)

/* Marks a process, by its pid in the caller's pid namespace. Counting starts with all at once. */
int collector_add_target(struct collector *collector, pid_t pid,
			 const struct target_options *options, struct diag *d);

/*
 * Marks the threads that are called so now, a glob, unless processes are: these the selectors choose.
 * Returns 0 or -errno with d filled.
 */
int collector_add_threads(struct collector *collector, const char *pattern,
			  const struct target_options *options, struct diag *d);

/* Adopts all threads of the marked processes; from here on they are counted. */
int collector_start(struct collector *collector, struct diag *d);

/*
 * Whether later readings have rows of live threads, and the threads; those before and after do not fit
 * together. Returns 0 or -ENOMEM.
 */
int collector_tell_threads(struct collector *collector, bool apart);

/* Readable when tasks have ended, or names of stacks have come; owned by the collector. */
int collector_fd(const struct collector *collector);

/*
 * Folds the rows of ended tasks into the totals and gives their room back; adopts the threads of
 * processes that have come to be chosen. 0 or -errno.
 */
int collector_reclaim(struct collector *collector);

/*
 * How long at most to wait for collector_fd before collector_reclaim is due all the same: in
 * milliseconds as poll() takes them, -1 for ever.
 */
int collector_patience_ms(const struct collector *collector);

/*
 * With stacks: asks for the names of all frames that have come so far. They come while
 * collector_reclaim() is called whenever it is due; each snapshot has those that are there.
 */
void collector_name_stacks(struct collector *collector);

/* Whether these are there, or never will be. */
bool collector_stacks_are_named(const struct collector *collector);

/* All 0 without stacks. */
void collector_count_names(const struct collector *collector, struct name_counts *ret);

/* The reading from which the next will be subtracted. 0 or -ENOMEM. */
int collector_set_base(struct collector *collector, const struct snapshot *snapshot);

/* Processes that have threads which are counted now; 0 without memory. */
size_t collector_processes(const struct collector *collector);

/* Threads that were given by number: of their processes only these are reported. */
size_t collector_threads(const struct collector *collector);

/* Threads being counted now. */
uint32_t collector_live(const struct collector *collector);

/* Steps that leave something out to cost less. Each leaves out what those before it do, too. */
enum collector_step {
	STEP_NORMAL = 0,
	STEP_NO_CALLS,  /* single calls count as left out; needs options.view to mean anything */
	STEP_NO_STACKS, /* calls count as of STACK_OTHERS; needs options.stacks to mean anything */
	STEP_NO_ERRNOS, /* errors count as LOSS_ERRNO_OFF */
	NR_STEP,
};

/*
 * Takes a step down, or back up, at any time. Calls that are running may still have what they have
 * begun with.
 */
void collector_step_down(struct collector *collector, enum collector_step step);

/* How full a table is, and was at most; peak 0: none, or not known. */
struct table_fill {
	uint32_t used, capacity, peak;
	uint32_t
		most; /* that one user has, who may have no more than is left; 0: nobody is to leave room */
};

/*
 * Tells what counting costs the host, but for the time of this process. The times are means over
 * one run in 1,024 of the programs on calls and switches of threads that are counted, from when
 * their record is found: some 5 ns before that are not in it, nor what a program displaces from the
 * caches. Nor is the greater part of what a call pays: the kernel's own slow path, which any tool
 * on these tracepoints puts all threads of the host on (docs/OVERHEAD.md: 130 to 150 ns; measured
 * by features_measure_slow_path()), and what calls and switches of other threads pay for being
 * looked at (10 and 35 ns), as these are in no sample.
 */
struct collector_cost {
	double call_ns;        /* of both programs on one call; 0 until some were sampled */
	uint64_t call_samples; /* runs of either; beyond 1,000 the mean is good to 10% */
	double switch_ns;      /* of the program on one context switch */
	uint64_t switch_samples;
	uint64_t programs_ns; /* all of these runs so far: the sampled ones times 1,024 */
	struct table_fill records, slots, lines, tallies, foreign, stacks,
		paths;               /* foreign: calls in the hash; paths: or files */
	uint64_t max_table_bytes;    /* what the tables may take, unless the user sizes them */
	uint32_t threads, processes; /* being counted now */
};

/*
 * For how many threads a collector with these options, its own, should be opened in place of this
 * one, since a table is nearly full. 0: none is, the user has sized it, or it may not take more
 * memory.
 */
uint32_t collector_wants_threads(const struct collector *collector,
				 const struct collector_options *options);

/*
 * Which of what is never given back is nearly used up, or all that one user may have, in words: the numbers of
 * files with code, or the room for stacks or paths. A new collector begins with all of it. NULL: nothing.
 */
const char *collector_worn_by(const struct collector *collector);

/* Looks at each record, but at no row: some 0.1 ms with 1,500 of them. 0 or -errno. */
int collector_cost(const struct collector *collector, struct collector_cost *ret);

/*
 * The memory of all maps, mostly fixed when made, in bytes. 0: the kernel does not let us see, as before 5.14 for
 * whoever is not root. Reads a file of /proc for each map: some 1.5 ms in all.
 */
uint64_t collector_kernel_bytes(const struct collector *collector);

/*
 * Takes the calls that have ended so far: all that ended before horizon_ns (CLOCK_MONOTONIC), if that was
 * the time when this was called, and some that ended since. Those of one CPU come in order. And of each thread
 * that has ended, and was reclaimed, a record that is CALL_NONE. Returns 0 or what was returned by take.
 */
int collector_take_calls(struct collector *collector, uint64_t horizon_ns, call_taker *take,
			 void *context);

/* The same of all that is left once the collector has stopped, and CALL_NONE of all other threads. */
int collector_take_last_calls(struct collector *collector, call_taker *take, void *context);

/*
 * Tells of each call that began before started_ns (CLOCK_MONOTONIC) and has not ended: its end is now, and
 * it has not returned.
 */
int collector_take_sleepers(const struct collector *collector, uint64_t started_ns,
			    call_taker *take, void *context);

/*
 * Tells in the same way of each call of a set (NULL: all) in which a thread slept when it began to be counted,
 * and sleeps still; of what its arguments point at nothing is known. If only_new, each is told once, and of very many some
 * are left for the next time; else the first of them are told. Sets ret_left to how many are left.
 */
int collector_take_early_sleepers(const struct collector *collector, uint64_t started_ns,
				  const struct syscall_set *wanted, bool only_new, call_taker *take,
				  void *context, uint32_t *ret_left);

/* The slowest calls are told as if none had been before. */
void collector_begin_slowest(const struct collector *collector);

/* Adds up what became of the calls that have ended. Returns 0 or -errno. */
int collector_call_totals(const struct collector *collector, struct call_totals *ret);

/* How many threads that were counted a signal has ended, as far as is known. */
uint64_t collector_signals(const struct collector *collector);

/* The stacks that have come so far; NULL without stacks. Borrowed, valid until they are reclaimed. */
const struct stack_table *collector_stacks(const struct collector *collector);

/* Ends counting at this moment; nothing changes any more. */
void collector_stop(struct collector *collector);

/* All that was counted since the start, as of now or of the stop. */
int collector_read(struct collector *collector, struct snapshot **ret, struct diag *d);
