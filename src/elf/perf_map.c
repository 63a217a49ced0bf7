/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the text form of perf maps: one function a line, address and size in hex, then its name. */
#include "elf/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "elf/regular_file.h"
#include "elf/symbols_private.h"

#define MAP_PATH_SIZE 64

int perf_map_open(int root_fd, pid_t pid, uid_t uid)
{
	char path[MAP_PATH_SIZE];
	struct stat status;
	int fd;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	fd = regular_file_open(root_fd, path, O_NOFOLLOW, MAX_PERF_MAP_BYTES, &status);
	if (fd < 0 || regular_file_is_trusted(&status, uid))
		return fd;
	close(fd);
	return -EPERM;
}

/* The whole file, with a NUL at its end. The JIT may be writing to it: what is there now. */
static int text_read(int fd, char **ret, size_t *len)
{
	__cleanup(freep) char *text = NULL;
	struct stat status;
	ssize_t done;

	if (fstat(fd, &status))
		return -EBADMSG;
	if ((uint64_t)status.st_size > MAX_PERF_MAP_BYTES)
		return -E2BIG;
	text = malloc(status.st_size + 1);
	if (!text)
		return -ENOMEM;
	for (*len = 0; *len < (size_t)status.st_size; *len += done) {
		done = pread(fd, text + *len, status.st_size - *len, *len);
		if (done < 0)
			return -EBADMSG;
		if (!done)
			break;
	}
	text[*len] = '\0';
	*ret = steal_ptr(&text);
	return 0;
}

/* Takes a number and the blank behind it. */
static bool hex_take(const char **at, uint64_t *ret)
{
	static const char digits[] = "0123456789abcdef";
	const char *digit, *start;
	uint64_t value = 0;

	if (!strncmp(*at, "0x", 2))
		*at += 2;
	start = *at;
	for (; **at && (digit = strchr(digits, **at | 0x20)); (*at)++) {
		if (*at - start == 16)
			return false;
		value = value << 4 | (digit - digits);
	}
	if (*at == start || **at != ' ')
		return false;
	*at += strspn(*at, " ");
	*ret = value;
	return true;
}

static bool line_parse(const char *line, struct raw_symbol *ret)
{
	uint64_t bytes;

	if (!hex_take(&line, &ret->start) || !hex_take(&line, &bytes))
		return false;
	ret->end = ret->start + bytes;
	ret->name = line;
	return *line && ret->end > ret->start;
}

/* Calls take() for each complete line; the last one may be unfinished. */
static int lines_parse(char *text, void *closure,
		       int (*take)(void *closure, const struct raw_symbol *symbol))
{
	struct raw_symbol symbol = { 0 };
	char *line, *end;
	int err = 0;

	for (line = text; !err && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		if (line_parse(line, &symbol))
			err = take(closure, &symbol);
	}
	return err;
}

static int line_take(void *closure, const struct raw_symbol *symbol)
{
	return raw_symbol_add(closure, symbol);
}

static int lines_read(char *text, struct elf_symbols **ret)
{
	__cleanup(raw_symbols_done) struct raw_symbols raw = { 0 };
	int err = lines_parse(text, &raw, line_take);

	return err ? err : elf_symbols_make(raw.symbols, raw.nr, NULL, ret);
}

struct some_lines {
	const struct elf_addresses *addresses;
	struct raw_symbol *best;
};

static int line_take_some(void *closure, const struct raw_symbol *symbol)
{
	const struct some_lines *some = closure;
	const struct elf_addresses *wanted = some->addresses;

	for (size_t i = address_find(wanted, symbol->start);
	     i < wanted->nr && wanted->addresses[i] < symbol->end; i++)
		some->best[i] = *symbol;
	return 0;
}

static int lines_choose(char *text, const struct elf_addresses *addresses, struct elf_symbols **ret)
{
	__cleanup(freep) struct raw_symbol *best = calloc(addresses->nr + 1, sizeof(*best));
	struct some_lines some = { addresses, best };
	int err = best ? lines_parse(text, &some, line_take_some) : -ENOMEM;

	return err ? err : elf_symbols_make_some(best, addresses, NULL, ret);
}

int perf_map_read(int fd, const struct elf_addresses *addresses, struct elf_symbols **ret)
{
	__cleanup(freep) char *text = NULL;
	size_t len;
	int err = text_read(fd, &text, &len);

	if (err)
		return err;
	return addresses ? lines_choose(text, addresses, ret) : lines_read(text, ret);
}
