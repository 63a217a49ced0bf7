/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps requests that are to be sent, as files in a folder of the state directory: STATE_DIR/otlp/TIME.metrics.json
 * and TIME.logs.json. Invariants: the oldest come first, together they never take more than they may, and all are for the
 * collector that the file STATE_DIR/otlp/endpoint names.
 */
#pragma once

#include "base/diag.h"
#include "ipc/post.h"

/* Holds the name of a file. */
#define SPOOL_NAME_BYTES 48

struct spool_file {
	int64_t time_ns; /* CLOCK_REALTIME when it was made; no two have the same */
	uint64_t bytes;
	bool is_logs;
};

struct spool {
	int folder;               /* -1: not open */
	struct spool_file *files; /* owned; the oldest first */
	size_t nr_files;
	uint64_t bytes;
	size_t nr_removed; /* files for another collector, when it was opened */
	uint64_t
		dropped; /* files for which there was no room, or that were lost, since the start */
};

/* Begins without a folder. */
void spool_init(struct spool *spool);
void spool_done(struct spool *spool);

/*
 * Opens the folder, which is made if need be, with what an earlier daemon left for the same endpoint; what it left for
 * another one is removed. 0 or -errno with d filled.
 */
int spool_open(struct spool *spool, const char *state_dir, const char *endpoint, struct diag *d);

/* Removes what an earlier daemon left, if anything, for a daemon that sends nothing. Returns the number of requests. */
size_t spool_clear(const char *state_dir);

/*
 * Adds a request; the oldest go to make room for it, unless it is larger than all may be, or than can be sent: then
 * it goes itself. 0 or -errno with d filled: then it was not added.
 */
int spool_put(struct spool *spool, bool is_logs, const char *text, size_t size, uint64_t max_bytes,
	      struct diag *d);

/* Removes the file of a time, if it is still there. */
void spool_remove(struct spool *spool, int64_t time_ns);

/* Whether the file of a time is still to be sent. */
bool spool_has(const struct spool *spool, int64_t time_ns);

void spool_name(const struct spool_file *file, char buf[SPOOL_NAME_BYTES]);
