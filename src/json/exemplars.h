/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chooses the slowest calls of rows that a report adds up, and writes them as JSON: the members exemplars,
 * exemplars_lost and exemplars_forgotten of bpftruss-json(5).
 */
#pragma once

#include "calls/exemplars.h"
#include "model/snapshot.h"

struct json_writer;
struct json_place;

/*
 * Finds the slowest calls of some rows, slowest first, as many as are wanted for a row. The rows
 * are those with the slowest calls, in order; NULL ends them. Returns how many; the first is the
 * slowest of all if it took rows[0]->max_ns, otherwise no more is known of that call.
 */
size_t exemplars_choose(const struct exemplars *exemplars, const struct row *const *rows,
			size_t nr_rows, const struct exemplar *ret[EXEMPLARS_MAX]);

/* Writes the list of a row. */
void json_put_exemplars(struct json_writer *to, const struct snapshot *snapshot,
			const struct row *const *rows, size_t nr_rows);

/* Reads that list again; calls without a line, from an older version, are left out. */
void json_get_exemplars(const struct json_place *at, struct row *row);

/* Writes how many calls are missing from these lists; nothing if no lists are wanted. */
void json_put_exemplar_counts(struct json_writer *to, const struct snapshot *snapshot);

/* When the slowest call of a row began, and in which thread: the member slowest, if that is known. */
void json_put_slowest(struct json_writer *to, const struct snapshot *snapshot,
		      const struct row *row);

/* Reads that again, of a row that has max_ns already. */
void json_get_slowest(const struct json_place *at, const struct snapshot *snapshot,
		      struct row *row);
