/* SPDX-License-Identifier: BSD-2-Clause */
/* Two snapshots side by side: matching across hosts, figures, order, regressions. */
#include "tables.h"

#include <math.h>

#include "model/compare.h"
#include "syscalls/syscall_set.h"

static void take_calls(struct builder *builder, uint32_t pid, const char *name, uint64_t count,
		       uint64_t wall_ns)
{
	builder_take_calls(builder, pid, ABI_OF_TESTS, name, count, wall_ns, 0, 0);
}

static void take_errors(struct builder *builder, uint32_t pid, const char *name, uint64_t count)
{
	builder_take_calls(builder, pid, ABI_OF_TESTS, name, count, 1000, 0, 0);
	builder_take_errors(builder, pid, ABI_OF_TESTS, name, ENOENT, count);
}

static struct snapshot *take_seconds(struct builder *builder, uint64_t seconds)
{
	struct snapshot *snapshot = snapshot_take(builder);

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

static void assert_near(double value, double expected)
{
	assert_true(fabs(value - expected) <= 1e-9 * fabs(expected));
}

BUILDERS_TEST(test_figures)
{
	__cleanup(snapshot_freep) struct snapshot *a = NULL, *b = NULL;
	__cleanup(comparison_list_done) struct comparison_list list = { 0 };
	const struct comparison *item;

	take_calls(before, 1, "read", 1000, 2 * MSEC);
	take_errors(before, 1, "openat", 50);
	take_calls(before, 1, "write", 5, 1000);
	a = take_seconds(before, 10);
	take_calls(after, 2, "read", 9000, 6 * MSEC);
	take_errors(after, 2, "openat", 90);
	take_calls(after, 2, "fstat", 60, 1000);
	b = take_seconds(after, 30);
	list = compare(a, b, GROUP_SYSCALL);
	assert_int_equal(list.count, 4);
	/* By change of time: 0.2 s a second against 1.8. */
	item = &list.items[0];
	assert_ptr_equal(item, find_call(&list, "read"));
	assert_near(item->a.calls_per_s, 100);
	assert_near(item->b.calls_per_s, 300);
	assert_near(item->a.seconds_per_s, 0.2);
	assert_near(item->b.seconds_per_s, 1.8);
	assert_int_equal(item->a.mean_ns, 2 * MSEC);
	assert_int_equal(item->b.p99_ns, 6 * MSEC);
	assert_int_equal(item->word, COMPARE_SLOWER);
	item = find_call(&list, "openat");
	assert_near(item->a.errors_per_s, 5);
	assert_near(item->b.errors_per_s, 3);
	assert_int_equal(item->word, COMPARE_NO_CHANGE);
	item = find_call(&list, "write");
	assert_int_equal(item->word, COMPARE_GONE);
	assert_false(item->b.present);
	assert_int_equal(item->b.group.sum.calls, 0);
	item = find_call(&list, "fstat");
	assert_int_equal(item->word, COMPARE_NEW);
	assert_int_equal(list.total.a.group.sum.calls, 1055);
	assert_int_equal(list.total.b.group.sum.calls, 9150);
}

/* The same change of time: the larger change of calls comes first, then the order of keys. */
BUILDERS_TEST(test_order)
{
	static const char *const expected[] = { "getrandom", "fstat", "read", "write" };
	__cleanup(snapshot_freep) struct snapshot *a = NULL, *b = NULL;
	__cleanup(comparison_list_done) struct comparison_list list = { 0 };

	a = take_seconds(before, 1);
	take_calls(after, 2, "read", 10, 100);
	take_calls(after, 2, "write", 10, 100);
	take_calls(after, 2, "fstat", 20, 50);
	take_calls(after, 2, "getrandom", 1, 2000);
	b = take_seconds(after, 1);
	list = compare(a, b, GROUP_SYSCALL);
	assert_int_equal(list.count, ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		assert_ptr_equal(&list.items[i], find_call(&list, expected[i]));
}

/* One program under a unit and a user, whose ids are what the host made them. */
static struct snapshot *host_make(uint32_t pid, uint32_t uid, uint64_t cgroup_id, const char *path)
{
	struct builder *builder = builder_make();
	struct snapshot *snapshot;

	web_process(builder, pid, "nginx", uid, cgroup_id, 0);
	web_process(builder, pid + 1, "nginx", uid + 1, cgroup_id + 1, 0);
	take_calls(builder, pid, "read", 7, 1000);
	take_calls(builder, pid + 1, "read", 5, 1000);
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

		assert_int_equal(list.count, 1);
		assert_int_equal(list.items[0].a.group.sum.calls, 12);
		assert_int_equal(list.items[0].b.group.sum.calls, 12);
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

/* Whom a host has no name for is told apart by number, within a snapshot and between two. */
TEST(test_nameless_users)
{
	struct snapshot *snapshots[2];

	for (uint32_t i = 0; i < 2; i++) {
		struct builder *builder = builder_make();

		for (uint32_t user = 0; user < 2; user++) {
			web_process(builder, 1 + user, "nginx", 4001 + i + user, 0, 0);
			take_calls(builder, 1 + user, "read", 1 + user, 1000);
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
	take_calls(before, 1, "read", 1, 100);
	a = snapshot_take(before);
	builder_take_process(after, 2, "sh\0new", 6, 0);
	take_calls(after, 2, "read", 1, 100);
	b = snapshot_take(after);
	list = compare(a, b, GROUP_COMM);
	assert_int_equal(list.count, 1);
}

BUILDERS_TEST(test_unknown_time)
{
	__cleanup(snapshot_freep) struct snapshot *a = NULL, *b = NULL;
	__cleanup(comparison_list_done) struct comparison_list list = { 0 };
	const struct regression_rule rule = { .limit = 0.1 };
	struct regressions found;

	take_calls(before, 1, "read", 100, 1000);
	take_calls(before, 1, "write", 100, 1000);
	a = take_seconds(before, 0);
	take_calls(after, 1, "read", 5000, 1000);
	b = take_seconds(after, 1);
	list = compare(a, b, GROUP_SYSCALL);
	assert_true(isnan(list.items[0].a.calls_per_s));
	assert_int_equal(list.items[0].a.p50_ns, 1000);
	/* What is not known did not get worse. */
	assert_false(comparison_regressions(&list, find_call(&list, "read"), &rule, &found));
}

/* Some of each kind of worsening, beside a call that takes most of the time. */
static void make_regressed(struct snapshot **a, struct snapshot **b)
{
	struct builder *builder = builder_make();

	take_calls(builder, 1, "pread64", 100000, 10 * USEC);
	take_calls(builder, 1, "read", 1000, 100 * USEC);
	take_calls(builder, 1, "write", 1000, 100 * USEC);
	take_calls(builder, 1, "fstat", 3, USEC);
	take_calls(builder, 1, "openat", 2000, USEC);
	take_calls(builder, 1, "epoll_pwait", 100, 100 * MSEC);
	*a = take_seconds(builder, 10);
	builder = builder_make();
	take_calls(builder, 1, "pread64", 100500, 10 * USEC);
	take_calls(builder, 1, "read", 1500, 100 * USEC);
	take_calls(builder, 1, "write", 960, 100 * USEC);
	take_calls(builder, 1, "write", 40, 5 * MSEC);
	take_calls(builder, 1, "fstat", 30, USEC);
	take_calls(builder, 1, "openat", 1800, USEC);
	take_errors(builder, 1, "openat", 200);
	take_calls(builder, 1, "epoll_pwait", 100, 900 * MSEC);
	*b = take_seconds(builder, 10);
}

TEST(test_regressions)
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
	const struct row_test working = { row_is_working, &(struct table_options){ 0 } };
	const struct regression_rule rule = { .limit = 0.2 };
	__cleanup(snapshot_freep) struct snapshot *a = NULL, *b = NULL;
	__cleanup(comparison_list_done) struct comparison_list list = { 0 };

	make_regressed(&a, &b);
	assert_int_equal(snapshot_compare(a, b, GROUP_SYSCALL, &working, &list), 0);
	assert_int_equal(list.count, ARRAY_SIZE(cases));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct regressions found;
		bool any = false;

		comparison_regressions(&list, find_call(&list, cases[i].name), &rule, &found);
		for (int j = 0; j < NR_REGRESSION_KIND; j++) {
			double expected = cases[i].rise[j];

			any |= expected > 0;
			/* A p99 is as exact as its bucket. */
			assert_true(isinf(expected)
					    ? isinf(found.rise[j])
					    : fabs(found.rise[j] - expected) <= expected * 0.25);
		}
		assert_int_equal(comparison_regressions(&list, find_call(&list, cases[i].name),
							&rule, &found),
				 any);
	}
	/* A rise by 50% is none beyond 50%. */
	{
		const struct regression_rule lax = { .limit = 0.5 };
		struct regressions found;

		assert_false(comparison_regressions(&list, find_call(&list, "read"), &lax, &found));
	}
}

/* Nine calls of a thousand take a hundred times as long: alike below p99, but not in time. */
BUILDERS_TEST(test_time_regression)
{
	const struct regression_rule rule = { .limit = 0.2 };
	__cleanup(snapshot_freep) struct snapshot *a = NULL, *b = NULL;
	__cleanup(comparison_list_done) struct comparison_list list = { 0 };
	struct regressions found;

	take_calls(before, 1, "read", 100000, 2 * USEC);
	a = take_seconds(before, 5);
	take_calls(after, 1, "read", 99100, 2 * USEC);
	take_calls(after, 1, "read", 900, 200 * USEC);
	b = take_seconds(after, 5);
	list = compare(a, b, GROUP_SYSCALL);
	assert_int_equal(list.items[0].word, COMPARE_NO_CHANGE);
	assert_all(comparison_regressions(&list, &list.items[0], &rule, &found),
		   found.rise[REGRESSION_TIME] > 0.8, found.rise[REGRESSION_P99] == 0,
		   found.rise[REGRESSION_CALLS] == 0);
}

/* Calls that wait are judged by their number only. */
TEST(test_waiting_regression)
{
	const struct row_test waiting = { row_is_waiting, &(struct table_options){ 0 } };
	const struct regression_rule rule = { .limit = 0.2, .waiting = true };
	__cleanup(snapshot_freep) struct snapshot *a = NULL, *b = NULL;
	__cleanup(comparison_list_done) struct comparison_list list = { 0 };
	struct regressions found;

	make_regressed(&a, &b);
	assert_int_equal(snapshot_compare(a, b, GROUP_SYSCALL, &waiting, &list), 0);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].word, COMPARE_SLOWER);
	assert_false(comparison_regressions(&list, &list.items[0], &rule, &found));
}

/* Three calls are no more than one, as far as anybody can tell; 300 are more than 100. */
TEST(test_chance_of_rates)
{
	static const uint64_t counts[][3] = { { 1, 3, 0 }, { 10, 20, 0 }, { 100, 300, 1 } };
	const struct regression_rule rule = { .limit = 0.2 };

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		struct builder *builder = builder_make();
		__cleanup(snapshot_freep) struct snapshot *a = NULL, *b = NULL;
		__cleanup(comparison_list_done) struct comparison_list list = { 0 };
		struct regressions found;

		take_calls(builder, 1, "read", counts[i][0], 1000);
		a = take_seconds(builder, 5);
		builder = builder_make();
		take_calls(builder, 1, "read", counts[i][1], 1000);
		b = take_seconds(builder, 5);
		list = compare(a, b, GROUP_SYSCALL);
		assert_int_equal(comparison_regressions(&list, &list.items[0], &rule, &found),
				 counts[i][2]);
	}
}
