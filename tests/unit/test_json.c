/* SPDX-License-Identifier: BSD-2-Clause */
/* The JSON contract: golden files, and what a reader gets out of it. */
#include "scenarios.h"

#include <jansson.h>

#include "report/report.h"

/* The contract does not depend on the machine: one ABI is as good as another. */
#define ABI_OF_JSON ABI_X86_64

#define KEYS_OF_ALL_ROWS 33

static json_t *parse(const char *text)
{
	json_error_t error;
	json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	if (!json)
		fail_msg("byte %d: %s", error.position, error.text);
	return json;
}

static json_t *scenario_json(const char *name)
{
	__cleanup(snapshot_freep) struct snapshot *snapshot =
		scenario_find(name)->make(ABI_OF_JSON);
	__cleanup(freep) char *text = render(report_json, snapshot);

	return parse(text);
}

static const json_t *row_at(const json_t *json, size_t index)
{
	const json_t *row = json_array_get(json_object_get(json, "rows"), index);

	assert_non_null(row);
	return row;
}

static json_int_t integer(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_integer(value))
		fail_msg("%s is not an integer", key);
	return json_integer_value(value);
}

static const char *string(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_string(value))
		fail_msg("%s is not a string", key);
	return json_string_value(value);
}

TEST(test_golden)
{
	for (size_t i = 0; scenario_at(i); i++) {
		__cleanup(snapshot_freep) struct snapshot *snapshot =
			scenario_at(i)->make(ABI_OF_JSON);
		char golden[64];

		snprintf(golden, sizeof(golden), "json_%s", scenario_at(i)->name);
		golden_render(golden, report_json, snapshot);
	}
}

/* The same keys in the same order, and behind them at most what only some rows have. */
static void assert_keys(json_t *row, json_t *first)
{
	static const char *const some[] = { "tid_start_ns", "result_sum", "open_wall_ns",
					    "open_off_ns" };
	void *a = json_object_iter(first), *b = json_object_iter(row);
	size_t count = 0, other = 0;

	for (; count < KEYS_OF_ALL_ROWS; count++) {
		assert_non_null(b);
		assert_string_equal(json_object_iter_key(a), json_object_iter_key(b));
		a = json_object_iter_next(first, a);
		b = json_object_iter_next(row, b);
	}
	for (; b; b = json_object_iter_next(row, b)) {
		while (other < ARRAY_SIZE(some) &&
		       strcmp(some[other], json_object_iter_key(b)) != 0)
			other++;
		assert_true(other < ARRAY_SIZE(some));
	}
}

/* One object on one line of printable ASCII, whatever is in it; every row has the same keys in the same order. */
TEST(test_form)
{
	for (size_t i = 0; scenario_at(i); i++) {
		__cleanup(snapshot_freep) struct snapshot *snapshot =
			scenario_at(i)->make(ABI_OF_JSON);
		__cleanup(freep) char *text = render(report_json, snapshot);
		json_auto_t *json = parse(text);
		const json_t *rows = json_object_get(json, "rows");
		size_t size = strlen(text);

		assert_true(json_is_object(json));
		assert_int_equal(text[size - 1], '\n');
		for (size_t at = 0; at < size - 1; at++)
			assert_in_range((unsigned char)text[at], ' ', '~');
		assert_int_equal(json_array_size(rows), snapshot->nr_rows);
		for (size_t j = 0; j < snapshot->nr_rows; j++)
			assert_keys(json_array_get(rows, j), json_array_get(rows, 0));
	}
}

/* Counts that tell where the calls without a time went: each is its own. */
BUILDER_TEST(test_untimed_counts)
{
	__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
	__cleanup(freep) char *text = NULL;
	json_auto_t *json = NULL;
	struct row row;

	row_init_calls(&row, 1, ABI_OF_JSON, "getpid", 10, 100, 0, 0);
	row.calls += 11 + 12;
	row.no_return = 11;
	row.untimed = 12;
	row.denied = 5;
	row.interrupted = 6;
	row.result_sum = 77;
	builder_take_row(builder, &row);
	snapshot = snapshot_take(builder);
	text = render(report_json, snapshot);
	json = parse(text);
	assert_int_equal(integer(row_at(json, 0), "calls"), 33);
	assert_int_equal(integer(row_at(json, 0), "no_return"), 11);
	assert_int_equal(integer(row_at(json, 0), "untimed"), 12);
	assert_int_equal(integer(row_at(json, 0), "denied"), 5);
	assert_int_equal(integer(row_at(json, 0), "interrupted"), 6);
	/* A pid is no number of bytes. */
	assert_int_equal(integer(row_at(json, 0), "bytes"), 0);
	/* Its process is unknown, its number is not. */
	assert_int_equal(integer(row_at(json, 0), "pid"), 1);
}

/* Whatever a process calls itself, a reader gets that and the report stays a report. */
TEST(test_hostile_names)
{
	json_auto_t *json = scenario_json("hostile");
	const json_t *targets = json_object_get(json, "targets");
	const struct hostile_name *names;
	size_t count;

	names = scenario_hostile_names(&count);
	assert_int_equal(json_array_size(targets), count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(integer(row_at(json, i), "pid"), 100 + i);
		assert_string_equal(string(row_at(json, i), "comm"), names[i].text);
		assert_string_equal(string(json_array_get(targets, i), "comm"), names[i].text);
	}
}

/* No sequence of bytes makes the report fail. */
TEST(test_random_names)
{
	uint64_t seed = 16;

	for (int i = 0; i < 300; i++) {
		__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
		struct builder *builder = builder_make();
		__cleanup(freep) char *text = NULL;
		char bytes[PROCESS_COMM_SIZE];
		struct row row;

		for (size_t j = 0; j < sizeof(bytes); j++)
			bytes[j] = (char)random_below(&seed, i % 2 ? 256 : 0xf5);
		builder_take_process(builder, 1, bytes, sizeof(bytes), 0);
		row_init_for(&row, 1, ABI_OF_JSON, 0);
		row.calls = row.untimed = 1;
		builder_take_row(builder, &row);
		snapshot = snapshot_take(builder);
		text = render(report_json, snapshot);
		for (size_t j = 0; j < strlen(text) - 1; j++)
			assert_in_range((unsigned char)text[j], ' ', '~');
		json_decref(parse(text));
	}
}
