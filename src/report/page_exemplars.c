/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the slowest calls of a snapshot as tables of a page: those that work, and those that wait for work. */
#include "json/exemplars.h"
#include "report/exemplars.h"
#include "report/page.h"

/* Slower calls are kept than a page is to show: it stays small. */
#define PAGE_SLOWEST 100

struct slow_call {
	const struct row *row;
	const struct exemplar *exemplar; /* NULL: of a saved report */
	const struct told_call *told;
	uint64_t wall_ns;
};

struct slow_list {
	struct slow_call *calls; /* owned */
	size_t count;
};

static void slow_list_done(struct slow_list *list)
{
	free(list->calls);
}

static int compare_slow(const void *x, const void *y)
{
	const struct slow_call *a = x, *b = y;

	return compare_u64(b->wall_ns, a->wall_ns);
}

static int slow_list_add(struct slow_list *list, const struct slow_call *call)
{
	if (!array_grow(&list->calls, list->count, sizeof(*list->calls)))
		return -ENOMEM;
	list->calls[list->count++] = *call;
	return 0;
}

static int slow_list_add_row(struct slow_list *list, const struct snapshot *snapshot,
			     const struct row *row)
{
	const struct exemplar *found[EXEMPLARS_MAX];
	size_t count =
		snapshot->exemplars ? exemplars_choose(snapshot->exemplars, &row, 1, found) : 0;
	int err = 0;

	for (size_t i = 0; i < count && !err; i++)
		err = slow_list_add(list, &(struct slow_call){ row, found[i], NULL,
							       found[i]->record->wall_ns });
	for (size_t i = 0; i < row->nr_told && !err; i++)
		err = slow_list_add(list, &(struct slow_call){ row, NULL, &row->told[i],
							       row->told[i].wall_ns });
	return err;
}

/* Lists the slowest calls of all rows that pass a test, the slowest first. */
static int slow_list_fill(struct slow_list *list, const struct snapshot *snapshot,
			  const struct row_test *test)
{
	int err = 0;

	for (size_t i = 0; i < snapshot->nr_rows && !err; i++) {
		if (test->has(snapshot->rows[i], test->closure))
			err = slow_list_add_row(list, snapshot, snapshot->rows[i]);
	}
	if (list->count)
		qsort(list->calls, list->count, sizeof(*list->calls), compare_slow);
	return err;
}

static void put_line(struct json_writer *to, struct line *line)
{
	json_put_data(to, NULL, line->bytes, line->failed ? 0 : line->used);
	line_clear(line);
}

static void put_row(struct json_writer *to, const struct snapshot *snapshot,
		    const struct slow_call *call, struct line *line)
{
	const struct exemplar *exemplar = call->exemplar;
	const struct told_call *told = call->told;
	char name[ROW_LABEL_MAX];

	row_label(call->row, name, sizeof(name));
	json_put_list(to, NULL);
	json_put_text(to, NULL, name);
	json_put_number(to, NULL, call->wall_ns);
	if (exemplar) {
		exemplar_put_call(line, snapshot, exemplar);
		line->used -= !line->failed; /* its line end */
		put_line(to, line);
	} else {
		json_put_text(to, NULL, told->line);
	}
	line_put_time_of_day(line, exemplar ? exemplar_real_ns(snapshot->exemplars, exemplar)
					    : told->end_ns);
	put_line(to, line);
	if (exemplar)
		json_put_bytes(to, NULL, exemplar->record->comm, sizeof(exemplar->record->comm));
	else
		json_put_text(to, NULL, told->comm);
	json_put_number(to, NULL, exemplar ? exemplar->record->tid : told->tid);
	json_put_end(to);
}

static int put_table(struct json_writer *to, const struct snapshot *snapshot,
		     const struct slow_list *list, enum table_half half)
{
	static const char *const ids[] = { "slowest", "slowest-waiting" };
	static const char *const titles[] = { "Slowest calls", "Slowest calls that wait for work" };
	const size_t shown = min_u64(list->count, PAGE_SLOWEST);
	char *note __cleanup(freep) = NULL;
	struct line line __cleanup(line_done) = { 0 };
	size_t size;
	FILE *out = open_memstream(&note, &size);

	if (!out)
		return -ENOMEM;
	if (shown < list->count)
		fprintf(out, "The slowest %zu of %zu calls.\n", shown, list->count);
	if (shown)
		fputs(LINE_LATE_LEGEND "\n", out);
	if (snapshot->exemplars)
		print_missing_exemplars(snapshot->exemplars, out);
	if (fclose(out))
		return -ENOMEM;
	page_put_table(to, ids[half], titles[half], size ? note : NULL);
	json_put_word(to, "sorted_by", "wall_ns");
	json_put_bool(to, "descending", true);
	json_put_list(to, "fields");
	page_put_field(to, "syscall", "text");
	page_put_field(to, "wall_ns", "latency");
	page_put_field(to, "call", "text");
	page_put_field(to, "time", "text");
	page_put_field(to, "comm", "text");
	page_put_field(to, "tid", "id");
	json_put_end(to);
	json_put_list(to, "rows");
	for (size_t i = 0; i < shown; i++)
		put_row(to, snapshot, &list->calls[i], &line);
	json_put_end(to);
	json_put_end(to);
	return 0;
}

int page_put_exemplars(struct json_writer *to, const struct snapshot *snapshot,
		       const struct table_options *options)
{
	int err = 0;

	for (enum table_half half = 0; half < NR_TABLE_HALF && !err; half++) {
		struct slow_list list __cleanup(slow_list_done) = { .calls = NULL };
		const struct row_test test = half_test(half, options);

		err = slow_list_fill(&list, snapshot, &test);
		if (!err && list.count)
			err = put_table(to, snapshot, &list, half);
	}
	return err;
}
