/* SPDX-License-Identifier: BSD-2-Clause */
/* Declares what the files of the collector share; nobody outside src/collect/ includes this. */
#pragma once

#include "bpftruss/call_abi.h"
#include "truss.skel.h"

#include "collect/arguments.h"
#include "collect/call_rings.h"
#include "collect/call_stacks.h"
#include "collect/cgroups.h"
#include "collect/features.h"
#include "collect/idle.h"
#include "collect/odd_values.h"
#include "collect/tables.h"
#include "collect/user_names.h"

/* With more at a time, all records are looked at. */
#define MAX_ENDED_RECORDS 256

/*
 * For each row that the kernel has room for: a third of them may be of threads that have ended, at 300
 * bytes.
 */
#define STAY_BYTES_A_SLOT ((size_t)100)
/* And for each path, as a process has rows of all that its threads have ever passed. */
#define STAY_BYTES_A_PATH ((size_t)4096)
/*
 * The same of threads that sleep: the rows of a user who has a third of all there is room for, as when
 * most threads of a host are his, fit in the half that he may have.
 */
#define IDLE_BYTES_A_SLOT ((size_t)250)

/* The time between two looks for ends that nobody saw. */
#define LOOK_PAUSE_MS 1000
/* The time between two looks at tasks that exit, and by what part their exit is longer from one to the next. */
#define EXIT_PAUSE_MS 5
#define EXIT_LOOKS    16

/* A thread that was given by its number. */
struct target_thread {
	uint32_t pid, tid;
};

struct collector {
	struct truss_bpf *skel;
	struct ring_buffer *events;
	struct tables tables;        /* a record and its slots are ours once its task has ended */
	struct call_stacks *stacks;  /* NULL without --stacks */
	struct call_rings *rings;    /* NULL unless single calls are shown */
	struct arguments *arguments; /* NULL unless rows are split by path or file */
	struct builder *ended;       /* totals of tasks whose records were given back */
	struct idle *idle;           /* those of tasks that sleep; NULL: rows are by thread */

	struct process *targets;
	size_t nr_targets;
	bool has_command;              /* one of them is to execute a program */
	struct target_thread *threads; /* of processes of which only these are wanted */
	size_t nr_threads;

	uint32_t ended_records[MAX_ENDED_RECORDS]; /* that events told of; there may be more */
	size_t nr_ended_records;
	uint64_t exit_ns;               /* when the last one that has not ended began to exit */
	struct snapshot *ended_threads; /* owned: threads with rows of their own in ended */
	uint64_t nr_signalled;          /* threads that a signal has ended */
	uint32_t reclaimed; /* records so far; wraps, as the kernel's count of those that ended */

	struct kernel_features kernel;
	bool hurried, lasting; /* see struct collector_options */
	bool by_thread, keeps_threads;
	uint32_t keep_exited;
	size_t keep_bytes;      /* of memory for what has ended */
	size_t fold_at;         /* so many processes in ended are too many; 0: not folded yet */
	size_t fold_at_bytes;   /* and so much memory */
	size_t settle_at_bytes; /* before so much memory it is not worth merging rows for that */
	bool has_folded;        /* since the reading that a later one will be subtracted from */
	bool is_broken;         /* what has ended is wrong: there was no memory to add to it */
	uint64_t fold_serial;   /* of the next group that ended processes are folded into */
	uint64_t unsplit;       /* calls that lost what rows are split by when they were folded */
	size_t max_stay_bytes;  /* for rows that threads left to processes that are still there */
	bool ended_is_full;     /* it takes no more of processes that are still there */
	uint64_t full_until_ns; /* CLOCK_MONOTONIC until which nobody looks again */
	struct odd_values *odd; /* owned */
	uint64_t base_ns;       /* of the reading that a later one will be subtracted from */
	struct process *base;   /* its processes */
	size_t nr_base;
	uint64_t last_join_ns; /* of the last pass for processes chosen late */
	uint64_t last_look_ns; /* for ends that nobody saw */
	uint32_t looked_at;    /* the last record then */
	uint32_t left_out;     /* the most threads that a last pass had no room for */
	struct losses misses_at_start, misses_at_stop;
	struct cgroup_names cgroups;
	struct user_names users;
	bool cgroups_are_absolute; /* the kernel's paths are ours */
	int64_t start_real_ns, stop_real_ns;
	uint64_t start_ns, stop_ns; /* stop: 0 while counting */
	uint64_t marked_ns;         /* CLOCK_MONOTONIC at which the last target was marked */
	int stop_err;               /* why the kernel's own numbers could not be read at the stop */
};

/* Holds the state of one pass over the records. */
struct reading {
	struct builder *builder; /* where rows and processes go; borrowed */
	uint64_t now_ns;         /* CLOCK_MONOTONIC to which running tasks are read */
	uint64_t torn_rows;
	uint32_t waits; /* for rows that were being written */
	size_t stacks;  /* of the record that were read again */
	uint64_t threads_unknown;
	struct snapshot
		*threads; /* where threads that are told apart go; borrowed; NULL: nowhere */
};

/*
 * Notes ref's flags on the first thread of the process that pidfd is of. 0, -ESRCH when it has ended
 * (or the kernel does not show it), -EEXIST with BPF_NOEXIST in flags if there are some, or another -errno.
 */
int object_mark(struct collector *collector, int pidfd, const struct task_ref *ref, uint64_t flags);

/*
 * Marks the targets whose mark has gone with their first thread: another thread has executed a program since, and
 * has taken its place. Returns whether there were any.
 */
bool collector_mark_again(struct collector *collector);

/* Runs an iterator over all tasks of the system, dropping what it prints. 0 or -errno. */
int object_pass(const struct bpf_link *link);

/* Whether a slot is of one value of what rows are split by, and which. */
bool slot_split(const struct collector *collector, const struct call_slot *slot, uint64_t *ret);

/*
 * Lists the processes that are chosen now, as far as their numbers and names tell: the targets, and those that -n
 * selects. The caller frees the list. 0, -ENOMEM, or -ENOENT where other selectors say who is chosen.
 */
int collector_list_chosen(const struct collector *c, struct process **ret, size_t *ret_count);

/* Orders threads as readings want them: by pid and tid. */
int target_thread_compare(const void *a, const void *b);

/* Reads one record and its rows. 0 or -ENOMEM. */
int record_read(const struct collector *collector, uint32_t index, struct reading *reading);

/* Reads what has ended, who is awake and who sleeps. 0 or -errno. */
int records_read(const struct collector *collector, struct reading *reading);

/* Reads the overflow rows into a builder. 0 or -ENOMEM. */
int overflow_read(const struct collector *collector, struct builder *builder);

/*
 * Bounds the ended processes: when there are twice as many as are to be kept, or they take more
 * memory than they may, all but the latest are folded. 0 or -ENOMEM.
 */
int ended_fold(struct collector *collector);

/*
 * Where the thread of a record that is reclaimed goes, to keep rows of its own; NULL: these are added to those of
 * all ended threads of its process, since that was asked for or there is no room.
 */
struct snapshot *ended_threads_room(const struct collector *collector);

/* Whether there is no room, and nobody is to look again yet. */
bool ended_pauses(const struct collector *collector);

/* Whether a record that has ended can be taken in. */
bool ended_takes(const struct collector *collector, const struct task_record *record);

/* The path of a cgroup that a process was in last, "" when nobody knows it any more; NULL: no memory. */
const char *collector_cgroup(struct collector *collector, uint64_t id, uint32_t pid);

/* Adopts the threads of processes that came to be chosen, if any did. 0 or -errno. */
int collector_complete_joins(struct collector *collector);

/*
 * Looks up a unit, cgroup or user, or compiles a name pattern. Returns 0, or fills d: bad patterns
 * are usage errors, what does not exist on this host is a failure; with wait, a unit may come later.
 */
int selector_resolve(const struct target_selector *chosen, bool wait, struct selector *ret,
		     struct diag *d);

/* Adds up the 64-bit numbers of which the value of a key consists, over all CPUs. 0 or -errno. */
int map_add_cpus(const struct bpf_map *map, uint32_t key, uint64_t *sums, size_t count);

/* How often the kernel skipped our programs since they were loaded. */
void misses_read(const struct collector *collector, struct losses *losses);

/* Returns one more than the highest record ever used. */
static inline uint32_t records_used(const struct collector *collector)
{
	uint32_t used = collector->skel->data_pools->pools[POOL_RECORDS].mark;
	uint32_t limit = collector->skel->data_pools->pools[POOL_RECORDS].limit;

	return used < limit ? used : limit;
}

/* An element of a table by its index; NULL: there is none, or no memory to map it. */
static inline struct task_record *record_at(const struct collector *collector, uint32_t index)
{
	return map_array_at(collector->tables.arrays[TABLE_TASKS], index);
}

static inline uint32_t record_state(const struct task_record *record)
{
	return __atomic_load_n(&record->state, __ATOMIC_ACQUIRE);
}

static inline struct call_slot *slot_at(const struct collector *collector, uint32_t index)
{
	return map_array_at(collector->tables.arrays[TABLE_SLOTS], index);
}

static inline struct hist_line *line_at(const struct collector *collector, uint32_t index)
{
	return map_array_at(collector->tables.arrays[TABLE_LINES], index);
}

static inline struct tally *tally_at(const struct collector *collector, uint32_t index)
{
	return map_array_at(collector->tables.arrays[TABLE_TALLIES], index);
}
