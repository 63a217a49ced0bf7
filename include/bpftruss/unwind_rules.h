/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Steps from a frame of a user stack to its caller, the same in the BPF programs and in user space. Whoever
 * includes this defines above it:
 *
 * - struct walk, which has regs (ip, sp, bp and di, __u64), end (enum stack_end) and exact: whether ip is where
 *   code was interrupted, not where a call returns to;
 * - stack_read(walk, address, ret), which reads an aligned word of the stack;
 * - code_read(walk, address, ret), which reads eight bytes of code.
 *
 * A step returns 0, or 1 when the walk ends there.
 */
#pragma once

#include "bpftruss/stack_abi.h"

/* No frame is larger where only the frame pointer says so. */
#define MAX_FRAME_SIZE (1ULL << 20)

/* Offsets in the ucontext of a signal frame on x86-64 (struct sigcontext_64, after 40 bytes). */
#define UCONTEXT_RBP 120
#define UCONTEXT_RSP 160
#define UCONTEXT_RIP 168

static __always_inline long walk_stop(struct walk *walk, enum stack_end end)
{
	walk->end = end;
	return 1;
}

/* Code without a table: the saved frame pointer leads to the caller. */
static __always_inline long walk_frame_pointer(struct walk *walk)
{
	__u64 bp = walk->regs.bp, caller_bp, ip;

	if (!bp)
		return walk_stop(walk, STACK_COMPLETE);
	if (bp < walk->regs.sp || bp & 7 || bp - walk->regs.sp > MAX_FRAME_SIZE)
		return walk_stop(walk, STACK_NO_RULE);
	if (!stack_read(walk, bp, &caller_bp) || !stack_read(walk, bp + 8, &ip))
		return walk_stop(walk, STACK_PAGED_OUT);
	if (!ip)
		return walk_stop(walk, STACK_COMPLETE);
	walk->regs.sp = bp + 16;
	walk->regs.bp = caller_bp;
	walk->regs.ip = ip;
	return 0;
}

/*
 * Code that was made while the program runs has no table, and its trampolines, such as CPython's for perf,
 * keep no frame pointer of their own: but what stands behind the call tells where they return to. False: it is
 * no trampoline.
 */
static __always_inline bool walk_trampoline(struct walk *walk)
{
	__u64 code, frame, bp = walk->regs.bp, ip;

	if (!code_read(walk, walk->regs.ip, &code))
		return false;
	if ((code & 0xff80ffffff) == 0xc300c48348) { /* add $n,%rsp; ret */
		frame = code >> 24 & 0x78;
	} else if ((code & 0xffff) == 0xc35d) { /* pop %rbp; ret */
		frame = 8;
		if (!stack_read(walk, walk->regs.sp, &bp))
			return false;
	} else {
		return false;
	}
	if (!stack_read(walk, walk->regs.sp + frame, &ip) || !ip)
		return false;
	walk->regs.sp += frame + 8;
	walk->regs.bp = bp;
	walk->regs.ip = ip;
	return true;
}

/* The registers of the code that a signal interrupted lie where the handler returns to. */
static __always_inline long walk_signal_frame(struct walk *walk)
{
	__u64 uc = walk->regs.sp;

	if (!stack_read(walk, uc + UCONTEXT_RBP, &walk->regs.bp) ||
	    !stack_read(walk, uc + UCONTEXT_RIP, &walk->regs.ip) ||
	    !stack_read(walk, uc + UCONTEXT_RSP, &walk->regs.sp))
		return walk_stop(walk, STACK_PAGED_OUT);
	walk->exact = true;
	return 0;
}

/* Finds where the caller's frame begins. False: the walk has been stopped. */
static __always_inline bool walk_cfa(struct walk *walk, const struct unwind_rule *rule, __u64 *ret)
{
	__u64 base;

	switch (rule->cfa) {
	case CFA_RSP:
		*ret = walk->regs.sp + rule->cfa_offset * 8;
		return true;
	case CFA_STUB:
		*ret = walk->regs.sp + 8;
		return true;
	case CFA_RBP:
		*ret = walk->regs.bp + rule->cfa_offset * 8;
		return true;
	case CFA_PLT:
		*ret = walk->regs.sp + 8 + ((walk->regs.ip & 15) >= 11 ? 8 : 0);
		return true;
	case CFA_RBP_DEREF:
		if (!stack_read(walk, walk->regs.bp + rule->deref_offset * 8, &base)) {
			walk_stop(walk, STACK_PAGED_OUT);
			return false;
		}
		*ret = base + rule->cfa_offset * 8;
		return true;
	default:
		walk_stop(walk, STACK_UNSUPPORTED);
		return false;
	}
}

/* Only at the call itself does rdi still say where it returns to. */
static __always_inline long walk_by_rdi(struct walk *walk, const struct unwind_rule *rule, __u32 at)
{
	if (at)
		return walk_stop(walk, STACK_UNSUPPORTED);
	walk->regs.sp += rule->cfa_offset * 8;
	walk->regs.ip = walk->regs.di;
	return 0;
}

static __always_inline long walk_by_table(struct walk *walk, const struct unwind_rule *rule)
{
	__u64 cfa, ip, saved;

	if (!walk_cfa(walk, rule, &cfa))
		return 1;
	/* Callers lie above: whatever says otherwise is no stack. */
	if (cfa <= walk->regs.sp)
		return walk_stop(walk, STACK_UNSUPPORTED);
	if (rule->rbp != RBP_SAME) {
		saved = rule->rbp == RBP_CFA ? cfa : walk->regs.bp;
		if (!stack_read(walk, saved + rule->rbp_offset * 8, &saved))
			return walk_stop(walk, STACK_PAGED_OUT);
		walk->regs.bp = saved;
	}
	if (!stack_read(walk, cfa - 8, &ip))
		return walk_stop(walk, STACK_PAGED_OUT);
	if (!ip)
		return walk_stop(walk, STACK_COMPLETE);
	walk->regs.sp = cfa;
	walk->regs.ip = ip;
	return 0;
}

/* Goes on from frame number at, which counts from the innermost; exact is that of this frame. */
static __always_inline long walk_by_rule(struct walk *walk, const struct unwind_rule *rule,
					 __u32 at, bool exact)
{
	switch (rule->cfa) {
	case CFA_NONE:
		if (at && !exact && walk_trampoline(walk))
			return 0;
		return walk_frame_pointer(walk);
	case CFA_SIGNAL:
		return walk_signal_frame(walk);
	case CFA_RDI:
		return walk_by_rdi(walk, rule, at);
	case CFA_END:
		return walk_stop(walk, STACK_COMPLETE);
	default:
		return walk_by_table(walk, rule);
	}
}

/*
 * Returns the flags to add to the frame of the code that was asked about. A handler returns to the
 * beginning of its signal frame's code, which did not call it: the byte before belongs to something
 * else.
 */
static __always_inline __u64 frame_flags(__u32 at, bool exact, __u8 cfa)
{
	if (exact)
		return FRAME_INTERRUPTED;
	return at && cfa == CFA_SIGNAL ? FRAME_INTERRUPTED + 1 : 1;
}
