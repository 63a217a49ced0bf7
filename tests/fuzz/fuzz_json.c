/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes the reader of JSON reports. A snapshot that it takes must stand every report, and be the
 * same again when it is written and read once more, also merged with one of another host.
 */
#include "model/merge.h"
#include "report/report.h"
#include "fuzz.h"

struct text {
	char *bytes; /* owned */
	size_t size;
};

static void text_done(struct text *text)
{
	free(text->bytes);
}

static void write_json(const struct snapshot *snapshot, struct text *ret)
{
	FILE *out = open_memstream(&ret->bytes, &ret->size);

	require(out && !report_json(snapshot, out) && !fclose(out));
}

/* The snapshot as a timeline of one step, and compared with itself. */
static void write_pictures(struct snapshot *snapshot, FILE *out)
{
	const struct table_options by_owner = { .keys = GROUP_COMM | GROUP_UNIT | GROUP_USER };
	const struct stack_options inverted = { .by = FLAME_BY_SYSCALL };
	const struct compare_input input = { .a = { "a", snapshot }, .b = { "b", snapshot } };
	const struct time_picture_options all = { .with_waiting = true };
	struct timeline_step step = { snapshot->start_ns, snapshot->end_ns, snapshot->elapsed_ns,
				      snapshot };
	const struct timeline timeline = { .steps = &step, .nr_steps = 1 };

	require(!report_heatmap(&timeline, &all, out));
	require(!report_series(&timeline, &all, &by_owner, out));
	require(!report_flame_difference(&input, &inverted, true, out));
}

static void write_others(const struct snapshot *snapshot, FILE *out)
{
	const struct table_options by_call = { .hist = true };
	const struct table_options by_owner = { .keys = GROUP_PID | GROUP_TID | GROUP_COMM |
							GROUP_UNIT | GROUP_USER };
	const struct stack_options by_time = { .weight = STACK_WEIGHT_TIME };

	struct report_options lines = { .table = { .keys = GROUP_CGROUP | GROUP_CONTAINER |
							   GROUP_POD } };

	require(!report_truss(snapshot, &by_call, out) && !report_strace(snapshot, &by_owner, out));
	require(!report_wide(snapshot, &by_call, out) && !report_wide(snapshot, &by_owner, out));
	require(!report_csv(snapshot, &lines, out) && !report_rows_json(snapshot, &lines, out));
	lines.errors = true;
	require(!report_csv(snapshot, &lines, out));
	lines = (struct report_options){ .table = { .keys = GROUP_DIR | GROUP_PATH } };
	require(!report_csv(snapshot, &lines, out));
	lines.table.keys = GROUP_FILE;
	require(!report_wide(snapshot, &lines.table, out));
	lines = (struct report_options){ .show_stacks = true };
	require(!report_csv(snapshot, &lines, out));
	require(!report_errors(snapshot, &by_call, out) && !report_chart(snapshot, &by_call, out));
	require(!report_stacks(snapshot, &by_call, &by_time, out));
	require(!report_folded(snapshot, STACK_WEIGHT_CALLS, out));
	require(!report_flame(snapshot, &by_time, out) && !report_pprof(snapshot, out));
	require(!report_page(snapshot, &(struct report_options){ .stacks = by_time }, out));
}

static void check_again(const struct text *text)
{
	__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
	__cleanup(stack_table_freep) struct stack_table *stacks = NULL;
	struct text again __cleanup(text_done) = { .bytes = NULL };

	require(!report_json_read(text->bytes, text->size, &snapshot, &stacks, NULL));
	write_json(snapshot, &again);
	require(again.size == text->size && !memcmp(again.bytes, text->bytes, text->size));
}

static void check_merged(const struct snapshot *snapshot)
{
	__cleanup(snapshot_freep) struct snapshot *merged = NULL;
	__cleanup(snapshot_freep) struct snapshot *sum = NULL;
	__cleanup(stack_table_freep) struct stack_table *stacks = NULL;
	struct text text __cleanup(text_done) = { .bytes = NULL };
	struct text of_sum __cleanup(text_done) = { .bytes = NULL };
	struct snapshot other = *snapshot;
	const struct merge_input inputs[] = { { "one", snapshot }, { "other", &other } };

	other.host = "another";
	other.boot_id = "another boot";
	/* Those that are merged of others overlap with themselves. */
	if (snapshot_merge(inputs, snapshot->origins ? 1 : 2, &merged, &stacks, NULL))
		return;
	write_json(merged, &text);
	check_again(&text);
	require(!snapshot_sum_kinds(merged, MERGE_SUM_HOSTS, &sum));
	write_json(sum, &of_sum);
	check_again(&of_sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
	__cleanup(stack_table_freep) struct stack_table *stacks = NULL;
	struct text text __cleanup(text_done) = { .bytes = NULL };
	FILE *nowhere __cleanup(fclosep) = NULL;
	struct diag d;

	if (report_json_read((const char *)data, size, &snapshot, &stacks, &d))
		return 0;
	nowhere = fopen("/dev/null", "we");
	require(nowhere);
	write_others(snapshot, nowhere);
	write_pictures(snapshot, nowhere);
	write_json(snapshot, &text);
	check_again(&text);
	check_merged(snapshot);
	return 0;
}
