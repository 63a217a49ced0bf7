/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests walks up stacks that no compiler has made: they end, and say why. */
#include "test.h"

#include "collect/user_walk.c" /* NOLINT: without the collector, of which it needs no more */

#define STACK_WORDS 512
#define STACK_START 0x7000000UL
#define CODE_START  0x400000UL
#define CODE_BYTES  0x10000UL
#define FILE_WORD   (5ULL << FRAME_FILE_SHIFT)

/* A thread: all code has the same rule but for what is said otherwise. */
struct fake {
	uint64_t words[STACK_WORDS];
	struct unwind_rule rule;
	uint64_t special; /* the code at this address has the other rule */
	struct unwind_rule other;
	bool is_pending, of_no_file;
	uint64_t code; /* what stands behind every call */
	unsigned int steps;
};

static bool fake_read(void *closure, uint64_t address, uint64_t *ret)
{
	const struct fake *fake = closure;

	if (address >= CODE_START && address < CODE_START + CODE_BYTES)
		*ret = fake->code;
	else if (address < STACK_START || address >= STACK_START + sizeof(fake->words))
		return false;
	else
		*ret = fake->words[(address - STACK_START) / 8];
	return true;
}

static bool fake_find(void *closure, uint64_t pc, struct walk_code *ret)
{
	struct fake *fake = closure;

	if (pc < CODE_START || pc >= CODE_START + CODE_BYTES)
		return false;
	fake->steps++;
	ret->rule = pc == fake->special ? fake->other : fake->rule;
	ret->is_pending = fake->is_pending;
	if (fake->of_no_file)
		ret->frame |= FRAME_OF_NO_FILE;
	else
		ret->frame = FILE_WORD | (pc - CODE_START);
	return true;
}

static struct stack_event walk(struct fake *fake, uint64_t bp)
{
	const struct walk_source source = { fake, fake_read, fake_find };
	const struct walk_registers at = {
		.ip = CODE_START + 0x101, .sp = STACK_START, .bp = bp, .di = CODE_START + 0x201
	};
	struct stack_event stack = { .id = 1 };

	user_walk(&at, &source, &stack);
	return stack;
}

static void fill(struct fake *fake, uint64_t word)
{
	for (size_t i = 0; i < STACK_WORDS; i++)
		fake->words[i] = word;
}

/* Three callers, one word each; frames are behind the call, the outermost has no caller. */
TEST(test_by_table)
{
	struct fake fake = { .rule = { .cfa = CFA_RSP, .cfa_offset = 2 } };
	struct stack_event stack;

	fake.words[1] = CODE_START + 0x11;
	fake.words[3] = CODE_START + 0x21;
	stack = walk(&fake, 0);
	assert_int_equal(stack.end, STACK_COMPLETE);
	assert_int_equal(stack.nr_frames, 3);
	assert_int_equal(stack.frames[0], FILE_WORD | 0x101);
	assert_int_equal(stack.frames[1], FILE_WORD | 0x11);
	assert_int_equal(stack.frames[2], FILE_WORD | 0x21);
}

/* The stack says for ever that it goes on. */
TEST(test_no_walk_is_endless)
{
	const struct unwind_rule rules[] = {
		{ .cfa = CFA_RSP, .cfa_offset = 1 },
		{ .cfa = CFA_PLT },
		{ .cfa = CFA_STUB },
	};
	struct fake fake = { .steps = 0 };
	struct stack_event stack;

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		fake.rule = rules[i];
		fake.steps = 0;
		fill(&fake, CODE_START + 0x11);
		stack = walk(&fake, 0);
		assert_int_equal(stack.end, STACK_TRUNCATED);
		assert_int_equal(stack.nr_frames, MAX_FRAMES);
		assert_int_equal(fake.steps, MAX_FRAMES);
	}
}

/* Signal frames, whose stack pointer may go anywhere, even to themselves. */
TEST(test_a_signal_frame_that_returns_to_itself)
{
	struct fake fake = { .rule = { .cfa = CFA_SIGNAL } };
	struct stack_event stack;

	fake.words[120 / 8] = 0;
	fake.words[160 / 8] = STACK_START;
	fake.words[168 / 8] = CODE_START + 0x101;
	stack = walk(&fake, 0);
	assert_int_equal(stack.end, STACK_TRUNCATED);
	assert_int_equal(stack.nr_frames, MAX_FRAMES);
	/* The frame of interrupted code is at the instruction itself, not a byte before. */
	assert_int_equal(stack.frames[1], (FILE_WORD | 0x101) + FRAME_INTERRUPTED);
}

TEST(test_a_stack_does_not_go_down)
{
	struct fake fake = { .rule = { .cfa = CFA_RBP, .cfa_offset = 1 } };

	fill(&fake, CODE_START + 0x11);
	assert_int_equal(walk(&fake, STACK_START - 8).end, STACK_UNSUPPORTED);
	fake.rule = (struct unwind_rule){ .cfa = CFA_RSP, .cfa_offset = -1 };
	assert_int_equal(walk(&fake, 0).end, STACK_UNSUPPORTED);
	fake.rule = (struct unwind_rule){ .cfa = CFA_NONE };
	assert_int_equal(walk(&fake, STACK_START - 8).end, STACK_NO_RULE);
}

TEST(test_frame_pointers)
{
	struct fake fake = { .rule = { .cfa = CFA_NONE } };
	struct stack_event stack;

	fake.words[2] = STACK_START + 64;
	fake.words[3] = CODE_START + 0x11;
	fake.words[8] = 0;
	fake.words[9] = CODE_START + 0x21;
	stack = walk(&fake, STACK_START + 16);
	assert_int_equal(stack.end, STACK_COMPLETE);
	assert_int_equal(stack.nr_frames, 3);
	assert_int_equal(walk(&fake, STACK_START + 17).end, STACK_NO_RULE);
	assert_int_equal(walk(&fake, STACK_START + (2UL << 20)).end, STACK_NO_RULE);
	assert_int_equal(walk(&fake, STACK_START + (1UL << 19)).end, STACK_PAGED_OUT);
}

/* add $8,%rsp; ret stands behind the call of code that is in no file. */
TEST(test_a_trampoline)
{
	struct fake fake = {
		.rule = { .cfa = CFA_NONE },
		.special = CODE_START + 0x100,
		.other = { .cfa = CFA_RSP, .cfa_offset = 1 },
		.of_no_file = true,
		.code = 0xc308c48348,
	};
	struct stack_event stack;

	fake.words[0] = CODE_START + 0x11;
	fake.words[2] = CODE_START + 0x101;
	stack = walk(&fake, 1);
	assert_int_equal(stack.nr_frames, 3);
	assert_int_equal(stack.end, STACK_COMPLETE);
	assert_int_equal(stack.frames[1], FRAME_RAW | FRAME_OF_NO_FILE | (CODE_START + 0x11));
}

TEST(test_why_a_stack_ends)
{
	struct fake fake = { .rule = { .cfa = CFA_RSP, .cfa_offset = 1 } };
	struct stack_event stack;

	/* The return address lies where no code is mapped. */
	fake.words[0] = 0x12345678;
	assert_int_equal(walk(&fake, 0).end, STACK_NO_RULE);
	fake.words[0] = UINT64_MAX;
	stack = walk(&fake, 0);
	assert_int_equal(stack.end, STACK_NO_RULE);
	assert_int_equal(stack.nr_frames, 1);
	/* A stub's caller is a guess. */
	fake.rule.cfa = CFA_STUB;
	assert_int_equal(walk(&fake, 0).end, STACK_COMPLETE);
	fake.rule = (struct unwind_rule){ .cfa = CFA_RSP, .cfa_offset = STACK_WORDS + 2 };
	assert_int_equal(walk(&fake, 0).end, STACK_PAGED_OUT);
	fake.rule.cfa = CFA_UNSUPPORTED;
	assert_int_equal(walk(&fake, 0).end, STACK_UNSUPPORTED);
	fake.rule.cfa = CFA_END;
	assert_int_equal(walk(&fake, 0).end, STACK_COMPLETE);
	fake.is_pending = true;
	stack = walk(&fake, 0);
	assert_int_equal(stack.end, STACK_TABLE_PENDING);
	assert_int_equal(stack.nr_frames, 1);
}

/* vfork() has its return address in rdi, which is only known of the innermost frame. */
TEST(test_vfork)
{
	struct fake fake = {
		.rule = { .cfa = CFA_RSP, .cfa_offset = 1 },
		.special = CODE_START + 0x100,
		.other = { .cfa = CFA_RDI, .cfa_offset = 1 },
	};
	struct stack_event stack;

	fake.words[1] = CODE_START + 0x101;
	stack = walk(&fake, 0);
	assert_int_equal(stack.frames[1], FILE_WORD | 0x201);
	assert_int_equal(stack.nr_frames, 3);
	assert_int_equal(stack.end, STACK_UNSUPPORTED);
}
