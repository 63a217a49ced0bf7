/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads files for the names of their places: by errands, workers and servers, whom nobody waits for. */
#ifndef BPFTRUSS_NAME_TASKS_H
#define BPFTRUSS_NAME_TASKS_H

#include "stacks/name_files.h"

/* Files that are read at a time. Whoever waits for servers, or to ask them, holds up no other. */
#define MAX_FILE_TASKS 4
#define MAX_FETCHES    4
#define MAX_PARKED     56

struct name_tasks;

struct name_tasks_options {
	bool inlines;    /* also the functions that were inlined */
	bool debuginfod; /* servers are asked for debug files */
	int watcher;     /* an epoll instance, which waits for all descriptors */
};

/* Borrows all but the options. 0 or -errno. */
int name_tasks_new(const struct code_source *source, const struct name_tasks_options *options,
		   struct name_places *places, struct name_files *files, struct name_tasks **ret);

/* NULL is fine. */
void name_tasks_free(struct name_tasks *tasks);

/* Goes on with what has its answer and, if that is allowed, begins a few. */
void name_tasks_run(struct name_tasks *tasks, bool may_start);

/* How long to wait for the watcher: milliseconds as poll() takes them, -1 for ever. */
int name_tasks_patience_ms(const struct name_tasks *tasks, bool may_start);

/* Whether all was read that can be read before long. */
bool name_tasks_are_idle(const struct name_tasks *tasks);

#endif
