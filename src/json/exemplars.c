/* SPDX-License-Identifier: BSD-2-Clause */
/* Merges the lists of rows; each is in order. */
#include "json/exemplars.h"

#include "json/json.h"

#include "json/call.h"

static void insert(const struct exemplar *list[EXEMPLARS_MAX], size_t *count, size_t most,
		   const struct exemplar *exemplar)
{
	size_t at = *count;

	while (at && list[at - 1]->record->wall_ns < exemplar->record->wall_ns)
		at--;
	if (at >= most)
		return;
	if (*count < most)
		(*count)++;
	for (size_t i = *count - 1; i > at; i--)
		list[i] = list[i - 1];
	list[at] = exemplar;
}

size_t exemplars_choose(const struct exemplars *exemplars, const struct row *const *rows,
			size_t nr_rows, const struct exemplar *ret[EXEMPLARS_MAX])
{
	const struct exemplar *of_row[EXEMPLARS_MAX];
	size_t found, count = 0;

	for (size_t i = 0; i < nr_rows && rows[i]; i++) {
		const struct row *row = rows[i];
		const struct exemplar_kind kind = { row->pid, row->abi, (int)row->nr };

		found = row->max_ns ? exemplars_find(exemplars, &kind, row->max_ns, of_row) : 0;
		for (size_t j = 0; j < found; j++) {
			if (!row->tid || row->tid == of_row[j]->record->tid)
				insert(ret, &count, exemplars_most(exemplars), of_row[j]);
		}
	}
	return count;
}

static void put_exemplar(struct json_writer *to, const struct snapshot *snapshot,
			 const struct exemplar *exemplar)
{
	const struct call_record *record = exemplar->record;
	const struct stack *stack =
		snapshot->stacks ? stack_table_find(snapshot->stacks, record->stack_id) : NULL;

	json_put_call(to, exemplars_decoder(snapshot->exemplars, exemplar), record,
		      exemplar_real_ns(snapshot->exemplars, exemplar), stack);
}

void json_put_exemplars(struct json_writer *to, const struct snapshot *snapshot,
			const struct row *const *rows, size_t nr_rows)
{
	const struct exemplar *list[EXEMPLARS_MAX];
	size_t count = exemplars_choose(snapshot->exemplars, rows, nr_rows, list);

	json_put_list(to, "exemplars");
	for (size_t i = 0; i < count; i++)
		put_exemplar(to, snapshot, list[i]);
	json_put_end(to);
}

void json_get_exemplars(const struct json_place *at, struct row *row)
{
	const json_t *list = json_object_get(at->object, "exemplars");
	struct json_place call;

	for (size_t i = 0; i < EXEMPLARS_MAX && json_get_element(at, list, i, &call); i++) {
		struct told_call told = { .wall_ns = json_get_number(&call, "wall_ns", 0, 0),
					  .end_ns = json_get_time(&call, "time"),
					  .tid = (uint32_t)json_get_number(&call, "tid",
									   JSON_32_BITS, 0) };
		const char *comm = json_get_word(&call, "comm", 0);
		const char *line = json_get_word(&call, "line", JSON_OR_ABSENT);

		if (!comm || !line)
			continue;
		told.comm = strdup(comm);
		told.line = strdup(line);
		if (!array_grow(&row->told, row->nr_told, sizeof(*row->told)) || !told.comm ||
		    !told.line) {
			free(told.comm);
			free(told.line);
			json_check(at, -ENOMEM);
			return;
		}
		row->told[row->nr_told++] = told;
	}
}

void json_put_exemplar_counts(struct json_writer *to, const struct snapshot *snapshot)
{
	struct exemplar_counts counts;

	if (!snapshot->exemplars)
		return;
	counts = exemplars_count(snapshot->exemplars);
	json_put_number(to, "exemplars_lost", counts.lost);
	json_put_number(to, "exemplars_forgotten", counts.forgotten);
}

void json_put_slowest(struct json_writer *to, const struct snapshot *snapshot,
		      const struct row *row)
{
	if (!row_timed(row) || !row->max_start_ns)
		return;
	json_put_object(to, "slowest");
	json_put_time(to, "start",
		      snapshot->end_ns - (int64_t)(snapshot->end_mono_ns - row->max_start_ns));
	json_put_number(to, "tid", row->max_tid);
	json_put_end(to);
}

void json_get_slowest(const struct json_place *at, const struct snapshot *snapshot, struct row *row)
{
	const struct json_place slowest = json_get_object(at, "slowest", JSON_OR_ABSENT);
	int64_t ago_ns;

	if (!slowest.object)
		return;
	ago_ns = snapshot->end_ns - json_get_time(&slowest, "start");
	row->max_start_ns = snapshot->end_mono_ns - (uint64_t)ago_ns;
	row->max_tid = (uint32_t)json_get_number(&slowest, "tid", JSON_32_BITS, 0);
}
