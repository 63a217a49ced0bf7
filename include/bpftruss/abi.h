/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The contract between the BPF programs and user space: every map value, limit and loss reason.
 * Invariants: counters only grow while their owner lives; a record, its slots and their tallies
 * are written by their own task alone (no atomics, no shared cache line) until the record is
 * RECORD_ENDED, from then on by user space alone. But user space may take the task out of the record of
 * one that it finds gone.
 */
#pragma once

#include <linux/types.h>

#include "bpftruss/hist_bucket.h"

/* Calling convention of one call: part of every key, since numbers repeat between them. */
enum syscall_abi {
	ABI_X86_64 = 0,
	ABI_I386 = 1,
	ABI_X32 = 2,
	ABI_ARM64 = 3,
	ABI_ARM = 4,
	NR_SYSCALL_ABI = 5,
};

/* The slots of native numbers below this are found through the record; all others go through a hash. */
#define CALLS_INDEXED 512

/* Flags of a call in the map of chosen calls. */
enum call_mark {
	CALL_MARK_CHOSEN = 1 << 0, /* it is counted */
	CALL_MARK_SHOWN = 1 << 1,  /* and sent */
};

/* So do those of a task that makes more different calls; a power of 2, less one. */
#define SLOTS_INDEXED 63

/* The bit that marks an x32 call in the number the kernel hands to the tracepoints. */
#define X32_CALL_BIT 0x40000000

/* The least that tables have room for; less than 34 MiB in all where users share them (see tests/live). */
#define DEFAULT_MAX_TASKS   3072
#define DEFAULT_MAX_SLOTS   40000
#define DEFAULT_MAX_LINES   (LINES_PER_ROW * DEFAULT_MAX_SLOTS)
#define DEFAULT_MAX_TALLIES 12288
#define DEFAULT_MAX_FOREIGN (DEFAULT_MAX_SLOTS / ROWS_PER_FOREIGN)

/* The latencies of most calls are within three octaves or four: one line of a histogram or two. */
#define LINES_PER_ROW 2

/* At most one row in this many may be of another ABI, or of an unknown number. */
#define ROWS_PER_FOREIGN 5

/*
 * Every way in which a call, its time or its attribution can go missing. Host-wide misses of the
 * programs themselves are read from the kernel and added by user space.
 */
enum loss {
	LOSS_TASK_UNTRACKED = 0,     /* not counted: no kernel memory, or the kernel was busy */
	LOSS_TASK_TABLE_FULL = 1,    /* calls counted by system call only: records ran out */
	LOSS_SLOT_TABLE_FULL = 2,    /* calls counted by system call only: slots ran out */
	LOSS_ERRNO_TABLE_FULL = 3,   /* errors counted, but their errno was not kept */
	LOSS_BUCKET_WRAPPED = 4,     /* a bucket passed 2^32 and its carry could not be kept */
	LOSS_EXIT_MISSED = 5,        /* calls whose end was never seen */
	LOSS_TIME_CLAMPED = 6,       /* times that did not add up, or shrank, and were cut */
	LOSS_USER_TIME = 7,          /* threads without a record: their user CPU time is unknown */
	LOSS_FOREIGN_TABLE_FULL = 8, /* as LOSS_SLOT_TABLE_FULL, of foreign calls */
	LOSS_THREAD_LATE = 9,        /* threads that missed their fork, found by a pass */
	LOSS_ERRNO_OFF = 10,         /* errors counted while errnos are off, to cost less */
	LOSS_STACK_TABLE_FULL = 11,  /* calls whose stack was not kept */
	LOSS_SPLIT_TABLE_FULL = 12,  /* calls counted, but not by what rows are split by */
	LOSS_SWITCH_UNSEEN = 13,     /* context switches whose time could not be found out */
	LOSS_LOOKUP_BUSY = 14,       /* the kernel refused a look-up of what is kept of a task */
	LOSS_HIST_TABLE_FULL = 15,   /* calls counted without their time: lines ran out */
	LOSS_PATH_TABLE_FULL = 16,   /* calls counted without the path or file rows are split by */
	NR_LOSS = 17,
};

/* Counts the losses of one CPU: user space reads all of them at once. */
struct loss_counts {
	__u64 count[NR_LOSS];
};

/* The programs whose runs are sampled, of tasks that have a record. */
enum cost_kind {
	COST_ENTER = 0,  /* of sys_enter */
	COST_EXIT = 1,   /* of sys_exit */
	COST_SWITCH = 2, /* of sched_switch */
	NR_COST = 3,
};

/* One run in 2^COST_SAMPLE_SHIFT is in the sample. */
#define COST_SAMPLE_SHIFT 10

/* Every CPU has one of each kind. */
struct cost_sample {
	__u64 ns; /* sum over the sampled runs */
	__u64 runs;
};

enum record_state {
	RECORD_FREE = 0,
	RECORD_LIVE = 1,
	RECORD_ENDED = 2, /* its task is gone: user space folds the rows and frees them */
};

enum record_flag {
	RECORD_CALL_OPEN = 1 << 0,  /* between enter and exit: nr, abi, enter_ns are valid */
	RECORD_OPEN_EARLY = 1 << 1, /* existed before counting and has had no event since */
	RECORD_AWAIT_EXEC = 1 << 2, /* counts nothing until its first execve */
	RECORD_RESTARTS = 1 << 3,   /* the next restart_syscall goes on with nr, abi */
	RECORD_SKIP_EXIT = 1 << 4,  /* began inside a call that is not to be counted */
	RECORD_NEW_CHILD = 1 << 5,  /* its first exit may be that of the fork that made it */
	RECORD_LEFT_OUT = 1 << 6,   /* in a call that nobody asked for, which is not counted */
	RECORD_EXITING = 1 << 7,    /* makes no more calls; enter_ns is when it began to exit */
	RECORD_GONE = 1 << 8,       /* exits, and user space did not find it at its last look */
};

/*
 * In clock of a record: the thread is off the CPU, and the other bits are its CPU clock. Without it
 * they are CLOCK_MONOTONIC minus the CPU clock. It is one word so that a reader needs no other.
 */
#define CLOCK_STOPPED (1ULL << 63)

/* Likewise in user_clock: the thread is in a call that counts, or not known to be outside. */
#define USER_STOPPED (1ULL << 63)

/* The state of a thread at the moment at which list_calls sees it. */
enum listed_state {
	LISTED_IN_CALL = 0, /* asleep in a call, or in one that began while it was counted */
	LISTED_OUTSIDE = 1, /* in no system call */
	LISTED_STOPPED = 2, /* by a signal or a tracer */
	LISTED_AWAKE = 3,   /* on a CPU or waits for one: not known whether in a call */
	NR_LISTED_STATE,
};

#define CALL_ARGUMENTS 6

/* A counted thread as list_calls writes it. */
struct listed_thread {
	__u32 pid, tid; /* in the reader's pid namespace */
	__u32 state;    /* enum listed_state; what follows is of a call */
	__s32 nr;
	__u32 abi;
	__u32 is_exact; /* the age; else the call is at least that old */
	__u64 age_ns;
	__u64 arguments[CALL_ARGUMENTS]; /* all 0 where the kernel does not show them */
	__u64 ip, sp;                    /* where the program called; 0: not shown */
	__u64 bp, di;                    /* only if it did not run while it was listed */
	__u32 is_still;                  /* whether it did not */
	__u32 pad;
	__u64 switches; /* so far: while they are no more, it sleeps on */
	__u64 ends_at;  /* its clear_child_tid: when it ends, the futex there wakes; 0: none */
	char comm[16];  /* of the thread */
};

/* Holds what the kernel has booked for a thread since it exists. */
struct task_usage {
	__u64 utime_ns, stime_ns; /* as sampled by its clock tick, unless it counts exactly */
	__u64 run_delay_ns;       /* runnable, but without a CPU */
	__u64 min_flt, maj_flt;   /* page faults */
	__u64 nvcsw, nivcsw;      /* context switches */
};

/* CLOCK_MONOTONIC minus the clock of a run queue, and when that was found out. */
struct run_queue_clock {
	__u64 behind_ns;
	__u64 compared_ns;
};

/* A process may change what it is grouped by while it is counted. */
enum process_change {
	CHANGED_USER,
	CHANGED_CGROUP,
	CHANGED_COMM,
	NR_PROCESS_CHANGE,
};

/* The mapping that a stack lies in, up to the first page that was never touched. */
struct stack_bounds {
	__u64 low, high;
};

/* Describes one task (thread). A call or a context switch touches little behind the first 64 bytes. */
struct task_record {
	__u64 enter_ns;    /* CLOCK_MONOTONIC start of the open call */
	__u64 mark_cpu_ns; /* the task's CPU clock at its last enter or exit of a call that counts */
	__u64 clock;       /* its CPU clock, which began at start_ns: see CLOCK_STOPPED */
	__u64 switch_ns;   /* CLOCK_MONOTONIC of its last context switch; 0: not known */
	__u64 enter_delay_ns; /* sched_info.run_delay at enter */
	__u64 user_clock; /* CPU time outside system calls, with USER_STOPPED, or its CPU clock minus that */
	__s32 nr; /* the open call */
	__u16 abi;
	__u16 flags; /* enum record_flag */
	__u64 task; /* address of its task_struct, until its last switch; who sets it to 0 ends it */

	__u64 start_ns;      /* CLOCK_MONOTONIC when counting began */
	__u64 split;         /* what of the open call rows are split by: see enum call_split */
	__u32 first_slot;    /* head of this task's list of slots, 0 = none */
	__u16 foreign_slots; /* how many of them are found through the hash */
	__u16 unknown_slots; /* of those, how many are of unknown numbers */
	__u32 leaves_seen;   /* membership.leaves when it was last known to be chosen */
	__u32 state;         /* enum record_state, written last */
	__u32 pid, tid;      /* in the reader's pid namespace */
	__u64 boot_ns;       /* CLOCK_BOOTTIME start of the process: with pid, its identity */
	__u32 kernel_pid;    /* of the task, in the initial pid namespace */
	__u32 arrivals;      /* sched_info.pcount when it left its CPU last */
	__u64 stack_id;      /* of the open call, once taken */

	__u64 cgroup_id; /* inode in the version 2 hierarchy; this and the next two as last seen */
	__u32 uid;       /* effective */
	char comm[16];   /* of the thread */
	__u32 changes[NR_PROCESS_CHANGE]; /* how often each of them was another */
	__u16 share;                      /* of whoever its slots are charged to from now on */
	__u16 own_share;                  /* and itself */
	__u64 kernel_stack_id;     /* where the open call slept last, when that is asked for */
	struct stack_bounds stack; /* where its stack was found last: a hint */

	struct task_usage usage_at_start;
	struct task_usage usage; /* as of the last reading, or of its end */
	__u64 slept_ns; /* at least, before start_ns, in the call that it was in then; 0: not known */

	/* A native call has an ordinal, or 0: none yet. slot_of[0] is their number, the others are slots. */
	__u8 ordinal_of[CALLS_INDEXED];
	__u32 slot_of[SLOTS_INDEXED + 1];
};

/* Whether a task is in a call that began before counting: asleep in it when it was adopted. */
#define RECORD_IN_EARLY_CALL(record)                                                       \
	(((record)->flags & (RECORD_OPEN_EARLY | RECORD_RESTARTS)) == RECORD_OPEN_EARLY && \
	 (record)->nr >= 0)

/* A task cannot fill the tables with made-up numbers: beyond this they go to the overflow rows. */
#define UNKNOWN_SLOTS_PER_TASK 64
#define SPLIT_SLOTS_PER_TASK   4096

/* The histogram of a slot has so many buckets a line; a wrap adds a tally. */
#define HIST_LINE_BUCKETS 16
#define HIST_LINES        ((HIST_BUCKETS + HIST_LINE_BUCKETS - 1) / HIST_LINE_BUCKETS)

/* Rows of one call may be split by one value more. */
enum call_split {
	SPLIT_NONE,
	SPLIT_ARG0, /* its first argument, and so on */
	SPLIT_ARG5 = SPLIT_ARG0 + 5,
	SPLIT_CPU,  /* the CPU on which it began */
	SPLIT_PATH, /* its first path: a key of the table of arguments, or see enum argument_key */
	SPLIT_FILE, /* what its first descriptor stands for, likewise */
	NR_CALL_SPLIT,
};

/* Instead of a key of the table of arguments, all of which have ARGUMENT_FIRST. */
enum argument_key {
	ARGUMENT_ABSENT = 0,  /* calls of that number have none: their row is not split */
	ARGUMENT_OTHERS = 1,  /* there was no room for it */
	ARGUMENT_UNKNOWN = 2, /* a path that could not be read, a descriptor that is not open */
	ARGUMENT_NONE = 3,    /* no path (NULL), no descriptor (AT_FDCWD, any below 0) */
	NR_ARGUMENT_KEY,
};

#define ARGUMENT_FIRST (1ULL << 63)

enum argument_flag {
	ARGUMENT_CUT = 1 << 0, /* there was more: of a path behind the text, of a file before it */
	ARGUMENT_ANONYMOUS = 1 << 1, /* one inode is of all of its kind, which its name says */
	ARGUMENT_SOCKET = 1 << 2,
	ARGUMENT_PIPE = 1 << 3, /* without a name */
};

/* The ends of an internet socket; a port is 0 until there is one. */
struct socket_ends {
	__u8 local[16], peer[16]; /* 4 bytes for IPv4 */
	__u16 family, protocol;
	__u16 local_port; /* in the order of the host */
	__u16 peer_port;  /* in that of the network */
};

#define ARGUMENT_TEXT 256

/*
 * Tells what a key of SPLIT_PATH or SPLIT_FILE stands for. The text is a path up to its NUL, or the names of a
 * file and of the directories above it, the last first, a NUL behind each.
 */
struct argument_entry {
	/* Only files have it; for a path it is 0. */
	__u64 inode;
	__u32 device, generation;
	__u32 flags;    /* enum argument_flag */
	__u32 used;     /* bytes of the names */
	__u32 pid;      /* who had it open first, in the reader's pid namespace */
	__s32 fd;       /* as what */
	__u32 searches; /* how often the ends of the socket were looked for again */
	struct socket_ends ends;
	/* The last: what is read may be longer. */
	union {
		__u64 words[ARGUMENT_TEXT / 8];
		char text[ARGUMENT_TEXT];
	};
};

/* Room in which a thread reads an argument. */
struct open_argument {
	struct argument_entry its;
	__u8 more[ARGUMENT_TEXT];
	__u64 arguments[8]; /* of the open call */
};

#define DEFAULT_MAX_PATHS 16384

/*
 * Counts what one task did with one system call. "Ended" here is every way a call can end; timed
 * calls are those whose enter and exit were both seen: sum(buckets) = timed = calls - untimed -
 * no_return.
 */
struct call_slot {
	__u64 calls;           /* ended, in every way */
	__u64 wall_ns;         /* sums over the timed calls */
	__u64 off_ns;          /* of that off the CPU, asleep or waiting for one */
	__u64 runq_ns;         /* of that runnable, waiting for a CPU */
	__u64 min_inverted_ns; /* ~min, so that zeroed memory is right */
	__u64 max_ns;
	__u64 result_sum; /* positive results: bytes, for calls that move data */
	__u64 settled;    /* = calls once the update is complete: a reader's seqlock */

	__u64 errors;      /* -1 … -4095, but not the restart codes */
	__u64 interrupted; /* -512 … -514, -516 */
	__u64 untimed;     /* ended, but the start was not seen; includes denied */
	__u64 denied;      /* never started: refused by seccomp, or skipped by a tracer */
	__u64 no_return;   /* exit and exit_group when entered; calls in which the task died */
	__u32 next;        /* this task's next slot, 0 = end */
	__u32 first_tally; /* head of the list of tallies, 0 = none */
	__s32 nr;
	__u16 abi;
	__u16 share;        /* that it and all it has is charged to */
	__u64 max_start_ns; /* CLOCK_MONOTONIC start of the call that took max_ns */

	__u32 lines[HIST_LINES]; /* of its histogram; 0 = none yet */
	__u64 told_ns; /* the longest call whose record was sent, since user space has cleared this */
	__u64 early_wall_ns; /* of calls that began before counting and are over, since that */
	__u64 early_off_ns;  /* of that off the CPU */
};

/* A cache line of its own, as a tally. */
struct hist_line {
	__u32 buckets[HIST_LINE_BUCKETS];
};

/*
 * A rare number of one slot: of an errno, or of times that a bucket passed 2^32. A cache line of its
 * own: the next one in the array belongs to another thread.
 */
struct tally {
	__u32 what; /* errno, or TALLY_WRAP + bucket */
	__u32 next; /* 0 = end */
	__u64 count;
	__u64 pad[6];
};

#define TALLY_WRAP       0x10000
#define TALLY_SPLIT      0x20000 /* not a count but the value of enum call_split that the slot is for */
#define TALLY_STACKS     0x20001 /* not a count but the head of the slot's list of stack entries */
#define TALLY_NO_STACK   0x20002 /* calls whose stack found no room */
#define TALLIES_PER_SLOT 64

/* Calls of one (abi, nr) that found no room in the tables; shared by the tasks of a CPU, atomic. */
struct overflow_row {
	__u64 calls;
	__u64 errors;
	__u64 interrupted;
};

/* A set has a row for each known number, and a last one for all numbers beyond. */
#define OVERFLOW_ROWS (CALLS_INDEXED + 1)

/*
 * The sets of overflow rows that an ABI has: of native calls one for each CPU, so that no CPU waits for
 * another; of other ABIs, which are rare, less. Their number is mask + 1, a power of 2.
 */
struct overflow_sets {
	__u32 first;
	__u32 mask;
};

#define MAX_NATIVE_SETS  1024
#define MAX_FOREIGN_SETS 16

/* Key of the hash that finds slots of other ABIs, of unknown numbers, and of values of a split. */
struct foreign_key {
	__u32 record;
	__u32 abi;
	__s32 nr;
	__u32 is_split;
	__u64 split;
};

/* The tables whose elements are handed out. */
enum pool_kind {
	POOL_RECORDS,
	POOL_SLOTS,
	POOL_LINES,
	POOL_TALLIES,
	POOL_STACKS,
	POOL_FOREIGN, /* keys in the hash, which are no indices */
	POOL_FILES,   /* numbers of files with code: none comes back */
	POOL_SENT,    /* stacks that user space was told of */
	POOL_PATHS,   /* keys in the table of arguments: none comes back */
	NR_POOL,
};

/* The indices of one table. */
struct pool {
	__u32 mark;  /* where never used ones start */
	__u32 used;  /* handed out and not taken back */
	__u32 limit; /* how many there are; set by user space before the programs run */
};

/* Users whose ids have the same hash share it. */
#define USER_SHARES 1024

/* Counts the elements of each table that a user has now. */
struct user_share {
	__u32 used[NR_POOL]; /* by enum pool_kind */
};

/* User space gives back this many elements at once; a power of 2. */
#define MAX_GIVEN 256

struct given {
	__u32 count;
	struct {
		__u32 index;
		__u16 kind; /* enum pool_kind */
		__u16 share;
	} elements[MAX_GIVEN];
};

/* Task storage: what the programs know about a task before they look at its record. */
struct task_ref {
	__u32 record; /* 0 = none: not counted, or no room and counted in the overflow rows */
	__u32 flags;  /* enum task_flag */
	__s32 nr;     /* open call of a task without a record */
	__u16 abi;
	__u16 state;      /* enum record_flag of a task without a record */
	__u32 layout;     /* of a leader: which text is mapped where; 0: not known */
	__u32 exec_pages; /* as of that layout */
	__u32 share;      /* of a task without a record, plus 1; 0: not looked up */
	__u32 arrivals;   /* of bpftruss itself: those before it came in, as the scheduler counts */
	__u64 in_ns;      /* of bpftruss itself: CLOCK_MONOTONIC when it came in to its CPU */
};

enum task_flag {
	TASK_TARGET = 1 << 0,     /* chosen: its threads are counted */
	TASK_FOLLOW = 1 << 1,     /* so are its children */
	TASK_COUNTED = 1 << 2,    /* this thread is being counted */
	TASK_AWAIT_EXEC = 1 << 3, /* from its first execve on */
	TASK_CHOSEN = 1 << 4,     /* by a selector: counted as long as it matches */
	TASK_IGNORED = 1 << 5,    /* never: bpftruss itself */
	TASK_CLAIMED = 1 << 6,    /* somebody is making its record */
	TASK_ENDING = 1 << 7,     /* somebody is ending its record */
};

/* The ring buffer carries these: only events that wake user space, never one per call (see call_abi.h). */
enum event_kind {
	EVENT_TASK_ENDED,     /* the state itself is in records and counters */
	EVENT_PROCESS_JOINED, /* so is this */
	EVENT_CGROUP_MADE, /* struct cgroup_event: it may be gone before anybody asks for its name */
};

/* Tells of a task that has ended or exits, or of a process that has joined. */
struct task_event {
	__u32 kind;   /* enum event_kind */
	__u32 record; /* of that task, 0 when there was none: a hint where to look first */
	__u32 signal; /* that has ended it; 0: none */
	__u32 pad;
};

#define CGROUP_PATH_SIZE 384

/* A new cgroup of the version 2 hierarchy; one with a longer path is looked for in the tree. */
struct cgroup_event {
	__u32 kind; /* enum event_kind */
	__u32 pad;
	__u64 id;
	char path[CGROUP_PATH_SIZE]; /* from the root; sent up to its NUL */
};

/* A selector tells which processes are counted; a process that matches any of them is. */
enum selector_kind {
	SELECT_ALL = 0,
	SELECT_COMM = 1,
	SELECT_CGROUP = 2,    /* in it or below it */
	SELECT_UNIT = 3,      /* in or below a cgroup of this name */
	SELECT_USER = 4,      /* effective user */
	SELECT_CONTAINER = 5, /* only in user space, which makes a unit or a cgroup of it */
};

#define MAX_SELECTORS      32
#define SELECTOR_NAME_SIZE 128

/*
 * A comm pattern is a small automaton, made by user space from a glob: state i means that i of its
 * tokens have matched. A character c moves state i to i + 1 when bit i of match[c] is set; a state
 * in loops also stays (a star stands there). State 0 starts, a final state accepts.
 */
struct selector {
	__u32 kind;
	__u32 uid;
	__u64 cgroup_id;
	__u64 name[SELECTOR_NAME_SIZE / 8]; /* of the unit, padded with zeros */
	__u32 loops;
	__u32 final;
	__u32 match[256];
};

#ifndef __cplusplus
_Static_assert(__builtin_offsetof(struct task_record, ordinal_of) == 320, "five cache lines");
_Static_assert(sizeof(struct task_record) % 64 == 0, "whole cache lines");
_Static_assert(sizeof(struct call_slot) == 192, "three cache lines");
_Static_assert(sizeof(struct tally) == 64, "a cache line");
_Static_assert(sizeof(struct hist_line) == 64, "a cache line");
#endif
