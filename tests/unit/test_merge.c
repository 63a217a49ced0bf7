/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Snapshots of several hosts merged into one: sums, percentiles, times, calls in flight, stacks; what is refused;
 * and that neither order, nor an empty snapshot, nor merging in steps changes anything.
 */
#include "stack_scenarios.h"

#include "model/merge.h"

/* Holds what was merged, and what it borrows from. */
struct merged {
	struct snapshot *snapshot;
	struct stack_table *stacks;
};

static void merged_done(struct merged *merged)
{
	snapshot_free(merged->snapshot);
	stack_table_free(merged->stacks);
}

#define MAX_INPUTS 6

/* The snapshots of a list are called a, b, c … */
static int try_merge(const struct snapshot *const *list, size_t count, struct merged *ret)
{
	static const char names[MAX_INPUTS][2] = { "a", "b", "c", "d", "e", "f" };
	struct merge_input inputs[MAX_INPUTS];

	for (size_t i = 0; i < count; i++)
		inputs[i] = (struct merge_input){ names[i], list[i] };
	return snapshot_merge(inputs, count, &ret->snapshot, &ret->stacks, &d);
}

static struct merged merge(const struct snapshot *const *list, size_t count)
{
	struct merged merged = { NULL, NULL };

	must(try_merge(list, count, &merged));
	return merged;
}

#define MERGE(...)                                             \
	merge((const struct snapshot *const[]){ __VA_ARGS__ }, \
	      ARRAY_SIZE(((const struct snapshot *const[]){ __VA_ARGS__ })))

/* When and where something was counted; seconds after a moment of 2026, and after the boot. */
struct span {
	const char *host, *boot_id;
	int64_t start_s, end_s;
	uint64_t end_mono_s;
};

#define EPOCH_S 1770000000LL

static void set_text(char **text, const char *value)
{
	free(*text);
	*text = strdup(value);
	assert_non_null(*text);
}

static void snapshot_set_span(struct snapshot *snapshot, const struct span *span)
{
	set_text(&snapshot->host, span->host);
	set_text(&snapshot->boot_id, span->boot_id);
	snapshot->start_ns = (EPOCH_S + span->start_s) * (int64_t)SEC;
	snapshot->end_ns = (EPOCH_S + span->end_s) * (int64_t)SEC;
	snapshot->elapsed_ns = (uint64_t)(span->end_s - span->start_s) * SEC;
	snapshot->end_mono_ns = span->end_mono_s * SEC;
}

/* The calls of one process, pid 7. */
static struct snapshot *host_make(const struct span *span, const char *calls)
{
	struct builder *builder = builder_make();
	struct snapshot *snapshot;

	builder_take_process(builder, 7, "worker", 6, 5);
	calls_read(builder, 7, ABI_OF_TESTS, calls);
	snapshot = snapshot_take(builder);
	snapshot_set_span(snapshot, span);
	return snapshot;
}

static const struct span web_1 = { "web-1", "b1", 0, 10, 500 };
static const struct span web_2 = { "web-2", "b2", 0, 10, 90000 };

/* Two hosts of which each has a process of the same pid and start. */
struct pair {
	struct snapshot *a, *b;
	struct merged merged;
};

static void pair_begin(struct pair *pair, const struct span *span_a, const char *calls_a,
		       const struct span *span_b, const char *calls_b)
{
	pair->a = host_make(span_a, calls_a);
	pair->b = host_make(span_b, calls_b);
	pair->merged = MERGE(pair->a, pair->b);
}

static void pair_done(struct pair *pair)
{
	merged_done(&pair->merged);
	snapshot_free(pair->a);
	snapshot_free(pair->b);
}

#define PAIR_TEST(name, ...) TEST_OF(name, struct pair, p, pair_done, pair_begin, __VA_ARGS__)

static struct group_list group(const struct snapshot *snapshot, unsigned int keys)
{
	struct group_list list;

	assert_int_equal(snapshot_group(snapshot, keys, NULL, &list), 0);
	return list;
}

static char *json_of(const struct snapshot *snapshot)
{
	return render(report_json, snapshot);
}

static void assert_json_equal(const struct snapshot *a, const struct snapshot *b)
{
	char *text __cleanup(freep) = json_of(a), *other __cleanup(freep) = json_of(b);

	assert_string_equal(text, other);
}

/* --- what adds up ------------------------------------------------------------------------------- */

/* 90 fast calls on one host, 10 slow ones on the other: only all 100 together have this median and p99. */
PAIR_TEST(test_hosts_are_told_apart_and_added_up, &web_1, "read:90x1m", &web_2, "read:10x100m!2")
{
	const struct snapshot *merged = p->merged.snapshot;
	struct group_list hosts __cleanup(group_list_done) = group(merged, GROUP_HOST);
	struct group_list all __cleanup(group_list_done) = group(merged, GROUP_SYSCALL);
	struct group_list pids __cleanup(group_list_done) = group(merged, GROUP_PID);
	const struct row *sum = &all.groups[0].sum;

	assert_int_equal(merged->nr_rows, 2);
	assert_int_equal(hosts.nr_groups, 2);
	assert_string_equal(snapshot_host(merged, hosts.groups[0].sum.host), "web-1");
	assert_has(&hosts.groups[0].sum, calls, 90, errors, 0);
	assert_has(&hosts.groups[1].sum, calls, 10, errors, 2);
	assert_int_equal(pids.nr_groups, 2);
	assert_int_equal(all.nr_groups, 1);
	assert_has(sum, calls, 100, errors, 2, wall_ns, 1090 * MSEC, min_ns, MSEC, max_ns,
		   100 * MSEC);
	assert_in_range(hist_quantile_ns(&sum->hist, 0.5, MSEC, 100 * MSEC), MSEC, MSEC * 11 / 10);
	assert_in_range(hist_quantile_ns(&sum->hist, 0.95, MSEC, 100 * MSEC), 90 * MSEC,
			100 * MSEC);
}

/* Each process keeps the name of its own host's user, though the uid is one. */
TEST(test_a_uid_has_a_name_on_each_host)
{
	struct snapshot *a __cleanup(snapshot_freep) = host_make(&web_1, "read:1x1m");
	struct snapshot *b __cleanup(snapshot_freep) = host_make(&web_2, "read:2x1m");
	struct merged merged __cleanup(merged_done) = { NULL, NULL };
	struct group_list users __cleanup(group_list_done) = { 0 };
	struct snapshot *sum __cleanup(snapshot_freep) = NULL;

	names_add(&a->users, &a->nr_users, 0, "alice");
	names_add(&b->users, &b->nr_users, 0, "bob");
	merged = MERGE(a, b);
	users = group(merged.snapshot, GROUP_USER);
	assert_int_equal(users.nr_groups, 2);
	assert_has(&users.groups[0].sum, calls, 1);
	assert_string_equal(snapshot_user(merged.snapshot, users.groups[0].process), "alice");
	assert_string_equal(snapshot_user(merged.snapshot, users.groups[1].process), "bob");
	/* A sum has no name for both. */
	assert_int_equal(snapshot_sum_kinds(merged.snapshot, MERGE_SUM_HOSTS, &sum), 0);
	assert_null(snapshot_user(sum, &sum->processes[0]));
}

/* Cgroup ids are inode numbers: one number is another path on each host. */
TEST(test_a_cgroup_is_known_by_its_path)
{
	struct snapshot *a __cleanup(snapshot_freep) = host_make(&web_1, "read:1x1m");
	struct snapshot *b __cleanup(snapshot_freep) = host_make(&web_2, "read:2x1m");
	struct merged merged __cleanup(merged_done) = { NULL, NULL };
	struct group_list units __cleanup(group_list_done) = { 0 };

	a->processes[0].cgroup_id = b->processes[0].cgroup_id = 40;
	names_add(&a->cgroups, &a->nr_cgroups, 40, "/system.slice/nginx.service");
	names_add(&b->cgroups, &b->nr_cgroups, 40, "/system.slice/cron.service");
	merged = MERGE(a, b);
	units = group(merged.snapshot, GROUP_UNIT);
	assert_int_equal(units.nr_groups, 2);
	assert_has(&units.groups[0].sum, calls, 2);
	assert_has(&units.groups[1].sum, calls, 1);
}

TEST(test_a_sum_has_each_kind_of_process_once)
{
	struct snapshot *a __cleanup(snapshot_freep) = host_make(&web_1, "read:1x1m write:5x1m");
	struct snapshot *b __cleanup(snapshot_freep) = host_make(&web_2, "read:2x1m");
	struct merged merged __cleanup(merged_done) = MERGE(a, b);
	struct snapshot *sum __cleanup(snapshot_freep) = NULL;

	assert_int_equal(snapshot_sum_kinds(merged.snapshot, MERGE_SUM_HOSTS, &sum), 0);
	assert_int_equal(sum->nr_processes, 1);
	assert_has(&sum->processes[0], pid, 0, nr_folded, 2, user_ns, 10);
	assert_int_equal(sum->nr_rows, 2);
	assert_has(sum->rows[0], calls, 3);
	assert_string_equal(snapshot_host(sum, sum->rows[0]->host), "");
}

TEST(test_processes_may_be_added_up_on_each_host)
{
	struct builder *builder = builder_make();
	struct snapshot *a __cleanup(snapshot_freep) = NULL;
	struct snapshot *b __cleanup(snapshot_freep) = host_make(&web_2, "read:2x1m");
	struct merged merged __cleanup(merged_done) = { NULL, NULL };
	struct snapshot *sum __cleanup(snapshot_freep) = NULL;

	for (uint32_t pid = 1; pid <= 3; pid++) {
		builder_take_process(builder, pid, "worker", 6, 5);
		calls_read(builder, pid, ABI_OF_TESTS, "read:10x1m");
	}
	a = snapshot_take(builder);
	snapshot_set_span(a, &web_1);
	names_add(&a->users, &a->nr_users, 0, "alice");
	merged = MERGE(a, b);
	assert_int_equal(snapshot_sum_kinds(merged.snapshot, MERGE_SUM_PROCESSES, &sum), 0);
	assert_sorted(sum);
	assert_int_equal(sum->nr_processes, 2);
	assert_has(&sum->processes[0], nr_folded, 3, user_ns, 15);
	assert_string_equal(snapshot_user(sum, &sum->processes[0]), "alice");
	assert_null(snapshot_user(sum, &sum->processes[1]));
	assert_int_equal(sum->nr_rows, 2);
	assert_has(sum->rows[0], calls, 30);
	assert_string_equal(snapshot_host(sum, sum->rows[1]->host), "web-2");
}

static void add_group(struct snapshot *snapshot, uint64_t serial, const char *comm, uint64_t calls)
{
	struct builder *builder = builder_make();
	struct process process = { .boot_ns = FOLDED_FIRST + serial, .nr_folded = 1 };
	struct row row;

	strcpy(process.comm, comm);
	assert_int_equal(builder_add_process(builder, &process, false), 0);
	row_init_calls(&row, 0, ABI_OF_TESTS, "read", calls, MSEC, 0, 0);
	row.boot_ns = process.boot_ns;
	builder_take_row(builder, &row);
	assert_int_equal(builder_finish(builder, snapshot), 0);
	builder_free(builder);
}

/* Ended processes are in groups that each counting numbers as it meets them. */
TEST(test_groups_of_ended_processes_are_known_by_their_names)
{
	static const struct span spans[] = { { "web-1", "b1", 0, 10, 510 },
					     { "web-1", "b1", 20, 30, 530 },
					     { "web-1", "b1", 40, 50, 550 } };
	struct snapshot *list[3];
	struct merged merged __cleanup(merged_done) = { NULL, NULL };

	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		list[i] = snapshot_make();
		snapshot_set_span(list[i], &spans[i]);
	}
	add_group(list[0], 0, "cc1", 1);
	add_group(list[1], 0, "as", 10);
	add_group(list[2], 7, "cc1", 100);
	merged = MERGE(list[0], list[1], list[2]);
	assert_int_equal(merged.snapshot->nr_processes, 2);
	assert_string_equal(merged.snapshot->processes[1].comm, "cc1");
	assert_has(&merged.snapshot->processes[1], nr_folded, 2);
	assert_has(merged.snapshot->rows[0], calls, 10);
	assert_has(merged.snapshot->rows[1], calls, 101);
	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		snapshot_free(list[i]);
}

TEST(test_exact_only_if_all_parts_are)
{
	struct snapshot *a __cleanup(snapshot_freep) = host_make(&web_1, "read:1x1m");
	struct snapshot *b __cleanup(snapshot_freep) = host_make(&web_2, "read:2x1m");
	struct merged exact __cleanup(merged_done) = MERGE(a, b);
	struct merged merged __cleanup(merged_done) = { NULL, NULL };

	a->losses.count[LOSS_THREAD_LATE] = 2;
	b->losses.count[LOSS_THREAD_LATE] = 3;
	merged = MERGE(a, b);
	assert_true(snapshot_is_exact(exact.snapshot));
	assert_false(snapshot_is_exact(merged.snapshot));
	assert_int_equal(merged.snapshot->losses.count[LOSS_THREAD_LATE], 5);
	assert_false(merged.snapshot->origins->items[0].is_exact);
}

/* --- times -------------------------------------------------------------------------------------- */

static void assert_elapsed(const struct span *b, int64_t start_s, int64_t end_s, uint64_t elapsed_s)
{
	struct pair pair __cleanup(pair_done);

	pair_begin(&pair, &web_1, "read:1x1m", b, "read:1x1m");
	assert_has(pair.merged.snapshot, start_ns, (EPOCH_S + start_s) * (int64_t)SEC, end_ns,
		   (EPOCH_S + end_s) * (int64_t)SEC, elapsed_ns, elapsed_s * SEC);
}

TEST(test_elapsed_is_the_time_in_which_any_was_counted)
{
	assert_elapsed(&web_2, 0, 10, 10);
	assert_elapsed(&(struct span){ "web-2", "b2", 6, 14, 900 }, 0, 14, 14);
	assert_elapsed(&(struct span){ "web-2", "b2", 90, 95, 900 }, 0, 95, 15);
	assert_elapsed(&(struct span){ "web-2", "b2", 2, 4, 900 }, 0, 10, 10);
	/* The same host, later, and after it was booted again. */
	assert_elapsed(&(struct span){ "web-1", "b1", 10, 30, 520 }, 0, 30, 30);
	assert_elapsed(&(struct span){ "web-1", "b9", 10, 30, 12 }, 0, 30, 30);
}

/* Clocks of hosts differ: an age, and the time of day of the slowest call, stay what they were. */
TEST(test_ages_and_times_of_day_stay)
{
	static const struct span later = { "web-2", "b2", 100, 110, 30 };
	struct snapshot *a __cleanup(snapshot_freep) = host_make(&web_1, "read:1x1m");
	struct snapshot *b __cleanup(snapshot_freep) = host_make(&later, "read:1x1m");
	struct merged merged __cleanup(merged_done) = { NULL, NULL };
	const struct snapshot *m;

	a->rows[0]->in_flight = b->rows[0]->in_flight = 1;
	a->rows[0]->oldest_start_ns = (500 - 4) * SEC;
	b->rows[0]->oldest_start_ns = (30 - 7) * SEC;
	a->rows[0]->max_start_ns = (500 - 3) * SEC;
	merged = MERGE(a, b);
	m = merged.snapshot;
	assert_int_equal(snapshot_oldest_ns(m, m->rows[0]), 4 * SEC);
	assert_int_equal(snapshot_oldest_ns(m, m->rows[1]), 7 * SEC);
	assert_int_equal(m->end_ns - (int64_t)(m->end_mono_ns - m->rows[0]->max_start_ns),
			 (EPOCH_S + 7) * (int64_t)SEC);
}

/* What was in flight at the end of an earlier snapshot has ended, or is in the later one. */
TEST(test_in_flight_is_what_the_latest_of_a_host_has)
{
	static const struct span after = { "web-1", "b1", 10, 20, 510 };
	struct snapshot *a __cleanup(snapshot_freep) = host_make(&web_1, "read:1x1m");
	struct snapshot *b __cleanup(snapshot_freep) = host_make(&after, "read:4x1m write:1x1m");
	struct merged merged __cleanup(merged_done) = { NULL, NULL };

	a->rows[0]->in_flight = 3;
	a->rows[0]->oldest_start_ns = 499 * SEC;
	a->processes[0].threads = b->processes[0].threads = 2;
	b->rows[1]->in_flight = 1;
	b->rows[1]->oldest_start_ns = 505 * SEC;
	merged = MERGE(b, a);
	assert_int_equal(merged.snapshot->nr_rows, 2);
	assert_has(merged.snapshot->rows[0], calls, 5, in_flight, 0);
	assert_has(merged.snapshot->rows[1], calls, 1, in_flight, 1);
	assert_has(&merged.snapshot->processes[0], threads, 2, user_ns, 10);
	assert_string_equal(merged.snapshot->host, "web-1");
}

/* A snapshot with a call in flight and two threads, or the sum of hosts made of it. */
static struct snapshot *busy_make(const struct span *span, bool is_sum)
{
	struct snapshot *snapshot = host_make(span, "read:1x1m"), *sum = snapshot;
	struct merged merged = { NULL, NULL };

	snapshot->rows[0]->in_flight = 1;
	snapshot->rows[0]->oldest_start_ns = (span->end_mono_s - 1) * SEC;
	snapshot->processes[0].threads = 2;
	if (!is_sum)
		return snapshot;
	merged = MERGE(snapshot);
	assert_int_equal(snapshot_sum_kinds(merged.snapshot, MERGE_SUM_HOSTS, &sum), 0);
	merged_done(&merged);
	snapshot_free(snapshot);
	return sum;
}

static void assert_in_flight(const struct snapshot *snapshot, uint64_t calls, uint64_t in_flight)
{
	struct row sum = snapshot_sum(snapshot);

	for (size_t i = 0; i < snapshot->nr_rows; i++)
		sum.in_flight += snapshot->rows[i]->in_flight;
	assert_has(&sum, calls, calls, in_flight, in_flight);
}

static void assert_busy(const struct span *a, const struct span *b, bool is_sum, uint64_t in_flight)
{
	struct snapshot *first __cleanup(snapshot_freep) = busy_make(a, is_sum);
	struct snapshot *second __cleanup(snapshot_freep) = busy_make(b, is_sum);
	struct merged merged __cleanup(merged_done) = MERGE(second, first);
	uint64_t threads = 0;

	for (size_t i = 0; i < merged.snapshot->nr_processes; i++)
		threads += merged.snapshot->processes[i].threads;
	assert_in_flight(merged.snapshot, 2, in_flight);
	assert_int_equal(threads, 2 * in_flight);
}

/* One call that lasts is in flight in each of two sums of a host: it is one call. */
TEST(test_in_flight_is_what_the_latest_sum_has)
{
	static const struct span after = { "web-1", "b1", 10, 20, 510 };
	static const struct span boot = { "web-1", "b9", 20, 30, 10 };
	static const struct span namesake = { "web-1", "b9", 5, 30, 700 };

	for (int is_sum = 0; is_sum <= 1; is_sum++) {
		assert_busy(&web_1, &after, is_sum, 1);
		assert_busy(&web_1, &web_2, is_sum, 2);
		/* Booting a host ends all its calls; at one time, two hosts have this name. */
		assert_busy(&web_1, &boot, is_sum, 1);
		assert_busy(&web_1, &namesake, is_sum, 2);
	}
}

/* Of a sum of two hosts, the calls of the one that has a later snapshot are not known. */
TEST(test_a_sum_is_latest_of_all_its_hosts_or_of_none)
{
	static const struct span after = { "web-1", "b1", 10, 20, 510 };
	struct snapshot *a __cleanup(snapshot_freep) = busy_make(&web_1, false);
	struct snapshot *b __cleanup(snapshot_freep) = busy_make(&web_2, false);
	struct snapshot *later __cleanup(snapshot_freep) = busy_make(&after, false);
	struct merged both __cleanup(merged_done) = MERGE(a, b);
	struct merged merged __cleanup(merged_done) = { NULL, NULL };
	struct snapshot *sum __cleanup(snapshot_freep) = NULL;

	assert_int_equal(snapshot_sum_kinds(both.snapshot, MERGE_SUM_HOSTS, &sum), 0);
	assert_in_flight(sum, 2, 2);
	merged = MERGE(sum, later);
	assert_in_flight(merged.snapshot, 3, 1);
	/* A host that was booted again within one sum is no other one. */
	snapshot_free(steal_ptr(&sum));
	merged_done(&both);
	set_text(&later->boot_id, "b9");
	later->start_ns += 5 * (int64_t)SEC;
	both = MERGE(a, later);
	assert_int_equal(snapshot_sum_kinds(both.snapshot, MERGE_SUM_HOSTS, &sum), 0);
	merged_done(&merged);
	merged = MERGE(sum, b);
	assert_in_flight(merged.snapshot, 3, 2);
}

/* --- stacks, and what rows are split by ----------------------------------------------------------- */

static struct stacked stacked_make(const struct span *span, uint64_t id)
{
	struct stack_table *table = stack_table_make();
	struct builder *builder = builder_make();
	struct stacked stacked;
	struct row row;

	STACK_TAKE(table, id, STACK_COMPLETE, FRAME("libc.so.6", "read", 0x1d),
		   FRAME("nginx", "main", 0x6a));
	row_init_named(&row, 7, ABI_OF_TESTS, "read");
	row_add_calls_of(&row, id, 4, MSEC, 0, 0);
	builder_take_row(builder, &row);
	stacked = stacked_take(table, builder);
	snapshot_set_span(stacked.snapshot, span);
	return stacked;
}

/* The ids are numbers of each snapshot alone. */
TEST(test_one_stack_has_one_id)
{
	struct stacked a __cleanup(stacked_done) = stacked_make(&web_1, 11);
	struct stacked b __cleanup(stacked_done) = stacked_make(&web_2, 99);
	struct merged merged __cleanup(merged_done) = MERGE(a.snapshot, b.snapshot);
	const struct snapshot *m = merged.snapshot;
	struct snapshot *sum __cleanup(snapshot_freep) = NULL;
	const struct stack *stack;

	assert_int_equal(m->rows[0]->stacks[0].id, m->rows[1]->stacks[0].id);
	stack = stack_table_find(m->stacks, m->rows[0]->stacks[0].id);
	assert_int_equal(stack->nr_frames, 2);
	assert_string_equal(stack->frames[1].symbol, "main");
	assert_int_equal(snapshot_sum_kinds(m, MERGE_SUM_HOSTS, &sum), 0);
	assert_int_equal(sum->rows[0]->nr_stacks, 1);
	assert_has(&sum->rows[0]->stacks[0], calls, 8);
}

static struct snapshot *split_make(const struct span *span, uint64_t key, const char *path)
{
	struct snapshot *snapshot = host_make(span, "openat:3x1m");

	snapshot->rows[0]->split = SPLIT_PATH;
	snapshot->rows[0]->split_value = ARGUMENT_FIRST + key;
	assert_int_equal(argument_texts_new(&snapshot->arguments), 0);
	assert_int_equal(argument_texts_add(snapshot->arguments, ARGUMENT_FIRST + key, path), 0);
	return snapshot;
}

TEST(test_a_path_is_the_same_on_all_hosts)
{
	struct snapshot *a __cleanup(snapshot_freep) = split_make(&web_1, 5, "/etc/passwd");
	struct snapshot *b __cleanup(snapshot_freep) = split_make(&web_2, 6, "/etc/passwd");
	struct merged merged __cleanup(merged_done) = MERGE(a, b);
	struct group_list paths __cleanup(group_list_done) = group(merged.snapshot, GROUP_PATH);
	enum argument_key why;

	assert_int_equal(paths.nr_groups, 1);
	assert_has(&paths.groups[0].sum, calls, 6);
	assert_string_equal(
		snapshot_argument(merged.snapshot, &paths.groups[0].sum, SPLIT_PATH, &why),
		"/etc/passwd");
}

/* --- what is refused ------------------------------------------------------------------------------ */

static void assert_refused(const struct snapshot *a, const struct snapshot *b, const char *sentence)
{
	struct merged merged = { NULL, NULL };

	must_fail(try_merge((const struct snapshot *const[]){ a, b }, 2, &merged), -EINVAL,
		  sentence);
	assert_null(merged.snapshot);
}

TEST(test_calls_are_not_counted_twice)
{
	static const struct span overlapping = { "web-1", "b1", 8, 20, 510 };
	struct snapshot *a __cleanup(snapshot_freep) = host_make(&web_1, "read:1x1m");
	struct snapshot *b __cleanup(snapshot_freep) = host_make(&overlapping, "read:1x1m");

	assert_refused(a, a, "a and b both have 10.0 s of web-1: its calls would count twice");
	assert_refused(b, a, "b and a both have 2.0 s of web-1");
}

/* A container may have a host name of its own, and a host may be renamed: the boot tells that it is one host. */
TEST(test_a_boot_is_one_host_by_any_name)
{
	static const struct span container = { "pod-7", "b1", 8, 20, 510 };
	static const struct span renamed = { "www-1", "b1", 10, 20, 510 };
	struct snapshot *a __cleanup(snapshot_freep) = busy_make(&web_1, false);
	struct snapshot *b __cleanup(snapshot_freep) = host_make(&container, "read:1x1m");
	struct merged merged __cleanup(merged_done) = { NULL, NULL };

	assert_refused(a, b, "a and b both have 2.0 s of web-1");
	assert_busy(&web_1, &renamed, false, 1);
	/* Where the boot is not known, the name has to do. */
	set_text(&a->boot_id, "");
	set_text(&b->boot_id, "");
	merged = MERGE(a, b);
	assert_int_equal(merged.snapshot->origins->count, 2);
}

/* A snapshot of the history spans pauses: whether something was counted in one is not known. */
TEST(test_a_pause_overlaps_too)
{
	struct snapshot *a __cleanup(snapshot_freep) =
		host_make(&(struct span){ "web-1", "b1", 0, 100, 1000 }, "read:1x1m");
	struct snapshot *b __cleanup(snapshot_freep) =
		host_make(&(struct span){ "web-1", "b1", 20, 30, 930 }, "read:1x1m");
	struct merged alone __cleanup(merged_done) = { NULL, NULL };

	a->elapsed_ns = a->paused_ns = 50 * SEC;
	assert_refused(a, b, "its calls would count twice");
	alone = MERGE(a);
	assert_refused(alone.snapshot, b, "its calls would count twice");
}

/* Its monotonic clock stood still meanwhile, or its time of day was set: the second began where the first ended. */
TEST(test_a_suspended_host_does_not_overlap)
{
	struct snapshot *a __cleanup(snapshot_freep) = host_make(&web_1, "read:1x1m");
	struct snapshot *b __cleanup(snapshot_freep) =
		host_make(&(struct span){ "web-1", "b1", 10, 3630, 530 }, "read:1x1m");

	for (int64_t step_s = -3600; step_s <= 3600; step_s += 3600) {
		struct merged merged __cleanup(merged_done) = { NULL, NULL };

		b->elapsed_ns = 30 * SEC;
		b->start_ns = (EPOCH_S + 10 + step_s) * (int64_t)SEC;
		merged = MERGE(a, b);
		assert_int_equal(merged.snapshot->origins->count, 2);
		b->elapsed_ns = 31 * SEC;
		assert_refused(a, b, "a and b both have 1.0 s of web-1");
	}
}

TEST(test_different_things_are_not_added_up)
{
	struct snapshot *a __cleanup(snapshot_freep) = host_make(&web_1, "openat:1x1m");
	struct snapshot *b __cleanup(snapshot_freep) = host_make(&web_2, "openat:1x1m");
	struct snapshot *split __cleanup(snapshot_freep) = split_make(&web_2, 5, "/etc/passwd");

	assert_refused(a, split, "only one of a and b is split by path");
	b->slower_than_ns = 10 * MSEC;
	assert_refused(a, b, "--slower-than was 0 ms and 10 ms");
}

TEST(test_times_that_cannot_be_right_are_refused)
{
	struct snapshot *a __cleanup(snapshot_freep) = host_make(&web_1, "read:1x1m");
	struct snapshot *b __cleanup(snapshot_freep) = host_make(&web_2, "read:1x1m");

	a->start_ns = a->end_ns = INT64_MIN + 1;
	b->end_ns = INT64_MAX;
	assert_refused(a, b, "its times are wrong");
}

TEST(test_sums_stay_readable)
{
	struct snapshot *a __cleanup(snapshot_freep) = host_make(&web_1, "read:1x1m");
	struct snapshot *b __cleanup(snapshot_freep) =
		host_make(&(struct span){ "web-1", "b1", 10, 20, 510 }, "read:1x1m");
	struct merged merged = { NULL, NULL };

	a->processes[0].usage.threads_ns = b->processes[0].usage.threads_ns = INT64_MAX / 2 + 1;
	must_fail(try_merge((const struct snapshot *const[]){ a, b }, 2, &merged), -ERANGE,
		  "more than 2^63 ns, which is 292 years of threads");
	a->processes[0].usage.threads_ns -= INT64_MAX / 4;
	merged = MERGE(a, b);
	merged_done(&merged);
}

static void assert_too_much(const struct snapshot *a, const struct snapshot *b, uint64_t *count)
{
	const uint64_t before = *count;
	struct merged merged = { NULL, NULL };

	*count = INT64_MAX;
	must_fail(try_merge((const struct snapshot *const[]){ a, b }, 2, &merged), -ERANGE,
		  "these add up to more than 2^63");
	*count = before;
}

/* Whatever a file says: nothing wraps, so that little would seem to be there. */
TEST(test_no_count_wraps)
{
	struct snapshot *a __cleanup(snapshot_freep) = host_make(&web_1, "read:2x1m!1");
	struct snapshot *b __cleanup(snapshot_freep) = host_make(&web_2, "read:2x1m!1");
	struct stacked stacked __cleanup(stacked_done) = stacked_make(&web_1, 11);
	struct stack_count *stack = &stacked.snapshot->rows[0]->stacks[0];
	struct process *process = &a->processes[0];

	process->threads = b->processes[0].threads = 1;
	process->nr_folded = b->processes[0].nr_folded = 1;
	assert_too_much(a, b, &a->rows[0]->errnos[0].count);
	assert_too_much(a, b, &process->threads);
	assert_too_much(a, b, &process->nr_folded);
	assert_too_much(stacked.snapshot, b, &stack->calls);
	assert_too_much(stacked.snapshot, b, &stack->errors);
	assert_too_much(stacked.snapshot, b, &stack->wall_ns);
}

/* In 64 bits, the sum of these is 0. */
TEST(test_losses_do_not_wrap)
{
	static const struct span db = { "db", "b3", 0, 10, 500 };
	struct snapshot *list[] = { host_make(&web_1, "read:1x1m"), host_make(&web_2, "read:1x1m"),
				    host_make(&db, "read:1x1m") };
	struct merged merged __cleanup(merged_done) = { NULL, NULL };

	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		list[i]->losses.count[LOSS_THREAD_LATE] = i < 2 ? INT64_MAX : 2;
		list[i]->threads_unknown = i < 2 ? INT64_MAX : 2;
	}
	merged = MERGE(list[0], list[1], list[2]);
	assert_false(snapshot_is_exact(merged.snapshot));
	assert_has(merged.snapshot, threads_unknown, INT64_MAX);
	assert_int_equal(merged.snapshot->losses.count[LOSS_THREAD_LATE], INT64_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		snapshot_free(list[i]);
}

/* --- properties ----------------------------------------------------------------------------------- */

/* Random rows and processes, of one of a few hosts, that do not overlap. */
static struct snapshot *random_make(uint64_t *seed, unsigned int index)
{
	static const char *const hosts[] = { "web-1", "web-2", "db" };
	static const char *const boots[] = { "b0", "b1", "b2" };
	const unsigned int host = (unsigned int)random_below(seed, ARRAY_SIZE(hosts));
	const struct span span = { hosts[host], boots[host], 20 * index, 20 * index + 9,
				   5000 * (host + 1) + 20 * index };
	struct builder *builder = builder_make();
	struct snapshot *snapshot;

	for (uint32_t pid = 1; pid < 4; pid++)
		builder_take_process(builder, pid, "worker\0\0\0", 7, random_below(seed, 100));
	for (uint64_t rows = random_below(seed, 12); rows; rows--) {
		struct row row;

		row_init_random(&row, seed);
		/* Of as many calls as there are. */
		row.interrupted = 0;
		row.oldest_start_ns += row.in_flight ? 4000 * SEC : 0;
		builder_take_row(builder, &row);
	}
	snapshot = snapshot_take(builder);
	snapshot_set_span(snapshot, &span);
	snapshot->paused_ns = random_below(seed, 2) * SEC;
	names_add(&snapshot->users, &snapshot->nr_users, 0, host ? "root" : "toor");
	return snapshot;
}

struct crowd {
	struct snapshot *list[MAX_INPUTS];
	size_t count;
};

static void crowd_done(struct crowd *crowd)
{
	for (size_t i = 0; i < crowd->count; i++)
		snapshot_free(crowd->list[i]);
}

static struct crowd crowd_make(uint64_t *seed)
{
	struct crowd crowd = { .count = 2 + random_below(seed, MAX_INPUTS - 1) };

	for (unsigned int i = 0; i < crowd.count; i++)
		crowd.list[i] = random_make(seed, i);
	return crowd;
}

static struct merged merge_crowd(const struct crowd *crowd)
{
	return merge((const struct snapshot *const *)crowd->list, crowd->count);
}

static void shuffle(struct crowd *crowd, uint64_t *seed)
{
	for (size_t i = crowd->count; i > 1; i--) {
		size_t j = random_below(seed, i);
		struct snapshot *other = crowd->list[j];

		crowd->list[j] = crowd->list[i - 1];
		crowd->list[i - 1] = other;
	}
}

#define ROUNDS 60

TEST(test_the_order_changes_nothing)
{
	uint64_t seed = 1;

	for (int round = 0; round < ROUNDS; round++) {
		struct crowd crowd __cleanup(crowd_done) = crowd_make(&seed);
		struct merged merged __cleanup(merged_done) = merge_crowd(&crowd);
		struct merged again __cleanup(merged_done) = { NULL, NULL };

		shuffle(&crowd, &seed);
		again = merge_crowd(&crowd);
		assert_sorted(merged.snapshot);
		assert_json_equal(merged.snapshot, again.snapshot);
	}
}

TEST(test_merging_in_steps_changes_nothing)
{
	uint64_t seed = 2;

	for (int round = 0; round < ROUNDS; round++) {
		struct crowd crowd __cleanup(crowd_done) = crowd_make(&seed);
		struct merged whole __cleanup(merged_done) = merge_crowd(&crowd);
		struct merged so_far = MERGE(crowd.list[0]);

		for (size_t i = 1; i < crowd.count; i++) {
			struct merged next = MERGE(crowd.list[i], so_far.snapshot);

			merged_done(&so_far);
			so_far = next;
		}
		assert_json_equal(whole.snapshot, so_far.snapshot);
		merged_done(&so_far);
	}
}

TEST(test_nothing_changes_nothing)
{
	uint64_t seed = 3;

	for (int round = 0; round < ROUNDS; round++) {
		struct snapshot *a __cleanup(snapshot_freep) = random_make(&seed, 4);
		struct snapshot *nothing __cleanup(snapshot_freep) = snapshot_make();
		struct merged alone __cleanup(merged_done) = MERGE(a);
		struct merged merged __cleanup(merged_done) = { NULL, NULL };

		nothing->elapsed_ns = 0;
		nothing->has_runq = false;
		merged = MERGE(nothing, a);
		assert_json_equal(alone.snapshot, merged.snapshot);
		/* Of a host that was quiet, it is known that it was. */
		merged_done(&merged);
		nothing->elapsed_ns = SEC;
		merged = MERGE(a, nothing);
		assert_int_equal(merged.snapshot->nr_rows, alone.snapshot->nr_rows);
		assert_int_equal(merged.snapshot->nr_processes, alone.snapshot->nr_processes);
		assert_same(merged.snapshot, alone.snapshot, has_runq, slower_than_ns);
		assert_int_equal(merged.snapshot->origins->count, 2);
	}
}

/* Everybody's numbers are in the sum, and in each host's part of it. */
TEST(test_sums_are_those_of_all_parts)
{
	uint64_t seed = 4;

	for (int round = 0; round < ROUNDS; round++) {
		struct crowd crowd __cleanup(crowd_done) = crowd_make(&seed);
		struct merged merged __cleanup(merged_done) = merge_crowd(&crowd);
		struct snapshot *sum __cleanup(snapshot_freep) = NULL;
		struct row expected = { .calls = 0 }, found = snapshot_sum(merged.snapshot), all;

		for (size_t i = 0; i < crowd.count; i++) {
			struct row part = snapshot_sum(crowd.list[i]);

			expected.calls += part.calls;
			expected.errors += part.errors;
			expected.wall_ns += part.wall_ns;
			expected.off_ns += part.off_ns;
		}
		assert_int_equal(snapshot_sum_kinds(merged.snapshot, MERGE_SUM_HOSTS, &sum), 0);
		all = snapshot_sum(sum);
		assert_sorted(sum);
		assert_same(&expected, &found, calls, errors, wall_ns, off_ns);
		assert_same(&expected, &all, calls, errors, wall_ns, off_ns);
	}
}

static void assert_read_back(const struct snapshot *snapshot)
{
	char *text __cleanup(freep) = json_of(snapshot);
	struct merged back __cleanup(merged_done) = { NULL, NULL };

	must(report_json_read(text, strlen(text), &back.snapshot, &back.stacks, &d));
	assert_json_equal(snapshot, back.snapshot);
}

TEST(test_json_has_all_of_it)
{
	uint64_t seed = 5;

	for (int round = 0; round < ROUNDS; round++) {
		struct crowd crowd __cleanup(crowd_done) = crowd_make(&seed);
		struct merged merged __cleanup(merged_done) = merge_crowd(&crowd);
		struct snapshot *sum __cleanup(snapshot_freep) = NULL;

		assert_int_equal(snapshot_sum_kinds(merged.snapshot, MERGE_SUM_HOSTS, &sum), 0);
		assert_read_back(merged.snapshot);
		assert_read_back(sum);
		snapshot_free(steal_ptr(&sum));
		assert_int_equal(snapshot_sum_kinds(merged.snapshot, MERGE_SUM_PROCESSES, &sum), 0);
		assert_read_back(sum);
	}
}

PAIR_TEST(test_json_says_which_host, &web_1, "read:90x1m", &web_2, "read:10x100m!2")
{
	char *text __cleanup(freep) = json_of(p->merged.snapshot);
	json_t *json = json_parse(text);

	assert_string_equal(json_text(json, "host"), "");
	assert_string_equal(json_text(json, "parts/1/host"), "web-2");
	assert_string_equal(json_text(json, "rows/0/host"), "web-1");
	assert_int_equal(json_number(json, "rows/1/part"), 1);
	assert_string_equal(json_text(json, "processes/1/host"), "web-2");
	json_decref(json);
}

static void assert_unreadable(const char *text, const char *from, const char *to,
			      const char *sentence)
{
	const char *at = strstr(text, from);
	struct merged back = { NULL, NULL };
	char *changed __cleanup(freep) = NULL;

	assert_non_null(at);
	assert_true(asprintf(&changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from)) >
		    0);
	must_fail(report_json_read(changed, strlen(changed), &back.snapshot, &back.stacks, &d),
		  -EINVAL, sentence);
}

PAIR_TEST(test_damaged_parts_are_refused, &web_1, "read:90x1m", &web_2, "read:10x100m")
{
	char *text __cleanup(freep) = json_of(p->merged.snapshot);

	assert_unreadable(text, "\"part\":1", "\"part\":2", "part is beyond the list of parts");
	assert_unreadable(text, "\"part\":1", "\"part\":\"x\"", "part");
	assert_unreadable(text, "\"exact\":true}", "\"exact\":false}", "a part is not exact");
}
