/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A snapshot: everything counted between two moments, as a value. It comes from the kernel, a file
 * or a test alike; renderers see nothing else. Once built it does not change.
 */
#pragma once

#include "bpftruss/abi.h"
#include "model/argument.h"
#include "model/origin.h"
#include "model/row.h"
#include "model/stack.h"

/*
 * Every reason for which a snapshot may not be exact: those the BPF programs count (enum loss) and
 * those only user space can see. The names are part of the JSON contract.
 */
enum model_loss {
	LOSS_NUMBER_FOLDED = NR_LOSS, /* by folding; see model/builder.h */
	LOSS_KIND_FOLDED,
	LOSS_ENTER_MISSED, /* runs of a program that the kernel skipped, host-wide */
	LOSS_LEAVE_MISSED,
	LOSS_SWITCH_MISSED,
	LOSS_LIFECYCLE_MISSED,
	LOSS_CHANGE_MISSED,
	LOSS_TORN_READ,
	NR_MODEL_LOSS,
};

struct losses {
	uint64_t count[NR_MODEL_LOSS];
};

struct loss_text {
	const char *name; /* JSON key */
	const char *what; /* what N of them mean, after the number: for text_plural() */
	const char *why;  /* cause or remedy */
};

/* Indexed by enum loss and enum model_loss. */
extern const struct loss_text loss_texts[NR_MODEL_LOSS];

#define LOSS_WHAT_MAX 160

/* Writes "exact: no call is missing", or what is missing and why. */
#define LOSSES_TEXT_MAX 4096
void losses_text(const struct losses *losses, char *buf, size_t size);

/* Writes "exact", or the loss of the highest count in few words, and whether there are others. */
void losses_brief(const struct losses *losses, char *buf, size_t size);

bool losses_none(const struct losses *losses);

/* Whether a loss is of what rows are split by alone: all else of the calls is counted. */
bool loss_is_of_splits(unsigned int loss);

/* Without these, where nobody sees how rows are split. */
void losses_forget_splits(struct losses *losses);

/* Adds up; what would be 2^63 or more stays below, and never becomes 0. */
void losses_merge(struct losses *into, const struct losses *from);

/* Torn reads are of one reading, not since the start: those of either distort what is between. */
void losses_subtract(struct losses *from, const struct losses *earlier);

#define PROCESS_COMM_SIZE 16

/* No user has this id. */
#define UID_NONE ((uint32_t)-1)

/*
 * Tells what the threads of a process did with their time while counted. cpu_ns is measured at
 * each context switch; the rest is what the kernel has booked, see struct task_usage.
 */
struct usage {
	uint64_t threads_ns; /* sum of the times that each was counted */
	uint64_t cpu_ns;     /* of that on a CPU */
	uint64_t utime_ns, stime_ns;
	uint64_t runq_ns;
	uint64_t minor_faults, major_faults;
	uint64_t voluntary_switches, involuntary_switches;
};

/*
 * Describes one process, or, with pid 0, all ended ones of one name, user and cgroup that were
 * folded to bound memory; boot_ns then tells such groups apart. The group of UID_NONE has those of
 * all further names. pid 0, boot_ns 0 is nobody: the calls that found no room.
 */
struct process {
	uint32_t host; /* in the origins of a merged snapshot, or HOST_ALL; else 0 */
	uint32_t pid;
	uint64_t boot_ns;
	uint32_t uid;       /* effective */
	bool any_user;      /* a program's processes of all users: uid is UID_NONE, comm its name */
	uint64_t cgroup_id; /* in the version 2 hierarchy */
	uint64_t nr_folded; /* ended processes in it, for pid 0 */
	uint64_t threads;   /* alive and counted at the end */
	uint64_t ended_ns;  /* CLOCK_MONOTONIC of its last sign of life once ended, else 0 */
	char comm[PROCESS_COMM_SIZE]; /* untrusted bytes; may lack a final NUL */
	uint32_t named_by; /* the thread that name, user and cgroup are of; 0: the first one's */
	uint64_t named_ns; /* CLOCK_MONOTONIC of when counting that thread began */
	uint64_t user_ns;  /* CPU time outside system calls */
	struct usage usage;
	uint64_t changes[NR_PROCESS_CHANGE]; /* how often user, cgroup or name was another */
};

/* A live thread, where threads are told apart. */
struct thread {
	uint32_t tid;
	uint64_t tid_ns;    /* CLOCK_MONOTONIC of when counting it began */
	struct process its; /* pid and start are its process's, all else is its own */
};

/* The numbers of a process that only grow, by the names that JSON has for them; user_ns is the first. */
#define NR_PROCESS_COUNTS 13

struct process_count {
	const char *name;
	size_t offset; /* of a uint64_t */
};

extern const struct process_count process_counts[NR_PROCESS_COUNTS];

static inline uint64_t process_count(const struct process *process, size_t i)
{
	return *(const uint64_t *)((const char *)process + process_counts[i].offset);
}

/* Whether it is a group of programs of any name: comm is then a word of ours, such as "[others]". */
static inline bool process_is_any_name(const struct process *process)
{
	return process->uid == UID_NONE && !process->any_user;
}

/* Whether a row is of a process. */
bool process_has_row(const struct process *process, const struct row *row);

struct snapshot;

/*
 * Counts the rows of a process (NULL: of nobody, which come before all others) from the index first on,
 * in a snapshot whose rows and processes have the same order.
 */
size_t snapshot_rows_of(const struct snapshot *snapshot, size_t first,
			const struct process *process);

/* Adds the numbers of a process: times, counts, ended ones. Not its threads, which are of now. */
void process_add_counts(struct process *into, const struct process *from);

/*
 * Takes over name, user and cgroup if they are of a thread that the process is rather named by: the first one,
 * else the one of the lowest id; of two that had this id, as an exec leaves them, the later one. Those of the
 * same thread replace what is known if is_newer is set.
 */
void process_take_name(struct process *process, const struct process *from, bool is_newer);

/* Sets all of these to 0. */
void process_clear_counts(struct process *process);

/* Subtracts those of an earlier reading, but for nr_folded; returns how many had become less. */
unsigned int process_subtract_counts(struct process *from, const struct process *earlier);

/*
 * Groups of pid 0 have serial numbers from here on instead of a start: no process starts that long
 * after boot, and JSON has no greater integers than 2^63 - 1.
 */
#define FOLDED_FIRST (UINT64_MAX / 4)

/* Orders processes by host, pid and start. */
int process_compare(const void *a, const void *b);

/* Whether ended processes fold into the same group: by name, user and cgroup. */
bool process_same_kind(const struct process *a, const struct process *b);

/* The kind of the group that those of all further names fold into, as a process without counts. */
struct process process_of_other_kinds(void);

/* Names an id that a process has. */
struct id_name {
	uint64_t id;
	char *name; /* owned */
};

/* A list of names is sorted by id. NULL when absent. */
const char *id_names_find(const struct id_name *names, size_t count, uint64_t id);

/* Adds a copy of a name; one whose id is there already changes nothing. Returns 0 or -ENOMEM. */
int id_names_add(struct id_name **names, size_t *count, uint64_t id, const char *name);

struct exemplars;

struct snapshot {
	char *host, *boot_id, *kernel; /* "" where the parts of a merged one differ */
	char *version;                 /* of the program that has saved it; NULL: of this one */
	int64_t start_ns, end_ns;      /* CLOCK_REALTIME */
	uint64_t elapsed_ns;           /* CLOCK_MONOTONIC */
	uint64_t paused_ns;            /* the same: between its start and end, but not counted */
	uint64_t end_mono_ns;          /* CLOCK_MONOTONIC at the end: ages are measured to it */
	bool has_runq;                 /* the kernel knows run-queue time */
	bool caller_pidns;        /* pids are those of another than the initial pid namespace */
	uint64_t slower_than_ns;  /* calls that took less are not in it; 0: all are */
	bool selected;            /* only some kinds of calls are in it */
	bool user_includes_calls; /* and CPU time in most others counts as user time */
	uint64_t threads_unknown; /* ran since before counting without an event: in a call? */

	struct process *targets; /* as chosen by the user */
	size_t nr_targets;
	struct process *processes; /* by pid, start */
	size_t nr_processes;
	struct thread *threads; /* by pid, start, tid, tid_ns; none where they are not told apart */
	size_t nr_threads;
	struct row **rows; /* by row_compare(); other snapshots may share them */
	size_t nr_rows;
	struct losses losses;
	struct losses losses_late;        /* those of these that came while its rows were read */
	const struct stack_table *stacks; /* of the rows' stacks; borrowed; NULL: none were taken */
	struct exemplars *exemplars;      /* the slowest calls; borrowed; NULL: none were taken */
	struct argument_texts *arguments; /* paths and files of the rows; shared; NULL: none */
	struct origins *origins; /* by origin_compare(); shared; NULL: it is not merged of others */

	struct id_name *users; /* by process_user_id() */
	size_t nr_users;
	struct id_name *cgroups; /* by cgroup id: paths from the root of the hierarchy; in a merged
				    snapshot the ids are its own */
	size_t nr_cgroups;
};

/* An empty snapshot with the other's description: host, times, targets, losses. 0 or -ENOMEM. */
int snapshot_new_like(const struct snapshot *other, struct snapshot **ret);

/* The same, with room for all rows and processes of the other. Returns 0 or -ENOMEM. */
int snapshot_new_part(const struct snapshot *other, struct snapshot **ret);

/* Frees a snapshot and all it owns; NULL is fine. */
void snapshot_free(struct snapshot *snapshot);
CLEANUP_OF(snapshot, snapshot_free)

/* A process of a snapshot that is not merged; NULL when absent. */
const struct process *snapshot_find_process(const struct snapshot *snapshot, uint32_t pid,
					    uint64_t boot_ns);

/* The process of the same identity, and that of a row; NULL when absent. */
const struct process *snapshot_process_like(const struct snapshot *snapshot,
					    const struct process *identity);
const struct process *snapshot_process_of(const struct snapshot *snapshot, const struct row *row);

/* The name of the host with an index: "" when it is not known. */
const char *snapshot_host(const struct snapshot *snapshot, uint32_t host);

/* Writes the name of its host, or how many hosts it is merged of. */
#define HOST_LABEL_MAX 256
void snapshot_host_label(const struct snapshot *snapshot, char buf[HOST_LABEL_MAX]);

/* The thread of a row, whose tid is not 0; NULL when it has ended or is not known. */
const struct thread *snapshot_find_thread(const struct snapshot *snapshot, const struct row *row);

/* Adds a thread behind the others, which are to be sorted once all are there. Returns 0 or -ENOMEM. */
int snapshot_add_thread(struct snapshot *snapshot, const struct thread *thread);
void snapshot_sort_threads(struct snapshot *snapshot);

/* Finds a row in the list of rows; NULL when absent. */
struct row *const *snapshot_place_row(const struct snapshot *snapshot, const struct row *identity);

/* Adds names of users and cgroups that another one has. Returns 0 or -ENOMEM. */
int snapshot_add_names(struct snapshot *to, const struct snapshot *from);

/* The id by which the name of a process's user is found: a uid has a name on each host. */
uint64_t process_user_id(const struct process *process);

/* Names of a process's user and cgroup; NULL when unknown. */
const char *snapshot_user(const struct snapshot *snapshot, const struct process *process);
const char *snapshot_cgroup(const struct snapshot *snapshot, uint64_t cgroup_id);

/*
 * The path or file of a row of a snapshot whose rows are split by it; untrusted bytes. NULL: *ret tells why,
 * ARGUMENT_ABSENT also where the argument of a single call is none.
 */
const char *snapshot_argument(const struct snapshot *snapshot, const struct row *row,
			      enum call_split split, enum argument_key *ret);

/* Errors in its rows whose errno was not kept. */
uint64_t snapshot_errors_unnamed(const struct snapshot *snapshot);

/* Whether nothing is missing: no loss, and each error has its errno. */
bool snapshot_is_exact(const struct snapshot *snapshot);

/* Sum of the user CPU time of all processes. */
uint64_t snapshot_user_ns(const struct snapshot *snapshot);

/* Age in ns of a row's oldest call in flight, as of the end; 0 when none is. */
uint64_t snapshot_oldest_ns(const struct snapshot *snapshot, const struct row *row);

/* --- timelines -------------------------------------------------------------------------------- */

/*
 * Holds what was counted over a span of time, in steps, and where nothing is known. Times of day
 * are CLOCK_REALTIME in ns; durations are monotonic, so the two may differ where the clock was set.
 */
#define TIMELINE_MAX_STEPS 10000

struct timeline_step {
	int64_t start_ns, end_ns; /* as counted; as asked for when nothing was */
	uint64_t covered_ns;      /* monotonic: how long was counted in it */
	struct snapshot *sum;     /* owned; elapsed_ns = covered_ns. NULL: nothing was counted */
};

enum gap_reason {
	GAP_NOT_RUNNING = 0, /* the daemon was stopped or killed, or the host was down */
	GAP_NOT_WRITTEN = 1, /* counted, but the history could not be written */
	GAP_DAMAGED = 2,     /* written, but unreadable now */
	GAP_RETIRED = 3,     /* older than what is kept */
	NR_GAP_REASON,
};

/* not_running, …: part of the JSON contract. */
extern const char *const gap_reason_names[NR_GAP_REASON];

struct timeline_gap {
	int64_t start_ns, end_ns;
	enum gap_reason reason;
};

struct timeline {
	struct timeline_step *steps; /* owned, as the gaps; in order of time */
	size_t nr_steps;
	struct timeline_gap *gaps;
	size_t nr_gaps;
};

void timeline_done(struct timeline *timeline);

/* A span kept for good under a name: letters, digits, dot, dash, underscore, at most 64. */
struct baseline {
	char name[65];
	int64_t saved_ns;
	int64_t start_ns, end_ns;
	uint64_t covered_ns;
	bool is_damaged; /* its file says nothing of this */
};
