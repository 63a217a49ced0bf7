/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns a file's entries into one gapless, ascending list of rows. */
#include "elf/unwind_rows.h"

#include <errno.h>

#include <gelf.h>

#include "elf/cfi.h"
#include "elf/elf_handle.h"

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
