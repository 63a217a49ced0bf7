/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Snapshots of several hosts merged into one: sums, percentiles, stacks; and that neither order, nor an empty
 * snapshot, nor merging in steps changes anything.
 */
#include "merge_fixture.h"

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

/* Two parts of one counting of a host: between them the process became another. */
TEST(test_a_process_that_changed_between_two_parts_says_so)
{
	static const struct span later = { "web-1", "b1", 10, 20, 510 };
	static const uint64_t within[] = { 0, 2 };

	for (size_t i = 0; i < ARRAY_SIZE(within); i++) {
		struct snapshot *a __cleanup(snapshot_freep) = host_make(&web_1, "read:2x1m");
		struct snapshot *b __cleanup(snapshot_freep) = host_make(&later, "read:1x1m");
		struct merged merged __cleanup(merged_done) = { NULL, NULL };

		strcpy(b->processes[0].comm, "other");
		b->processes[0].uid = 5;
		a->processes[0].cgroup_id = b->processes[0].cgroup_id = 40;
		names_add(&a->cgroups, &a->nr_cgroups, 40, "/a");
		names_add(&b->cgroups, &b->nr_cgroups, 40, "/b");
		for (int j = 0; j < NR_PROCESS_CHANGE; j++)
			b->processes[0].changes[j] = within[i];
		merged = MERGE(a, b);
		for (int j = 0; j < NR_PROCESS_CHANGE; j++)
			assert_int_equal(merged.snapshot->processes[0].changes[j], within[i] ?: 1);
	}
}

/* Calls that began before counting were slept in for as long as each host was counted. */
TEST(test_time_in_early_calls_is_that_of_each_host)
{
	static const struct span longer = { "web-2", "b2", 0, 1000, 90000 };
	struct snapshot *a __cleanup(snapshot_freep) = NULL;
	struct snapshot *b __cleanup(snapshot_freep) = host_make(&longer, "read:1x1m");
	struct merged merged __cleanup(merged_done) = { NULL, NULL };
	struct merged again __cleanup(merged_done) = { NULL, NULL };
	struct microstates states;
	struct builder *builder = builder_make();
	struct row row;

	builder_take_process(builder, 7, "worker", 6, 0);
	row_init_calls(&row, 7, ABI_OF_TESTS, "futex", 0, 0, 0, 0);
	row.in_flight = row.in_flight_early = 2;
	row.oldest_start_ns = 100 * SEC;
	row.open_wall_ns = row.open_off_ns = 20 * SEC;
	builder_take_row(builder, &row);
	a = snapshot_take(builder);
	snapshot_set_span(a, &web_1);
	a->processes[0].usage.threads_ns = 100 * SEC;
	assert_true(snapshot_microstates(a, &states));
	assert_has(&states, lock_ns, 20 * SEC, sleep_ns, 80 * SEC);
	merged = MERGE(a, b);
	assert_true(snapshot_microstates(merged.snapshot, &states));
	assert_has(&states, lock_ns, 20 * SEC, sleep_ns, 80 * SEC);
	again = MERGE(merged.snapshot);
	assert_true(snapshot_microstates(again.snapshot, &states));
	assert_has(&states, lock_ns, 20 * SEC, sleep_ns, 80 * SEC);
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

/* --- stacks, and what rows are split by ----------------------------------------------------------- */

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
