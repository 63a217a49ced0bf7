/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files whose code runs, and their tables for the kernel. A file is what the kernel takes for one,
 * an inode; it is parsed by a worker (elf/worker.h).
 */
#pragma once

#include "base/errand.h"
#include "stacks/code_source.h"

struct truss_bpf;
struct code_files;
struct unwind_tables;
struct code_identity;

/*
 * Begins with the vdso. Borrows tables and errands. Lasting: no file stays open for long. Returns 0 or
 * -errno.
 */
int code_files_new(struct unwind_tables *tables, const struct code_identity *identity,
		   struct errands *errands, bool lasting, struct code_files **ret);
void code_files_free(struct code_files *files);
CLEANUP_OF(code_files, code_files_free)

/*
 * Has the file of a mapping opened, and its table made, by an errand; one that is known costs nothing. A
 * file that cannot be parsed has frame pointers only; one that cannot be opened, takes too long or finds
 * no room is asked for again.
 */
void code_files_learn(struct code_files *files, const struct pending_event *mapping);

/* Whether no table is being made. */
bool code_files_are_learned(const struct code_files *files);

/* Waits until all are read, or some moment, or a signal tells us to end; the rest is read later. */
void code_files_wait(struct code_files *files, uint64_t until_ns);

/* Whether one of our signals, which are blocked, tells us to end. */
bool user_wants_end(void);

/* Returns the source by which their frames are named. */
struct code_source code_files_source(struct code_files *files);

/* Closes those that were not used for a while, if counting may go on for long. */
void code_files_tidy(struct code_files *files);

/* How many have been opened, the vdso included. */
size_t code_files_count(const struct code_files *files);

/* --- mapped_file.c: which file it is ---------------------------------------------------------- */

/*
 * Opens the file that a process has mapped at some place, and says which one it really is, as the
 * programs know files. The file opened through /proc may be another than was mapped when a program
 * saw it, and stat() numbers some file systems in its own way: so the file is mapped here, and the
 * question asked of that mapping.
 */

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
 * 0 or -errno: nothing is mapped there any more, or the file cannot be opened now. If the file is
 * not regular, or must not be read, the key has only the device and the inode (0: unknown), and the
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

/* --- unwind_tables.c: the tables in the kernel ------------------------------------------------- */

/*
 * include/bpftruss/stack_abi.h has their layout. A file's table is published once and never changes;
 * the programs see it only when all of it is there.
 */

/* The maps must be loaded. Returns 0 or -errno. */
int unwind_tables_new(const struct truss_bpf *skel, struct unwind_tables **ret);
void unwind_tables_free(struct unwind_tables *tables);
CLEANUP_OF(unwind_tables, unwind_tables_free)

/*
 * Packs the rows of a file of this owner under its number; NULL or no rows: frame pointers. -ENOSPC
 * when there is no room for all of them, or its owner has as much as is left for others: then, too,
 * it has frame pointers only.
 */
int unwind_tables_publish(struct unwind_tables *tables, uint32_t file, uint32_t owner,
			  const struct elf_unwind *unwind);

/* Has the programs ask again for the table of a file, once its code is seen again after a pause. */
void unwind_tables_ask_again(struct unwind_tables *tables, const struct inode_key *key,
			     uint32_t file, uint32_t pause_s);

/* Kernel memory of the rows so far. */
size_t unwind_tables_bytes(const struct unwind_tables *tables);
