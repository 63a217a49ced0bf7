/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens the file that a process has mapped at some place, and says which one it really is, as the
 * programs know files. What is opened through /proc may be another one than was mapped when a program
 * saw it, and stat() numbers some file systems in its own way: so the file is mapped here, and the
 * question asked of that mapping.
 */
#ifndef BPFTRUSS_MAPPED_FILE_H
#define BPFTRUSS_MAPPED_FILE_H

#include "bpftruss/stack_abi.h"
#include "stacks/code_source.h"

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
