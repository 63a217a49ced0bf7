/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Separate debug files. They are found and opened as a process sees them, below a root directory
 * that its owner may change at any time; nothing of them is read there. Which of them is the right
 * one is seen by whoever reads them: a worker.
 */
#pragma once

#include <sys/types.h>

#include "elf/elf_handle.h"

#define MAX_DEBUG_FILE_BYTES (4ULL << 30)

/* A file is looked for by build id, and by name in three places. */
#define MAX_DEBUG_FILES 4

/* No file, where one is chosen. */
#define DEBUG_FILE_NONE MAX_DEBUG_FILES

/*
 * Descriptors of regular files, the likeliest first; they may have been opened with O_PATH. All
 * zero: none.
 */
struct debug_files {
	int fds[MAX_DEBUG_FILES];
	size_t nr;
};

void debug_files_close(struct debug_files *files);

/*
 * Opens what may be the separate debug file of a file at path (absolute below root_fd, as in
 * /proc/PID/maps; NULL: unknown, by build id only), root_fd being /proc/PID/root opened with
 * O_PATH. It has to be root's or of that file's owner: others map the file, too, and arrange what
 * they see.
 */
void debug_files_open(int root_fd, const char *path, uid_t owner,
		      const struct elf_identity *identity, struct debug_files *ret);

/*
 * The first that is the file's: it has its build id, or else the checksum that the file asks for.
 * DEBUG_FILE_NONE: none is. Reads the files, which must be open for that: see elf/worker.h.
 */
size_t debug_files_choose(const struct debug_files *files, const struct elf_identity *identity);
