/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the reader of JSON reports share: the snapshot on its way. */
#ifndef BPFTRUSS_JSON_READ_H
#define BPFTRUSS_JSON_READ_H

#include "model/builder.h"
#include "model/snapshot.h"
#include "report/json_place.h"

/* A process of the document; rows tell it by its index. */
struct json_process {
	struct process process;
	const json_t *object; /* as it stands there; NULL: an older version did not list it */
};

struct json_reader {
	struct snapshot *snapshot;  /* owned */
	struct builder *builder;    /* owned */
	struct stack_table *stacks; /* owned; NULL: none were taken */
	uint64_t nr_stack_ids;
	bool lists_processes; /* else an older version wrote it, and rows tell whose they are */
	struct json_process *processes; /* owned */
	size_t nr_processes;
	struct row last;        /* of an older version: identity of the row before */
	const json_t *last_row; /* the same as it stands there */
	/* Over all rows, so that no sum in a report wraps. */
	uint64_t calls, wall_ns, in_flight, open_ns, user_ns;
};

/* Adds within a limit, which no sum of what was really counted passes. */
int json_count_up(const struct json_place *place, const char *key, uint64_t value, uint64_t *sum);

/* The list of processes, and the names of users and cgroups in it. */
int json_read_processes(struct json_reader *reader, const struct json_place *whole,
			const json_t *list);

/* Adds processes to the builder, and to the snapshot what their users and cgroups are called. */
int json_add_processes(struct json_reader *reader, const struct json_place *whole);

/* Whose row it is, into its identity. */
int json_read_owner(struct json_reader *reader, const struct json_place *place, struct row *row);

/* One row, into the builder. */
int json_read_row(struct json_reader *reader, const struct json_place *place);

/* The stacks of a row that is complete but for them. */
int json_read_stacks(struct json_reader *reader, const struct json_place *place, struct row *row);

#endif
