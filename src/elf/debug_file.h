/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds and opens the files that belong to a process, as it sees them: below a root directory that
 * its owner may change at any time. Nothing is parsed here.
 */
#ifndef BPFTRUSS_DEBUG_FILE_H
#define BPFTRUSS_DEBUG_FILE_H

#include <sys/types.h>

#include "elf/identity.h"

#define MAX_DEBUG_FILE_BYTES (4ULL << 30)

/*
 * The separate debug file of a file at path (absolute below root_fd, as in /proc/PID/maps; NULL:
 * unknown, by build id only), root_fd being /proc/PID/root opened with O_PATH. It has to be root's
 * or of that file's owner: others map the file, too, and arrange what they see. Returns a descriptor
 * of a regular file, -ENOENT, or another error.
 */
int debug_file_open(int root_fd, const char *path, uid_t owner,
		    const struct elf_identity *identity);

#endif
