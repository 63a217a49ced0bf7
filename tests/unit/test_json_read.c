/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON reports read back: nothing is lost in them, and nothing that is wrong gets in. */
#include "stack_scenarios.h"

#include <jansson.h>

#include "model/diff.h"
#include "report/rates.h"
#include "report/report.h"

/* What was read, and what it borrows from. */
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
	struct diag d = { .text = "" };

	if (read_text(text, strlen(text), &back, &d))
		fail_msg("%s", d.text);
	return back;
}

/* --- nothing is lost ---------------------------------------------------------------------------- */

static char *text_of(const struct snapshot *snapshot, snapshot_report *report)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(report(snapshot, out), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

/* Groupings by every key, one after the other. */
static bool table_options_at(size_t index, struct table_options *ret)
{
	static const unsigned int keys[] = {
		0,
		GROUP_PID,
		GROUP_TID | GROUP_PID,
		GROUP_COMM,
		GROUP_UNIT,
		GROUP_USER,
		GROUP_ABI,
		GROUP_SYSCALL | GROUP_ARG0,
		GROUP_COMM | GROUP_USER | GROUP_UNIT | GROUP_PID,
		GROUP_PID | GROUP_TID | GROUP_SYSCALL | GROUP_ARG0,
	};

	if (index >= ARRAY_SIZE(keys))
		return false;
	*ret = (struct table_options){ .hist = index == 0, .keys = keys[index] };
	return true;
}

static int all_tables(const struct snapshot *snapshot, FILE *out)
{
	struct column_list columns = { .count = 0 };
	struct table_options options;
	int err = 0;

	for (size_t i = 0; column_at(i); i++) {
		if (!column_is_key(column_at(i)))
			column_list_add(&columns, column_at(i));
	}
	for (size_t i = 0; table_options_at(i, &options); i++) {
		err |= report_csv(snapshot, &options, true, out);
		err |= report_errors(snapshot, &options, out);
		err |= report_chart(snapshot, &options, out);
		options.columns = &columns;
		err |= report_wide(snapshot, &options, out);
	}
	return err;
}

static int all_stacks(const struct snapshot *snapshot, FILE *out)
{
	struct table_options options;
	int err = 0;

	for (int weight = 0; weight < NR_STACK_WEIGHT; weight++) {
		const struct stack_options stack_options = { .weight = (enum stack_weight)weight };

		for (size_t i = 0; table_options_at(i, &options); i++)
			err |= report_stacks(snapshot, &options, &stack_options, out);
		err |= report_folded(snapshot, stack_options.weight, out);
		err |= report_flame(snapshot, stack_options.weight, out);
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

		assert_non_null(out);
		assert_int_equal(report_pprof(i ? b : a, out), 0);
		assert_int_equal(fclose(out), 0);
	}
	assert_int_equal(sizes[0], sizes[1]);
	assert_memory_equal(profiles[0], profiles[1], sizes[0]);
	free(profiles[0]);
	free(profiles[1]);
}

static void assert_sorted(const struct snapshot *snapshot)
{
	for (size_t i = 1; i < snapshot->nr_rows; i++)
		assert_true(row_compare(&snapshot->rows[i - 1], &snapshot->rows[i]) < 0);
	for (size_t i = 1; i < snapshot->nr_processes; i++)
		assert_true(process_compare(&snapshot->processes[i - 1], &snapshot->processes[i]) <
			    0);
	for (size_t i = 1; i < snapshot->nr_users; i++)
		assert_true(snapshot->users[i - 1].id < snapshot->users[i].id);
	for (size_t i = 1; i < snapshot->nr_cgroups; i++)
		assert_true(snapshot->cgroups[i - 1].id < snapshot->cgroups[i].id);
}

/* Fields that are in no report but of which others make one. */
static void assert_same_rest(const struct snapshot *a, const struct snapshot *b)
{
	assert_snapshot_equal(a, b);
	assert_int_equal(a->end_mono_ns, b->end_mono_ns);
	assert_int_equal(a->has_runq, b->has_runq);
	assert_int_equal(a->caller_pidns, b->caller_pidns);
	for (size_t i = 0; i < a->nr_rows; i++) {
		assert_int_equal(a->rows[i].open_wall_ns, b->rows[i].open_wall_ns);
		assert_int_equal(a->rows[i].open_off_ns, b->rows[i].open_off_ns);
		assert_int_equal(a->rows[i].nr_stacks, b->rows[i].nr_stacks);
	}
	for (size_t i = 0; i < a->nr_processes; i++) {
		const struct process *x = &a->processes[i], *y = &b->processes[i];

		assert_int_equal(x->uid, y->uid);
		assert_int_equal(x->cgroup_id, y->cgroup_id);
		assert_int_equal(x->nr_folded, y->nr_folded);
		assert_int_equal(x->threads, y->threads);
		assert_int_equal(x->ended_ns, y->ended_ns);
	}
}

static void assert_same_reports(const struct snapshot *a, const struct snapshot *b)
{
	static snapshot_report *const reports[] = { report_json,  report_truss, report_strace,
						    report_trust, all_tables,   all_stacks };

	for (size_t i = 0; i < ARRAY_SIZE(reports); i++) {
		__cleanup(freep) char *one = text_of(a, reports[i]);
		__cleanup(freep) char *other = text_of(b, reports[i]);

		assert_string_equal(one, other);
	}
	assert_same_profile(a, b);
	assert_sorted(b);
}

static void check_round_trip(const struct snapshot *snapshot)
{
	__cleanup(freep) char *text = report_render(report_json, snapshot);
	__cleanup(read_back_done) struct read_back back = read_right(text);

	assert_same_reports(snapshot, back.snapshot);
}

static void test_scenarios(void **state)
{
	(void)state;
	for (size_t i = 0; scenario_at(i); i++) {
		__cleanup(snapshot_freep) struct snapshot *snapshot =
			scenario_at(i)->make(ABI_OF_TESTS);

		check_round_trip(snapshot);
	}
}

static void test_web(void **state)
{
	__cleanup(snapshot_freep) struct snapshot *snapshot = scenario_web();

	(void)state;
	check_round_trip(snapshot);
}

static void test_stacks(void **state)
{
	struct stacked stacked[] = { scenario_stacks(), scenario_stacks_empty(),
				     scenario_stacks_hostile(), scenario_stacks_many() };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(stacked); i++) {
		check_round_trip(stacked[i].snapshot);
		stacked_done(&stacked[i]);
	}
}

/* Errnos that are not those of all errors: too few without a loss, too many in a torn read. */
static void test_errnos_unlike_errors(void **state)
{
	__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
	struct builder *builder = builder_make();
	struct row row;

	(void)state;
	row_init_named(&row, 1, ABI_OF_TESTS, "read");
	row_add_calls(&row, 10, 100, 0, 0);
	row_add_errors(&row, ENOENT, 3);
	row.errors += 2;
	builder_take_row(builder, &row);
	snapshot = snapshot_take(builder);
	assert_int_equal(snapshot_errors_unnamed(snapshot), 2);
	check_round_trip(snapshot);
	snapshot->rows[0].errors = 2;
	snapshot->losses.count[LOSS_TORN_READ] = 1;
	check_round_trip(snapshot);
}

/* What follows a torn read is told of it, too. */
static void test_between_torn_reads(void **state)
{
	__cleanup(snapshot_freep) struct snapshot *earlier = NULL, *later = NULL, *diff = NULL;
	struct snapshot **readings[] = { &earlier, &later };

	(void)state;
	for (uint64_t i = 0; i < ARRAY_SIZE(readings); i++) {
		struct builder *builder = builder_make();
		struct row row;

		row_init_named(&row, 1, ABI_OF_TESTS, "read");
		row_add_calls(&row, 10 + i, 100, 0, 0);
		row_add_errors(&row, ENOENT, 3 + 2 * i);
		row.errors = 3 + i;
		builder_take_row(builder, &row);
		*readings[i] = snapshot_take(builder);
	}
	earlier->losses.count[LOSS_TORN_READ] = 1;
	assert_int_equal(snapshot_diff(earlier, later, &diff), 0);
	assert_true(diff->rows[0].errnos[0].count > diff->rows[0].errors);
	check_round_trip(diff);
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
	row_init_named(&row, 70, ABI_X86_64, "mmap");
	row_add_calls(&row, 3, 700, 600, 500);
	row.tid = 71;
	row.tid_ns = 12345;
	row.result_sum = UINT64_MAX - 5;
	row.has_arg0 = true;
	row.arg0 = UINT64_MAX;
	row.in_flight = 2;
	row.in_flight_early = 1;
	row.oldest_start_ns = 100;
	row.open_wall_ns = -400;
	row.open_off_ns = 300;
	builder_take_row(builder, &row);
	/* The same thread number again, and a process that is not listed. */
	row_init_named(&row, 70, ABI_X86_64, "mmap");
	row_add_calls(&row, 1, 0, 0, 0);
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
	snapshot->slower_than_ns = 10;
	snapshot->threads_unknown = 2;
	snapshot->start_ns = -1500000000;
	names_add(&snapshot->users, &snapshot->nr_users, 5, "us\"er\x80");
	names_add(&snapshot->cgroups, &snapshot->nr_cgroups, 99, "/a.slice/\x9b.service/in");
	return snapshot;
}

static void test_all_fields(void **state)
{
	__cleanup(snapshot_freep) struct snapshot *snapshot = snapshot_of_all_fields();
	__cleanup(freep) char *text = report_render(report_json, snapshot);
	__cleanup(read_back_done) struct read_back back = read_right(text);

	(void)state;
	assert_same_reports(snapshot, back.snapshot);
	assert_same_rest(snapshot, back.snapshot);
	assert_int_equal(back.snapshot->start_ns, -1500000000);
	assert_string_equal(snapshot_user(back.snapshot, 5), "us\"er\x80");
	assert_string_equal(snapshot_cgroup(back.snapshot, 99), "/a.slice/\x9b.service/in");
}

static char *rates_text(const struct snapshot *earlier, const struct snapshot *later)
{
	__cleanup(rates_freep) struct rates *rates = NULL;
	struct text_stream stream;

	assert_int_equal(rates_new(earlier, later, RATE_BY_PID, &rates), 0);
	assert_int_equal(report_rates_json(rates, 0, text_open(&stream)), 0);
	return text_close(&stream);
}

/* Two that were read back tell of the interval between them what the originals do. */
static void test_rates(void **state)
{
	__cleanup(snapshot_freep) struct snapshot *earlier = scenario_empty(ABI_OF_TESTS);
	__cleanup(snapshot_freep) struct snapshot *later = snapshot_of_all_fields();
	__cleanup(freep) char *earlier_text = report_render(report_json, earlier);
	__cleanup(freep) char *later_text = NULL, *expected = NULL, *got = NULL;
	__cleanup(read_back_done) struct read_back earlier_back = read_right(earlier_text);
	__cleanup(read_back_done) struct read_back later_back = { NULL, NULL };

	(void)state;
	later->end_mono_ns += SEC;
	later_text = report_render(report_json, later);
	later_back = read_right(later_text);
	expected = rates_text(earlier, later);
	got = rates_text(earlier_back.snapshot, later_back.snapshot);
	assert_string_equal(got, expected);
}

/* No sequence of bytes is changed, but for bytes behind a NUL. */
static void test_random_names(void **state)
{
	static const char *const parts[] = { "\\xc2", "\\x9b", "\\xff", "\\x41", "\\", "x",
					     "\xc2",  "\x9b",  "\xff",  "\\xC2", "a",  "\x7f" };
	uint64_t seed = 7;

	(void)state;
	for (int i = 0; i < 2000; i++) {
		struct builder *builder = builder_make();
		char comm[PROCESS_COMM_SIZE] = "";
		struct snapshot *snapshot;
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
			__cleanup(freep) char *text = report_render(report_json, snapshot);
			__cleanup(read_back_done) struct read_back back = read_right(text);
			__cleanup(freep) char *again = report_render(report_json, back.snapshot);

			assert_string_equal(text, again);
		}
		snapshot_free(snapshot);
	}
}

/* --- documents of older versions ---------------------------------------------------------------- */

static void remove_keys(json_t *object, const char *const *keys, size_t count)
{
	for (size_t i = 0; i < count; i++)
		json_object_del(object, keys[i]);
}

/* A report as the first versions wrote it: without what the reader of the whole needs. */
static char *old_version_of(const char *text)
{
	static const char *const whole_keys[] = { "monotonic_ns", "has_runq", "has_stacks",
						  "processes" };
	static const char *const row_keys[] = { "process",    "start_ns",     "tid_start_ns",
						"result_sum", "open_wall_ns", "open_off_ns" };
	static const char *const stack_keys[] = { "remainder" };
	static const char *const frame_keys[] = { "kernel" };
	json_t *json = json_loads(text, 0, NULL), *row, *stack, *frame;
	size_t i, j, k;
	char *old;

	assert_non_null(json);
	remove_keys(json, whole_keys, ARRAY_SIZE(whole_keys));
	json_array_foreach(json_object_get(json, "rows"), i, row)
	{
		remove_keys(row, row_keys, ARRAY_SIZE(row_keys));
		json_array_foreach(json_object_get(row, "stacks"), j, stack)
		{
			remove_keys(stack, stack_keys, ARRAY_SIZE(stack_keys));
			json_array_foreach(json_object_get(stack, "frames"), k, frame)
				remove_keys(frame, frame_keys, ARRAY_SIZE(frame_keys));
		}
	}
	old = json_dumps(json, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(json);
	assert_non_null(old);
	return old;
}

/* What the old keys say is read from an old document as well. */
static void check_old_version(const struct snapshot *snapshot)
{
	__cleanup(freep) char *text = report_render(report_json, snapshot);
	__cleanup(freep) char *old = old_version_of(text);
	__cleanup(read_back_done) struct read_back back = read_right(old);
	__cleanup(freep) char *again = report_render(report_json, back.snapshot);
	__cleanup(freep) char *old_again = old_version_of(again);

	assert_string_equal(old, old_again);
	assert_sorted(back.snapshot);
	check_round_trip(back.snapshot);
}

static void test_old_versions(void **state)
{
	__cleanup(snapshot_freep) struct snapshot *web = scenario_web();
	struct stacked stacked = scenario_stacks();

	(void)state;
	check_old_version(web);
	check_old_version(stacked.snapshot);
	stacked_done(&stacked);
	for (size_t i = 0; scenario_at(i); i++) {
		__cleanup(snapshot_freep) struct snapshot *snapshot =
			scenario_at(i)->make(ABI_OF_TESTS);

		check_old_version(snapshot);
	}
}

/* --- nothing that is wrong gets in -------------------------------------------------------------- */

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
	assert_null(back.snapshot);
	assert_null(back.stacks);
	assert_non_null(strstr(d.text, "no report of bpftruss --json, or a damaged one"));
	assert_null(strchr(d.text, '\n'));
}

static void test_truncated(void **state)
{
	__cleanup(snapshot_freep) struct snapshot *snapshot = scenario_untimed(ABI_OF_TESTS);
	__cleanup(freep) char *text = report_render(report_json, snapshot);

	(void)state;
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
	free(text_of(back.snapshot, report_json));
	free(text_of(back.snapshot, all_tables));
}

static void damage_value(const json_t *whole, json_t *at, const char *key)
{
	json_t *kept = json_incref(json_object_get(at, key));

	json_object_set_new(at, key, json_real(1.5));
	assert_json_refused(whole);
	json_object_del(at, key);
	assert_json_sane(whole);
	json_object_set_new(at, key, kept);
}

static void damage_element(const json_t *whole, json_t *at, size_t index)
{
	json_t *kept = json_incref(json_array_get(at, index));

	json_array_set_new(at, index, json_real(1.5));
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
	__cleanup(freep) char *text = report_render(report_json, snapshot);
	json_t *json = json_loads(text, 0, NULL);

	assert_non_null(json);
	damage_below(json, json);
	json_decref(json);
}

static void test_damage(void **state)
{
	__cleanup(snapshot_freep) struct snapshot *snapshot = snapshot_of_all_fields();
	struct stack_table *table = stack_table_make();
	struct row *row = &snapshot->rows[0];
	const struct stack_count count = { .id = 9 };

	(void)state;
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

struct contradiction {
	const char *old, *new;
	const char *said; /* part of the sentence */
};

static void check_contradictions(const struct snapshot *snapshot, const struct contradiction *list,
				 size_t count)
{
	__cleanup(freep) char *text = report_render(report_json, snapshot);

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

static void test_contradictions(void **state)
{
	static const struct contradiction list[] = {
		{ "\"schema\":1", "\"schema\":2", "schema is not 1" },
		{ "\"start\":\"2026-01-31", "\"start\":\"2026-02-31", "start is not a time" },
		{ "\"elapsed_ns\":2500000000", "\"elapsed_ns\":-1", "elapsed_ns is below 0" },
		{ "\"exact\":true", "\"exact\":false", "exact does not fit" },
		{ "\"EINTR\":3", "\"EINTR\":2", "exact does not fit losses and errnos" },
		{ "\"initial\"", "\"other\"", "pid_namespace" },
		{ "\"user_cpu_ns\":2000000000", "\"user_cpu_ns\":2000000001", "user_cpu_ns" },
		{ "\"pid\":1234,\"start_ns\"", "\"pid\":4294967296,\"start_ns\"",
		  "process 0: pid is too large" },
		{ "\"pid\":5678,\"start_ns\":5678000", "\"pid\":1234,\"start_ns\":1234000",
		  "row 3: pid is not that of its process" },
		{ "\"calls\":1000", "\"calls\":999", "row 0: histogram has 1000 calls" },
		{ "\"calls\":1000", "\"calls\":11", "more errors" },
		{ "\"calls\":1000", "\"calls\":9223372036854775808", "is not JSON" },
		{ "\"untimed\":0", "\"untimed\":1001", "untimed" },
		{ "\"denied\":0", "\"denied\":1", "row 0: denied" },
		{ "\"in_flight_early\":0", "\"in_flight_early\":1", "in_flight_early" },
		{ "\"in_flight\":0", "\"in_flight\":1", "oldest_in_flight_ns" },
		{ "\"wall_ns\":1482024000", "\"wall_ns\":null", "not all times" },
		{ "\"cpu_ns\":988024000", "\"cpu_ns\":1482024001", "cpu_ns is more than wall_ns" },
		{ "\"runq_ns\":98800000", "\"runq_ns\":98800001", "do not add up to wall_ns" },
		{ "\"runq_ns\":98800000", "\"runq_ns\":null", "do not fit has_runq" },
		{ "\"min_ns\":2000", "\"min_ns\":1500001", "min_ns is more" },
		{ "\"EINTR\":3", "\"EINTR\":4", "errnos has more errors" },
		{ "\"EINTR\":3", "\"EINTR\":0", "EINTR is not a number above 0" },
		{ "\"EINTR\":3", "\"errno_4\":3", "a name that is none" },
		{ "\"EINTR\":3", "\"errno_4096\":3", "a name that is none" },
		{ "\"EINTR\":3", "\"EAGAIN\":3", "is not JSON" },
		{ "[1792,2048,12]", "[1793,2048,12]", "bounds that are none" },
		{ "[1792,2048,12]", "[1792,2047,12]", "bounds that are none" },
		{ "[1792,2048,12]", "[1792,null,12]", "bounds that are none" },
		{ "[1792,2048,12]", "[1792,2048,-12]", "an empty bucket" },
		{ "[1792,2048,12]", "[1792,2048,6],[1792,2048,6]", "or one twice" },
		{ "[1792,2048,12]", "[1792,2048]", "lists of low, high and count" },
		{ "\"process\":0", "\"process\":2", "beyond the list" },
		{ "\"process\":0", "\"process\":1", "pid is not that of its process" },
		{ "\"comm\":\"worker\",\"abi\"", "\"comm\":\"other\",\"abi\"",
		  "row 0: comm is not that of its process" },
		{ "\"comm\":\"worker\",\"uid\"", "\"comm\":\"0123456789abcdef!\",\"uid\"",
		  "process 0: comm is longer" },
		{ "\"abi\":\"x86_64\"", "\"abi\":\"mips\"", "abi is none" },
		{ "\"nr\":1,", "\"nr\":0,", "rows has one twice" },
		{ "\"nr\":1,", "\"nr\":4294967296,", "nr is not the number of a call" },
		{ "\"bytes\":0", "\"bytes\":5", "bytes of a call that has none" },
		{ "\"tid\":null", "\"tid\":-1", "tid is below 0" },
		{ "\"user\":\"root\",\"cgroup\"", "\"user\":\"toor\",\"cgroup\"",
		  "user is not that of its process" },
		{ "\"uid\":0,\"user\":\"root\",\"cgroup\"",
		  "\"uid\":null,\"user\":\"root\",\"cgroup\"", "user without uid" },
	};
	__cleanup(snapshot_freep) struct snapshot *snapshot = scenario_ordinary(ABI_X86_64);

	(void)state;
	names_add(&snapshot->users, &snapshot->nr_users, 0, "root");
	names_add(&snapshot->cgroups, &snapshot->nr_cgroups, 0, "/x.service");
	check_contradictions(snapshot, list, ARRAY_SIZE(list));
}

static void test_contradicting_stacks(void **state)
{
	static const struct contradiction list[] = {
		{ "\"has_stacks\":true", "\"has_stacks\":false", "has_stacks is false" },
		{ "\"end\":\"complete\"", "\"end\":\"done\"", "end is none" },
		{ "\"end\":\"complete\",\"calls\":20", "\"end\":\"complete\",\"calls\":21",
		  "stacks have more than the row" },
		{ "\"end\":\"complete\",\"calls\":20", "\"end\":\"complete\",\"calls\":19",
		  "stacks do not add up" },
		{ "\"end\":\"other_stacks\",\"calls\":4", "\"end\":\"other_stacks\",\"calls\":3",
		  "stacks and remainder do not add up" },
	};
	struct stacked stacked = scenario_stacks();

	(void)state;
	check_contradictions(stacked.snapshot, list, ARRAY_SIZE(list));
	stacked_done(&stacked);
}

static void test_not_json(void **state)
{
	static const char *const texts[] = { "",           "\0", "null",           "[]",
					     "{}",         "1",  "{\"schema\":1}", "\xff\xfe",
					     "{} trailing" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_refused(texts[i], strlen(texts[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scenarios),
		cmocka_unit_test(test_web),
		cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_errnos_unlike_errors),
		cmocka_unit_test(test_between_torn_reads),
		cmocka_unit_test(test_all_fields),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_random_names),
		cmocka_unit_test(test_old_versions),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_contradictions),
		cmocka_unit_test(test_contradicting_stacks),
		cmocka_unit_test(test_not_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
