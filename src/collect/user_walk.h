/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walks up the stack of a thread that sleeps, by the same rules as the programs do (bpf/unwind.bpf.h), but
 * in a copy of its memory. All of that is foreign: whatever it says, a walk ends after MAX_FRAMES frames.
 */
#pragma once

#include "base/mem.h"
#include "bpftruss/stack_abi.h"

/* The registers of the thread when it called; di is only needed for vfork(). */
struct walk_registers {
	unsigned long long ip, sp, bp, di;
};

/* Describes code: its frame as kept in a stack, without flags, and how to find its caller. */
struct walk_code {
	uint64_t frame;
	struct unwind_rule rule;
	bool is_pending; /* the rule is not known yet */
};

/* Supplies a walk with memory and code. */
struct walk_source {
	void *closure;
	/* Eight bytes of the thread's memory; false: they are not there. */
	bool (*read)(void *closure, uint64_t address, uint64_t *ret);
	/* False: no code is mapped there. */
	bool (*find)(void *closure, uint64_t pc, struct walk_code *ret);
};

/* Fills frames, nr_frames and end of a stack. */
void user_walk(const struct walk_registers *registers, const struct walk_source *source,
	       struct stack_event *ret);
