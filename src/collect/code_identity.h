/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which file is this, as the programs know files? What is opened through /proc may be another one
 * than was mapped when a program saw it, and stat() numbers some file systems in its own way: so
 * the file is mapped here, and the question asked of that mapping.
 */
#ifndef BPFTRUSS_CODE_IDENTITY_H
#define BPFTRUSS_CODE_IDENTITY_H

#include <stdint.h>

#include "bpftruss/stack_abi.h"

struct truss_bpf;

struct code_identity {
	int program; /* that answers; negative: this kernel has no tables, nor keys */
	const struct inode_key *keys;        /* its answers, each at the asker's number */
	const char (*names)[FILE_NAME_SIZE]; /* the same */
	int tasks;                           /* where the programs keep the layouts of processes */
	unsigned int asker;                  /* by which answer: others may ask at the same time */
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

/* The layout of a process now, as in struct process_id; 0: unknown. */
uint32_t code_identity_layout(const struct code_identity *identity, uint32_t pid);

#endif
