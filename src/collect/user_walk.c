/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Steps from a frame to its caller until there is none. Invariant: a step that does not end the walk adds one
 * frame, so there are MAX_FRAMES of them at most.
 */
#include "collect/user_walk.h"

/* No frame is larger where only the frame pointer says so. */
#define MAX_FRAME_SIZE (1ULL << 20)

/* Offsets in the ucontext of a signal frame on x86-64 (struct sigcontext_64, after 40 bytes). */
#define UCONTEXT_RBP 120
#define UCONTEXT_RSP 160
#define UCONTEXT_RIP 168

struct walk {
	const struct walk_source *source;
	struct walk_registers at;
	struct stack_event *stack;
	bool is_exact; /* ip is where a signal interrupted, not where a call returns to */
	bool is_guess; /* ip is what a stub returns to, if that is code */
};

/* These end a walk (false), or let it go on. */

static bool walk_stop(struct walk *walk, enum stack_end end)
{
	walk->stack->end = (uint16_t)end;
	return false;
}

static bool stack_read(const struct walk *walk, uint64_t address, uint64_t *ret)
{
	return !(address & 7) && walk->source->read(walk->source->closure, address, ret);
}

static bool walk_go_on(struct walk *walk, uint64_t sp, uint64_t ip)
{
	if (!ip)
		return walk_stop(walk, STACK_COMPLETE);
	walk->at.sp = sp;
	walk->at.ip = ip;
	return true;
}

static bool walk_frame_pointer(struct walk *walk)
{
	uint64_t bp = walk->at.bp, caller_bp, ip;

	if (!bp)
		return walk_stop(walk, STACK_COMPLETE);
	if (bp < walk->at.sp || bp & 7 || bp - walk->at.sp > MAX_FRAME_SIZE)
		return walk_stop(walk, STACK_NO_RULE);
	if (!stack_read(walk, bp, &caller_bp) || !stack_read(walk, bp + 8, &ip))
		return walk_stop(walk, STACK_PAGED_OUT);
	walk->at.bp = caller_bp;
	return walk_go_on(walk, bp + 16, ip);
}

/* What stands behind the call of a JIT's trampoline tells where it returns to. */
static bool walk_trampoline(struct walk *walk)
{
	uint64_t code, frame, bp = walk->at.bp, ip;

	if (!walk->source->read(walk->source->closure, walk->at.ip, &code))
		return false;
	if ((code & 0xff80ffffff) == 0xc300c48348) { /* add $n,%rsp; ret */
		frame = code >> 24 & 0x78;
	} else if ((code & 0xffff) == 0xc35d) { /* pop %rbp; ret */
		frame = 8;
		if (!stack_read(walk, walk->at.sp, &bp))
			return false;
	} else {
		return false;
	}
	if (!stack_read(walk, walk->at.sp + frame, &ip) || !ip)
		return false;
	walk->at.bp = bp;
	return walk_go_on(walk, walk->at.sp + frame + 8, ip);
}

/* The code that a signal interrupted: its registers lie where the handler returns to. */
static bool walk_signal_frame(struct walk *walk)
{
	uint64_t context = walk->at.sp;

	if (!stack_read(walk, context + UCONTEXT_RBP, &walk->at.bp) ||
	    !stack_read(walk, context + UCONTEXT_RIP, &walk->at.ip) ||
	    !stack_read(walk, context + UCONTEXT_RSP, &walk->at.sp))
		return walk_stop(walk, STACK_PAGED_OUT);
	walk->is_exact = true;
	return true;
}

/* Where the frame of the caller ends. */
static bool walk_cfa(struct walk *walk, const struct unwind_rule *rule, uint64_t *ret)
{
	uint64_t offset = (uint64_t)(rule->cfa_offset * 8), base;

	switch (rule->cfa) {
	case CFA_RSP:
		*ret = walk->at.sp + offset;
		return true;
	case CFA_STUB:
		*ret = walk->at.sp + 8;
		return true;
	case CFA_RBP:
		*ret = walk->at.bp + offset;
		return true;
	case CFA_PLT:
		*ret = walk->at.sp + 8 + ((walk->at.ip & 15) >= 11 ? 8 : 0);
		return true;
	case CFA_RBP_DEREF:
		if (!stack_read(walk, walk->at.bp + (uint64_t)(rule->deref_offset * 8), &base))
			return walk_stop(walk, STACK_PAGED_OUT);
		*ret = base + offset;
		return true;
	default:
		return walk_stop(walk, STACK_UNSUPPORTED);
	}
}

static bool walk_by_rule(struct walk *walk, const struct unwind_rule *rule)
{
	uint64_t cfa, ip, saved;

	if (!walk_cfa(walk, rule, &cfa))
		return false;
	/* Callers lie above: whatever says otherwise is no stack. */
	if (cfa <= walk->at.sp)
		return walk_stop(walk, STACK_UNSUPPORTED);
	if (rule->rbp != RBP_SAME) {
		saved = rule->rbp == RBP_CFA ? cfa : walk->at.bp;
		if (!stack_read(walk, saved + (uint64_t)(rule->rbp_offset * 8), &saved))
			return walk_stop(walk, STACK_PAGED_OUT);
		walk->at.bp = saved;
	}
	if (!stack_read(walk, cfa - 8, &ip))
		return walk_stop(walk, STACK_PAGED_OUT);
	return walk_go_on(walk, cfa, ip);
}

/* Only at the call itself does rdi still say where it returns to. */
static bool walk_by_rdi(struct walk *walk, const struct unwind_rule *rule, bool is_first)
{
	if (!is_first)
		return walk_stop(walk, STACK_UNSUPPORTED);
	return walk_go_on(walk, walk->at.sp + (uint64_t)(rule->cfa_offset * 8), walk->at.di);
}

/*
 * Adds the frame of some code. A handler returns to the beginning of its signal frame's code, which did
 * not call it: the byte before belongs to something else.
 */
static void frame_add(struct walk *walk, const struct walk_code *code, bool is_exact)
{
	bool is_return = walk->stack->nr_frames && code->rule.cfa == CFA_SIGNAL;
	uint64_t flags = is_exact ? FRAME_INTERRUPTED : is_return ? FRAME_INTERRUPTED + 1 : 1;

	walk->stack->frames[walk->stack->nr_frames++] = code->frame + flags;
}

static bool walk_step(struct walk *walk)
{
	bool is_exact = walk->is_exact, is_first = !walk->stack->nr_frames;
	uint64_t pc = walk->at.ip - !is_exact;
	struct walk_code code = { .frame = FRAME_RAW | pc };

	if (walk->stack->nr_frames == MAX_FRAMES)
		return walk_stop(walk, STACK_TRUNCATED);
	walk->is_exact = false;
	if (pc >= FRAME_ADDRESS_END || !walk->source->find(walk->source->closure, pc, &code))
		return walk_stop(walk, walk->is_guess ? STACK_COMPLETE : STACK_NO_RULE);
	walk->is_guess = code.rule.cfa == CFA_STUB;
	frame_add(walk, &code, is_exact);
	if (code.is_pending)
		return walk_stop(walk, STACK_TABLE_PENDING);
	switch (code.rule.cfa) {
	case CFA_NONE:
		if (!is_first && !is_exact && walk_trampoline(walk))
			return true;
		return walk_frame_pointer(walk);
	case CFA_SIGNAL:
		return walk_signal_frame(walk);
	case CFA_RDI:
		return walk_by_rdi(walk, &code.rule, is_first);
	case CFA_END:
		return walk_stop(walk, STACK_COMPLETE);
	default:
		return walk_by_rule(walk, &code.rule);
	}
}

void user_walk(const struct walk_registers *registers, const struct walk_source *source,
	       struct stack_event *ret)
{
	struct walk walk = { .source = source, .at = *registers, .stack = ret };

	ret->nr_frames = 0;
	ret->end = STACK_COMPLETE;
	while (walk_step(&walk))
		;
}
