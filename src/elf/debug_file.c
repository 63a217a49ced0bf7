/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds debug files: by build id first, which is exact, else by the name that the file gives, next to
 * it and below /usr/lib/debug. Proves that one is the file's: that reads foreign bytes, which only a
 * worker may do.
 */
#include "elf/debug_file.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/process.h"
#include "elf/elf_handle.h"

/* A checksum takes some seconds for so many bytes; a worker has no more time. */
#define MAX_DEBUGLINK_BYTES (1ULL << 30)
#define CRC_BUFFER_BYTES    65536

/* --- opening ---------------------------------------------------------------------------------- */

/* A regular file that may be believed. */
static int open_trusted(int root_fd, const char *path, uid_t owner)
{
	struct stat status;
	int fd = regular_file_find(root_fd, path, 0, MAX_DEBUG_FILE_BYTES, &status);

	if (fd < 0 || regular_file_is_trusted(&status, owner))
		return fd;
	close(fd);
	return -EPERM;
}

static int open_by_build_id(int root_fd, uid_t owner, const struct elf_identity *identity)
{
	char path[sizeof("/usr/lib/debug/.build-id//.debug") + 2 * MAX_BUILD_ID];
	int len;

	if (identity->nr_build_id < 2)
		return -ENOENT;
	len = snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%02x/", identity->build_id[0]);
	for (size_t i = 1; i < identity->nr_build_id; i++)
		len += snprintf(path + len, sizeof(path) - len, "%02x", identity->build_id[i]);
	snprintf(path + len, sizeof(path) - len, ".debug");
	return open_trusted(root_fd, path, owner);
}

static void debug_files_add(struct debug_files *files, int fd)
{
	if (fd >= 0)
		files->fds[files->nr++] = fd;
}

static void add_by_debuglink(struct debug_files *files, int root_fd, const char *path, uid_t owner,
			     const struct elf_identity *identity)
{
	/* Around the directory, which ends in a slash. */
	static const struct {
		const char *before;
		const char *after;
	} places[MAX_DEBUG_FILES - 1] = {
		{ "", "" },
		{ "", ".debug/" },
		{ "/usr/lib/debug", "" },
	};
	const char *slash = path ? strrchr(path, '/') : NULL;
	char candidate[PATH_MAX];
	int len;

	if (!identity->debuglink[0] || !slash || path[0] != '/')
		return;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		len = snprintf(candidate, sizeof(candidate), "%s%.*s%s%s", places[i].before,
			       (int)(slash + 1 - path), path, places[i].after, identity->debuglink);
		/* A file may name itself. */
		if (len < (int)sizeof(candidate) && strcmp(candidate, path))
			debug_files_add(files, open_trusted(root_fd, candidate, owner));
	}
}

void debug_files_open(int root_fd, const char *path, uid_t owner,
		      const struct elf_identity *identity, struct debug_files *ret)
{
	*ret = (struct debug_files){ .nr = 0 };
	debug_files_add(ret, open_by_build_id(root_fd, owner, identity));
	add_by_debuglink(ret, root_fd, path, owner, identity);
}

void debug_files_close(struct debug_files *files)
{
	while (files->nr)
		close(files->fds[--files->nr]);
}

/* --- choosing --------------------------------------------------------------------------------- */

/* This table of CRC-32 (zlib's) is for half a byte. */
static const uint32_t crc_steps[16] = {
	0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
	0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
	0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
};

static int crc_of_file(int fd, uint32_t *ret)
{
	__cleanup(freep) uint8_t *buffer = malloc(CRC_BUFFER_BYTES);
	uint64_t offset = 0;
	uint32_t crc = ~0U;
	ssize_t n;

	if (!buffer)
		return -ENOMEM;
	/* It may be growing. */
	while (offset <= MAX_DEBUGLINK_BYTES &&
	       (n = pread(fd, buffer, CRC_BUFFER_BYTES, (off_t)offset)) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			crc ^= buffer[i];
			crc = crc >> 4 ^ crc_steps[crc & 15];
			crc = crc >> 4 ^ crc_steps[crc & 15];
		}
		offset += n;
	}
	*ret = ~crc;
	return 0;
}

static bool checksum_is(int fd, const struct elf_identity *identity)
{
	struct stat status;
	uint32_t crc = 0;

	if (!identity->debuglink[0] || fstat(fd, &status) ||
	    (uint64_t)status.st_size > MAX_DEBUGLINK_BYTES)
		return false;
	return !crc_of_file(fd, &crc) && crc == identity->debuglink_crc;
}

static bool debug_file_is(int fd, const struct elf_identity *identity)
{
	struct elf_identity other = { .nr_build_id = 0 };

	if (identity->nr_build_id && !elf_identity_of_file(fd, &other) && other.nr_build_id)
		return identity->nr_build_id == other.nr_build_id &&
		       !memcmp(identity->build_id, other.build_id, other.nr_build_id);
	return checksum_is(fd, identity);
}

size_t debug_files_choose(const struct debug_files *files, const struct elf_identity *identity)
{
	for (size_t i = 0; i < files->nr; i++) {
		if (debug_file_is(files->fds[i], identity))
			return i;
	}
	return DEBUG_FILE_NONE;
}
