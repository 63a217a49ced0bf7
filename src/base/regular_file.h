/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens files at paths that others control: what is opened is a regular file and lies below the
 * given root, whatever symbolic links say. No device is touched, no FIFO waited for.
 */
#ifndef BPFTRUSS_REGULAR_FILE_H
#define BPFTRUSS_REGULAR_FILE_H

#include <stdint.h>
#include <sys/types.h>

struct stat;

/*
 * flags: O_NOFOLLOW, to refuse a link as the last part of the path, or 0. Returns a descriptor opened
 * with O_PATH, which whoever closes it waits for no server, and fills *status; or -ENOENT, -EINVAL (no
 * regular file), -EFBIG (beyond max_bytes), …
 */
int regular_file_find(int root_fd, const char *path, int flags, uint64_t max_bytes,
		      struct stat *status);

/* Opens what was found for reading, if it is such a file; what was found stays open. */
int regular_file_reopen(int found_fd, uint64_t max_bytes, struct stat *status);

/* Both in one. */
int regular_file_open(int root_fd, const char *path, int flags, uint64_t max_bytes,
		      struct stat *status);

/*
 * Reads a whole file, whose path is not foreign, with O_NOFOLLOW in flags or without; the text is
 * the caller's. Returns 0, -EINVAL or -EFBIG as above, or another -errno.
 */
int regular_file_read(const char *path, int flags, uint64_t max_bytes, char **ret,
		      size_t *ret_size);

/*
 * Finds a file that may be believed of the code of a user, or says -EPERM: it is his own, or root's and
 * then no secret. For he may have put any file there that he can see, by a mount of his own.
 */
int regular_file_find_trusted(int root_fd, const char *path, int flags, uint64_t max_bytes,
			      uid_t user);

#endif
