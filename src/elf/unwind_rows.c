/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Turns a file's entries of .eh_frame into one gapless, ascending list of rows: lists the ranges of code
 * that it has, and translates DWARF's rules.
 */
#include "elf/unwind_rows.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>

#include "base/text.h"
#include "elf/elf_handle.h"

/* --- ranges of code --------------------------------------------------------------------------- */

/*
 * libdw finds the entry of an address, but does not list the addresses. An entry written in a way that
 * nothing on x86-64 writes is passed over.
 */

#define MAX_CFI_RANGES 4000000

struct cfi_range {
	uint64_t start; /* ELF virtual address */
	uint64_t end;
};

struct cfi_ranges {
	struct cfi_range *ranges; /* by start; they may overlap */
	size_t nr;
};

#define ENCODING_FORMAT 0x0f
#define ENCODING_BASE   0xf0 /* DW_EH_PE_pcrel and its like, and DW_EH_PE_indirect */

/* The contents of .eh_frame and where they are loaded. */
struct eh_frame {
	unsigned char ident[EI_NIDENT];
	Elf_Data *data;
	uint64_t address;
};

struct cursor {
	const uint8_t *at;
	const uint8_t *end;
};

static const struct format {
	uint8_t bytes;
	bool is_signed;
} formats[ENCODING_FORMAT + 1] = {
	[DW_EH_PE_absptr] = { 8, false }, [DW_EH_PE_udata2] = { 2, false },
	[DW_EH_PE_udata4] = { 4, false }, [DW_EH_PE_udata8] = { 8, false },
	[DW_EH_PE_sdata2] = { 2, true },  [DW_EH_PE_sdata4] = { 4, true },
	[DW_EH_PE_sdata8] = { 8, true },
};

/* Takes a number without its base. */
static bool value_take(struct cursor *cursor, uint8_t encoding, uint64_t *ret)
{
	const struct format *format = &formats[encoding & ENCODING_FORMAT];
	unsigned int unused = 64 - 8 * format->bytes;
	uint64_t value = 0;

	if (!format->bytes || cursor->end - cursor->at < format->bytes)
		return false;
	memcpy(&value, cursor->at, format->bytes);
	cursor->at += format->bytes;
	if (format->is_signed)
		value = (uint64_t)((int64_t)(value << unused) >> unused);
	*ret = value;
	return true;
}

/* How the entries of a CIE write addresses; DW_EH_PE_omit: in no way that is known. */
static uint8_t cie_encoding(const Dwarf_CIE *cie)
{
	struct cursor data = { cie->augmentation_data,
			       cie->augmentation_data + cie->augmentation_data_size };
	const char *letter = cie->augmentation;
	uint64_t personality;

	if (*letter != 'z' || !cie->augmentation_data)
		return DW_EH_PE_absptr;
	while (*++letter) {
		if (*letter == 'S' || *letter == 'B')
			continue; /* they have no data */
		if (data.at >= data.end)
			return DW_EH_PE_omit;
		if (*letter == 'R')
			return *data.at;
		if (*letter == 'P') {
			uint8_t encoding = *data.at++;

			if (!value_take(&data, encoding, &personality))
				return DW_EH_PE_omit;
		} else if (*letter == 'L') {
			data.at++;
		} else {
			return DW_EH_PE_omit;
		}
	}
	return DW_EH_PE_absptr;
}

static bool fde_decode(const struct eh_frame *frame, const Dwarf_FDE *fde, uint8_t encoding,
		       struct cfi_range *ret)
{
	const uint8_t *data = frame->data->d_buf;
	struct cursor cursor = { fde->start, fde->end };
	uint8_t base = encoding & ENCODING_BASE;
	uint64_t start, bytes;

	if (encoding == DW_EH_PE_omit || (base != DW_EH_PE_absptr && base != DW_EH_PE_pcrel))
		return false;
	if (!value_take(&cursor, encoding, &start) || !value_take(&cursor, encoding, &bytes))
		return false;
	if (base == DW_EH_PE_pcrel)
		start += frame->address + (fde->start - data);
	*ret = (struct cfi_range){ start, start + bytes };
	return ret->end > ret->start;
}

static int range_add(struct cfi_ranges *ranges, const struct cfi_range *range)
{
	if (ranges->nr == MAX_CFI_RANGES)
		return -E2BIG;
	if (!array_grow(&ranges->ranges, ranges->nr, sizeof(*ranges->ranges)))
		return -ENOMEM;
	ranges->ranges[ranges->nr++] = *range;
	return 0;
}

static int ranges_list(const struct eh_frame *frame, struct cfi_ranges *ranges)
{
	Dwarf_Off at = 0, next, ignored, cie_at = ~0ULL;
	uint8_t encoding = DW_EH_PE_omit;
	Dwarf_CFI_Entry entry, cie;
	struct cfi_range range;
	int err;

	for (; !dwarf_next_cfi(frame->ident, frame->data, true, at, &next, &entry); at = next) {
		if (!dwarf_cfi_cie_p(&entry)) {
			/* Neighbours mostly share theirs. */
			if (entry.fde.CIE_pointer != cie_at) {
				cie_at = entry.fde.CIE_pointer;
				encoding = DW_EH_PE_omit;
				if (!dwarf_next_cfi(frame->ident, frame->data, true, cie_at,
						    &ignored, &cie) &&
				    dwarf_cfi_cie_p(&cie))
					encoding = cie_encoding(&cie.cie);
			}
			if (fde_decode(frame, &entry.fde, encoding, &range)) {
				err = range_add(ranges, &range);
				if (err)
					return err;
			}
		}
		if (next <= at)
			break;
	}
	return 0;
}

static bool frame_from_section(Elf *elf, struct eh_frame *frame)
{
	Elf_Scn *section = elf_section_find(elf, 0, ".eh_frame");
	GElf_Shdr header;

	if (!section || !gelf_getshdr(section, &header))
		return false;
	frame->data = elf_rawdata(section, NULL);
	frame->address = header.sh_addr;
	return frame->data && frame->data->d_buf;
}

/* Takes what lies from address to the end of its segment. */
static bool frame_from_address(Elf *elf, size_t nr, uint64_t address, struct eh_frame *frame)
{
	GElf_Phdr header;

	for (size_t i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf, i, &header) || header.p_type != PT_LOAD)
			continue;
		if (address < header.p_vaddr || address - header.p_vaddr >= header.p_filesz)
			continue;
		address -= header.p_vaddr;
		frame->address = header.p_vaddr + address;
		frame->data = elf_getdata_rawchunk(elf, header.p_offset + address,
						   header.p_filesz - address, ELF_T_BYTE);
		return frame->data && frame->data->d_buf;
	}
	return false;
}

/* A file without section headers: .eh_frame_hdr, which a segment of its own names, has the way. */
static bool frame_from_segment(Elf *elf, struct eh_frame *frame)
{
	struct cursor cursor;
	GElf_Phdr header;
	Elf_Data *data;
	uint64_t address;
	size_t nr;

	if (elf_getphdrnum(elf, &nr))
		return false;
	for (size_t i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf, i, &header) || header.p_type != PT_GNU_EH_FRAME)
			continue;
		data = elf_getdata_rawchunk(elf, header.p_offset, header.p_filesz, ELF_T_BYTE);
		if (!data || !data->d_buf || data->d_size < 4)
			return false;
		/* A version, and three encodings of which the first is that of the address. */
		cursor.at = data->d_buf;
		cursor.end = cursor.at + data->d_size;
		if (cursor.at[0] != 1 || cursor.at[1] != (DW_EH_PE_pcrel | DW_EH_PE_sdata4))
			return false;
		cursor.at += 4;
		return value_take(&cursor, DW_EH_PE_sdata4, &address) &&
		       frame_from_address(elf, nr, header.p_vaddr + 4 + address, frame);
	}
	return false;
}

static int range_compare(const void *a, const void *b)
{
	const struct cfi_range *x = a, *y = b;

	return compare_u64(x->start, y->start) ?: compare_u64(x->end, y->end);
}

static void cfi_ranges_done(struct cfi_ranges *ranges)
{
	free(ranges->ranges);
	memset(ranges, 0, sizeof(*ranges));
}

/* 0 (also when there are none), -ENOMEM or -E2BIG. *ret is zeroed first. */
static int cfi_ranges_read(Elf *elf, struct cfi_ranges *ret)
{
	struct eh_frame frame;
	char *ident;
	int err;

	memset(ret, 0, sizeof(*ret));
	ident = elf_getident(elf, NULL);
	if (!ident || (!frame_from_section(elf, &frame) && !frame_from_segment(elf, &frame)))
		return 0;
	memcpy(frame.ident, ident, sizeof(frame.ident));
	err = ranges_list(&frame, ret);
	if (err) {
		cfi_ranges_done(ret);
		return err;
	}
	if (ret->nr)
		qsort(ret->ranges, ret->nr, sizeof(*ret->ranges), range_compare);
	return 0;
}

/* --- rules: a translation is exact or says CFA_UNSUPPORTED, as a wrong rule would give a wrong stack --- */

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

/* Tells whether these are the operations that ld writes for .plt, and nothing else does. */
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

/*
 * Translates what DWARF says of a place in code. Unused fields are 0, so that equal rules have equal
 * bytes.
 */
static struct unwind_rule frame_rule_make(Dwarf_Frame *frame, bool is_signal)
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

/* --- rows ------------------------------------------------------------------------------------- */

static int row_add(struct elf_unwind *unwind, uint64_t pc, const struct unwind_rule *rule)
{
	struct unwind_row *last = unwind->nr_rows ? &unwind->rows[unwind->nr_rows - 1] : NULL;

	if (last && !memcmp(&last->rule, rule, sizeof(*rule)))
		return 0;
	if (unwind->nr_rows == MAX_UNWIND_ROWS)
		return -E2BIG;
	if (!array_grow(&unwind->rows, unwind->nr_rows, sizeof(*unwind->rows)))
		return -ENOMEM;
	unwind->rows[unwind->nr_rows++] = (struct unwind_row){ pc, *rule };
	return 0;
}

/* The rows of one entry, from at to end. */
static int rows_of_entry(struct elf_unwind *unwind, Dwarf_CFI *cfi, uint64_t at, uint64_t end)
{
	struct unwind_rule rule;
	Dwarf_Addr start, next;
	Dwarf_Frame *frame;
	bool is_signal;
	int err;

	for (; at < end; at = next) {
		rule = (struct unwind_rule){ .cfa = CFA_UNSUPPORTED };
		next = end;
		if (!dwarf_cfi_addrframe(cfi, at, &frame)) {
			dwarf_frame_info(frame, &start, &next, &is_signal);
			rule = frame_rule_make(frame, is_signal);
			free(frame);
			if (next <= at)
				next = end;
		}
		err = row_add(unwind, at, &rule);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Between two entries there is padding, which never runs, or a few instructions of an assembler
 * stub that has none: clone() in libc ends its entry before the call, for the child's sake. Such a
 * stub has nothing on the stack but its return address. A longer gap is code that we know nothing of.
 */
#define MAX_STUB_BYTES 64

/* Entries may overlap, or lie outside of text: the linker leaves some for code it has dropped. */
static int rows_of_entries(struct elf_unwind *unwind, Dwarf_CFI *cfi,
			   const struct cfi_ranges *ranges)
{
	const struct unwind_rule none = { .cfa = CFA_NONE }, stub = { .cfa = CFA_STUB };
	uint64_t at = unwind->text_start;
	int err = 0;

	for (size_t i = 0; i < ranges->nr && !err; i++) {
		uint64_t start = ranges->ranges[i].start;
		uint64_t end = ranges->ranges[i].end;

		if (end > unwind->text_end)
			end = unwind->text_end;
		if (end <= at || start >= end)
			continue;
		if (start > at && at > unwind->text_start && start - at <= MAX_STUB_BYTES)
			err = row_add(unwind, at, &stub);
		else if (start > at)
			err = row_add(unwind, at, &none);
		else
			start = at;
		err = err ?: rows_of_entry(unwind, cfi, start, end);
		at = end;
	}
	if (!err && at < unwind->text_end)
		err = row_add(unwind, at, &none);
	return err;
}

/* 1 when there is text to have rows for. */
static int text_find(Elf *elf, struct elf_unwind *unwind)
{
	uint64_t page = 1ULL << UNWIND_PAGE_SHIFT, start = UINT64_MAX, end = 0, offset = 0;
	GElf_Phdr header;
	bool found = false;
	size_t nr;

	if (elf_getphdrnum(elf, &nr))
		return -EBADMSG;
	for (size_t i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf, i, &header))
			return -EBADMSG;
		if (header.p_type != PT_LOAD || !(header.p_flags & PF_X) || !header.p_memsz)
			continue;
		if (header.p_vaddr + header.p_memsz < header.p_vaddr)
			return -EBADMSG;
		if (found && header.p_vaddr - header.p_offset != offset)
			return -ENOTSUP;
		found = true;
		offset = header.p_vaddr - header.p_offset;
		start = header.p_vaddr < start ? header.p_vaddr : start;
		end = header.p_vaddr + header.p_memsz > end ? header.p_vaddr + header.p_memsz : end;
	}
	if (!found)
		return 0;
	start &= ~(page - 1);
	if (end > FRAME_OFFSET_MASK)
		return -ENOTSUP;
	if (end - start > MAX_UNWIND_BYTES)
		return -E2BIG;
	unwind->text_start = start;
	unwind->text_end = end;
	unwind->load_offset = offset;
	return 1;
}

int elf_unwind_read(int fd, struct elf_unwind **ret)
{
	struct elf_unwind *unwind __cleanup(elf_unwind_freep) = calloc(1, sizeof(*unwind));
	__cleanup(cfi_ranges_done) struct cfi_ranges ranges = { 0 };
	Elf *elf __cleanup(elf_handle_closep) = NULL;
	int err = unwind ? elf_handle_open(fd, &elf) : -ENOMEM;
	Dwarf_CFI *cfi = NULL;
	GElf_Ehdr header;

	if (err)
		return err;
	if (gelf_getehdr(elf, &header) && header.e_machine == EM_X86_64 &&
	    gelf_getclass(elf) == ELFCLASS64)
		err = text_find(elf, unwind);
	if (err > 0)
		err = cfi_ranges_read(elf, &ranges);
	if (!err && ranges.nr)
		cfi = dwarf_getcfi_elf(elf);
	if (cfi) {
		err = rows_of_entries(unwind, cfi, &ranges);
		dwarf_cfi_end(cfi);
	}
	if (!err)
		*ret = steal_ptr(&unwind);
	return err;
}

void elf_unwind_free(struct elf_unwind *unwind)
{
	if (!unwind)
		return;
	free(unwind->rows);
	free(unwind);
}
