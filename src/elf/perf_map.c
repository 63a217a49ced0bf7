/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens and parses /tmp/perf-PID.map, in which a JIT says how its code is called: one function a line,
 * address and size in hex, then its name.
 */
#include "elf/symbols.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/process.h"

#define MAP_PATH_SIZE 64

int perf_map_open(int root_fd, pid_t pid, uid_t uid)
{
	char path[MAP_PATH_SIZE];

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

	for (const char *line = text; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		if (!hex_take(&line, &found.start) || !hex_take(&line, &bytes) || !*line)
			continue;
		found.name = line;
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
