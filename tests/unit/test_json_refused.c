/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON reports that are damaged: nothing of a wrong type or out of range gets in. */
#include "json_read_fixture.h"

/* Exactly so many bytes, so that one read beyond is found. */
static void assert_refused(const char *text, size_t size)
{
	__cleanup(freep) char *copy = malloc(size + !size);
	struct read_back back = { NULL, NULL };
	struct diag d = { .text = "" };

	assert_non_null(copy);
	memcpy(copy, text, size);
	if (!read_text(copy, size, &back, &d))
		fail_msg("taken: %.*s", (int)size, text);
	assert_all(!back.snapshot, !back.stacks,
		   strstr(d.text, "no report of bpftruss --json, or a damaged one"),
		   !strchr(d.text, '\n'));
}

SNAPSHOT_TEST(test_truncated, scenario_untimed(ABI_OF_TESTS))
{
	__cleanup(freep) char *text = render(report_json, snapshot);

	/* All but the line end, which nothing needs. */
	for (size_t size = 0; size + 1 < strlen(text); size++)
		assert_refused(text, size);
}

static void assert_json_refused(const json_t *whole)
{
	char *text = json_dumps(whole, JSON_COMPACT);

	assert_non_null(text);
	assert_refused(text, strlen(text));
	free(text);
}

/* It may be taken, but only whole. */
static void assert_json_sane(const json_t *whole)
{
	__cleanup(freep) char *text = json_dumps(whole, JSON_COMPACT);
	__cleanup(read_back_done) struct read_back back = { NULL, NULL };

	assert_non_null(text);
	if (read_text(text, strlen(text), &back, NULL))
		return;
	assert_sorted(back.snapshot);
	free(render(report_json, back.snapshot));
	free(render(all_tables, back.snapshot));
}

/* Values that follow from others. */
static bool is_derived(const json_t *at, const char *key)
{
	static const char *const keys[] = {
		"version", "user_cpu_ns", "threads_ns", "usr_ns", "sys_ns", "sleep_ns",
		"syscall", "p50_ns",      "p90_ns",     "p99_ns", "unit",
	}, *const of_rows[] = { "comm", "uid", "user", "exited", "pid", "bytes" };
	bool is_row = json_object_get(at, "histogram"), is_process = json_object_get(at, "cgroup");

	if (json_object_get(at, "remainder"))
		return strcmp(key, "remainder") != 0;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!strcmp(key, keys[i]) && !is_process)
			return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(of_rows); i++) {
		if (!strcmp(key, of_rows[i]) && is_row)
			return true;
	}
	return !strcmp(key, "unit") || (!strcmp(key, "runq_ns") && json_object_get(at, "lock_ns"));
}

static void damage_value(const json_t *whole, json_t *at, const char *key)
{
	json_t *kept = json_incref(json_object_get(at, key));

	json_object_set_new(at, key, json_real(1.5));
	if (is_derived(at, key))
		assert_json_sane(whole);
	else
		assert_json_refused(whole);
	json_object_del(at, key);
	assert_json_sane(whole);
	json_object_set_new(at, key, kept);
}

static void damage_element(const json_t *whole, json_t *at, size_t index)
{
	json_t *kept = json_incref(json_array_get(at, index));

	json_array_set_new(at, index, json_real(1.5));
	/* The end of a bucket follows from its begin. */
	if (index == 1 && json_is_integer(json_array_get(at, 0)))
		assert_json_sane(whole);
	else
		assert_json_refused(whole);
	json_array_remove(at, index);
	assert_json_sane(whole);
	json_array_insert_new(at, index, kept);
}

/* Puts a number that nothing is in place of each value, and leaves each out, one at a time. */
static void damage_below(const json_t *whole, json_t *at)
{
	json_t *keys = json_array(), *value;
	const char *key;
	size_t i;

	/* What was left out comes back as the last: not to be met again. */
	json_object_foreach(at, key, value) json_array_append_new(keys, json_string(key));
	json_array_foreach(keys, i, value)
	{
		damage_value(whole, at, json_string_value(value));
		damage_below(whole, json_object_get(at, json_string_value(value)));
	}
	for (i = 0; i < json_array_size(at); i++) {
		damage_element(whole, at, i);
		damage_below(whole, json_array_get(at, i));
	}
	json_decref(keys);
}

static void check_damage(const struct snapshot *snapshot)
{
	__cleanup(freep) char *text = render(report_json, snapshot);
	json_auto_t *json = json_loads(text, 0, NULL);

	assert_non_null(json);
	damage_below(json, json);
}

SNAPSHOT_TEST(test_damage, snapshot_of_all_fields())
{
	struct stack_table *table = stack_table_make();
	struct row *row = snapshot->rows[0];
	const struct stack_count count = { .id = 9 };

	STACK_TAKE(table, 9, STACK_TRUNCATED, KERNEL("ksys_read", 1), FRAME("m", "s", 2));
	assert_int_equal(row_add_stack(row, &count), 0);
	snapshot->stacks = table;
	snapshot->targets[0] = snapshot->processes[0];
	snapshot->nr_targets = 1;
	check_damage(snapshot);
	stack_table_free(table);
}

/* One thing of a report in place of another. */
static char *text_with(const char *text, const char *old, const char *new)
{
	const char *at = strstr(text, old);
	char *changed = NULL;

	if (!at)
		fail_msg("not there: %s", old);
	assert_true(asprintf(&changed, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old)) >
		    0);
	return changed;
}

struct change {
	const char *old, *new;
	const char *said; /* part of the sentence */
};

static void check_changes(const struct snapshot *snapshot, const struct change *list, size_t count)
{
	__cleanup(freep) char *text = render(report_json, snapshot);

	for (size_t i = 0; i < count; i++) {
		__cleanup(freep) char *changed = text_with(text, list[i].old, list[i].new);
		struct read_back back = { NULL, NULL };
		struct diag d = { .text = "" };

		if (read_text(changed, strlen(changed), &back, &d) != -EINVAL)
			fail_msg("taken: %s", list[i].new);
		if (!strstr(d.text, list[i].said))
			fail_msg("%s: said: %s", list[i].new, d.text);
	}
}

SNAPSHOT_TEST(test_values, scenario_ordinary(ABI_X86_64))
{
	static const struct change list[] = {
		{ "\"schema\":1", "\"schema\":2", "schema is not 1" },
		{ "\"start\":\"2026-01-31", "\"start\":\"2026-13-31", "start is not a time" },
		{ ".500000000Z", ".5Z", "start is not a time" },
		{ ".500000000Z", ".500000000", "start is not a time" },
		{ ".500000000Z", ".500000000Z+", "start is not a time" },
		{ "\"start\":\"2026-01-31", "\"start\":\"2026-02-31", "start is not a time" },
		{ "\"elapsed_ns\":2500000000", "\"elapsed_ns\":-1", "elapsed_ns is below 0" },
		{ "\"pid\":1234,\"start_ns\"", "\"pid\":4294967296,\"start_ns\"",
		  "pid is below 0 or too large" },
		{ "\"pid\":5678,\"start_ns\":5678000", "\"pid\":1234,\"start_ns\":1234000",
		  "processes has one twice" },
		{ "\"calls\":1000", "\"calls\":9223372036854775808", "is not JSON" },
		{ "\"no_return\":0", "\"no_return\":1001", "more untimed and no_return" },
		{ "\"untimed\":0", "\"untimed\":1001", "more untimed and no_return" },
		{ "\"interrupted\":0", "\"interrupted\":989",
		  "more errors, interrupted and no_return" },
		{ "\"errors\":12", "\"errors\":1001", "more errors, interrupted" },
		{ "\"oldest_in_flight_ns\":null", "\"oldest_in_flight_ns\":1000000000001",
		  "before the clock did" },
		{ "\"wall_ns\":1482024000", "\"wall_ns\":null", "cpu_ns is more than wall_ns" },
		{ "\"cpu_ns\":988024000", "\"cpu_ns\":1482024001", "cpu_ns is more than wall_ns" },
		{ "\"runq_ns\":98800000", "\"runq_ns\":494000001", "more than wall_ns" },
		{ "\"min_ns\":2000", "\"min_ns\":1500001", "min_ns is more" },
		{ "\"EINTR\":3", "\"EINTR\":0", "errnos has a name or a count that is none" },
		{ "\"EINTR\":3", "\"errno_4\":3", "errnos has a name" },
		{ "\"EINTR\":3", "\"errno_4096\":3", "errnos has a name" },
		{ "\"EINTR\":3", "\"EAGAIN\":3", "is not JSON" },
		{ "[1792,2048,12]", "[1793,2048,12]", "more than buckets" },
		{ "[1792,2048,12]", "[-1,2048,12]", "more than buckets" },
		{ "[1792,2048,12]", "[1792,2048,-12]", "more than buckets" },
		{ "[1792,2048,12]", "[1792,2048,6],[1792,2048,6]", "more than buckets" },
		{ "[1792,2048,12]", "[1792,2048]", "more than buckets" },
		{ "[1792,2048,12]", "1792", "more than buckets" },
		{ "\"process\":0", "\"process\":2", "beyond the list" },
		{ "\"comm\":\"worker\",\"uid\"", "\"comm\":\"0123456789abcdef!\",\"uid\"",
		  "comm is longer" },
		{ "\"abi\":\"x86_64\"", "\"abi\":\"mips\"", "abi is none" },
		{ "\"nr\":1,", "\"nr\":0,", "rows has one twice" },
		{ "\"nr\":1,", "\"nr\":4294967296,", "nr is not the number of a call" },
		{ "\"tid\":null", "\"tid\":-1", "tid is below 0" },
	};

	check_changes(snapshot, list, ARRAY_SIZE(list));
}

/* What a later version may find missing is not taken for exact. */
SNAPSHOT_TEST(test_exact, scenario_ordinary(ABI_X86_64))
{
	static const struct change of_exact[] = {
		{ "\"exact\":true", "\"exact\":false", "exact does not fit" },
		{ "\"exact\":true", "\"exact\":0", "exact is not true or false" },
		{ "\"exact\":true,", "", "exact is missing" },
		{ "\"exit_missed\":0", "\"exit_missed\":1", "exact does not fit" },
		{ "\"exact\":true,\"losses\":{", "\"exact\":false,\"losses\":{\"new_loss\":7,",
		  "exact does not fit" },
	};

	check_changes(snapshot, of_exact, ARRAY_SIZE(of_exact));
}

TEST(test_stack_values)
{
	static const struct change list[] = {
		{ "\"end\":\"complete\"", "\"end\":\"done\"", "end is none" },
		{ "\"offset\":", "\"offset\":\"x\",\"o\":", "offset is not" },
		{ "\"max_ns\":", "\"max_ns\":-5,\"x\":", "max_ns is below 0" },
	};
	struct stacked stacked = scenario_stacks();

	check_changes(stacked.snapshot, list, ARRAY_SIZE(list));
	stacked_done(&stacked);
}

TEST(test_not_json)
{
	static const char *const texts[] = { "",           "\0", "null",           "[]",
					     "{}",         "1",  "{\"schema\":1}", "\xff\xfe",
					     "{} trailing" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_refused(texts[i], strlen(texts[i]));
}
