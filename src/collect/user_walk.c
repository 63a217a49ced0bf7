/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Steps from a frame to its caller until there is none. Invariant: a step that does not end the walk adds one
 * frame, so there are MAX_FRAMES of them at most.
 */
#include "collect/user_walk.h"

struct walk {
	const struct walk_source *source;
	struct walk_registers regs;
	struct stack_event *stack;
	enum stack_end end;
	bool exact; /* ip is where a signal interrupted, not where a call returns to */
	bool guess; /* ip is what a stub returns to, if that is code */
};

static bool code_read(const struct walk *walk, uint64_t address, unsigned long long *ret)
{
	uint64_t word;

	if (!walk->source->read(walk->source->closure, address, &word))
		return false;
	*ret = word;
	return true;
}

static bool stack_read(const struct walk *walk, uint64_t address, unsigned long long *ret)
{
	return !(address & 7) && code_read(walk, address, ret);
}

#include "bpftruss/unwind_rules.h"

static long walk_step(struct walk *walk)
{
	const uint32_t at = walk->stack->nr_frames;
	bool exact = walk->exact;
	uint64_t pc = walk->regs.ip - !exact;
	struct walk_code code = { .frame = FRAME_RAW | pc };

	if (at == MAX_FRAMES)
		return walk_stop(walk, STACK_TRUNCATED);
	walk->exact = false;
	if (pc >= FRAME_ADDRESS_END || !walk->source->find(walk->source->closure, pc, &code))
		return walk_stop(walk, walk->guess ? STACK_COMPLETE : STACK_NO_RULE);
	walk->guess = code.rule.cfa == CFA_STUB;
	walk->stack->frames[at] = code.frame + frame_flags(at, exact, code.rule.cfa);
	walk->stack->nr_frames++;
	if (code.is_pending)
		return walk_stop(walk, STACK_TABLE_PENDING);
	return walk_by_rule(walk, &code.rule, at, exact);
}

void user_walk(const struct walk_registers *registers, const struct walk_source *source,
	       struct stack_event *ret)
{
	struct walk walk = { .source = source, .regs = *registers, .stack = ret };

	ret->nr_frames = 0;
	while (!walk_step(&walk))
		;
	ret->end = (uint16_t)walk.end;
}
