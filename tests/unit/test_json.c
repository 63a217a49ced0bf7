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

static void assert_is_null(const json_t *object, const char *key)
{
	if (!json_is_null(json_object_get(object, key)))
		fail_msg("%s is not null", key);
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
		json_t *json = parse(text), *rows = json_object_get(json, "rows");
		size_t size = strlen(text);

		assert_true(json_is_object(json));
		assert_int_equal(text[size - 1], '\n');
		for (size_t at = 0; at < size - 1; at++)
			assert_in_range((unsigned char)text[at], ' ', '~');
		assert_int_equal(json_array_size(rows), snapshot->nr_rows);
		for (size_t j = 0; j < snapshot->nr_rows; j++)
			assert_keys(json_array_get(rows, j), json_array_get(rows, 0));
		json_decref(json);
	}
}

TEST(test_head)
{
	json_t *json = scenario_json("ordinary");
	const json_t *target = json_array_get(json_object_get(json, "targets"), 0);

	assert_int_equal(integer(json, "schema"), 1);
	assert_string_equal(string(json, "version"), BPFTRUSS_VERSION);
	assert_string_equal(string(json, "host"), "web-1");
	assert_string_equal(string(json, "boot_id"), "6f1c2a34-5b6d-4e7f-8a90-b1c2d3e4f506");
	assert_string_equal(string(json, "kernel"), "6.1.0-test");
	assert_string_equal(string(json, "start"), "2026-01-31T23:59:58.500000000Z");
	assert_string_equal(string(json, "end"), "2026-02-01T00:00:01.000000000Z");
	assert_int_equal(integer(json, "elapsed_ns"), 2500000000);
	assert_int_equal(integer(json, "user_cpu_ns"), 2000000000);
	assert_true(json_is_true(json_object_get(json, "exact")));
	assert_int_equal(json_array_size(json_object_get(json, "targets")), 1);
	assert_int_equal(integer(target, "pid"), 1234);
	assert_string_equal(string(target, "comm"), "worker");
	json_decref(json);
}

/* Each number of one row under its own key. */
TEST(test_row)
{
	json_t *json = scenario_json("ordinary"), *bucket;
	const json_t *row = row_at(json, 0), *histogram = json_object_get(row, "histogram");

	assert_int_equal(integer(row, "pid"), 1234);
	assert_string_equal(string(row, "comm"), "worker");
	assert_string_equal(string(row, "abi"), "x86_64");
	assert_int_equal(integer(row, "nr"), 0);
	assert_string_equal(string(row, "syscall"), "read");
	assert_int_equal(integer(row, "calls"), 1000);
	assert_int_equal(integer(row, "errors"), 12);
	assert_int_equal(integer(row, "in_flight"), 0);
	assert_is_null(row, "oldest_in_flight_ns");
	assert_int_equal(integer(row, "wall_ns"), 988 * 1500000 + 12 * 2000);
	assert_int_equal(integer(row, "cpu_ns"), 988 * 1000000 + 12 * 2000);
	assert_int_equal(integer(row, "runq_ns"), 988 * 100000);
	assert_int_equal(integer(row, "sleep_ns"), 988 * 400000);
	assert_int_equal(integer(row, "min_ns"), 2000);
	assert_int_equal(integer(row, "max_ns"), 1500000);
	assert_in_range(integer(row, "p50_ns"), 1310720, 1500000);
	assert_in_range(integer(row, "p99_ns"), integer(row, "p90_ns"), 1500000);
	assert_in_range(integer(row, "p90_ns"), integer(row, "p50_ns"), 1500000);
	assert_int_equal(integer(row, "bytes"), 4046848);
	assert_int_equal(json_object_size(json_object_get(row, "errnos")), 2);
	assert_int_equal(integer(json_object_get(row, "errnos"), "EAGAIN"), 9);
	assert_int_equal(integer(json_object_get(row, "errnos"), "EINTR"), 3);
	assert_int_equal(json_array_size(histogram), 2);
	bucket = json_array_get(histogram, 0);
	assert_int_equal(json_integer_value(json_array_get(bucket, 0)), 1792);
	assert_int_equal(json_integer_value(json_array_get(bucket, 1)), 2048);
	assert_int_equal(json_integer_value(json_array_get(bucket, 2)), 12);
	bucket = json_array_get(histogram, 1);
	assert_int_equal(json_integer_value(json_array_get(bucket, 0)), 1310720);
	assert_int_equal(json_integer_value(json_array_get(bucket, 1)), 1572864);
	assert_int_equal(json_integer_value(json_array_get(bucket, 2)), 988);
	/* An error without a name has its number; interrupted calls are no errors. */
	row = row_at(json, 2);
	assert_string_equal(string(row, "syscall"), "io_uring_enter");
	assert_int_equal(integer(json_object_get(row, "errnos"), "errno_4000"), 1);
	assert_int_equal(integer(row, "errors"), 2);
	assert_int_equal(integer(row, "interrupted"), 1);
	json_decref(json);
}

/* Counts that tell where the calls without a time went: each is its own. */
TEST(test_untimed_counts)
{
	struct builder *builder = builder_make();
	struct snapshot *snapshot;
	struct row row;
	char *text;
	json_t *json;

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
	json_decref(json);
	free(text);
	snapshot_free(snapshot);
}

static void assert_no_times(const json_t *row)
{
	static const char *const keys[] = { "wall_ns", "cpu_ns", "runq_ns", "sleep_ns", "min_ns",
					    "max_ns",  "p50_ns", "p90_ns",  "p99_ns" };

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		assert_is_null(row, keys[i]);
	assert_int_equal(json_array_size(json_object_get(row, "histogram")), 0);
}

TEST(test_untimed)
{
	json_t *json = scenario_json("untimed");

	assert_no_times(row_at(json, 0));
	assert_int_equal(integer(row_at(json, 0), "calls"), 3);
	assert_int_equal(integer(row_at(json, 0), "untimed"), 3);
	assert_int_equal(integer(row_at(json, 0), "denied"), 2);
	/* 0 ns is a time. */
	assert_int_equal(integer(row_at(json, 1), "wall_ns"), 0);
	assert_int_equal(integer(row_at(json, 1), "min_ns"), 0);
	assert_int_equal(integer(row_at(json, 1), "p99_ns"), 0);
	json_decref(json);
}

TEST(test_overflow)
{
	json_t *json = scenario_json("overflow");

	for (size_t i = 0; i < 3; i++) {
		assert_is_null(row_at(json, i), "pid");
		assert_string_equal(string(row_at(json, i), "comm"), "[overflow]");
		assert_no_times(row_at(json, i));
	}
	assert_is_null(row_at(json, 0), "nr");
	assert_string_equal(string(row_at(json, 0), "syscall"), "[other]");
	assert_string_equal(string(row_at(json, 0), "abi"), "x86_64");
	assert_int_equal(integer(row_at(json, 1), "nr"), 0);
	assert_string_equal(string(row_at(json, 1), "syscall"), "read");
	assert_is_null(row_at(json, 2), "nr");
	assert_string_equal(string(row_at(json, 2), "abi"), "arm");
	assert_int_equal(integer(row_at(json, 3), "pid"), 1234);
	assert_false(json_is_true(json_object_get(json, "exact")));
	json_decref(json);
}

TEST(test_losses)
{
	json_t *json = scenario_json("losses");
	const json_t *losses = json_object_get(json, "losses");

	assert_true(json_is_false(json_object_get(json, "exact")));
	assert_int_equal(json_object_size(losses), NR_MODEL_LOSS);
	for (int i = 0; i < NR_MODEL_LOSS; i++)
		assert_int_equal(integer(losses, loss_texts[i].name), 101 + i);
	json_decref(json);
	json = scenario_json("empty");
	losses = json_object_get(json, "losses");
	assert_int_equal(json_object_size(losses), NR_MODEL_LOSS);
	for (int i = 0; i < NR_MODEL_LOSS; i++)
		assert_int_equal(integer(losses, loss_texts[i].name), 0);
	json_decref(json);
}

/* Whatever a process calls itself, a reader gets that and the report stays a report. */
TEST(test_hostile_names)
{
	json_t *json = scenario_json("hostile"), *targets = json_object_get(json, "targets");
	const struct hostile_name *names;
	size_t count;

	names = scenario_hostile_names(&count);
	assert_int_equal(json_array_size(targets), count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(integer(row_at(json, i), "pid"), 100 + i);
		assert_string_equal(string(row_at(json, i), "comm"), names[i].text);
		assert_string_equal(string(json_array_get(targets, i), "comm"), names[i].text);
	}
	json_decref(json);
}

/* No sequence of bytes makes the report fail. */
TEST(test_random_names)
{
	uint64_t seed = 16;

	for (int i = 0; i < 300; i++) {
		struct builder *builder = builder_make();
		struct snapshot *snapshot;
		char bytes[PROCESS_COMM_SIZE], *text;
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
		free(text);
		snapshot_free(snapshot);
	}
}

TEST(test_failing_stream)
{
	assert_scenario_full(report_json);
}
