/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A child is a process that does something for us while we go on: it has a deadline, it can be stopped
 * at any time, and its descriptor is readable when it has ended.
 */
#ifndef BPFTRUSS_CHILD_H
#define BPFTRUSS_CHILD_H

#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

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
 * Starts this program once more, with neither our signals nor our terminal; the actions say which
 * descriptors it has. 0 or a negative errno; child_done() is due in both cases.
 */
int child_spawn(struct child *child, char *const *argv, char *const *environment,
		const posix_spawn_file_actions_t *actions, uint64_t seconds);

/* In a copy (base/copy.h): becomes such a program, without environment. Returns if that fails. */
void child_become(char *const *argv);

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

#endif
