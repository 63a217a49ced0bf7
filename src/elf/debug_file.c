/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds debug files: by build id first, which is exact, else by the name that the file gives, next to
 * it and below /usr/lib/debug. Proves that one is the file's: that reads foreign bytes, which only a
 * worker may do.
 */
#include "elf/debug_file.h"

#include <limits.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/process.h"

/* A checksum takes some seconds for so many bytes; a worker has no more time. */
#define MAX_DEBUGLINK_BYTES (1ULL << 30)
#define CRC_BUFFER_BYTES    65536

/* --- opening ---------------------------------------------------------------------------------- */

/* Adds a regular file that may be believed. */
static void debug_files_add(struct debug_files *files, int root_fd, const char *path, uid_t owner)
{
	int fd = regular_file_find_trusted(root_fd, path, 0, MAX_DEBUG_FILE_BYTES, owner);

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
			debug_files_add(files, root_fd, candidate, owner);
	}
}

void debug_files_open(int root_fd, const char *path, uid_t owner,
		      const struct elf_identity *identity, struct debug_files *ret)
{
	char by_id[sizeof("/usr/lib/debug/.build-id//.debug") + 2 * MAX_BUILD_ID];
	int len = snprintf(by_id, sizeof(by_id), "/usr/lib/debug/.build-id/%02x/",
			   identity->build_id[0]);

	*ret = (struct debug_files){ .nr = 0 };
	for (size_t i = 1; i < identity->nr_build_id; i++)
		len += snprintf(by_id + len, sizeof(by_id) - len, "%02x", identity->build_id[i]);
	snprintf(by_id + len, sizeof(by_id) - len, ".debug");
	if (identity->nr_build_id >= 2)
		debug_files_add(ret, root_fd, by_id, owner);
	add_by_debuglink(ret, root_fd, path, owner, identity);
}

void debug_files_close(struct debug_files *files)
{
	while (files->nr)
		close(files->fds[--files->nr]);
}

/* --- choosing --------------------------------------------------------------------------------- */

static int crc_of_file(int fd, uint32_t *ret)
{
	__cleanup(freep) uint8_t *buffer = malloc(CRC_BUFFER_BYTES);
	uint64_t offset = 0;
	uLong crc = crc32(0, NULL, 0);
	ssize_t n;

	if (!buffer)
		return -ENOMEM;
	/* It may be growing. */
	while (offset <= MAX_DEBUGLINK_BYTES &&
	       (n = pread(fd, buffer, CRC_BUFFER_BYTES, (off_t)offset)) > 0) {
		crc = crc32(crc, buffer, (uInt)n);
		offset += n;
	}
	*ret = (uint32_t)crc;
	return 0;
}

size_t debug_files_choose(const struct debug_files *files, const struct elf_identity *identity)
{
	for (size_t i = 0; i < files->nr; i++) {
		struct elf_identity other = { .nr_build_id = 0 };
		int fd = files->fds[i];
		struct stat status;
		uint32_t crc = 0;
		bool is_it;

		if (identity->nr_build_id && !elf_identity_of_file(fd, &other) && other.nr_build_id)
			is_it = identity->nr_build_id == other.nr_build_id &&
				!memcmp(identity->build_id, other.build_id, other.nr_build_id);
		else
			is_it = identity->debuglink[0] && !fstat(fd, &status) &&
				(uint64_t)status.st_size <= MAX_DEBUGLINK_BYTES &&
				!crc_of_file(fd, &crc) && crc == identity->debuglink_crc;
		if (is_it)
			return i;
	}
	return DEBUG_FILE_NONE;
}
