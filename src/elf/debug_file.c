/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns where debug files are: by build id first, which is exact, else by the name that the file
 * gives, next to it and below /usr/lib/debug.
 */
#include "elf/debug_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "elf/regular_file.h"

/* A regular file that may be believed. */
static int open_trusted(int root_fd, const char *path, uid_t owner)
{
	struct stat status;
	int fd = regular_file_open(root_fd, path, 0, MAX_DEBUG_FILE_BYTES, &status);

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
