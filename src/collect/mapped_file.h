/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the file that a process has mapped at some place, and says which one it really is. */
#ifndef BPFTRUSS_MAPPED_FILE_H
#define BPFTRUSS_MAPPED_FILE_H

#include <stdint.h>

#include "collect/code_identity.h"
#include "stacks/code_source.h"

/*
 * 0 or -errno: nothing is mapped there any more, or the file cannot be opened now. Of what is no
 * regular file, or must not be read, the key has only the device and the inode (0: unknown), and the
 * descriptor is negative.
 * Descriptors are opened with O_PATH. No device is touched; but a file system may keep its caller
 * waiting: for copies (base/child.h).
 */
int mapped_file_open(const struct code_identity *identity, int process, uint64_t start,
		     uint64_t end, struct opened_code *ret);

/* The same for a file at a path, as we see it; its debug file is looked for there, too. */
int mapped_file_open_path(const struct code_identity *identity, const char *path,
			  struct opened_code *ret);

/* Finds the key of that file where no program gives any, without opening it. 0 or -errno. */
int mapped_file_key(int process, const struct code_mapping *mapping, struct inode_key *ret);

#endif
