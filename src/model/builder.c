/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the adding up: two search trees, ordered as the snapshot will be. */
#include "model/builder.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

struct builder {
	void *rows;      /* tree of struct row */
	void *processes; /* tree of struct process */
	size_t nr_rows, nr_processes;
};

static int compare_rows(const void *a, const void *b)
{
	return row_compare(a, b);
}

static void free_row(void *node)
{
	row_done(node);
	free(node);
}

int builder_new(struct builder **ret)
{
	struct builder *builder = calloc(1, sizeof(*builder));

	if (!builder)
		return -ENOMEM;
	*ret = builder;
	return 0;
}

static void builder_clear(struct builder *builder)
{
	tdestroy(builder->rows, free_row);
	tdestroy(builder->processes, free);
	memset(builder, 0, sizeof(*builder));
}

void builder_free(struct builder *builder)
{
	if (!builder)
		return;
	builder_clear(builder);
	free(builder);
}

static int builder_insert_row(struct builder *builder, const struct row *row)
{
	struct row *copy = malloc(sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	if (row_copy(copy, row)) {
		free(copy);
		return -ENOMEM;
	}
	if (!tsearch(copy, &builder->rows, compare_rows)) {
		free_row(copy);
		return -ENOMEM;
	}
	builder->nr_rows++;
	return 0;
}

int builder_add_row(struct builder *builder, const struct row *row)
{
	struct row **found = tfind(row, &builder->rows, compare_rows);

	return found ? row_merge(*found, row) : builder_insert_row(builder, row);
}

static void process_merge(struct process *into, const struct process *from, bool rename)
{
	into->user_ns += from->user_ns;
	into->threads += from->threads;
	into->nr_folded += from->nr_folded;
	if (!from->ended_ns || !into->ended_ns)
		into->ended_ns = 0;
	else if (from->ended_ns > into->ended_ns)
		into->ended_ns = from->ended_ns;
	if (!from->comm[0] || (!rename && into->comm[0]))
		return;
	memcpy(into->comm, from->comm, sizeof(into->comm));
	into->uid = from->uid;
	into->cgroup_id = from->cgroup_id;
}

int builder_add_process(struct builder *builder, const struct process *process, bool rename)
{
	struct process **found = tfind(process, &builder->processes, process_compare);
	struct process *copy;

	if (found) {
		process_merge(*found, process, rename);
		return 0;
	}
	copy = malloc(sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	*copy = *process;
	if (!tsearch(copy, &builder->processes, process_compare)) {
		free(copy);
		return -ENOMEM;
	}
	builder->nr_processes++;
	return 0;
}

struct visitor {
	void (*visit)(void *closure, const struct process *process);
	void *closure;
};

static void visit_process(const void *node, VISIT visit, void *closure)
{
	const struct visitor *visitor = closure;

	if (visit == postorder || visit == leaf)
		visitor->visit(visitor->closure, *(struct process *const *)node);
}

void builder_visit_processes(const struct builder *builder,
			     void (*visit)(void *closure, const struct process *process),
			     void *closure)
{
	struct visitor visitor = { visit, closure };

	twalk_r(builder->processes, visit_process, &visitor);
}

size_t builder_processes(const struct builder *builder)
{
	return builder->nr_processes;
}

/* Carries a tree walk: where to, and the first error. */
struct walk {
	struct builder *into;
	struct snapshot *snapshot;
	int err;
};

static void merge_row(const void *node, VISIT visit, void *closure)
{
	struct walk *walk = closure;

	if ((visit == postorder || visit == leaf) && !walk->err)
		walk->err = builder_add_row(walk->into, *(struct row *const *)node);
}

static void merge_process(const void *node, VISIT visit, void *closure)
{
	struct walk *walk = closure;

	if ((visit == postorder || visit == leaf) && !walk->err)
		walk->err = builder_add_process(walk->into, *(struct process *const *)node, false);
}

int builder_merge(struct builder *into, const struct builder *from)
{
	struct walk walk = { .into = into };

	twalk_r(from->rows, merge_row, &walk);
	twalk_r(from->processes, merge_process, &walk);
	return walk.err;
}

/* In order; ownership of errnos and stacks moves with the row. */
static void emit_row(const void *node, VISIT visit, void *closure)
{
	struct snapshot *snapshot = ((struct walk *)closure)->snapshot;
	struct row *row = *(struct row *const *)node;

	if (visit != postorder && visit != leaf)
		return;
	snapshot->rows[snapshot->nr_rows++] = *row;
	row->errnos = NULL;
	row->stacks = NULL;
}

static void emit_process(const void *node, VISIT visit, void *closure)
{
	struct snapshot *snapshot = ((struct walk *)closure)->snapshot;

	if (visit == postorder || visit == leaf)
		snapshot->processes[snapshot->nr_processes++] = **(struct process *const *)node;
}

int builder_finish(struct builder *builder, struct snapshot *snapshot)
{
	struct walk walk = { .snapshot = snapshot };

	/* One more than needed, so that none is not an error. */
	snapshot->rows = calloc(builder->nr_rows + 1, sizeof(*snapshot->rows));
	snapshot->processes = calloc(builder->nr_processes + 1, sizeof(*snapshot->processes));
	if (!snapshot->rows || !snapshot->processes)
		return -ENOMEM;
	twalk_r(builder->rows, emit_row, &walk);
	twalk_r(builder->processes, emit_process, &walk);
	builder_clear(builder);
	return 0;
}
