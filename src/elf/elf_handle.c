/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens and identifies ELF files. A handle is one of an ELF file, never of an archive. */
#include "elf/elf_handle.h"

#include <elfutils/libdwelf.h>
#include <gelf.h>

/* Takes the handle. */
static int elf_handle_check(Elf *elf, Elf **ret)
{
	if (!elf || elf_kind(elf) != ELF_K_ELF) {
		elf_end(elf);
		return -EBADMSG;
	}
	*ret = elf;
	return 0;
}

int elf_handle_open(int fd, Elf **ret)
{
	elf_version(EV_CURRENT);
	return elf_handle_check(elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, NULL), ret);
}

int elf_handle_open_image(void *image, size_t size, Elf **ret)
{
	elf_version(EV_CURRENT);
	return elf_handle_check(elf_memory(image, size), ret);
}

void elf_handle_closep(Elf **elf)
{
	elf_end(*elf);
}

Elf_Scn *elf_section_find(Elf *elf, unsigned int type, const char *wanted)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	const char *name;
	size_t names = 0;

	if (wanted && elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS ||
		    (type && header.sh_type != type))
			continue;
		name = wanted ? elf_strptr(elf, names, header.sh_name) : NULL;
		if (!wanted || (name && !strcmp(name, wanted)))
			return section;
	}
	return NULL;
}

static int load_offset_read(Elf *elf, uint64_t *ret)
{
	GElf_Phdr header;
	size_t nr = 0;

	if (elf_getphdrnum(elf, &nr))
		return -EBADMSG;
	for (size_t i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf, (int)i, &header))
			return -EBADMSG;
		if (header.p_type != PT_LOAD || !(header.p_flags & PF_X) || !header.p_memsz)
			continue;
		*ret = header.p_vaddr - header.p_offset;
		return 0;
	}
	return 0;
}

int elf_identity_of_file(int fd, struct elf_identity *ret)
{
	__cleanup(elf_handle_closep) Elf *elf = NULL;
	const void *build_id = NULL;
	const char *debuglink;
	GElf_Word crc = 0;
	GElf_Ehdr header;
	ssize_t nr;
	int err = elf_handle_open(fd, &elf);

	if (err)
		return err;
	if (!gelf_getehdr(elf, &header) || (header.e_type != ET_EXEC && header.e_type != ET_DYN))
		return -EBADMSG;
	memset(ret, 0, sizeof(*ret));
	nr = dwelf_elf_gnu_build_id(elf, &build_id);
	if (nr > 0 && nr <= MAX_BUILD_ID) {
		memcpy(ret->build_id, build_id, nr);
		ret->nr_build_id = nr;
	}
	debuglink = dwelf_elf_gnu_debuglink(elf, &crc);
	/* It becomes part of a path. */
	if (debuglink && strlen(debuglink) < MAX_DEBUGLINK && !strchr(debuglink, '/') &&
	    strcmp(debuglink, ".") && strcmp(debuglink, "..")) {
		strcpy(ret->debuglink, debuglink);
		ret->debuglink_crc = crc;
	}
	ret->has_symtab = elf_section_find(elf, SHT_SYMTAB, NULL) != NULL;
	ret->has_dwarf =
		elf_section_find(elf, 0, ".debug_info") || elf_section_find(elf, 0, ".zdebug_info");
	return load_offset_read(elf, &ret->load_offset);
}
