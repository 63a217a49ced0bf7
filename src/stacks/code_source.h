/* SPDX-License-Identifier: BSD-2-Clause */
/* A source knows the files of frames by their numbers, and opens them. */
#pragma once

#include "bpftruss/stack_abi.h"

#include "base/child.h"
#include "elf/unwind_rows.h"
#include "elf/worker.h"
#include "base/process.h"

/* A file of code. Descriptors and names are whoever opened it. */
struct opened_code {
	int fd;               /* O_PATH will do; -1: it cannot be read */
	int root;             /* below which its debug file may be looked for; -1: nowhere */
	struct inode_key key; /* without an inode: nobody can write to it */
	char *path;           /* there; NULL: unknown */
	char *name;           /* without folders; NULL: unknown */
	uint32_t owner;       /* of the file: he may name its functions, and so may root */
};

#define NO_CODE (struct opened_code){ .fd = -1, .root = -1 }

void opened_code_close(struct opened_code *code);

/* False for a file written to while mapped: it gets no names, old or new. Waits for nobody. */
bool opened_code_is_unchanged(const struct opened_code *code);

/* Makes an opened file of one's own, without its name. -ESTALE: it was written to; or -errno. */
int opened_code_copy(const struct opened_code *code, struct opened_code *ret);

/* Packs and unpacks an opened file for the way home from a copy; its descriptors go along. */
void opened_code_pack(struct opened_code *code, struct copy_answer *ret);
void opened_code_unpack(struct copy_answer *answer, struct opened_code *ret);

/* Starts a worker for the unwind table of a file, and takes its answer: see elf/worker.h. */
int code_table_start(int fd, const struct elf_proof *proof, struct child *ret);
int code_table_finish(struct child *worker, struct elf_unwind **ret);

/* A search for a file that is not open any more. */
struct code_search {
	void *closure;       /* the source's */
	unsigned int number; /* no other search has it at the same time: that of its errand */
	uint32_t file;
	struct process_id process; /* that may have it mapped */
};

struct code_source {
	void *closure;
	int fds[2]; /* that copies need for the source's functions; -1: none */

	/* Runs in a copy when a file is not open. -ESRCH: nobody has the file. NULL: all files are open. */
	copy_function search; /* its closure is a struct code_search */
	/* The key of what a process, by its folder, has mapped; false or NULL: nobody asks for it. */
	bool (*key)(void *closure, int process, const struct code_mapping *mapping,
		    struct inode_key *ret);
	/* Asks the kernel for the layout of a process now; 0 or NULL: unknown. */
	uint32_t (*layout)(void *closure, const struct process_id *process);

	/*
	 * Runs in a copy, too: does an open file have the key (elf/worker.h)? The closure is the
	 * source's.
	 */
	int (*is_it)(const struct elf_proof *proof, int fd);

	/* Here, at once. */
	/*
	 * A file that is open still. 0, -ESRCH (it is not), -EINPROGRESS (it is being opened, or waits
	 * for its turn), -EACCES (bpftruss may not open it), -EAGAIN (not known yet) or -errno.
	 */
	int (*open)(void *closure, uint32_t file, struct opened_code *ret);
	/* It is another file by now: it is not open any more. */
	void (*drop)(void *closure, uint32_t file);
	/* Returns the number of what a process has mapped under that key; the name may be NULL. */
	uint32_t (*find)(void *closure, uint32_t pid, const struct code_mapping *mapping,
			 const struct inode_key *key, const char *name);
	/* Returns its name, as long as the source lives; NULL: unknown. */
	const char *(*module)(void *closure, uint32_t file);
	/* Turns an offset in it into an address, as far as that is known. */
	uint64_t (*address)(void *closure, uint32_t file, uint64_t offset);
};
