/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which file is this, as the programs know files? What is opened through /proc may be another one
 * than was mapped when a program saw it, and stat() numbers some file systems in its own way: so
 * the file is mapped here, and the question asked of that mapping.
 */
#ifndef BPFTRUSS_CODE_IDENTITY_H
#define BPFTRUSS_CODE_IDENTITY_H

#include "bpftruss/stack_abi.h"

struct truss_bpf;

struct code_identity {
	int program; /* that answers; negative: this kernel has no tables, nor keys */
	const void *key;
	const char *name;
};

/* The object must be loaded; it is borrowed. */
void code_identity_init(struct code_identity *identity, const struct truss_bpf *skel);

struct file_identity {
	struct inode_key key;
	char name[FILE_NAME_SIZE]; /* that no mount has given it; empty: unknown */
};

/*
 * Makes the key of a regular file. Where no program gives keys, /proc's words on mappings do. 0 or
 * -errno.
 */
int code_identity_read(const struct code_identity *identity, int fd, struct file_identity *ret);

#endif
