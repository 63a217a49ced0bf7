/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON reports read back: nothing is lost in them, and nothing of a wrong type or out of range gets in. */
#include "stack_scenarios.h"

#include "model/diff.h"

/* Holds what was read, and what it borrows from. */
struct read_back {
	struct snapshot *snapshot;
	struct stack_table *stacks;
};

static void read_back_done(struct read_back *back)
{
	snapshot_free(back->snapshot);
	stack_table_free(back->stacks);
}

static int read_text(const char *text, size_t size, struct read_back *ret, struct diag *d)
{
	return report_json_read(text, size, &ret->snapshot, &ret->stacks, d);
}

static struct read_back read_right(const char *text)
{
	struct read_back back = { NULL, NULL };

	must(read_text(text, strlen(text), &back, &d));
	return back;
}

/* Groupings by every key, one after the other. */
static const struct table_options groupings[] = {
	{ .hist = true },
	{ .keys = GROUP_PID },
	{ .keys = GROUP_TID | GROUP_PID },
	{ .keys = GROUP_COMM },
	{ .keys = GROUP_UNIT },
	{ .keys = GROUP_USER },
	{ .keys = GROUP_ABI },
	{ .keys = GROUP_SYSCALL | GROUP_ARG0 },
	{ .keys = GROUP_COMM | GROUP_USER | GROUP_UNIT | GROUP_PID },
	{ .keys = GROUP_PID | GROUP_TID | GROUP_SYSCALL | GROUP_ARG0 },
};

static int all_tables(const struct snapshot *snapshot, FILE *out)
{
	struct column_list columns = { .count = 0 };
	int err = 0;

	for (size_t i = 0; column_at(i); i++) {
		if (!column_is_key(column_at(i)))
			column_list_add(&columns, column_at(i));
	}
	for (size_t i = 0; i < ARRAY_SIZE(groupings); i++) {
		struct table_options options = groupings[i];

		struct report_options lines = { .format = FORMAT_CSV };

		lines.table = options;
		err |= report_csv(snapshot, &lines, out);
		err |= report_rows_json(snapshot, &lines, out);
		err |= report_truss(snapshot, &options, out);
		err |= report_strace(snapshot, &options, out);
		err |= report_errors(snapshot, &options, out);
		err |= report_chart(snapshot, &options, out);
		options.columns = &columns;
		err |= report_wide(snapshot, &options, out);
	}
	return err;
}

/* Every field of a process and a row that a report may have no column for. */
static struct snapshot *snapshot_of_all_fields(void)
{
	struct builder *builder = builder_make();
	struct process process = process_make(70, "one", 3);
	struct snapshot *snapshot;
	struct row row;

	process.uid = 5;
	process.cgroup_id = 99;
	process.threads = 3;
	process.user_ns = 17;
	assert_int_equal(builder_add_process(builder, &process, false), 0);
	process = (struct process){ .boot_ns = 4,
				    .uid = UID_NONE,
				    .nr_folded = 12,
				    .ended_ns = 444,
				    .comm = "[others]",
				    .user_ns = 1 };
	assert_int_equal(builder_add_process(builder, &process, false), 0);
	process.boot_ns++;
	process.any_user = true;
	assert_int_equal(builder_add_process(builder, &process, false), 0);
	row_init_calls(&row, 70, ABI_X86_64, "mmap", 3, 700, 600, 500);
	row.tid = 71;
	row.tid_ns = 12345;
	row.result_sum = UINT64_MAX - 5;
	row.split = SPLIT_ARG0;
	row.split_value = UINT64_MAX;
	row.in_flight = 2;
	row.in_flight_early = 1;
	row.oldest_start_ns = 100;
	row.open_wall_ns = -400;
	row.open_off_ns = 300;
	builder_take_row(builder, &row);
	/* The same thread number again, and a process that is not listed. */
	row_init_calls(&row, 70, ABI_X86_64, "mmap", 1, 0, 0, 0);
	row.tid = 71;
	row.tid_ns = 12346;
	builder_take_row(builder, &row);
	row_init_for(&row, 80, ABI_ARM, -7);
	row.calls = row.untimed = 1;
	builder_take_row(builder, &row);
	row_init_for(&row, 0, ABI_I386, 3);
	row.boot_ns = 4;
	row_add_calls(&row, 1, 1ULL << 43, 0, 0);
	row_add_errors(&row, 4000, 1);
	builder_take_row(builder, &row);
	snapshot = snapshot_take(builder);
	snapshot->caller_pidns = true;
	snapshot->slower_than_ns = 10, snapshot->user_includes_calls = true;
	snapshot->threads_unknown = 2;
	snapshot->start_ns = -1500000000;
	names_add(&snapshot->users, &snapshot->nr_users, 5, "us\"er\x80");
	names_add(&snapshot->cgroups, &snapshot->nr_cgroups, 99, "/a.slice/\x9b.service/in");
	return snapshot;
}

/* --- nothing is lost ---------------------------------------------------------------------------- */

static int all_stacks(const struct snapshot *snapshot, FILE *out)
{
	int err = 0;

	for (int weight = 0; weight < NR_STACK_WEIGHT; weight++) {
		const struct stack_options stack_options = { .weight = (enum stack_weight)weight };

		for (size_t i = 0; i < ARRAY_SIZE(groupings); i++)
			err |= report_stacks(snapshot, &groupings[i], &stack_options, out);
		err |= report_folded(snapshot, stack_options.weight, out);
		err |= report_flame(snapshot, &stack_options, out);
	}
	return err;
}

/* Gzipped: compared byte by byte as all others, but no text. */
static void assert_same_profile(const struct snapshot *a, const struct snapshot *b)
{
	char *profiles[2] = { NULL, NULL };
	size_t sizes[2];

	for (int i = 0; i < 2; i++) {
		FILE *out = open_memstream(&profiles[i], &sizes[i]);

		assert_int_equal(report_pprof(i ? b : a, out), 0);
		assert_int_equal(fclose(out), 0);
	}
	assert_int_equal(sizes[0], sizes[1]);
	assert_memory_equal(profiles[0], profiles[1], sizes[0]);
	free(profiles[0]);
	free(profiles[1]);
}

/* Fields that are in no report but of which others make one. */
static void assert_same_rest(const struct snapshot *a, const struct snapshot *b)
{
	assert_snapshot_equal(a, b);
	assert_same(a, b, end_mono_ns, has_runq, caller_pidns);
	for (size_t i = 0; i < a->nr_rows; i++)
		assert_same(a->rows[i], b->rows[i], open_wall_ns, open_off_ns, nr_stacks);
	for (size_t i = 0; i < a->nr_processes; i++) {
		const struct process *x = &a->processes[i], *y = &b->processes[i];

		assert_same(x, y, uid, any_user, cgroup_id, nr_folded, threads, ended_ns);
	}
}

static int trust(const struct snapshot *snapshot, FILE *out)
{
	return report_trust(snapshot, false, out);
}

static void assert_same_reports(const struct snapshot *a, const struct snapshot *b)
{
	static snapshot_report *const reports[] = { report_json, trust, all_tables, all_stacks };

	for (size_t i = 0; i < ARRAY_SIZE(reports); i++) {
		__cleanup(freep) char *one = render(reports[i], a);
		__cleanup(freep) char *other = render(reports[i], b);

		assert_string_equal(one, other);
	}
	assert_same_profile(a, b);
	assert_sorted(b);
}

static void check_round_trip(const struct snapshot *snapshot)
{
	__cleanup(freep) char *text = render(report_json, snapshot);
	__cleanup(read_back_done) struct read_back back = read_right(text);

	assert_same_reports(snapshot, back.snapshot);
}

TEST(test_scenarios)
{
	__cleanup(snapshot_freep) struct snapshot *web = scenario_web();

	scenario_for_each (i, snapshot, ABI_OF_TESTS)
		check_round_trip(snapshot);
	check_round_trip(web);
}

TEST(test_stacks)
{
	struct stacked stacked[] = { scenario_stacks(), scenario_stacks_empty(),
				     scenario_stacks_hostile(), scenario_stacks_many() };

	for (size_t i = 0; i < ARRAY_SIZE(stacked); i++) {
		check_round_trip(stacked[i].snapshot);
		stacked_done(&stacked[i]);
	}
}

/* Errnos that are not those of all errors: too few without a loss, too many in a torn read. */
SNAPSHOT_TEST(test_errnos_unlike_errors, scenario_errors_unnamed())
{
	assert_int_equal(snapshot_errors_unnamed(snapshot), 2);
	check_round_trip(snapshot);
	snapshot->rows[0]->errors = 2;
	snapshot->losses.count[LOSS_TORN_READ] = 1;
	check_round_trip(snapshot);
}

/* A difference after a torn read tells of it, too. */
TEST(test_between_torn_reads)
{
	__cleanup(snapshot_freep) struct snapshot *earlier = NULL, *later = NULL, *diff = NULL;
	struct snapshot **readings[] = { &earlier, &later };

	for (uint64_t i = 0; i < ARRAY_SIZE(readings); i++) {
		struct builder *builder = builder_make();
		struct row row;

		row_init_calls(&row, 1, ABI_OF_TESTS, "read", 10 + i, 100, 0, 0);
		row_add_errors(&row, ENOENT, 3 + 2 * i);
		row.errors = 3 + i;
		builder_take_row(builder, &row);
		*readings[i] = snapshot_take(builder);
	}
	earlier->losses.count[LOSS_TORN_READ] = 1;
	assert_int_equal(snapshot_diff(earlier, later, &diff), 0);
	assert_true(diff->rows[0]->errnos[0].count > diff->rows[0]->errors);
	check_round_trip(diff);
}

SNAPSHOT_TEST(test_all_fields, snapshot_of_all_fields())
{
	__cleanup(freep) char *text = render(report_json, snapshot);
	__cleanup(read_back_done) struct read_back back = read_right(text);

	assert_same_reports(snapshot, back.snapshot);
	assert_same_rest(snapshot, back.snapshot);
	assert_int_equal(back.snapshot->start_ns, -1500000000);
	assert_string_equal(snapshot_user(back.snapshot, &(struct process){ .uid = 5 }),
			    "us\"er\x80");
	assert_string_equal(snapshot_cgroup(back.snapshot, 99), "/a.slice/\x9b.service/in");
}

/* --- other versions ----------------------------------------------------------------------------- */

static json_t *saved_json(void)
{
	__cleanup(freep) char *text = golden_read(GOLDEN_DIR "/saved.json");
	json_t *json = text ? json_loads(text, 0, NULL) : NULL;

	assert_non_null(json);
	return json;
}

static struct read_back read_json(json_t *json)
{
	__cleanup(freep) char *text = json_dumps(json, JSON_COMPACT);

	assert_non_null(text);
	json_decref(json);
	return read_right(text);
}

/* A report that was saved once, of every loss, can be read for ever. */
TEST(test_saved)
{
	__cleanup(read_back_done) struct read_back back = read_json(saved_json());

	assert_has(back.snapshot, nr_rows, 7, nr_processes, 2);
	assert_int_equal(back.snapshot->rows[0]->calls, 1000);
	assert_false(snapshot_is_exact(back.snapshot));
}

/* Counters that did not exist yet, or do not any more, are 0; new ones are skipped. */
TEST(test_other_counters)
{
	json_t *json = saved_json(), *losses = json_object_get(json, "losses");
	json_t *row = json_array_get(json_object_get(json, "rows"), 0);
	json_t *process = json_array_get(json_object_get(json, "processes"), 0);
	__cleanup(read_back_done) struct read_back back = { NULL, NULL };

	assert_int_equal(json_object_del(losses, loss_texts[LOSS_EXIT_MISSED].name), 0);
	assert_int_equal(json_object_del(row, "denied"), 0);
	assert_int_equal(json_object_del(process, "cgroup_changes"), 0);
	json_object_set_new(losses, "new_loss", json_integer(7));
	json_object_set_new(row, "new_count", json_integer(7));
	back = read_json(json);
	assert_has(&back, snapshot->losses.count[LOSS_EXIT_MISSED], 0,
		   snapshot->losses.count[LOSS_TORN_READ], 124, snapshot->rows[0]->denied, 0);
}

static char *rates_text(const struct snapshot *earlier, const struct snapshot *later)
{
	__cleanup(rates_freep) struct rates *rates = NULL;

	assert_int_equal(rates_new(earlier, later, RATE_BY_PID, &rates), 0);
	return render(report_rates_json, rates, 0);
}

/* Two that were read back tell of the interval between them what the originals do. */
TEST(test_rates)
{
	__cleanup(snapshot_freep) struct snapshot *earlier = scenario_empty(ABI_OF_TESTS);
	__cleanup(snapshot_freep) struct snapshot *later = snapshot_of_all_fields();
	__cleanup(freep) char *earlier_text = render(report_json, earlier);
	__cleanup(freep) char *later_text = NULL, *expected = NULL, *got = NULL;
	__cleanup(read_back_done) struct read_back earlier_back = read_right(earlier_text);
	__cleanup(read_back_done) struct read_back later_back = { NULL, NULL };

	later->end_mono_ns += SEC;
	later_text = render(report_json, later);
	later_back = read_right(later_text);
	expected = rates_text(earlier, later);
	got = rates_text(earlier_back.snapshot, later_back.snapshot);
	assert_string_equal(got, expected);
}

/* No sequence of bytes is changed, but for bytes behind a NUL. */
TEST(test_random_names)
{
	static const char *const parts[] = { "\\xc2", "\\x9b", "\\xff", "\\x41", "\\", "x",
					     "\xc2",  "\x9b",  "\xff",  "\\xC2", "a",  "\x7f" };
	uint64_t seed = 7;

	for (int i = 0; i < 2000; i++) {
		struct builder *builder = builder_make();
		char comm[PROCESS_COMM_SIZE] = "";
		__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
		size_t used = 0;

		for (size_t j = 0; j < 16; j++) {
			const char *part = parts[random_below(&seed, ARRAY_SIZE(parts))];

			if (used + strlen(part) > sizeof(comm))
				break;
			memcpy(comm + used, part, strlen(part));
			used += strlen(part);
		}
		builder_take_process(builder, 1, comm, used, 0);
		snapshot = snapshot_take(builder);
		{
			__cleanup(freep) char *text = render(report_json, snapshot);
			__cleanup(read_back_done) struct read_back back = read_right(text);
			__cleanup(freep) char *again = render(report_json, back.snapshot);

			assert_string_equal(text, again);
		}
	}
}

/* --- what is refused ----------------------------------------------------------------------------- */

/* Exactly so many bytes, so that one read beyond is found. */
static void assert_refused(const char *text, size_t size)
{
	__cleanup(freep) char *copy = malloc(size + !size);
	struct read_back back = { NULL, NULL };
	struct diag d = { .text = "" };

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
	__cleanup(freep) char *text = json_dumps(whole, JSON_COMPACT);

	assert_non_null(text);
	assert_refused(text, strlen(text));
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
	if (!strcmp(key, "container") || !strcmp(key, "runtime") || !strcmp(key, "pod") ||
	    !strcmp(key, "qos"))
		return true;
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

	/* A key that was left out comes back as the last: not to be met again. */
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

SNAPSHOT_TEST(test_damage, snapshot_of_all_fields())
{
	__cleanup(stack_table_freep) struct stack_table *table = stack_table_make();
	struct row *row = snapshot->rows[0];
	const struct stack_count count = { .id = 9 };
	__cleanup(freep) char *text = NULL;
	json_auto_t *json = NULL;

	STACK_TAKE(table, 9, STACK_TRUNCATED, KERNEL("ksys_read", 1), FRAME("m", "s", 2));
	assert_int_equal(row_add_stack(row, &count), 0);
	snapshot->stacks = table;
	snapshot->targets[0] = snapshot->processes[0];
	snapshot->nr_targets = 1;
	text = render(report_json, snapshot);
	json = json_parse(text);
	damage_below(json, json);
}

/* Puts one thing of a report in place of another. */
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

static const struct change damaged[] = {
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
	{ "\"interrupted\":0", "\"interrupted\":989", "more errors, interrupted and no_return" },
	{ "\"no_return\":0", "\"no_return\":989", "more errors, interrupted and no_return" },
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
	/* The value of exact must fit the losses that this version knows. */
	{ "\"exact\":true", "\"exact\":false", "exact does not fit" },
	{ "\"exact\":true", "\"exact\":0", "exact is not true or false" },
	{ "\"exact\":true,", "", "exact is missing" },
	{ "\"exit_missed\":0", "\"exit_missed\":1", "exact does not fit" },
	{ "\"exact\":true,\"losses\":{", "\"exact\":false,\"losses\":{\"new_loss\":7,",
	  "exact does not fit" },
};

SNAPSHOT_TEST(test_values, scenario_ordinary(ABI_X86_64))
{
	check_changes(snapshot, damaged, ARRAY_SIZE(damaged));
}

STACKS_TEST(test_stack_values, scenario_stacks())
{
	static const struct change list[] = {
		{ "\"end\":\"complete\"", "\"end\":\"done\"", "end is none" },
		{ "\"offset\":", "\"offset\":\"x\",\"o\":", "offset is not" },
		{ "\"max_ns\":", "\"max_ns\":-5,\"x\":", "max_ns is below 0" },
	};

	check_changes(snapshot, list, ARRAY_SIZE(list));
}

TEST(test_not_json)
{
	static const char *const texts[] = { "",           "\0", "null",           "[]",
					     "{}",         "1",  "{\"schema\":1}", "\xff\xfe",
					     "{} trailing" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_refused(texts[i], strlen(texts[i]));
}
