/* SPDX-License-Identifier: BSD-2-Clause */
/* Says what a collector is to count, and how much of it to keep. */
#pragma once

#include <sys/types.h>

#include "base/errand.h"
#include "model/query.h"
#include "syscalls/arguments.h"
#include "syscalls/syscall_set.h"

/* Says which single calls are taken, and with what. */
struct call_view {
	struct plan_options plan;
	struct call_conditions conditions;
	const struct syscall_set *calls; /* only these; NULL: all that are counted. Borrowed */
	uint32_t ring_bytes;             /* of each CPU; 0: as is sane */
	uint64_t whole_fds; /* a bit for each descriptor below 64 whose data is sent whole */
	bool only_slowest; /* no others than those that took longer than any before of their thread and kind */
};

/* Gets one record, which is the caller's until it returns. A result other than 0 ends the taking. */
typedef int call_taker(void *context, const struct call_record *record);

struct collector_options {
	/* 0: as many as the threads that there are ask for. */
	uint32_t max_tasks;  /* threads counted at the same time */
	uint32_t max_rows;   /* (thread, system call) pairs */
	uint32_t max_errnos; /* (thread, system call, errno) triples */
	const pid_t *pids;   /* that will be added: tables are made for their threads. Borrowed */
	size_t nr_pids;
	uint32_t threads; /* to make tables for, if that is more than there are */
	bool verbose;     /* libbpf's own messages go to stderr */
	const struct target_selector *selectors; /* borrowed */
	size_t nr_selectors;
	bool wait;            /* units and users need not exist yet */
	bool by_thread;       /* rows of live threads stand apart; ended ones are added up */
	bool keeps_threads;   /* by thread: ended ones, too, as far as there is room */
	uint32_t keep_exited; /* ended processes with rows of their own; 0: the default */
	size_t keep_bytes;    /* of memory for what has ended; 0: the default */
	const struct syscall_set *calls; /* those of interest; NULL: all. Borrowed */
	enum call_split split_by;        /* their rows are split by it, too */
	uint32_t max_paths;              /* or files, if it is by these; 0: the default */
	uint64_t slower_than_ns;         /* calls that took less time are not counted */
	bool stacks;                     /* rows have the user stacks of their calls */
	bool frame_pointers;             /* only by frame pointers, as on kernels before 5.17 */
	bool kernel_stacks;              /* with the kernel stack in which a call slept last */
	uint32_t max_stacks;             /* triples of thread, call and stack; 0: the default */
	bool inlines;                    /* stacks have the functions that were inlined */
	bool debuginfod;                 /* servers are asked for debug files */
	bool hurried;                    /* tables of code are made while it counts, not before */
	bool lists_calls;                /* collector_list_calls() is wanted */
	const struct call_view *view;    /* collector_take_calls() is wanted; NULL: not. Borrowed */
	bool lasting; /* for long: stacks are named as they come, and no file is kept open for that */
	struct errands
		*errands; /* run the children that stacks need; outlive the collector. Borrowed */
};

#define DEFAULT_MAX_STACKS 65536

/* Beyond this many, or this much memory, ended processes are folded by name, user and cgroup. */
#define DEFAULT_KEEP_EXITED 1000
#define DEFAULT_KEEP_BYTES  ((size_t)64 << 20)
