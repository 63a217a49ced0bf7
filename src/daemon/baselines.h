/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Baselines: spans of the history that are kept for good under a name. Each is a snapshot as JSON,
 * in STATE_DIR/baselines/NAME.json, as `bpftruss snapshot --json` writes it.
 */
#pragma once

#include "base/diag.h"
#include "model/snapshot.h"

/* Letters, digits, '.', '-' and '_', no '.' in front: in a path it is no other request. */
bool baseline_name_is_valid(const char *name);

/* Whether a new one may have that name: it must not mean a time, too. 0, or -EINVAL with d filled. */
int baseline_check_name(const char *name, struct diag *d);

/*
 * Writes what was counted in a span. 0, or -errno with d filled: -EEXIST unless replace is set,
 * -ENODATA when nothing was counted in it, -E2BIG when it is too much, or there are too many.
 */
int baselines_save(const char *state_dir, const char *name, const struct snapshot *snapshot,
		   bool replace, struct diag *d);

/*
 * Lists them in the order in which they were saved; the list is the caller's. Baselines that cannot
 * be read are left out, and the log says so. Returns 0 or -errno with d filled.
 */
int baselines_list(const char *state_dir, struct baseline **ret, size_t *ret_count, struct diag *d);

/* Reads the text of one, to be freed. 0, or -errno with d filled: -ENOENT when there is none. */
int baselines_read(const char *state_dir, const char *name, char **ret_text, size_t *ret_size,
		   struct diag *d);

/* Does what baselines_read() does, and returns a snapshot of the caller's. */
int baselines_load(const char *state_dir, const char *name, struct snapshot **ret, struct diag *d);

/* 0, or -errno with d filled: -ENOENT when there is none. */
int baselines_remove(const char *state_dir, const char *name, struct diag *d);
