/* SPDX-License-Identifier: BSD-2-Clause */
/* A command that waits before its execve, so that it can be marked first. */
#ifndef BPFTRUSS_COMMAND_H
#define BPFTRUSS_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/diag.h"

struct command {
	pid_t pid;   /* 0: none */
	int go;      /* a byte lets the child run its execve */
	int failure; /* the child writes its errno here when execve fails */
	void *program; /* a page of its file mapped as code, so that its unwind table is made in time */
	struct rlimit files; /* how many it may open: as many as without us */
	bool reaped;
	int status; /* as from waitpid(), once reaped */
};

/* Finds argv[0] in PATH, forks, and leaves the child waiting, with these signals blocked. 0 or -errno. */
int command_prepare(struct command *command, char **argv, const sigset_t *blocked, struct diag *d);

/* Lets the child run its execve; returns when that succeeded (0) or failed. */
int command_release(struct command *command, const char *name, struct diag *d);

/* Whether it has; reaps it if so. */
bool command_has_ended(struct command *command);

/* Waits until the command has ended. */
void command_wait(struct command *command);

/* The exit status in a shell's terms: its own, or 128 + signal. */
int command_exit_status(const struct command *command);

/* Kills and reaps a child that was never released; closes the pipes. */
void command_done(struct command *command);

#endif
