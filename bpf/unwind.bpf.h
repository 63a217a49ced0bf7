/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the walk up a user stack, with registers as they are at a system call. Each frame: the rule
 * of its code, from the cache or the file's table (unwind_tables.bpf.h), then the caller's
 * registers by that rule. Runs without page faults, and says why when it cannot go on.
 */
#pragma once

#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include "unwind_tables.bpf.h"

/* Stack memory is copied in windows: reading word by word would cost several times as much. */
#define WINDOW_WORDS 512
#define WINDOW_SIZE  (WINDOW_WORDS * 8)

/* A walk remembers so many ids; a power of 2. */
#define SENT_IDS 128

/* Calls are stacked when they begin, end, sleep or are killed: programs that may interrupt each other. */
enum walk_use { WALK_ENTER, WALK_EXIT, WALK_SWITCH, WALK_END, NR_WALK_USE };

enum raw_kind { RAW_IN_PROCESS = 1, RAW_IN_LAYOUT = 2 };

/*
 * Not on the program's stack: it is too large, and what the verifier knows of it would differ with
 * every path, which it would then follow one by one.
 */
struct walk {
	struct user_regs regs;
	struct stack_bounds stack;
	u64 window_start;
	u32 window_size;
	u32 layout;
	u64 hash;
	u32 nr_frames;
	u16 end;   /* enum stack_end */
	u8 exact;  /* ip is where it was interrupted, not where it returns to */
	u8 raw;    /* frames that are addresses, of this process or of its layout: raw_kind */
	u32 guess; /* ip is what a stub returns to, if that is code */
	u32 pad;
	u64 window[WINDOW_WORDS];
	u64 sent[SENT_IDS]; /* some of the stacks that user space has, by id */
	struct stack_event event;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NR_WALK_USE);
	__type(key, u32);
	__type(value, struct walk);
} walks SEC(".maps");

static __always_inline struct walk *walk_start(u32 use, u64 seed)
{
	struct walk *walk = bpf_map_lookup_elem(&walks, &use);

	if (!walk)
		return NULL;
	walk->window_size = 0;
	walk->hash = hash_seed ^ seed;
	walk->nr_frames = 0;
	walk->end = STACK_COMPLETE;
	walk->exact = false;
	walk->raw = false;
	walk->guess = false;
	return walk;
}

/* Stays within the stack: reading beyond it costs as much as all the rest of a walk. */
static __always_inline u32 window_fits(const struct walk *walk, u64 address)
{
	u64 left = walk->stack.high - address;

	return address >= walk->stack.low && left < WINDOW_SIZE ? left : WINDOW_SIZE;
}

static __always_inline bool window_load(struct walk *walk, u64 address)
{
	u32 size = window_fits(walk, address);

	barrier_var(size);
	if (size > WINDOW_SIZE)
		size = WINDOW_SIZE;
	if (bpf_probe_read_user(walk->window, size, (void *)address)) {
		/* Up to the end of the page, now and from now on: the next one was never touched. */
		size = (WINDOW_SIZE - address) & (WINDOW_SIZE - 1);
		if (bpf_probe_read_user(walk->window, size, (void *)address))
			return false;
		if (address >= walk->stack.low && address < walk->stack.high)
			walk->stack.high = address + size;
	}
	walk->window_start = address;
	walk->window_size = size;
	return size >= sizeof(u64);
}

static long bounds_read(struct task_struct *task, struct vm_area_struct *vma,
			struct stack_bounds *bounds)
{
	bounds->low = vma->vm_start;
	bounds->high = vma->vm_end;
	return 0;
}

/* A stack stays where it is, unless a signal is handled on another one: it is rarely looked for. */
static __always_inline void walk_find_stack(struct walk *walk, struct task_struct *task,
					    struct stack_bounds *hint)
{
	struct stack_bounds found = {};

	if (walk->regs.sp < hint->low || walk->regs.sp >= hint->high) {
		bpf_find_vma(task, walk->regs.sp, bounds_read, &found, 0);
		*hint = found;
	}
	walk->stack = *hint;
}

/* A word of the stack. */
static __always_inline bool stack_read(struct walk *walk, u64 address, u64 *ret)
{
	u64 offset = address - walk->window_start;

	if (address & 7)
		return false;
	if (offset + 8 > walk->window_size || offset >= walk->window_size) {
		if (!window_load(walk, address))
			return false;
		offset = 0;
	}
	offset >>= 3;
	barrier_var(offset);
	*ret = walk->window[offset & (WINDOW_WORDS - 1)];
	return true;
}

/* Only x86 has trampolines that are known. */
static __always_inline bool code_read(struct walk *walk, u64 address, u64 *ret)
{
	*ret = 0;
	return ARCH_HAS_TABLES && !bpf_probe_read_user(ret, sizeof(*ret), (void *)address);
}

#include "bpftruss/unwind_rules.h"

static __always_inline void walk_add_frame(struct walk *walk, u32 at, u64 frame)
{
	barrier_var(at);
	walk->event.frames[at & MAX_FRAMES] = frame;
	walk->hash = (walk->hash ^ frame) * 0x9e3779b97f4a7c15;
	walk->hash ^= walk->hash >> 29;
	walk->nr_frames = at + 1;
}

struct walk_context {
	struct walk *walk;
	struct unwind_cache *cache;
};

static long walk_step(u32 at, struct walk_context *context)
{
	struct walk *walk = context->walk;
	struct unwind_answer answer;
	bool exact;
	u64 pc;

	if (!walk || !context->cache)
		return 1;
	if (at >= MAX_FRAMES)
		return walk_stop(walk, STACK_TRUNCATED);
	exact = walk->exact;
	pc = walk->regs.ip - !exact;
	walk->exact = false;
	unwind_find(context->cache, walk->layout, pc, &answer);
	/* Nothing is mapped there: no frame. */
	if (answer.end == STACK_NO_RULE)
		return walk_stop(walk, walk->guess ? STACK_COMPLETE : STACK_NO_RULE);
	walk->guess = answer.rule.cfa == CFA_STUB;
	if (answer.frame & FRAME_RAW)
		walk->raw |= answer.frame & FRAME_OF_NO_FILE ? RAW_IN_PROCESS : RAW_IN_LAYOUT;
	walk_add_frame(walk, at, answer.frame + frame_flags(at, exact, answer.rule.cfa));
	if (answer.end != STACK_COMPLETE)
		return walk_stop(walk, answer.end);
	return walk_by_rule(walk, &answer.rule, at, exact);
}
