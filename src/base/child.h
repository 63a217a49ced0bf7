/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A child is a process that does something for us while we go on: it has a deadline, it can be stopped
 * at any time, and its descriptor is readable when it has ended.
 */
#pragma once

#include <limits.h>
#include <sys/types.h>

#include "base/mem.h"
#include "bpftruss/stack_abi.h"

struct child {
	pid_t pid;       /* 0: there is none */
	int pidfd;       /* readable when it has ended */
	int output;      /* whoever starts it reads its answer there; -1: nowhere */
	bool is_stopped; /* child_stop() was called */
	bool is_left;    /* and child_leave() */
	uint64_t deadline_ns;
};

#define NO_CHILD (struct child){ .pidfd = -1, .output = -1 }

/*
 * Becomes a program in a process that fork() has made, without our signals. Returns if that fails.
 */
void child_become(const char *program, char *const *argv, char *const *environment);

/* Makes a child of a process that fork() has made. */
int child_adopt(struct child *child, pid_t pid, uint64_t seconds);

/* Returns how long the child still has, in milliseconds; 0: it is overdue, stop it. */
int child_timeout_ms(const struct child *child);

/* Kills it, with all that it has started, and does not wait for its end. */
void child_stop(struct child *child);

/*
 * Nobody waits any longer for one that was stopped but has not ended: it counts as overdue. Returns its
 * pid, which is the caller's to reap.
 */
pid_t child_leave(struct child *child);

/*
 * Waits for its end, as long as it has time, and reaps it. Returns its exit status, or -ETIMEDOUT (it
 * was stopped), -EPROTO (something else has killed it) or another negative errno.
 */
int child_reap(struct child *child);

/* Kills it if it is still there, and closes the descriptors. The child is NO_CHILD again. */
void child_done(struct child *child);

/* --- copies ----------------------------------------------------------------------------------- */

/*
 * A copy of this process does what may wait for a disk, a network or somebody else's file system: it can
 * be killed, so that nobody here waits for it.
 */
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
 * Starts a copy, which is to be watched, and stopped when it is overdue. It has those of our
 * descriptors that are named, and 0 to 2. Returns 0 or -errno.
 */
int copy_start(copy_function function, void *closure, const int *fds, size_t nr_fds,
	       struct child *ret);

/*
 * Takes the answer, all of it or nothing; the child is done then. Returns what the function has
 * returned, -ETIMEDOUT or -EPROTO (it did not get so far), or -EMFILE: there was no room here for its
 * descriptors.
 */
int copy_finish(struct child *copy, struct copy_answer *ret);
