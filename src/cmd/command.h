/* SPDX-License-Identifier: BSD-2-Clause */
/* A command that waits before its execve, so that it can be marked first. */
#pragma once

#include <pwd.h>
#include <signal.h>
#include <sys/resource.h>

#include "base/diag.h"

#define MAX_COMMAND_PAGES 128

struct command {
	pid_t pid; /* 0: none */
	int link; /* a byte lets the child run its execve; it answers with its errno if that fails */
	bool released;
	/* Pages of its files mapped as code, so that their unwind tables are made in time. */
	void *pages[MAX_COMMAND_PAGES];
	size_t nr_pages;
	struct rlimit files;       /* how many it may open: as many as without us */
	const struct passwd *user; /* as whom it runs; NULL: as we do */
	bool reaped;
	int status; /* as from waitpid(), once reaped */
};

/*
 * Searches a program as execvp() would, but here, so that failed tries are not counted as the command's.
 * Returns whether it is there; of a path, that is seen when it is run.
 */
bool command_search(const char *name, char *path, size_t size);

/* Chooses the user to run as, first of all; "": who called sudo. 0, or -errno with d filled. */
int command_set_user(struct command *command, const char *name, struct diag *d);

/*
 * Finds argv[0] in PATH, forks, and leaves the child waiting, with these signals blocked. maps: its files
 * and libraries are mapped here. 0 or -errno.
 */
int command_prepare(struct command *command, char **argv, const sigset_t *blocked, bool maps,
		    struct diag *d);

/* Lets the child run its execve; returns when that succeeded (0) or failed. */
int command_release(struct command *command, const char *name, struct diag *d);

/* Whether it has ended; reaps it if so. */
bool command_has_ended(struct command *command);

/* Waits for its end. */
void command_wait(struct command *command);

/* Kills and reaps a child that was never released. */
void command_done(struct command *command);
