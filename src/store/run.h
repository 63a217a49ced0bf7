/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs: what was counted without a break by one reader. An interval belongs to one, and monotonic
 * times are compared only inside one.
 */
#ifndef BPFTRUSS_STORE_RUN_H
#define BPFTRUSS_STORE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/snapshot.h"

struct db;

struct run {
	int64_t id;                    /* ascending in time */
	char *host, *boot_id, *kernel; /* owned */
	int64_t start_ns, start_mono_ns;
	int64_t after_run, after_mono_ns,
		after_ns; /* end of the last interval before it; 0: none */
};

struct run_list {
	struct run *items; /* owned, by id */
	size_t count;
	bool loaded;
};

void run_done(struct run *run);
void run_list_done(struct run_list *list);

/* A run that begins at a moment of a host. Returns 0 or -ENOMEM. */
int run_init(struct run *run, const struct snapshot *host, int64_t start_ns, int64_t start_mono_ns);

/* NULL when there is none, or its row is damaged. */
const struct run *run_find(const struct db *db, int64_t id);

/* See db.h for the errors. */
int runs_load(struct db *db);

/* As runs_load(), going on behind what cannot be read. */
void runs_salvage(struct db *db);

int run_write(struct db *db, const struct run *run);

/* Removes runs before this one that have no interval. */
int runs_retire(struct db *db, int64_t before);

#endif
