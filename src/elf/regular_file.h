/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens files at paths that others control: what is opened is a regular file and lies below the
 * given root, whatever symbolic links say. No device is touched, no FIFO waited for.
 */
#ifndef BPFTRUSS_REGULAR_FILE_H
#define BPFTRUSS_REGULAR_FILE_H

#include <stdint.h>

struct stat;

/*
 * flags: O_NOFOLLOW, to refuse a link as the last part of the path, or 0. Returns a descriptor for
 * reading and fills *status, or -ENOENT, -EINVAL (no regular file), -EFBIG (beyond max_bytes), …
 */
int regular_file_open(int root_fd, const char *path, int flags, uint64_t max_bytes,
		      struct stat *status);

#endif
