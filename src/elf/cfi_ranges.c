/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lists the ranges of code that .eh_frame has: libdw finds the entry of an address, but does not
 * list the addresses. An entry written in a way that nothing on x86-64 writes is passed over.
 */
#include "elf/cfi.h"

#include <errno.h>

#include <dwarf.h>
#include <gelf.h>

#include "base/mem.h"
#include "base/text.h"
#include "elf/elf_handle.h"

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

/* From address to the end of its segment. */
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

int cfi_ranges_read(Elf *elf, struct cfi_ranges *ret)
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

void cfi_ranges_done(struct cfi_ranges *ranges)
{
	free(ranges->ranges);
	memset(ranges, 0, sizeof(*ranges));
}
