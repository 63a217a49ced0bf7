/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens and parses /tmp/perf-PID.map, in which a JIT says how its code is called: one function a line,
 * address and size in hex, then its name.
 */
#include "elf/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/process.h"

#define MAP_PATH_SIZE 64

int perf_map_open(int root_fd, pid_t pid, uid_t uid)
{
	char path[MAP_PATH_SIZE];
	struct stat status;
	int fd;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	fd = regular_file_find(root_fd, path, O_NOFOLLOW, MAX_PERF_MAP_BYTES, &status);
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

/* The last line that has an address names it; the last line of all may be unfinished. */
static void lines_choose(char *text, const struct elf_addresses *wanted, struct raw_symbol *best)
{
	struct raw_symbol found;
	char *line, *end;

	for (line = text; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		if (!line_parse(line, &found))
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
