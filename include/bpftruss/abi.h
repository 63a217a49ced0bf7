/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The contract between the BPF programs and user space: every map value, limit and loss reason.
 * Invariants: counters only grow while their owner lives; a record, its slots and their tallies
 * are written by their own task alone (no atomics, no shared cache line) until the record is
 * RECORD_ENDED, from then on by user space alone.
 */
#ifndef BPFTRUSS_ABI_H
#define BPFTRUSS_ABI_H

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

/* Native numbers below this have a direct index to their slot; all others go through a hash. */
#define CALLS_INDEXED 512

/* The bit that marks an x32 call in the number the kernel hands to the tracepoints. */
#define X32_CALL_BIT 0x40000000

/* Default table sizes; together less than 32 MiB of kernel memory (tests/live pins that). */
#define DEFAULT_MAX_TASKS   2048
#define DEFAULT_MAX_SLOTS   40000
#define DEFAULT_MAX_TALLIES 16384
#define DEFAULT_MAX_FOREIGN 2048

/*
 * Every way in which a call, its time or its attribution can go missing. Host-wide misses of the
 * programs themselves are read from the kernel and added by user space.
 */
enum loss {
	LOSS_TASK_UNTRACKED = 0,   /* no kernel memory for a new task's state: not counted */
	LOSS_TASK_TABLE_FULL = 1,  /* calls counted by system call only: records ran out */
	LOSS_SLOT_TABLE_FULL = 2,  /* calls counted by system call only: slots ran out */
	LOSS_ERRNO_TABLE_FULL = 3, /* errors counted, but their errno was not kept */
	LOSS_BUCKET_WRAPPED = 4,   /* a bucket passed 2^32 and its carry could not be kept */
	LOSS_EXIT_MISSED = 5,      /* calls whose end was never seen */
	LOSS_TIME_CLAMPED = 6,     /* calls whose parts did not add up and were clamped */
	LOSS_USER_TIME = 7,        /* threads without a record: their user CPU time is unknown */
	NR_LOSS = 8,
};

enum record_state {
	RECORD_FREE = 0,
	RECORD_LIVE = 1,
	RECORD_ENDED = 2, /* its task is gone: user space folds the rows and frees them */
};

enum record_flag {
	RECORD_CALL_OPEN = 1 << 0,  /* between enter and exit: nr, abi, enter_ns are valid */
	RECORD_OPEN_EARLY = 1 << 1, /* may be inside a call begun before counting; nr -1: unknown */
	RECORD_AWAIT_EXEC = 1 << 2, /* counts nothing until its first execve */
	RECORD_RESTARTS = 1 << 3,   /* the next restart_syscall goes on with nr, abi */
};

/* One task (thread). The first 64 bytes are all that a call or a context switch touches. */
struct task_record {
	__u64 enter_ns;       /* CLOCK_MONOTONIC start of the open call */
	__u64 mark_cpu_ns;    /* the task's CPU clock at its last enter or exit */
	__u64 off_ns;         /* time off the CPU since the record was made */
	__u64 out_ns;         /* when it left the CPU, 0 while it is on one */
	__u64 enter_delay_ns; /* sched_info.run_delay at enter */
	__u64 user_ns;        /* CPU time outside system calls */
	__s32 nr;             /* the open call */
	__u16 abi;
	__u16 flags; /* enum record_flag */
	__u64 task;  /* address of its task_struct, 0 before and after its life */

	__u64 start_ns;      /* CLOCK_MONOTONIC when counting began */
	__u64 boot_ns;       /* CLOCK_BOOTTIME start of the process: with pid, its identity */
	__u32 pid, tid;      /* in the initial pid namespace */
	__u32 state;         /* enum record_state, written last */
	char comm[16];       /* of the thread: at its start, last exec, or end */
	__u32 first_slot;    /* head of this task's list of slots, 0 = none */
	__u32 foreign_slots; /* how many of them are found through the hash */
	__u32 pad[3];

	__u32 slot_of[CALLS_INDEXED]; /* slot of a native call by its number, 0 = none yet */
};

/* A task cannot fill the tables with made-up numbers: beyond this they go to the overflow rows. */
#define FOREIGN_SLOTS_PER_TASK 64

/*
 * What one task did with one system call. "Ended" here is every way a call can end; the timed ones
 * are those whose enter and exit were both seen: sum(buckets) = timed = calls - untimed -
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
	__u16 abi, pad;

	__u32 buckets[HIST_BUCKETS]; /* a wrap adds a tally */
};

/* A rare counter of one slot: an errno, or how often a bucket passed 2^32. */
struct tally {
	__u32 what; /* errno, or TALLY_WRAP + bucket */
	__u32 next; /* 0 = end */
	__u64 count;
};

#define TALLY_WRAP       0x10000
#define TALLIES_PER_SLOT 64

/* Calls of one (abi, nr) that found no room in the tables; shared by all tasks, atomic. */
struct overflow_row {
	__u64 calls;
	__u64 errors;
	__u64 interrupted;
};

/* One row a known number, and a last one for all numbers beyond, in each ABI. */
#define OVERFLOW_ROWS_PER_ABI (CALLS_INDEXED + 1)

/* Key of the hash that finds slots of other than native calls, and unknown numbers. */
struct foreign_key {
	__u32 record;
	__u32 abi;
	__s32 nr;
	__u32 pad;
};

/* Task storage: what the programs know about a task before they look at its record. */
struct task_ref {
	__u32 record; /* 0 = none: not counted, or no room and counted in the overflow rows */
	__u32 flags;  /* enum task_flag */
	__s32 nr;     /* open call of a task without a record */
	__u16 abi;
	__u16 state; /* enum record_flag of a task without a record */
};

enum task_flag {
	TASK_TARGET = 1 << 0,     /* chosen: its threads are counted */
	TASK_FOLLOW = 1 << 1,     /* so are its children */
	TASK_COUNTED = 1 << 2,    /* this thread is being counted */
	TASK_AWAIT_EXEC = 1 << 3, /* from its first execve on */
};

#ifndef __cplusplus
_Static_assert(__builtin_offsetof(struct task_record, slot_of) == 128, "two cache lines");
_Static_assert(sizeof(struct task_record) % 64 == 0, "whole cache lines");
_Static_assert(sizeof(struct call_slot) == 704, "eleven cache lines");
_Static_assert(sizeof(struct tally) == 16, "");
#endif

#endif
