/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The user space side of --stacks: makes the tables that the programs unwind by, and takes the stacks
 * that they send.
 */
#pragma once

#include <bpf/libbpf.h>

#include "collect/options.h"
#include "stacks/names.h"

struct call_stacks;
struct truss_bpf;

/* The maps must be loaded; adds its own to the ring buffers. Returns 0 or -errno. */
int call_stacks_new(const struct truss_bpf *skel, const struct collector_options *options,
		    struct ring_buffer *events, struct call_stacks **ret);
void call_stacks_free(struct call_stacks *stacks);
CLEANUP_OF(call_stacks, call_stacks_free)

/* Whose code has its tables made before counting begins. */
struct running_code {
	const struct process *targets; /* NULL: all processes */
	size_t nr_targets;
	bool is_mapped_here; /* what this process has mapped, too, as it has what a command will */
	bool hurried;        /* makes none before, only begins */
};

/* Makes these tables, and begins to make those of all others. 0 or -errno. */
int call_stacks_learn_running(struct call_stacks *stacks, const struct bpf_link *mappings,
			      const struct running_code *running);

/*
 * After the events were consumed: goes on with making the tables that were asked for, puts stacks into
 * the table, and goes on with naming them. 0 or -ENOMEM.
 */
int call_stacks_follow(struct call_stacks *stacks);

/* How long at most until that is due: milliseconds as poll() takes them, -1 for ever. */
int call_stacks_patience_ms(const struct call_stacks *stacks);

/* Returns the names that it gives to frames. */
struct names *call_stacks_names(const struct call_stacks *stacks);

/* How many files have been looked at so far, and the kernel memory that their rows take. */
void call_stacks_tables(const struct call_stacks *stacks, size_t *files, size_t *bytes);

/* Borrowed. */
const struct stack_table *call_stacks_table(const struct call_stacks *stacks);
