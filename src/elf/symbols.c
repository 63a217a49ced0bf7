/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides which symbols of an ELF file name code, how far one without a size reaches, and by which of
 * several names a function is called. libdwfl chooses between .symtab, debug file, .dynsym and
 * .gnu_debugdata. Opens and reads perf maps, too.
 */
#include "elf/symbols.h"

#include <ctype.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <elfutils/libdwfl.h>
#include <gelf.h>

#include "base/process.h"
#include "base/text.h"

#define MAX_SYMBOLS 4000000

/* A rank is a binding, plus this for symbols that know their size. */
#define RANK_SIZED 4

struct symbol_source {
	Dwfl *dwfl;
	Dwfl_Module *module;
	struct elf_addresses wanted;
	struct raw_symbol *best; /* for each of these so far */
	uint64_t *floors;        /* for each of these, where the last symbol up to it begins */
};

static void source_done(struct symbol_source *source)
{
	free(source->wanted.addresses);
	free(source->best);
	free(source->floors);
	if (source->dwfl)
		dwfl_end(source->dwfl);
}

/* False: it names no code. The end of a symbol without size is that of its section. */
static bool symbol_read(struct symbol_source *source, int index, struct raw_symbol *ret)
{
	Elf_Scn *in;
	GElf_Word section;
	GElf_Shdr header;
	GElf_Addr bias;
	GElf_Sym sym;
	Elf *elf;
	unsigned int type, bind;
	bool is_function;

	ret->name = dwfl_module_getsym_info(source->module, index, &sym, &ret->start, &section,
					    &elf, &bias);
	if (!ret->name || !*ret->name || section == SHN_UNDEF || section == SHN_ABS)
		return false;
	type = GELF_ST_TYPE(sym.st_info);
	is_function = type == STT_FUNC || type == STT_GNU_IFUNC;
	/* Labels of assembler code have no type; .L and $ mark those within a function. */
	if (!is_function && (type != STT_NOTYPE || *ret->name == '.' || *ret->name == '$'))
		return false;
	bind = GELF_ST_BIND(sym.st_info);
	ret->rank = bind == STB_GLOBAL || bind == STB_GNU_UNIQUE ? 2 : bind == STB_WEAK;
	if (is_function && sym.st_size) {
		ret->rank += RANK_SIZED;
		ret->end = ret->start + sym.st_size;
	} else {
		in = elf_getscn(elf, section);
		if (!in || !gelf_getshdr(in, &header) || !(header.sh_flags & SHF_EXECINSTR))
			return false;
		ret->end = header.sh_addr + bias + header.sh_size;
	}
	return ret->end > ret->start;
}

/* Calls take() for each symbol of code. */
static int symbols_each(struct symbol_source *source,
			int (*take)(struct symbol_source *source, const struct raw_symbol *symbol))
{
	int nr = dwfl_module_getsymtab(source->module), err = 0;
	struct raw_symbol symbol;

	if (nr > MAX_SYMBOLS)
		return -E2BIG;
	for (int i = 1; i < nr && !err; i++) {
		if (symbol_read(source, i, &symbol))
			err = take(source, &symbol);
	}
	return err;
}

/*
 * Ascending by strength. A symbol with a size is believed before one without; of two functions the
 * inner one; of two names the more public, then the plainer.
 */
static int strength_compare(const struct raw_symbol *x, const struct raw_symbol *y)
{
	return compare_u64(x->rank & RANK_SIZED, y->rank & RANK_SIZED)
		       ?: compare_u64(x->start, y->start)
		       ?: compare_u64(x->rank, y->rank)
		       ?: compare_u64(strspn(y->name, "_"), strspn(x->name, "_"))
		       ?: compare_u64(strlen(y->name), strlen(x->name))
		       ?: strcmp(y->name, x->name);
}

/* --- the best of them -------------------------------------------------------------------------- */

static int floor_take(struct symbol_source *source, const struct raw_symbol *symbol)
{
	size_t at = elf_addresses_find(&source->wanted, symbol->start);

	if (at < source->wanted.nr && symbol->start > source->floors[at])
		source->floors[at] = symbol->start;
	return 0;
}

/* A symbol without size reaches to the next one: it has only the addresses whose floor it is. */
static int best_take(struct symbol_source *source, const struct raw_symbol *symbol)
{
	const struct elf_addresses *wanted = &source->wanted;

	for (size_t i = elf_addresses_find(wanted, symbol->start);
	     i < wanted->nr && wanted->addresses[i] < symbol->end; i++) {
		struct raw_symbol *best = &source->best[i];

		if (!(symbol->rank & RANK_SIZED) && source->floors[i] != symbol->start)
			break;
		if (!best->name || strength_compare(symbol, best) > 0)
			*best = *symbol;
	}
	return 0;
}

static int symbols_choose(struct symbol_source *source)
{
	size_t nr = source->wanted.nr;
	int err;

	source->best = calloc(nr + 1, sizeof(*source->best));
	source->floors = calloc(nr + 1, sizeof(*source->floors));
	if (!source->best || !source->floors)
		return -ENOMEM;
	err = symbols_each(source, floor_take);
	for (size_t i = 1; i < nr; i++) {
		if (source->floors[i] < source->floors[i - 1])
			source->floors[i] = source->floors[i - 1];
	}
	return err ?: symbols_each(source, best_take);
}

/* --- the file --------------------------------------------------------------------------------- */

/* The debug file that the caller has found, and no other: nothing is searched for here. */
static int debug_file_give(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
			   const char *file, const char *debuglink, GElf_Word crc, char **ret)
{
	const int *debug_fd = *userdata;

	(void)module, (void)name, (void)base, (void)file, (void)debuglink, (void)crc, (void)ret;
	/* libdwfl closes what it is given. */
	return debug_fd && *debug_fd >= 0 ? fcntl(*debug_fd, F_DUPFD_CLOEXEC, 0) : -1;
}

static int source_open(struct symbol_source *source, int fd, const int *debug_fd)
{
	static const Dwfl_Callbacks callbacks = {
		.find_debuginfo = debug_file_give,
		.section_address = dwfl_offline_section_address,
	};
	void **userdata;
	int own;

	source->dwfl = dwfl_begin(&callbacks);
	if (!source->dwfl)
		return -ENOMEM;
	own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (own < 0)
		return -errno;
	source->module = dwfl_report_elf(source->dwfl, "", "", own, 0, true);
	if (!source->module) {
		close(own);
		return -EBADMSG;
	}
	dwfl_report_end(source->dwfl, NULL, NULL);
	if (dwfl_module_info(source->module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL))
		*userdata = (void *)debug_fd;
	return 0;
}

/* Turns offsets into addresses, of which none wraps. */
static int source_want(struct symbol_source *source, const struct elf_addresses *offsets,
		       uint64_t load_offset)
{
	struct elf_addresses *wanted = &source->wanted;

	wanted->addresses = calloc(offsets->nr + 1, sizeof(*wanted->addresses));
	if (!wanted->addresses)
		return -ENOMEM;
	for (; wanted->nr < offsets->nr; wanted->nr++) {
		wanted->addresses[wanted->nr] = offsets->addresses[wanted->nr] + load_offset;
		if (wanted->nr &&
		    wanted->addresses[wanted->nr] <= wanted->addresses[wanted->nr - 1])
			break;
	}
	return 0;
}

int elf_symbols_read(int fd, const struct debug_files *debug, const struct elf_addresses *offsets,
		     struct elf_functions **ret)
{
	struct symbol_source source __cleanup(source_done) = { 0 };
	size_t chosen = DEBUG_FILE_NONE;
	struct elf_identity identity;
	int err = elf_identity_of_file(fd, &identity), debug_fd;

	if (err)
		return err;
	if (debug)
		chosen = debug_files_choose(debug, &identity);
	debug_fd = chosen == DEBUG_FILE_NONE ? -1 : debug->fds[chosen];
	err = source_open(&source, fd, &debug_fd)
		      ?: source_want(&source, offsets, identity.load_offset)
		      ?: symbols_choose(&source)
		      ?: functions_make(&source.wanted, source.best, &identity, ret);
	if (!err)
		(*ret)->debug = chosen;
	return err;
}

/* --- perf maps: a JIT says how its code is called ---------------------------------------------- */

/* /tmp/perf-PID.map has one function a line: address and size in hex, then its name. */

int perf_map_open(int root_fd, pid_t pid, uid_t uid)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	return regular_file_find_trusted(root_fd, path, O_NOFOLLOW, MAX_PERF_MAP_BYTES, uid);
}

/* The whole file, with a NUL at its end. The JIT may be writing to it: what is there now. */
static int text_read(int fd, char **ret, size_t *len)
{
	__cleanup(freep) char *text = NULL;
	struct stat status;
	ssize_t bytes;

	if (fstat(fd, &status))
		return -EBADMSG;
	if ((uint64_t)status.st_size > MAX_PERF_MAP_BYTES)
		return -E2BIG;
	text = malloc(status.st_size + 1);
	if (!text)
		return -ENOMEM;
	bytes = pread(fd, text, status.st_size, 0);
	if (bytes < 0)
		return -EBADMSG;
	text[bytes] = '\0';
	*len = bytes;
	*ret = steal_ptr(&text);
	return 0;
}

/* Takes a number and the blank behind it. */
static bool hex_take(const char **at, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(*at, &end, 16);
	if (errno || !isxdigit((unsigned char)**at) || *end != ' ')
		return false;
	*at = end + strspn(end, " ");
	return true;
}

/* The last line that has an address names it; the last line of all may be unfinished. */
static void lines_choose(char *text, const struct elf_addresses *wanted, struct raw_symbol *best)
{
	struct raw_symbol found = { 0 };
	uint64_t bytes;
	char *end;

	for (char *line = text; (end = strchr(line, '\n')); line = end + 1) {
		const char *at = line;

		*end = '\0';
		if (!hex_take(&at, &found.start) || !hex_take(&at, &bytes) || !*at)
			continue;
		found.name = at;
		found.end = found.start + bytes;
		if (found.end <= found.start)
			continue;
		for (size_t i = elf_addresses_find(wanted, found.start);
		     i < wanted->nr && wanted->addresses[i] < found.end; i++)
			best[i] = found;
	}
}

int perf_map_read(int fd, const struct elf_addresses *addresses, struct elf_functions **ret)
{
	struct raw_symbol *best __cleanup(freep) = calloc(addresses->nr + 1, sizeof(*best));
	char *text __cleanup(freep) = NULL;
	size_t len;
	int err = best ? text_read(fd, &text, &len) : -ENOMEM;

	if (err)
		return err;
	lines_choose(text, addresses, best);
	err = functions_make(addresses, best, NULL, ret);
	if (!err)
		(*ret)->map_bytes = len;
	return err;
}
