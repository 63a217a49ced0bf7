/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON reports read back: nothing is lost in them. */
#include "json_read_fixture.h"

#include "model/diff.h"
#include "report/report.h"

/* --- nothing is lost ---------------------------------------------------------------------------- */

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

/* Fields that are in no report but of which others make one. */
static void assert_same_rest(const struct snapshot *a, const struct snapshot *b)
{
	assert_snapshot_equal(a, b);
	assert_same(a, b, end_mono_ns, has_runq, caller_pidns);
	for (size_t i = 0; i < a->nr_rows; i++)
		assert_same(a->rows[i], b->rows[i], open_wall_ns, open_off_ns, nr_stacks);
	for (size_t i = 0; i < a->nr_processes; i++) {
		const struct process *x = &a->processes[i], *y = &b->processes[i];

		assert_same(x, y, uid, cgroup_id, nr_folded, threads, ended_ns);
	}
}

static void assert_same_reports(const struct snapshot *a, const struct snapshot *b)
{
	static snapshot_report *const reports[] = { report_json,  report_truss, report_strace,
						    report_trust, all_tables,   all_stacks };

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
	for (size_t i = 0; scenario_at(i); i++) {
		__cleanup(snapshot_freep) struct snapshot *snapshot =
			scenario_at(i)->make(ABI_OF_TESTS);

		check_round_trip(snapshot);
	}
}

SNAPSHOT_TEST(test_web, scenario_web())
{
	check_round_trip(snapshot);
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

/* What follows a torn read is told of it, too. */
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
	assert_string_equal(snapshot_user(back.snapshot, 5), "us\"er\x80");
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

/* What was not counted yet, and what is not counted any more, is 0; what is new is skipped. */
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
	assert_int_equal(back.snapshot->losses.count[LOSS_EXIT_MISSED], 0);
	assert_int_equal(back.snapshot->losses.count[LOSS_TORN_READ], 124);
	assert_int_equal(back.snapshot->rows[0]->denied, 0);
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
			__cleanup(freep) char *text = render(report_json, snapshot);
			__cleanup(read_back_done) struct read_back back = read_right(text);
			__cleanup(freep) char *again = render(report_json, back.snapshot);

			assert_string_equal(text, again);
		}
		snapshot_free(snapshot);
	}
}
