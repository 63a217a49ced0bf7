/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Translates DWARF's rules. The translation is exact or says CFA_UNSUPPORTED: a wrong rule would
 * give a wrong stack.
 */
#include "elf/cfi.h"

#include <dwarf.h>

#include "base/mem.h"

enum dwarf_register {
	REG_RDI = 5,
	REG_RBP = 6,
	REG_RSP = 7,
	REG_RIP = 16,
};

#define MAX_OPS 3

/* How DWARF finds the caller's value of a register. */
struct saved {
	bool undefined;
	const Dwarf_Op *ops; /* its address, from the CFA as the first operation; NULL: unchanged */
	size_t nr;
};

static bool offset_scale(int64_t offset, int16_t *ret)
{
	if (offset % 8 || offset / 8 < INT16_MIN || offset / 8 > INT16_MAX)
		return false;
	*ret = offset / 8;
	return true;
}

static bool op_is_register(const Dwarf_Op *op, unsigned int reg, int64_t *offset)
{
	if (op->atom == DW_OP_bregx && op->number == reg) {
		*offset = op->number2;
		return true;
	}
	if (op->atom == DW_OP_breg0 + reg) {
		*offset = op->number;
		return true;
	}
	return false;
}

/* What ld writes for .plt, and nothing else does. */
static bool ops_are_plt(const Dwarf_Op *ops, size_t nr)
{
	static const uint8_t atoms[] = {
		DW_OP_breg0 + REG_RSP,
		DW_OP_breg0 + REG_RIP,
		DW_OP_lit15,
		DW_OP_and,
		DW_OP_lit11,
		DW_OP_ge,
		DW_OP_lit3,
		DW_OP_shl,
		DW_OP_plus,
	};

	if (nr != ARRAY_SIZE(atoms))
		return false;
	for (size_t i = 0; i < nr; i++) {
		if (ops[i].atom != atoms[i])
			return false;
	}
	return ops[0].number == 8 && ops[1].number == 0;
}

static bool cfa_from_register(const Dwarf_Op *ops, size_t nr, struct unwind_rule *rule)
{
	int64_t offset;

	if (nr != 1)
		return false;
	if (op_is_register(&ops[0], REG_RSP, &offset))
		rule->cfa = CFA_RSP;
	else if (op_is_register(&ops[0], REG_RBP, &offset))
		rule->cfa = CFA_RBP;
	else
		return false;
	return offset_scale(offset, &rule->cfa_offset);
}

/* Where the compiler has realigned the stack, a slot of the frame has the CFA. */
static bool cfa_from_slot(const Dwarf_Op *ops, size_t nr, struct unwind_rule *rule)
{
	int64_t offset;

	if (nr < 2 || nr > 3 || !op_is_register(&ops[0], REG_RBP, &offset) ||
	    ops[1].atom != DW_OP_deref)
		return false;
	if (nr == 3 && ops[2].atom != DW_OP_plus_uconst)
		return false;
	rule->cfa = CFA_RBP_DEREF;
	return offset_scale(offset, &rule->deref_offset) &&
	       offset_scale(nr == 3 ? (int64_t)ops[2].number : 0, &rule->cfa_offset);
}

static bool cfa_translate(Dwarf_Frame *frame, struct unwind_rule *rule)
{
	Dwarf_Op *ops;
	size_t nr;

	if (dwarf_frame_cfa(frame, &ops, &nr) || !ops)
		return false;
	if (ops_are_plt(ops, nr)) {
		rule->cfa = CFA_PLT;
		return true;
	}
	return cfa_from_register(ops, nr, rule) || cfa_from_slot(ops, nr, rule);
}

static bool saved_find(Dwarf_Frame *frame, int reg, Dwarf_Op *memory, struct saved *ret)
{
	Dwarf_Op *ops;
	size_t nr;

	if (dwarf_frame_register(frame, reg, memory, &ops, &nr))
		return false;
	/* libdw tells the two cases without operations apart by the pointer. */
	ret->undefined = !nr && ops == memory;
	ret->ops = nr ? ops : NULL;
	ret->nr = nr;
	return true;
}

static bool saved_is_at_cfa(const struct saved *saved, int64_t *offset)
{
	if (!saved->ops || saved->nr > 2 || saved->ops[0].atom != DW_OP_call_frame_cfa)
		return false;
	if (saved->nr == 2 && saved->ops[1].atom != DW_OP_plus_uconst)
		return false;
	*offset = saved->nr == 2 ? (int64_t)saved->ops[1].number : 0;
	return true;
}

static bool rbp_translate(Dwarf_Frame *frame, struct unwind_rule *rule)
{
	Dwarf_Op memory[MAX_OPS];
	struct saved saved;
	int64_t offset;

	if (!saved_find(frame, REG_RBP, memory, &saved) || saved.undefined)
		return false;
	if (!saved.ops) {
		rule->rbp = RBP_SAME;
		return true;
	}
	if (saved_is_at_cfa(&saved, &offset))
		rule->rbp = RBP_CFA;
	else if (saved.nr == 2 && saved.ops[0].atom == DW_OP_call_frame_cfa &&
		 op_is_register(&saved.ops[1], REG_RBP, &offset))
		rule->rbp = RBP_FRAME;
	else
		return false;
	return offset_scale(offset, &rule->rbp_offset);
}

/* vfork() takes its return address off the stack, which its child will write to. */
static bool saved_is_rdi(const struct saved *saved)
{
	if (!saved->ops || saved->nr != 1)
		return false;
	return saved->ops[0].atom == DW_OP_reg0 + REG_RDI ||
	       (saved->ops[0].atom == DW_OP_regx && saved->ops[0].number == REG_RDI);
}

struct unwind_rule frame_rule_make(Dwarf_Frame *frame, bool is_signal)
{
	const struct unwind_rule unsupported = { .cfa = CFA_UNSUPPORTED };
	struct unwind_rule rule = { 0 };
	Dwarf_Op memory[MAX_OPS];
	struct saved address;
	int64_t offset;

	if (is_signal)
		return (struct unwind_rule){ .cfa = CFA_SIGNAL };
	if (!saved_find(frame, REG_RIP, memory, &address))
		return unsupported;
	if (address.undefined)
		return (struct unwind_rule){ .cfa = CFA_END };
	if (!cfa_translate(frame, &rule) || !rbp_translate(frame, &rule))
		return unsupported;
	if (saved_is_rdi(&address) && rule.cfa == CFA_RSP && rule.rbp == RBP_SAME) {
		rule.cfa = CFA_RDI;
		return rule;
	}
	if (!saved_is_at_cfa(&address, &offset) || offset != -8)
		return unsupported;
	return rule;
}
