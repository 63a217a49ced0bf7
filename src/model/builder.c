/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adds up. Rows are put at the end of one array, which becomes the snapshot's; when it is full it is
 * sorted and rows of the same identity are merged. Processes are a search tree, ordered as the
 * snapshot will be.
 */
#include "model/builder.h"

#define ROWS_AT_FIRST 64

struct builder {
	struct row **rows;
	size_t nr_rows, max_rows;
	size_t nr_merged; /* so many of the first rows are sorted, each of its own identity */
	size_t row_bytes; /* of all rows; merging may leave less */
	void *processes;  /* tree of struct process */
	size_t nr_processes;
};

/* A process and its node in the tree, with what malloc() adds to both. */
#define PROCESS_BYTES (sizeof(struct process) + 64)

static int compare_rows(const void *a, const void *b)
{
	return row_compare(*(struct row *const *)a, *(struct row *const *)b);
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
	for (size_t i = 0; i < builder->nr_rows; i++)
		row_unref(builder->rows[i]);
	free(builder->rows);
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

/* Sorts the rows that were added since the last merge, which mostly are few or in order already. */
static void builder_sort_new(struct builder *builder)
{
	struct row **rows = &builder->rows[builder->nr_merged];
	size_t count = builder->nr_rows - builder->nr_merged, i = 1;

	while (i < count && row_compare(rows[i - 1], rows[i]) <= 0)
		i++;
	if (i < count)
		qsort(rows, count, sizeof(*rows), compare_rows);
}

/* Merges two sorted parts of the array into one, from its end on. */
static int builder_sort(struct builder *builder)
{
	size_t old = builder->nr_merged, new = builder->nr_rows - old, to = builder->nr_rows;
	struct row **rows = builder->rows, **copy;

	builder_sort_new(builder);
	if (!old || row_compare(rows[old - 1], rows[old]) <= 0)
		return 0;
	copy = reallocarray(NULL, new, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	memcpy(copy, &rows[old], new * sizeof(*copy));
	while (old && new) {
		bool is_new = row_compare(rows[old - 1], copy[new - 1]) <= 0;

		rows[--to] = is_new ? copy[--new] : rows[--old];
	}
	memcpy(rows, copy, new * sizeof(*copy));
	free(copy);
	return 0;
}

int builder_settle(struct builder *builder)
{
	struct row **rows = builder->rows;
	size_t count = builder->nr_rows, kept = 0;
	int err = 0;

	if (builder->nr_merged == count)
		return 0;
	if (builder_sort(builder))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (kept && !err && !row_compare(rows[kept - 1], rows[i])) {
			err = row_unshare(&rows[kept - 1]) ?: row_merge(rows[kept - 1], rows[i]);
			row_unref(rows[i]);
		} else {
			rows[kept++] = rows[i];
		}
	}
	builder->nr_rows = kept;
	builder->nr_merged = err ? 0 : kept;
	builder->row_bytes = 0;
	for (size_t i = 0; i < kept; i++)
		builder->row_bytes += row_bytes(rows[i]);
	return err;
}

/* Makes room for another row. More memory only where merging leaves less than half of it free. */
static int builder_reserve(struct builder *builder)
{
	size_t more = builder->max_rows * 2 ?: ROWS_AT_FIRST;
	struct row **grown;

	if (builder->nr_rows < builder->max_rows)
		return 0;
	if (builder_settle(builder))
		return -ENOMEM;
	if (builder->nr_rows < builder->max_rows / 2)
		return 0;
	grown = reallocarray(builder->rows, more, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	builder->rows = grown;
	builder->max_rows = more;
	return 0;
}

int builder_adopt_row(struct builder *builder, struct row *row)
{
	if (builder_reserve(builder))
		return -ENOMEM;
	builder->rows[builder->nr_rows++] = row;
	builder->row_bytes += row_bytes(row);
	return 0;
}

/* Adopts a row, or frees it. NULL: there was no memory for it. */
static int take_row(struct builder *builder, struct row *own)
{
	int err = own ? builder_adopt_row(builder, own) : -ENOMEM;

	if (err)
		row_unref(own);
	return err;
}

int builder_move_row(struct builder *builder, struct row *row)
{
	return take_row(builder, row_new(row));
}

int builder_share_row(struct builder *builder, struct row *row)
{
	return take_row(builder, row_ref(row));
}

int builder_add_row(struct builder *builder, const struct row *row)
{
	return take_row(builder, row_new_like(row));
}

/* The record of a thread that an exec has made the first one knows nothing of the first one before. */
static void process_count_changes(struct process *process, const struct process *successor)
{
	if (!process->named_ns || process->named_ns >= successor->named_ns || process->named_by ||
	    successor->named_by || !process->pid)
		return;
	process->changes[CHANGED_USER] += process->uid != successor->uid;
	process->changes[CHANGED_CGROUP] += process->cgroup_id != successor->cgroup_id;
	process->changes[CHANGED_COMM] +=
		memcmp(process->comm, successor->comm, sizeof(process->comm)) != 0;
}

static void process_merge(struct process *into, const struct process *from, bool is_newer)
{
	process_add_counts(into, from);
	into->threads += from->threads;
	if (!from->ended_ns || !into->ended_ns)
		into->ended_ns = 0;
	else if (from->ended_ns > into->ended_ns)
		into->ended_ns = from->ended_ns;
	process_count_changes(into, from);
	process_take_name(into, from, is_newer);
}

struct process *builder_find_process(const struct builder *builder, const struct process *key)
{
	struct process **found = tfind(key, &builder->processes, process_compare);

	return found ? *found : NULL;
}

int builder_add_process(struct builder *builder, const struct process *process, bool is_newer)
{
	struct process *found = builder_find_process(builder, process);

	if (found) {
		process_merge(found, process, is_newer);
		return 0;
	}
	if (!tree_add(&builder->processes, process, sizeof(*process), process_compare))
		return -ENOMEM;
	builder->nr_processes++;
	return 0;
}

/* A walk through the tree of processes, up to the first error. */
struct walk {
	builder_visit *visit;
	void *closure;
	int err;
};

static void visit_process(const void *node, VISIT visit, void *closure)
{
	struct walk *walk = closure;

	if ((visit == postorder || visit == leaf) && !walk->err)
		walk->err = walk->visit(walk->closure, *(struct process *const *)node);
}

int builder_visit_processes(const struct builder *builder, builder_visit *visit, void *closure)
{
	struct walk walk = { visit, closure, 0 };

	twalk_r(builder->processes, visit_process, &walk);
	return walk.err;
}

size_t builder_processes(const struct builder *builder)
{
	return builder->nr_processes;
}

size_t builder_rows(const struct builder *builder)
{
	return builder->nr_rows;
}

size_t builder_bytes(const struct builder *builder)
{
	return builder->row_bytes + builder->nr_processes * PROCESS_BYTES;
}

static int merge_process(void *into, const struct process *process)
{
	return builder_add_process(into, process, false);
}

int builder_merge(struct builder *into, const struct builder *from)
{
	int err = 0;

	for (size_t i = 0; i < from->nr_rows && !err; i++)
		err = builder_share_row(into, from->rows[i]);
	return err ?: builder_visit_processes(from, merge_process, into);
}

static int emit_process(void *closure, const struct process *process)
{
	struct snapshot *snapshot = closure;

	snapshot->processes[snapshot->nr_processes++] = *process;
	return 0;
}

/* The rows with no more memory than they need. */
static struct row **builder_take_rows(struct builder *builder)
{
	/* The list has one more than needed, so that an empty one is not an error. */
	struct row **rows =
		reallocarray(builder->rows, builder->nr_rows + 1, sizeof(*builder->rows));

	if (rows)
		builder->rows = NULL;
	return rows;
}

int builder_finish(struct builder *builder, struct snapshot *snapshot)
{
	if (builder_settle(builder))
		return -ENOMEM;
	snapshot->processes = calloc(builder->nr_processes + 1, sizeof(*snapshot->processes));
	if (!snapshot->processes)
		return -ENOMEM;
	builder_visit_processes(builder, emit_process, snapshot);
	snapshot->rows = builder_take_rows(builder);
	if (!snapshot->rows)
		return -ENOMEM;
	snapshot->nr_rows = builder->nr_rows;
	builder->nr_rows = 0;
	builder_clear(builder);
	return 0;
}
