/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two snapshots side by side: matching across hosts, figures, order, regressions; and the report of
 * that: golden files at several widths, JSON, what fails and why.
 */
#include "tables.h"

#include <math.h>

static struct snapshot *side_make(const char *calls, uint64_t seconds)
{
	struct builder *builder = builder_make();
	struct snapshot *snapshot;

	calls_read(builder, 1, ABI_OF_TESTS, calls);
	snapshot = snapshot_take(builder);
	snapshot->elapsed_ns = seconds * SEC;
	return snapshot;
}

static struct comparison_list compare(const struct snapshot *a, const struct snapshot *b,
				      unsigned int keys)
{
	struct comparison_list list;

	assert_int_equal(snapshot_compare(a, b, keys, NULL, &list), 0);
	return list;
}

static const struct comparison *find_call(const struct comparison_list *list, const char *name)
{
	int nr = syscall_find(ABI_OF_TESTS, name);

	for (size_t i = 0; i < list->count; i++) {
		const struct comparison *item = &list->items[i];

		if ((item->a.present ? &item->a : &item->b)->group.sum.nr == nr)
			return item;
	}
	fail_msg("no comparison of %s", name);
	return NULL;
}

/* Two sides, and how they compare by call. */
struct compared {
	struct snapshot *a, *b;
	struct comparison_list list;
};

static void compared_begin(struct compared *c, const char *before, uint64_t before_s,
			   const char *after, uint64_t after_s)
{
	c->a = side_make(before, before_s);
	c->b = side_make(after, after_s);
	c->list = compare(c->a, c->b, GROUP_SYSCALL);
}

static void compared_done(struct compared *c)
{
	comparison_list_done(&c->list);
	snapshot_free(c->a);
	snapshot_free(c->b);
}

#define COMPARED_TEST(name, ...) \
	TEST_OF(name, struct compared, c, compared_done, compared_begin, __VA_ARGS__)

static const struct regression_rule rule_of_tests = { .limit = 0.2 };

static void assert_near(double value, double expected)
{
	assert_true(fabs(value - expected) <= 1e-9 * fabs(expected));
}

COMPARED_TEST(test_figures, "read:1000x2m openat:50x1u!50 write:5x1000", 10,
	      "read:9000x6m openat:90x1u!90 fstat:60x1000", 30)
{
	const struct comparison *item = &c->list.items[0];

	assert_int_equal(c->list.count, 4);
	/* The order is by change of time: 0.2 s a second against 1.8. */
	assert_ptr_equal(item, find_call(&c->list, "read"));
	assert_near(item->a.calls_per_s, 100);
	assert_near(item->b.calls_per_s, 300);
	assert_near(item->a.seconds_per_s, 0.2);
	assert_near(item->b.seconds_per_s, 1.8);
	assert_has(item, a.mean_ns, 2 * MSEC, b.p99_ns, 6 * MSEC, word, COMPARE_SLOWER);
	item = find_call(&c->list, "openat");
	assert_near(item->a.errors_per_s, 5);
	assert_near(item->b.errors_per_s, 3);
	assert_int_equal(item->word, COMPARE_NO_CHANGE);
	item = find_call(&c->list, "write");
	assert_int_equal(item->word, COMPARE_GONE);
	assert_false(item->b.present);
	assert_int_equal(item->b.group.sum.calls, 0);
	assert_int_equal(find_call(&c->list, "fstat")->word, COMPARE_NEW);
	assert_has(c, list.total.a.group.sum.calls, 1055, list.total.b.group.sum.calls, 9150);
}

/* Less than a microsecond matters to nobody, however sure it is. */
COMPARED_TEST(test_least_difference, "read:5000x300 write:5000x5000", 1,
	      "read:5000x900 write:5000x9000", 1)
{
	const struct comparison *read = find_call(&c->list, "read");

	assert_has(read, word, COMPARE_NO_CHANGE, tail, 0);
	assert_int_equal(find_call(&c->list, "write")->word, COMPARE_SLOWER);
}

/* The same change of time: the larger change of calls comes first, then the order of keys. */
COMPARED_TEST(test_order, "", 1, "read:10x100 write:10x100 fstat:20x50 getrandom:1x2000", 1)
{
	static const char *const expected[] = { "getrandom", "fstat", "read", "write" };

	assert_int_equal(c->list.count, ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		assert_ptr_equal(&c->list.items[i], find_call(&c->list, expected[i]));
}

/* Makes one program under a unit and a user, whose ids are what the host made them. */
static struct snapshot *host_make(uint32_t pid, uint32_t uid, uint64_t cgroup_id, const char *path)
{
	struct builder *builder = builder_make();
	struct snapshot *snapshot;

	web_process(builder, pid, "nginx", uid, cgroup_id, 0);
	web_process(builder, pid + 1, "nginx", uid + 1, cgroup_id + 1, 0);
	calls_read(builder, pid, ABI_OF_TESTS, "read:7x1000");
	calls_read(builder, pid + 1, ABI_OF_TESTS, "read:5x1000");
	snapshot = snapshot_take(builder);
	names_add(&snapshot->users, &snapshot->nr_users, uid, "www-data");
	names_add(&snapshot->users, &snapshot->nr_users, uid + 1, "www-data");
	names_add(&snapshot->cgroups, &snapshot->nr_cgroups, cgroup_id, path);
	names_add(&snapshot->cgroups, &snapshot->nr_cgroups, cgroup_id + 1, path);
	return snapshot;
}

/* pids, uids and cgroups all differ, and on each host two of them have one name. */
TEST(test_matches_by_text)
{
	static const unsigned int keys[] = { GROUP_UNIT, GROUP_USER, GROUP_COMM,
					     GROUP_UNIT | GROUP_USER | GROUP_COMM | GROUP_SYSCALL };
	__cleanup(snapshot_freep) struct snapshot *a =
		host_make(100, 33, 7, "/system.slice/nginx.service");
	__cleanup(snapshot_freep) struct snapshot *b =
		host_make(900, 48, 70, "/other.slice/nginx.service/worker");

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		__cleanup(comparison_list_done) struct comparison_list list =
			compare(a, b, keys[i]);

		assert_has(&list, count, 1, items[0].a.group.sum.calls, 12,
			   items[0].b.group.sum.calls, 12);
	}
}

/* Nothing is matched that has another name, nor a nameless user with another's number. */
TEST(test_keeps_apart)
{
	__cleanup(snapshot_freep) struct snapshot *a =
		host_make(100, 33, 7, "/system.slice/nginx.service");
	__cleanup(snapshot_freep) struct snapshot *b =
		host_make(100, 33, 7, "/system.slice/apache2.service");
	__cleanup(comparison_list_done) struct comparison_list units = compare(a, b, GROUP_UNIT);

	assert_int_equal(units.count, 2);
	strcpy(b->users[0].name, "daemon");
	{
		__cleanup(comparison_list_done) struct comparison_list users =
			compare(a, b, GROUP_USER);

		assert_int_equal(users.count, 2);
	}
}

/* Users without a name are told apart by number, within a snapshot and between two. */
TEST(test_nameless_users)
{
	struct snapshot *snapshots[2];

	for (uint32_t i = 0; i < 2; i++) {
		struct builder *builder = builder_make();

		for (uint32_t user = 0; user < 2; user++) {
			web_process(builder, 1 + user, "nginx", 4001 + i + user, 0, 0);
			calls_read(builder, 1 + user, ABI_OF_TESTS,
				   user ? "read:2x1000" : "read:1x1000");
		}
		snapshots[i] = snapshot_take(builder);
	}
	{
		__cleanup(comparison_list_done) struct comparison_list list =
			compare(snapshots[0], snapshots[1], GROUP_USER);
		size_t both = 0;

		assert_int_equal(list.count, 3);
		for (size_t i = 0; i < list.count; i++)
			both += list.items[i].a.present && list.items[i].b.present;
		assert_int_equal(both, 1);
	}
	snapshot_free(snapshots[0]);
	snapshot_free(snapshots[1]);
}

/* After a NUL, a name has what an earlier one left. */
BUILDERS_TEST(test_stale_bytes)
{
	__cleanup(snapshot_freep) struct snapshot *a = NULL, *b = NULL;
	__cleanup(comparison_list_done) struct comparison_list list = { 0 };

	builder_take_process(before, 1, "sh\0old", 6, 0);
	calls_read(before, 1, ABI_OF_TESTS, "read:1x100");
	a = snapshot_take(before);
	builder_take_process(after, 2, "sh\0new", 6, 0);
	calls_read(after, 2, ABI_OF_TESTS, "read:1x100");
	b = snapshot_take(after);
	list = compare(a, b, GROUP_COMM);
	assert_int_equal(list.count, 1);
}

COMPARED_TEST(test_unknown_time, "read:100x1000 write:100x1000", 0, "read:5000x1000", 1)
{
	struct regressions found;

	assert_true(isnan(c->list.items[0].a.calls_per_s));
	assert_int_equal(c->list.items[0].a.p50_ns, 1000);
	/* A value that is not known did not get worse. */
	assert_false(comparison_regressions(&c->list, find_call(&c->list, "read"), &rule_of_tests,
					    &found));
}

/* Some of each kind of worsening, beside a call that takes most of the time. */
#define FINE                                                                           \
	"pread64:100000x10u read:1000x100u write:1000x100u fstat:3x1u openat:2000x1u " \
	"epoll_pwait:100x100m",                                                        \
		10
#define REGRESSED                                                                   \
	"pread64:100500x10u read:1500x100u write:960x100u write:40x5m fstat:30x1u " \
	"openat:1800x1u openat:200x1u!200 epoll_pwait:100x900m",                    \
		10

COMPARED_TEST(test_regressions, FINE, REGRESSED)
{
	static const struct {
		const char *name;
		double rise[NR_REGRESSION_KIND];
	} cases[] = {
		{ "pread64", { 0 } },
		{ "read", { [REGRESSION_CALLS] = 0.5, [REGRESSION_TIME] = 0.5 } },
		{ "write", { [REGRESSION_TIME] = 1.96, [REGRESSION_P99] = 49 } },
		{ "fstat", { 0 } }, /* negligible */
		{ "openat", { [REGRESSION_ERRORS] = INFINITY } },
	};
	const struct row_test working = { row_is_working, &plain };
	/* A rise by 50% is none beyond 50%. */
	const struct regression_rule lax = { .limit = 0.5 };
	__cleanup(comparison_list_done) struct comparison_list list = { 0 };
	struct regressions found;

	assert_int_equal(snapshot_compare(c->a, c->b, GROUP_SYSCALL, &working, &list), 0);
	assert_int_equal(list.count, ARRAY_SIZE(cases));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool any = false,
		     is_worse = comparison_regressions(&list, find_call(&list, cases[i].name),
						       &rule_of_tests, &found);

		for (int j = 0; j < NR_REGRESSION_KIND; j++) {
			double expected = cases[i].rise[j];

			any |= expected > 0;
			/* A p99 is as exact as its bucket. */
			assert_true(isinf(expected)
					    ? isinf(found.rise[j])
					    : fabs(found.rise[j] - expected) <= expected * 0.25);
		}
		assert_int_equal(is_worse, any);
	}
	assert_false(comparison_regressions(&list, find_call(&list, "read"), &lax, &found));
}

/* Nine calls of a thousand take a hundred times as long: alike below p99, but not in time. */
COMPARED_TEST(test_time_regression, "read:100000x2u", 5, "read:99100x2u read:900x200u", 5)
{
	struct regressions found;

	assert_int_equal(c->list.items[0].word, COMPARE_NO_CHANGE);
	assert_all(comparison_regressions(&c->list, &c->list.items[0], &rule_of_tests, &found),
		   found.rise[REGRESSION_TIME] > 0.8, found.rise[REGRESSION_P99] == 0,
		   found.rise[REGRESSION_CALLS] == 0);
}

/* Calls that wait are judged by their number only. */
COMPARED_TEST(test_waiting_regression, FINE, REGRESSED)
{
	const struct row_test waiting = { row_is_waiting, &plain };
	const struct regression_rule rule = { .limit = 0.2, .waiting = true };
	__cleanup(comparison_list_done) struct comparison_list list = { 0 };
	struct regressions found;

	assert_int_equal(snapshot_compare(c->a, c->b, GROUP_SYSCALL, &waiting, &list), 0);
	assert_has(&list, count, 1, items[0].word, COMPARE_SLOWER);
	assert_false(comparison_regressions(&list, &list.items[0], &rule, &found));
}

/* Three calls are no more than one, as far as anybody can tell; 300 are more than 100. */
TEST(test_chance_of_rates)
{
	static const struct text_pair few[] = { { "read:1x1000", "read:3x1000" },
						{ "read:10x1000", "read:20x1000" },
						{ "read:100x1000", "read:300x1000" } };

	for (size_t i = 0; i < ARRAY_SIZE(few); i++) {
		__cleanup(compared_done) struct compared c;
		struct regressions found;

		compared_begin(&c, few[i].given, 5, few[i].expected, 5);
		assert_int_equal(
			comparison_regressions(&c.list, &c.list.items[0], &rule_of_tests, &found),
			i == 2);
	}
}

/* --- the report ---------------------------------------------------------------------------------- */

static struct snapshot *side_take(const char *calls, uint64_t seconds)
{
	struct builder *builder = builder_make();
	struct snapshot *snapshot;

	calls_read(builder, 100, ABI_OF_TESTS, calls);
	web_process(builder, 100, "nginx", 33, 7, 0);
	snapshot = snapshot_take(builder);
	snapshot->start_ns = 1793350800000000000; /* 2026-10-30 09:00:00 UTC */
	snapshot->end_ns = snapshot->start_ns + (int64_t)(seconds * SEC);
	snapshot->elapsed_ns = seconds * SEC;
	names_add(&snapshot->users, &snapshot->nr_users, 33, "www-data");
	names_add(&snapshot->cgroups, &snapshot->nr_cgroups, 7, "/system.slice/nginx.service");
	return snapshot;
}

/* An hour as it should be; a minute with a slow disk, a missing file, no random numbers, a new call. */
#define BEFORE                                                                           \
	"read:3600000x2u/1u write:360000x12u/6u openat:72000x4u/2u openat:360x3u!360 "   \
	"fstat:72000x700/350 fsync:3600x2m/1m getrandom:15x300/150 unlinkat:40x90u/45u " \
	"pread64:36000x50u/25u epoll_pwait:360000x9m/4500u futex:900x2m/1m"
#define AFTER                                                                         \
	"read:59000x2u/1u write:5900x12u/6u write:200x3m/1500u openat:1200x4u/2u "    \
	"openat:2400x3u!2400 fstat:1250x700/350 fsync:66x48m/24m unlinkat:1x90u/45u " \
	"pread64:1200x20u/10u renameat:130x25u/12500 epoll_pwait:5000x10m/5m"

struct fixture {
	struct snapshot *a, *b;
	struct compare_input input;
};

static struct fixture fixture_make(void)
{
	struct fixture fixture = { side_take(BEFORE, 3600),
				   side_take(AFTER, 60),
				   { .fail_over = 0 } };

	fixture.input.a = (struct compare_source){ "baseline monday", fixture.a };
	fixture.input.b = (struct compare_source){ "now", fixture.b };
	return fixture;
}

static void fixture_done(struct fixture *fixture)
{
	snapshot_free(fixture->a);
	snapshot_free(fixture->b);
}

static int comparison_write(const struct compare_input *input, const struct table_options *options,
			    bool json, FILE *out)
{
	__cleanup(compare_view_done) struct compare_view view = { .groups = 0 };
	int err = compare_view_make(input, options, &view);

	if (err)
		return err;
	return json ? report_comparison_json(input, &view, out)
		    : report_comparison(input, &view, options, out);
}

TEST(test_golden)
{
	static const struct {
		const char *golden;
		struct table_options options;
		double fail_over;
	} cases[] = {
		{ "compare_80", { .width = 80 }, 0 },
		{ "compare_100", { .width = 100 }, 0.2 },
		{ "compare_160", { .width = 160 }, 0 },
		{ "compare_all", { .keys = GROUP_UNIT | GROUP_COMM | GROUP_SYSCALL }, 0.5 },
		{ "compare_top", { .width = 80, .top = 3 }, 0.2 },
		{ "compare_comm", { .width = 80, .keys = GROUP_COMM }, 50 },
	};
	__cleanup(fixture_done) struct fixture fixture = fixture_make();
	__cleanup(compare_view_done) struct compare_view view = { .groups = 0 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		fixture.input.fail_over = cases[i].fail_over;
		golden_render(cases[i].golden, comparison_write, &fixture.input, &cases[i].options,
			      false);
	}
	assert_int_equal(compare_view_make(&fixture.input, &plain, &view), 0);
	fixture.input.fail_over = 0.2;
	golden_render("compare_json", comparison_write, &fixture.input,
		      &(struct table_options){ .top = 4 }, true);
	assert_full(report_comparison, &fixture.input, &view, &plain);
	assert_full(report_comparison_json, &fixture.input, &view);
}

/* The summary begins with how much more there is. */
COMPARED_TEST(test_sums, "read:100x1000", 1, "read:2000x1000 openat:800x1u!303", 1)
{
	const struct compare_input input = { { "a", c->a }, { "b", c->b }, 0 };
	const struct compare_input reversed = { { "a", c->b }, { "b", c->a }, 0 };
	__cleanup(freep) char *text = render(comparison_write, &input, &plain, false);
	__cleanup(freep) char *back = render(comparison_write, &reversed, &plain, false);

	assert_non_null(strstr(text, "\n\nB has 28 times the calls of A per second, "
				     "B 303.0 errors/s (A: 0.0)\nlatency: "));
	assert_non_null(strstr(back, "\n\nA has 28 times the calls of B per second, "));
	assert_null(strstr(text, "x28"));
}

/* Time that is in both sides is said, if it is that of one host. */
TEST(test_overlap)
{
	__cleanup(fixture_done) struct fixture fixture = fixture_make();
	struct snapshot *b = (struct snapshot *)fixture.input.b.snapshot;
	__cleanup(freep) char *both = render(comparison_write, &fixture.input, &plain, false);
	__cleanup(freep) char *apart = NULL;

	assert_non_null(strstr(both, "\nA and B overlap: 60.0 s are in both\n"));
	b->start_ns = fixture.input.a.snapshot->end_ns;
	b->end_ns = b->start_ns + 60 * (int64_t)SEC;
	apart = render(comparison_write, &fixture.input, &plain, false);
	assert_null(strstr(apart, "overlap"));
}

/* Two hosts, of which one counted slow calls only and lost some. */
TEST(test_unlike)
{
	const struct table_options options = { .width = 100 };
	__cleanup(fixture_done) struct fixture fixture = fixture_make();

	free(fixture.b->host);
	fixture.b->host = strdup("web-2\x1b[2J");
	fixture.b->slower_than_ns = 10 * MSEC;
	fixture.b->losses.count[LOSS_TASK_TABLE_FULL] = 12;
	fixture.b->elapsed_ns = 0;
	fixture.input.b.label = "/tmp/\xff\n.json";
	golden_render("compare_unlike", comparison_write, &fixture.input, &options, false);
}

/* A side is as exact as its own report says. */
TEST(test_errors_without_errno)
{
	const struct table_options options = { .width = 100 };
	__cleanup(fixture_done) struct fixture fixture = fixture_make();
	__cleanup(freep) char *text = NULL, *json = NULL;

	text = render(comparison_write, &fixture.input, &options, false);
	assert_null(strstr(text, "without their errno"));
	fixture.b->rows[0]->errors += 2;
	free(text);
	text = render(comparison_write, &fixture.input, &options, false);
	assert_non_null(strstr(text, "\nB: not exact: 2 errors counted without their errno\n"));
	json = render(comparison_write, &fixture.input, &options, true);
	assert_all(strstr(json, "\"exact\":true"), strstr(json, "\"exact\":false"));
}

TEST(test_empty)
{
	const struct table_options options = { .width = 80 };
	__cleanup(snapshot_freep) struct snapshot *empty = scenario_empty(ABI_OF_TESTS);
	const struct compare_input input = { { "a", empty }, { "b", empty }, 0.2 };

	golden_render("compare_empty", comparison_write, &input, &options, false);
}

/* Every group is in the object, and the sums are those of the groups. */
TEST(test_json_sums)
{
	__cleanup(fixture_done) struct fixture fixture = fixture_make();
	__cleanup(freep) char *text = render(comparison_write, &fixture.input, &plain, true);
	json_t *json = json_loads(text, 0, NULL), *group;
	json_int_t calls[2] = { 0 }, expected[2];
	size_t i;

	assert_all(json, json_is_null(json_object_get(json, "fail_over")));
	json_array_foreach(json_object_get(json, "groups"), i, group)
	{
		if (json_is_true(json_object_get(group, "waiting")))
			continue;
		assert_int_equal(json_unpack(group, "{s:{s:I}}", "a", "calls", &expected[0]) == 0,
				 json_is_object(json_object_get(group, "a")));
		for (int side = 0; side < 2; side++) {
			const json_t *at = json_object_get(group, side ? "b" : "a");

			calls[side] += json_integer_value(json_object_get(at, "calls"));
		}
	}
	assert_int_equal(json_unpack(json, "{s:{s:{s:I},s:{s:I}}}", "working", "a", "calls",
				     &expected[0], "b", "calls", &expected[1]),
			 0);
	assert_int_equal(calls[0], expected[0]);
	assert_int_equal(calls[1], expected[1]);
	json_decref(json);
}

/* The table is never wider than asked, and wider ones have all columns of narrower ones. */
TEST(test_fits)
{
	__cleanup(fixture_done) struct fixture fixture = fixture_make();
	size_t before = 0;

	for (int width = 76; width < 200; width += 4) {
		const struct table_options options = { .width = width };
		__cleanup(freep) char *text =
			render(comparison_write, &fixture.input, &options, false);
		size_t columns = 0;

		*strstr(text, "\nB has ") = '\0';
		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
			assert_in_range(strlen(line), 1, width);
			assert_int_not_equal(line[strlen(line) - 1], ' ');
			if (strncmp(line, "syscall", 7))
				continue;
			columns = 0;
			for (const char *at = line; (at = strstr(at, "  ")); at += strspn(at, " "))
				columns++;
		}
		assert_true(columns >= before);
		before = columns;
	}
	assert_int_equal(before, 18);
}

/* The verdict does not depend on what is shown. */
TEST(test_failed)
{
	const struct table_options options = { .top = 1 }, all = { 0 };
	__cleanup(compare_view_done) struct compare_view cut = { .groups = 0 };
	__cleanup(compare_view_done) struct compare_view whole = { .groups = 0 };
	__cleanup(fixture_done) struct fixture fixture = fixture_make();

	fixture.input.fail_over = 0.2;
	assert_int_equal(compare_view_make(&fixture.input, &options, &cut), 0);
	assert_int_equal(compare_view_make(&fixture.input, &all, &whole), 0);
	assert_int_equal(cut.failed, whole.failed);
	assert_true(cut.failed > 1);
	assert_int_equal(cut.left_out, whole.groups - 2);
	compare_view_done(&whole);
	fixture.input.fail_over = 0;
	assert_int_equal(compare_view_make(&fixture.input, &all, &whole), 0);
	assert_int_equal(whole.failed, 0);
}
