/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A copy of this process does what may wait for a disk, a network or somebody else's file system: it can
 * be killed, so that nobody here waits for it.
 */
#ifndef BPFTRUSS_COPY_H
#define BPFTRUSS_COPY_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "bpftruss/stack_abi.h"
#include "base/child.h"

#define MAX_COPY_FDS 6

/* A copy brings this back. All zero: nothing. */
struct copy_answer {
	int fds[MAX_COPY_FDS];
	size_t nr_fds;
	struct inode_key key;
	uint64_t numbers[4];
	char text[PATH_MAX];
	char name[NAME_MAX + 1];
};

/* Closes what nobody has taken: descriptors of -1 are nobody's. */
void copy_answer_done(struct copy_answer *answer);

/* Runs in the copy, which has all memory as it was. Returns 0 or -errno. */
typedef int (*copy_function)(void *closure, struct copy_answer *ret);

/*
 * Starts a copy, which is to be watched, and stopped when it is overdue. Of our descriptors it has those
 * that are named, and 0 to 2. 0 or -errno.
 */
int copy_start(copy_function function, void *closure, const int *fds, size_t nr_fds,
	       struct child *ret);

/*
 * Takes the answer, all of it or nothing; the child is done then. Returns what the function has
 * returned, -ETIMEDOUT or -EPROTO (it did not get so far), or -EMFILE: there was no room here for its
 * descriptors.
 */
int copy_finish(struct child *copy, struct copy_answer *ret);

#endif
