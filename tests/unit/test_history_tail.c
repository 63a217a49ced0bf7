/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * However a span is cut, its parts add up to the whole, and what is answered before it is written is
 * as if it were. Sums by call.
 */
#include "history_fixture.h"

#include "model/label.h"
#include "report/report.h"
#include "store/history_private.h"

/* An interval whose processes have names of their own: some are known, some are new. */
static struct snapshot *pass_renamed(struct host *host)
{
	int64_t ns =
		random_below(&host->seed, 4) ? MINUTE : random_between(&host->seed, 1, 25 * MINUTE);
	struct snapshot *interval =
		host_pass(host, ns, (unsigned int)random_below(&host->seed, 12));

	for (size_t i = 0; i < interval->nr_processes; i++)
		snprintf(interval->processes[i].comm, sizeof(interval->processes[i].comm),
			 "kind-%u", (unsigned int)random_below(&host->seed, 60) + 1);
	return interval;
}

/* An answer as text: two are the same if nothing in them differs. */
static char *ask_text(struct history *history, struct history_question question,
		      const struct snapshot *tail)
{
	struct timeline timeline __cleanup(timeline_done) = { 0 };

	question.tail = tail;
	answer_must(history, &question, &timeline);
	return render(report_timeline_json, &timeline);
}

/* A question must leave all of the file as it was. */
struct trace {
	int64_t run, rows[6];
};

static struct trace trace_of(const struct history *history)
{
	static const char *const counts[] = {
		"SELECT count(*) + max(id) FROM kind",     "SELECT count(*) FROM run",
		"SELECT count(*) + max(id) FROM interval", "SELECT count(*) FROM cell",
		"SELECT sum(processes) FROM share",        "SELECT count(*) FROM call",
	};
	struct trace trace = { .run = history->run.id };

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		assert_int_equal(db_number(history->db, counts[i], DB_NO_NUMBERS, &trace.rows[i]),
				 0);
	return trace;
}

static const struct target_selector some_name = { SELECT_COMM, "kind-2*" };

#define NR_QUESTIONS 7

static void questions_make(struct history_question *questions, const struct snapshot *tail)
{
	const struct history_question made[NR_QUESTIONS] = {
		{ 0 },
		{ .step_ns = 7 * MINUTE + 1 },
		{ .from_ns = tail->start_ns - HOUR, .step_ns = 10 * MINUTE },
		{ .from_ns = tail->start_ns - HOUR, .to_ns = tail->end_ns - 1 },
		{ .boot_id = tail->boot_id, .filter = { NULL, 0, &some_name, 1 } },
		{ .from_ns = tail->start_ns - DAY, .to_ns = tail->end_ns, .folded = KIND_FIELDS },
		{ .step_ns = HOUR, .folded = KIND_FIELD_COMM },
	};

	memcpy(questions, made, sizeof(made));
}

/* Texts are long: where they begin to differ is enough. */
static void assert_same_text(size_t question, const char *asked, const char *appended)
{
	size_t at = 0;

	while (asked[at] && asked[at] == appended[at])
		at++;
	if (asked[at] || appended[at])
		fail_msg("question %zu: \"%.200s\" is \"%.200s\"", question,
			 asked + (at < 60 ? 0 : at - 60), appended + (at < 60 ? 0 : at - 60));
}

static void check_tail(struct history *history, const struct snapshot *tail)
{
	struct history_question questions[NR_QUESTIONS];
	char *texts[NR_QUESTIONS], *after;
	struct trace before = trace_of(history), left;

	questions_make(questions, tail);
	for (size_t i = 0; i < NR_QUESTIONS; i++)
		texts[i] = ask_text(history, questions[i], tail);
	left = trace_of(history);
	assert_memory_equal(&left, &before, sizeof(left));
	append_must(history, tail);
	for (size_t i = 0; i < NR_QUESTIONS; i++) {
		after = ask_text(history, questions[i], NULL);
		assert_same_text(i, texts[i], after);
		free(after);
		free(texts[i]);
	}
}

/* Where the clock was set, a roll-up knows fewer times than what it was made of: not here. */
static bool stumble_by_one_clock(struct host *host)
{
	const struct host before = *host;
	bool begins = host_stumble(host);
	bool boots = strcmp(before.boot_id, host->boot_id) != 0;

	if (!boots && host->real_ns - before.real_ns != host->mono_ns - before.mono_ns)
		host->real_ns = before.real_ns + host->mono_ns - before.mono_ns;
	return begins;
}

/* The tail begins a run or goes on with one, whatever has happened before. */
static void check_sequence(uint64_t seed)
{
	const struct history_options options = { .keep_ns = { 400 * DAY, 400 * DAY, 400 * DAY } };
	struct place place __cleanup(place_done);
	__cleanup(history_closep) struct history *history = NULL;
	struct host host = host_make(seed);
	struct expected all = expected_make();
	__cleanup(timeline_done) struct timeline whole = { 0 };

	place_init(&place);
	history = open_with(&place, &options);
	if (seed % 2)
		host_begin(&host, history);
	for (int i = 0; i < 40; i++) {
		__cleanup(snapshot_freep) struct snapshot *interval = NULL;

		if (i && stumble_by_one_clock(&host))
			host_begin(&host, history);
		interval = pass_renamed(&host);
		check_tail(history, interval);
		expected_add(&all, interval);
	}
	history_close(history);
	history = open_with(&place, &options);
	/* A kind that was asked for, but not written, would be missed here. */
	ask_must(history, 0, 0, 0, &whole);
	expected_check(&all, &whole);
}

TEST(test_tail_is_as_if_appended)
{
	for (uint64_t seed = 1; seed <= 4; seed++)
		check_sequence(seed);
}

/* Nothing has ever been written: the tail is all there is. */
HISTORY_TEST(test_tail_alone, 41)
{
	__cleanup(snapshot_freep) struct snapshot *interval = NULL;
	struct history_question question = { 0 };
	struct expected expected = expected_make();

	host_begin(&host, history);
	interval = host_pass(&host, MINUTE, 20);
	expected_add(&expected, interval);
	question.tail = interval;
	answer_must(history, &question, timeline);
	assert_int_equal(timeline->nr_steps, 1);
	expected_check(&expected, timeline);
	ask_has(history, 0, 0, 0, timeline, nr_steps, 0);
}

/* A tail that an append would refuse would be counted twice. */
HISTORY_TEST(test_tail_that_overlaps, 42)
{
	__cleanup(snapshot_freep) struct snapshot *interval = host_pass(&host, MINUTE, 5);
	const struct history_question question = { .tail = interval };

	append_must(history, interval);
	assert_int_equal(history_ask(history, &question, timeline, &d), -EINVAL);
	assert_true(strlen(d.text) > 0);
}

/* Sums by call, in all steps: all kinds, or those that match. */
static void sum_by_call(const struct snapshot *snapshot, const char *comm, struct builder *builder)
{
	for (size_t i = 0; i < snapshot->nr_rows; i++) {
		struct row row = *snapshot->rows[i];
		const struct process *process =
			snapshot_find_process(snapshot, row.pid, row.boot_ns);

		if (!row.calls || (comm && (!process || strcmp(process->comm, comm) != 0)))
			continue;
		row.pid = 0;
		row.boot_ns = 0;
		row.in_flight = row.in_flight_early = 0;
		row.oldest_start_ns = UINT64_MAX;
		assert_int_equal(builder_add_row(builder, &row), 0);
	}
}

static void check_by_call(struct history *history, struct history_question question,
			  const char *comm)
{
	__cleanup(timeline_done) struct timeline kinds = { 0 }, calls = { 0 };
	struct builder *wanted = builder_make(), *got = builder_make();
	__cleanup(snapshot_freep) struct snapshot *one = NULL, *other = NULL;

	answer_must(history, &question, &kinds);
	question.folded = KIND_FIELDS;
	answer_must(history, &question, &calls);
	assert_int_equal(calls.nr_steps, kinds.nr_steps);
	for (size_t i = 0; i < kinds.nr_steps; i++) {
		const struct snapshot *sum = calls.steps[i].sum;

		sum_by_call(kinds.steps[i].sum, comm, wanted);
		sum_by_call(sum, NULL, got);
		assert_int_equal(sum->nr_processes, 1);
		assert_string_equal(sum->processes[0].comm, "[all]");
		assert_has(&sum->processes[0], pid, 0, nr_folded, 0);
		assert_memory_equal(&sum->losses, &kinds.steps[i].sum->losses, sizeof(sum->losses));
	}
	one = snapshot_take(wanted);
	other = snapshot_take(got);
	assert_true(one->nr_rows > 0);
	assert_snapshot_equal(other, one);
}

HISTORY_TEST(test_by_call, 43)
{
	const struct target_selector name = { SELECT_COMM, "kind-2" };
	struct history_question question = { .step_ns = 20 * MINUTE };

	append_minutes(history, &host, 60, 40);
	check_by_call(history, question, NULL);
	question.filter = (struct process_filter){ .selectors = &name, .nr_selectors = 1 };
	check_by_call(history, question, "kind-2");
}

/* Every name has each user, and every user each cgroup; some are not known. A name is that of a group of ours. */
static struct snapshot *pass_grid(struct host *host)
{
	static const char *const names[] = { "name-0", "[others]", "[all]" };
	struct process others = process_of_other_kinds();
	static const char *const cgroups[] = { "/system.slice/a.service", "/b.slice" };
	struct builder *builder = builder_make();
	struct snapshot *snapshot;

	for (uint32_t pid = 1; pid <= 27; pid++) {
		struct process process = { .pid = pid,
					   .boot_ns = pid * 1000ULL,
					   .uid = pid % 3 * 5,
					   .cgroup_id = pid / 3 % 3,
					   .user_ns = random_below(&host->seed, 9) };

		snprintf(process.comm, sizeof(process.comm), "%s", names[(pid - 1) / 9]);
		assert_int_equal(builder_add_process(builder, &process, false), 0);
		for (int i = 0; i < 3; i++) {
			struct row row;

			row_init_random(&row, &host->seed);
			row.pid = pid;
			row.boot_ns = process.boot_ns;
			row.in_flight = row.in_flight_early = 0;
			row.oldest_start_ns = UINT64_MAX;
			builder_take_row(builder, &row);
		}
	}
	for (int i = 0; i < 3; i++) {
		struct row row;

		row_init_for(&row, 0, ABI_X86_64, i);
		row_add_calls(&row, 2, 100, 50, 25);
		builder_take_row(builder, &row);
	}
	others.boot_ns = FOLDED_FIRST;
	builder_take_caller(builder, others, 0);
	snapshot = host_count(host, MINUTE, builder);
	names_add(&snapshot->users, &snapshot->nr_users, 0, "root");
	names_add(&snapshot->users, &snapshot->nr_users, 5, "www");
	for (size_t i = 0; i < ARRAY_SIZE(cgroups); i++)
		names_add(&snapshot->cgroups, &snapshot->nr_cgroups, i + 1, cgroups[i]);
	return snapshot;
}

/* Two sums have the same groups, whose numbers are equal. */
static void assert_groups_equal(const struct snapshot *a, const struct snapshot *b,
				unsigned int keys)
{
	__cleanup(group_list_done) struct group_list x = { 0 }, y = { 0 };

	assert_int_equal(snapshot_group(a, keys, NULL, &x), 0);
	assert_int_equal(snapshot_group(b, keys, NULL, &y), 0);
	assert_int_equal(x.nr_groups, y.nr_groups);
	for (size_t i = 0; i < x.nr_groups; i++) {
		struct row left = x.groups[i].sum, right = y.groups[i].sum;

		/* Only what the keys ask for is of the group. */
		left.pid = right.pid;
		left.boot_ns = right.boot_ns;
		if (!(keys & GROUP_SYSCALL)) {
			left.abi = right.abi;
			left.nr = right.nr;
		}
		assert_row_equal(&left, &right);
		assert_same(&x.groups[i], &y.groups[i], bytes, moves_data);
	}
}

/* Fields that are folded are unknown in all kinds, and no two kinds have all others alike. */
static void assert_folded(const struct snapshot *sum, unsigned int folded)
{
	size_t ours = 0;

	for (size_t i = 0; i < sum->nr_processes; i++) {
		const struct process *process = &sum->processes[i];
		char label[PROCESS_LABEL_MAX];

		assert_int_equal(process->nr_folded, 0);
		if (folded & KIND_FIELD_COMM)
			assert_string_equal(process->comm, "[all]");
		if (folded & KIND_FIELD_USER)
			assert_int_equal(process->uid, UID_NONE);
		if (folded & KIND_FIELD_CGROUP)
			assert_int_equal(process->cgroup_id, 0);
		if (!(folded & KIND_FIELD_COMM)) {
			process_label(process, label);
			ours += *label == '[';
		}
		for (size_t j = 0; j < i; j++) {
			const char *a = snapshot_cgroup(sum, process->cgroup_id);
			const char *b = snapshot_cgroup(sum, sum->processes[j].cgroup_id);

			assert_true(strcmp(process->comm, sum->processes[j].comm) ||
				    process->uid != sum->processes[j].uid ||
				    process->any_user != sum->processes[j].any_user ||
				    strcmp(a ?: "", b ?: ""));
		}
	}
	/* No program passes for a group of ours. */
	assert_true(ours <= 1);
	assert_true(!(folded & KIND_FIELD_USER) || !sum->nr_users);
	assert_true(!(folded & KIND_FIELD_CGROUP) || !sum->nr_cgroups);
}

/* Whatever is folded, groups by keys that do not need it are the same. */
static void check_folded(struct history *history, const struct target_selector *selector)
{
	static const unsigned int all_keys[] = {
		GROUP_SYSCALL,
		GROUP_COMM,
		GROUP_COMM | GROUP_SYSCALL,
		GROUP_USER | GROUP_SYSCALL,
		GROUP_UNIT | GROUP_SYSCALL,
		GROUP_CGROUP,
		GROUP_COMM | GROUP_USER,
		GROUP_COMM | GROUP_CGROUP | GROUP_SYSCALL,
		GROUP_USER | GROUP_UNIT | GROUP_SYSCALL,
		GROUP_COMM | GROUP_USER | GROUP_CGROUP | GROUP_SYSCALL,
	};
	struct history_question question = { .step_ns = 3 * MINUTE };
	__cleanup(timeline_done) struct timeline kinds = { 0 }, folded = { 0 };

	question.filter =
		(struct process_filter){ .selectors = selector, .nr_selectors = selector != NULL };
	answer_must(history, &question, &kinds);
	for (size_t i = 0; i < ARRAY_SIZE(all_keys); i++) {
		question.folded = kind_fields_unused(all_keys[i]);
		answer_must(history, &question, &folded);
		assert_int_equal(folded.nr_steps, kinds.nr_steps);
		for (size_t j = 0; j < kinds.nr_steps; j++) {
			const struct snapshot *all = kinds.steps[j].sum, *sum = folded.steps[j].sum;

			assert_groups_equal(sum, all, all_keys[i]);
			assert_int_equal(snapshot_user_ns(sum), snapshot_user_ns(all));
			assert_memory_equal(&sum->losses, &all->losses, sizeof(sum->losses));
			if (question.folded)
				assert_folded(sum, question.folded);
		}
	}
}

HISTORY_TEST(test_folded, 48)
{
	const struct target_selector user = { SELECT_USER, "www" };

	for (int i = 0; i < 9; i++) {
		__cleanup(snapshot_freep) struct snapshot *interval = pass_grid(&host);

		append_must(history, interval);
	}
	check_folded(history, NULL);
	check_folded(history, &user);
}

/* Many cgroups are too much for an answer that has them, but not for one by name. */
HISTORY_TEST(test_too_many_cgroups, 49)
{
	struct history_question question = { .step_ns = MINUTE };

	for (int i = 0; i < 9; i++) {
		struct builder *builder = builder_make();
		__cleanup(snapshot_freep) struct snapshot *interval = NULL;

		for (uint32_t pid = 1; pid <= 3000; pid++)
			builder_take_caller(builder,
					    (struct process){ .pid = pid,
							      .boot_ns = 1,
							      .cgroup_id = pid,
							      .comm = "nginx" },
					    0);
		interval = host_count(&host, MINUTE, builder);
		for (uint32_t pid = 1; pid <= 3000; pid++) {
			char path[32];

			snprintf(path, sizeof(path), "/docker/%u", pid);
			names_add(&interval->cgroups, &interval->nr_cgroups, pid, path);
		}
		append_must(history, interval);
	}
	assert_int_equal(history_ask(history, &question, timeline, &d), -E2BIG);
	question.folded = kind_fields_unused(GROUP_UNIT);
	assert_int_equal(history_ask(history, &question, timeline, &d), -E2BIG);
	question.folded = kind_fields_unused(GROUP_COMM);
	answer_must(history, &question, timeline);
	assert_int_equal(timeline->nr_steps, 9);
	assert_int_equal(timeline_calls(timeline), 9 * 3000);
	assert_string_equal(timeline->steps[8].sum->processes[0].comm, "nginx");
	assert_int_equal(timeline->steps[8].sum->nr_processes, 1);
}

/* An answer that would take too much memory is refused, and says how to ask; by call it is small. */
HISTORY_TEST(test_too_much, 44)
{
	struct history_question question = { .step_ns = MINUTE };

	for (int i = 0; i < 12; i++) {
		__cleanup(snapshot_freep) struct snapshot *interval =
			pass_crowd(&host, "crowd-", 3000);

		append_must(history, interval);
	}
	assert_int_equal(history_ask(history, &question, timeline, &d), -E2BIG);
	assert_all(strstr(d.text, "longer steps"), strstr(d.text, "table"));
	question.folded = KIND_FIELDS;
	answer_must(history, &question, timeline);
	assert_int_equal(timeline->nr_steps, 12);
	assert_int_equal(timeline_calls(timeline), 12 * 3000);
	question.folded = 0;
	question.step_ns = 0;
	answer_must(history, &question, timeline);
	assert_int_equal(timeline_calls(timeline), 12 * 3000);
}

/* Before the first interval there is nothing to tell, but for what has gone. */
HISTORY_TEST(test_steps_before_the_first, 45, .keep_ns = { 10 * MINUTE, HOUR, 2 * HOUR })
{
	ask_has(history, NEW_YEAR - DAY, NEW_YEAR, HOUR, timeline, nr_steps, 0);
	append_minutes(history, &host, 1, 1);
	ask_has(history, NEW_YEAR - DAY, NEW_YEAR + 2 * MINUTE, MINUTE, timeline, nr_steps, 2,
		steps[0].start_ns, NEW_YEAR);
	assert_all(timeline->steps[0].sum, !timeline->steps[1].sum);
	append_minutes(history, &host, 6 * 60 - 1, 1);
	/* The first hours are a gap by now. */
	ask_has(history, NEW_YEAR - DAY, 0, HOUR, timeline, gaps[0].reason, GAP_RETIRED, nr_steps,
		6, steps[0].start_ns, NEW_YEAR);
	assert_null(timeline->steps[0].sum);
}

/* A step of a moment is none, unless its end was asked for. */
HISTORY_TEST(test_short_rest, 46)
{
	append_minutes(history, &host, 2, 1);
	append_some(history, &host, 6 * SECOND - 1, 1);
	ask_has(history, NEW_YEAR, 0, MINUTE, timeline, nr_steps, 2);
	assert_has(&timeline->steps[1], covered_ns, MINUTE + 6 * SECOND - 1, end_ns, host.real_ns);
	ask_has(history, NEW_YEAR, host.real_ns, MINUTE, timeline, nr_steps, 3);
	ask_must(history, NEW_YEAR, 0, MINUTE - SECOND, timeline);
	/* The first is covered by the interval that ends in the second; the third is the rest. */
	assert_int_equal(timeline->nr_steps, 2);
	assert_int_equal(timeline->steps[1].end_ns, host.real_ns);
}

/* New limits take what is too much by them; the run goes on. */
HISTORY_TEST(test_new_limits, 47)
{
	const struct history_options less = { .keep_ns = { 20 * MINUTE, DAY, DAY } };
	struct history_size before, after;

	host_begin(&host, history);
	append_minutes(history, &host, 150, 2);
	assert_int_equal(history_size(history, &before), 0);
	assert_int_equal(before.intervals[0], 150);
	history_set_options(history, &less);
	append_minutes(history, &host, 50, 2);
	assert_int_equal(history_size(history, &after), 0);
	assert_in_range(after.intervals[0], 20, 40);
	assert_int_equal(after.first_ns, before.first_ns);
	ask_has(history, 0, 0, 0, timeline, nr_gaps, 0, steps[0].covered_ns, 200 * MINUTE);
}

/* --- partitions ---------------------------------------------------------------------------------- */

#define NR_INTERVALS 220

/* Where each interval ended, and how much was counted in it. */
struct ledger {
	int64_t ends_ns[NR_INTERVALS];
	uint64_t covered_ns[NR_INTERVALS];
	uint64_t calls[NR_INTERVALS];
};

static void fill(struct history *history, struct host *host, struct expected *all,
		 struct ledger *ledger, int nr)
{
	host_begin(host, history);
	for (int i = 0; i < NR_INTERVALS; i++) {
		int64_t length_ns = random_below(&host->seed, 4)
					    ? MINUTE
					    : random_between(&host->seed, 1, 25 * MINUTE);
		__cleanup(snapshot_freep) struct snapshot *interval = NULL;

		if (i % 11 == nr % 11 && host_stumble(host))
			host_begin(host, history);
		interval = host_pass(host, length_ns, (unsigned int)random_below(&host->seed, 4));
		append_must(history, interval);
		expected_add(all, interval);
		ledger->ends_ns[i] = interval->end_ns;
		ledger->covered_ns[i] = interval->elapsed_ns;
		ledger->calls[i] = snapshot_sum(interval).calls;
	}
}

static void expected_add_all(struct expected *expected, const struct timeline *timeline)
{
	for (size_t i = 0; i < timeline->nr_steps; i++) {
		if (timeline->steps[i].sum)
			expected_add(expected, timeline->steps[i].sum);
	}
}

/* Any step, any edge inside: the same sum. */
static void assert_partitions(struct history *history, const struct timeline *whole, uint64_t seed)
{
	int64_t start_ns = whole->steps[0].start_ns - 10 * HOUR;
	int64_t end_ns = whole->steps[0].end_ns + 10 * HOUR;

	for (int i = 0; i < 6; i++) {
		int64_t edge_ns = random_between(&seed, start_ns + 1, end_ns - 1);
		int64_t step_ns = random_between(&seed, MINUTE, 3 * HOUR);
		struct expected expected = expected_make(), parts = expected_make();
		__cleanup(timeline_done) struct timeline steps = { 0 }, left = { 0 }, right = { 0 };

		expected_add_all(&expected, whole);
		ask_must(history, start_ns, end_ns, (uint64_t)step_ns, &steps);
		expected_check(&expected, &steps);
		ask_must(history, start_ns, edge_ns, 0, &left);
		ask_must(history, edge_ns, end_ns, (uint64_t)step_ns, &right);
		expected_add_all(&parts, &left);
		expected_add_all(&parts, &right);
		expected_check(&parts, &steps);
	}
}

/*
 * While all intervals are there, each is in the step in which it ended, and in no other. Steps that
 * an interval covers are left out.
 */
static void assert_steps(struct history *history, const struct timeline *whole,
			 const struct ledger *ledger, int64_t step_ns)
{
	int64_t start_ns = whole->steps[0].start_ns - 3 * SECOND;
	__cleanup(timeline_done) struct timeline steps = { 0 };

	ask_must(history, start_ns, whole->steps[0].end_ns, (uint64_t)step_ns, &steps);
	for (size_t i = 0; i < steps.nr_steps; i++) {
		const struct timeline_step *step = &steps.steps[i];
		/* The step that was asked for; a longer interval has begun before that. */
		int64_t inside_ns = step->sum ? step->end_ns - 1 : step->start_ns;
		int64_t from_ns = inside_ns - (inside_ns - start_ns) % step_ns;
		int64_t to_ns = from_ns + step_ns;
		const struct timeline part = { .steps = &steps.steps[i], .nr_steps = 1 };
		uint64_t covered_ns = 0, calls = 0;

		for (int j = 0; j < NR_INTERVALS; j++) {
			if (ledger->ends_ns[j] > from_ns && ledger->ends_ns[j] <= to_ns) {
				covered_ns += ledger->covered_ns[j];
				calls += ledger->calls[j];
			}
		}
		assert_int_equal(steps.steps[i].covered_ns, covered_ns);
		assert_int_equal(timeline_calls(&part), calls);
	}
}

/* Gaps do not overlap each other, and where the clock was never set they fill the rest. */
static void assert_gaps(const struct timeline *whole, bool clock_is_right)
{
	int64_t gaps_ns = 0;

	for (size_t i = 0; i < whole->nr_gaps; i++) {
		gaps_ns += whole->gaps[i].end_ns - whole->gaps[i].start_ns;
		assert_all(whole->gaps[i].start_ns < whole->gaps[i].end_ns,
			   whole->gaps[i].reason == GAP_NOT_RUNNING ||
				   whole->gaps[i].reason == GAP_NOT_WRITTEN);
	}
	if (clock_is_right)
		assert_int_equal((uint64_t)gaps_ns + whole->steps[0].covered_ns,
				 whole->steps[0].end_ns - whole->steps[0].start_ns);
}

static void check_one(uint64_t seed, const struct history_options *options, bool keeps_all)
{
	static const int64_t steps_ns[] = { MINUTE,   10 * MINUTE,    HOUR,
					    2 * HOUR, 7 * MINUTE + 1, 61 * MINUTE };
	struct ledger ledger = { 0 };
	struct place place __cleanup(place_done);
	__cleanup(history_closep) struct history *history = NULL;
	struct host host = host_make(seed);
	struct expected all = expected_make();
	__cleanup(timeline_done) struct timeline whole = { 0 };
	int64_t drift_ns;

	place_init(&place);
	history = open_with(&place, options);
	fill(history, &host, &all, &ledger, (int)seed);
	ask_must(history, 0, 0, 0, &whole);
	expected_check(&all, &whole);
	assert_partitions(history, &whole, seed);
	for (size_t i = 0; keeps_all && i < ARRAY_SIZE(steps_ns); i++)
		assert_steps(history, &whole, &ledger, steps_ns[i]);
	/* Boots take the monotonic clock away; without them both clocks went alike or did not. */
	drift_ns = (host.real_ns - NEW_YEAR) - (host.mono_ns - 1000 * SECOND);
	assert_gaps(&whole, drift_ns == 0);
	/* It is the same after a restart. */
	history_close(history);
	history = open_default(&place);
	ask_must(history, 0, 0, 0, &whole);
	assert_partitions(history, &whole, seed);
}

TEST(test_partitions)
{
	const struct history_options options = { .keep_ns = { 400 * DAY, 400 * DAY, 400 * DAY } };

	for (uint64_t seed = 1; seed <= 6; seed++)
		check_one(seed, &options, true);
}

/* Where minutes have gone already, what they became stands for them. */
TEST(test_partitions_of_rollups)
{
	const struct history_options options = { .keep_ns = { 30 * MINUTE, 3 * HOUR, 400 * DAY } };

	for (uint64_t seed = 11; seed <= 16; seed++)
		check_one(seed, &options, false);
}
