/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows of a snapshot that are selected, groups with sums that hold for every grouping, and the
 * processes that a filter has.
 */
#include "tables.h"

#include <fnmatch.h>

#include "model/match.h"
#include "model/query.h"

static struct snapshot *select_make(const struct snapshot *snapshot, const char *list)
{
	__cleanup(syscall_set_freep) struct syscall_set *set = NULL;
	struct snapshot *out;

	if (list)
		assert_int_equal(syscall_set_parse(list, &set, NULL), 0);
	assert_int_equal(snapshot_select(snapshot, set, &out), 0);
	return out;
}

/* Two processes, two ABIs: read, write, read/i386. */
static struct snapshot *snapshot_two_by_three(void)
{
	struct builder *builder = scenario_two_processes();
	struct row row;

	for (uint32_t pid = 1234; pid <= 5678; pid += 5678 - 1234) {
		row_init_calls(&row, pid, ABI_X86_64, "read", pid, 100, 30, 10);
		row_add_errors(&row, pid == 1234 ? EPERM : EIO, 1);
		row_add_errors(&row, EINTR, 2);
		row.in_flight = 1;
		row.oldest_start_ns = pid;
		builder_take_row(builder, &row);
		builder_take_calls(builder, pid, ABI_X86_64, "write", 1, pid, 0, 0);
		builder_take_calls(builder, pid, ABI_I386, "read", 7, 100, 0, 0);
	}
	return snapshot_take(builder);
}

SNAPSHOT_TEST(test_select_all, snapshot_two_by_three())
{
	__cleanup(snapshot_freep) struct snapshot *all = select_make(snapshot, NULL);

	assert_snapshot_equal(snapshot, all);
	assert_ptr_not_equal(snapshot->rows, all->rows);
	assert_ptr_equal(snapshot->rows[0], all->rows[0]);
	assert_string_equal(snapshot->host, all->host);
	assert_int_equal(snapshot->elapsed_ns, all->elapsed_ns);
}

/* A name counts in every ABI; processes stay, for their user time. */
SNAPSHOT_TEST(test_select_by_set, snapshot_two_by_three())
{
	__cleanup(snapshot_freep) struct snapshot *reads = select_make(snapshot, "read");
	__cleanup(snapshot_freep) struct snapshot *writes = select_make(snapshot, "write");
	__cleanup(snapshot_freep) struct snapshot *none = select_make(snapshot, "!all");

	assert_int_equal(reads->nr_rows, 4);
	assert_row_equal(reads->rows[0], snapshot->rows[0]);
	assert_row_equal(reads->rows[1], snapshot->rows[2]);
	assert_row_equal(reads->rows[2], snapshot->rows[3]);
	assert_row_equal(reads->rows[3], snapshot->rows[5]);
	assert_int_equal(writes->nr_rows, 2);
	assert_row_equal(writes->rows[0], snapshot->rows[1]);
	assert_row_equal(writes->rows[1], snapshot->rows[4]);
	assert_int_equal(none->nr_rows, 0);
	assert_int_equal(reads->nr_processes, 2);
	assert_int_equal(none->nr_processes, 2);
	assert_int_equal(snapshot_user_ns(none), snapshot_user_ns(snapshot));
	for (size_t i = 0; i < 2; i++)
		assert_process_equal(&none->processes[i], &snapshot->processes[i]);
	/* Asking changes nothing. */
	assert_int_equal(snapshot->nr_rows, 6);
}

SNAPSHOT_TEST(test_sum_by_syscall, snapshot_two_by_three())
{
	__cleanup(group_list_done) struct group_list sums = { 0 };

	assert_int_equal(snapshot_group(snapshot, GROUP_SYSCALL, NULL, &sums), 0);
	assert_int_equal(sums.nr_groups, 3);
	assert_has(&sums.groups[0].sum, abi, ABI_X86_64, nr, 0, calls, 1234 + 5678, errors, 6,
		   in_flight, 2, oldest_start_ns, 1234);
	assert_int_equal(row_cpu_ns(&sums.groups[0].sum), (1234 + 5678) * 70);
	assert_has(&sums, groups[0].sum.nr_errnos, 3, groups[0].sum.errnos[0].err, EPERM);
	assert_has(&sums.groups[0].sum.errnos[1], err, EINTR, count, 4);
	assert_int_equal(sums.groups[0].sum.errnos[2].err, EIO);
	assert_has(&sums.groups[1].sum, nr, 1, calls, 2, min_ns, 1234, max_ns, 5678);
	assert_int_equal(hist_total(&sums.groups[1].sum.hist), 2);
	/* read of another ABI is another call. */
	assert_has(&sums.groups[2].sum, abi, ABI_I386, nr, 3, calls, 14);
	/* Asking changes nothing. */
	assert_int_equal(snapshot->nr_rows, 6);
	assert_has(snapshot->rows[0], pid, 1234, nr_errnos, 2);
}

/* --- groups -------------------------------------------------------------------------------------- */

TEST(test_keys)
{
	static const struct text_number lists[] = {
		{ "pid", GROUP_PID },
		{ "tid", GROUP_PID | GROUP_TID },
		{ "comm,syscall", GROUP_COMM | GROUP_SYSCALL },
		{ "arg0", GROUP_SYSCALL | GROUP_ARG0 },
		{ "unit,user,abi", GROUP_UNIT | GROUP_USER | GROUP_ABI },
		{ "pid,pid", GROUP_PID },
	};
	static const char *const refused[] = {
		"", ",", "pid,", "pids", "PID", "pid comm", "calls"
	};
	unsigned int keys;

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		assert_int_equal(group_keys_parse("--by", lists[i].text, &keys, &d), 0);
		assert_int_equal(keys, lists[i].number);
	}
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		assert_int_equal(group_keys_parse("--by", refused[i], &keys, &d), -EINVAL);
		assert_int_equal(d.kind, DIAG_USAGE);
	}
}

/* Random rows of a few processes, threads, units, users, ABIs and first arguments. */
static struct snapshot *random_snapshot(uint64_t *seed)
{
	struct builder *builder = builder_make();
	struct snapshot *snapshot;
	struct row row;

	for (uint32_t pid = 1; pid < 4; pid++)
		web_process(builder, pid, pid == 1 ? "a" : "b", 1 + pid % 2, 1 + pid / 2, pid);
	for (int i = 0; i < 60; i++) {
		row_init_random(&row, seed);
		row.tid = row.pid ? row.pid * 10 + (uint32_t)random_below(seed, 3) : 0;
		row.split = (enum call_split)random_below(seed, 2);
		row.split_value = row.split ? random_below(seed, 2) : 0;
		builder_take_row(builder, &row);
	}
	snapshot = snapshot_take(builder);
	names_add(&snapshot->users, &snapshot->nr_users, 1, "one");
	names_add(&snapshot->users, &snapshot->nr_users, 2, "two");
	names_add(&snapshot->cgroups, &snapshot->nr_cgroups, 1, "/a.slice/x.service/inner");
	names_add(&snapshot->cgroups, &snapshot->nr_cgroups, 2, "/y.scope");
	return snapshot;
}

static void groups_sum(const struct group_list *list, struct group *ret)
{
	assert_int_equal(group_list_sum(list, 0, ret), 0);
	/* The identity of a sum is nobody's. */
	assert_int_equal(ret->sum.pid, 0);
}

static uint64_t moved_bytes(const struct snapshot *snapshot)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < snapshot->nr_rows; i++) {
		const struct row *row = snapshot->rows[i];

		if (syscall_has_trait(row->abi, (int)row->nr, TRAIT_MOVES_DATA))
			sum += row->result_sum;
	}
	return sum;
}

/* All groups differ for every mask of keys, and together they are all rows. */
SNAPSHOT_TEST(test_sums_hold, random_snapshot(&(uint64_t){ 1 }))
{
	__cleanup(row_done) struct row all;

	row_init(&all);
	for (size_t i = 0; i < snapshot->nr_rows; i++)
		assert_int_equal(row_merge(&all, snapshot->rows[i]), 0);
	for (unsigned int keys = 0; keys < 256; keys++) {
		__cleanup(group_list_done) struct group_list list = { 0 };
		struct group sum;

		assert_int_equal(snapshot_group(snapshot, keys, NULL, &list), 0);
		assert_in_range(list.nr_groups, 1, snapshot->nr_rows);
		groups_sum(&list, &sum);
		assert_row_equal(&sum.sum, &all);
		assert_int_equal(sum.bytes, moved_bytes(snapshot));
		row_done(&sum.sum);
	}
}

static size_t count_groups(const struct snapshot *snapshot, unsigned int keys)
{
	__cleanup(group_list_done) struct group_list list = { 0 };

	assert_int_equal(snapshot_group(snapshot, keys, NULL, &list), 0);
	return list.nr_groups;
}

SNAPSHOT_TEST(test_counts_by_hand, scenario_web())
{
	__cleanup(snapshot_freep) struct snapshot *empty = scenario_empty(ABI_OF_TESTS);

	assert_int_equal(count_groups(snapshot, 0), 1);
	assert_int_equal(count_groups(snapshot, GROUP_PID), 3);
	assert_int_equal(count_groups(snapshot, GROUP_PID | GROUP_TID), 5);
	assert_int_equal(count_groups(snapshot, GROUP_COMM), 2);
	assert_int_equal(count_groups(snapshot, GROUP_UNIT), 2);
	assert_int_equal(count_groups(snapshot, GROUP_USER), 2);
	assert_int_equal(count_groups(snapshot, GROUP_ABI), 1);
	assert_int_equal(count_groups(snapshot, GROUP_SYSCALL), 6);
	assert_int_equal(count_groups(snapshot, GROUP_SYSCALL | GROUP_ARG0), 7);
	assert_int_equal(count_groups(snapshot, GROUP_COMM | GROUP_SYSCALL), 6);
	assert_int_equal(count_groups(snapshot, GROUP_PID | GROUP_SYSCALL), 10);
	assert_int_equal(count_groups(empty, GROUP_PID), 0);
}

static int by_calls(const struct group *a, const struct group *b, const void *closure)
{
	assert_null(closure);
	return (a->sum.calls < b->sum.calls) - (a->sum.calls > b->sum.calls);
}

/* Order and sum are right whatever is chosen, and the rest is one group. */
static void select_check(const struct snapshot *snapshot, const struct group_cut *filter)
{
	__cleanup(group_list_done) struct group_list list = { 0 };
	struct group before, after;
	size_t nr_before, shown = 0;

	assert_int_equal(snapshot_group(snapshot, GROUP_PID | GROUP_SYSCALL, NULL, &list), 0);
	nr_before = list.nr_groups;
	groups_sum(&list, &before);
	assert_int_equal(group_list_select(&list, filter), 0);
	groups_sum(&list, &after);
	assert_row_equal(&before.sum, &after.sum);
	assert_int_equal(before.bytes, after.bytes);
	while (shown < list.nr_groups && !list.groups[shown].nr_merged) {
		const struct row *row = &list.groups[shown++].sum;

		assert_all(row->calls >= filter->min_calls, !filter->errors_only || row->errors,
			   row->calls || row->in_flight);
		if (shown > 1 && filter->compare)
			assert_true(row[0].calls <= list.groups[shown - 2].sum.calls);
	}
	if (shown < list.nr_groups)
		assert_int_equal(shown + list.groups[shown].nr_merged, nr_before);
	assert_in_range(list.nr_groups - shown, 0, 1);
	assert_true(!filter->top || shown <= filter->top);
	row_done(&before.sum);
	row_done(&after.sum);
}

TEST(test_select)
{
	static const struct group_cut filters[] = {
		{ 0 },
		{ .compare = by_calls },
		{ .top = 1 },
		{ .top = 3, .compare = by_calls },
		{ .top = 1000, .compare = by_calls },
		{ .min_calls = 20 },
		{ .min_calls = UINT64_MAX },
		{ .errors_only = true, .compare = by_calls },
		{ .errors_only = true, .min_calls = 10, .top = 2, .compare = by_calls },
	};
	uint64_t seed = 2;

	for (int round = 0; round < 10; round++) {
		__cleanup(snapshot_freep) struct snapshot *snapshot = random_snapshot(&seed);

		for (size_t i = 0; i < ARRAY_SIZE(filters); i++)
			select_check(snapshot, &filters[i]);
	}
}

/* Groups without calls vanish, those in flight do not. */
BUILDER_TEST(test_select_drops_nothing_but_nothing)
{
	const struct group_cut all = { 0 }, none = { .min_calls = 1 };
	__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
	__cleanup(group_list_done) struct group_list list = { 0 };
	struct row row;

	for (int i = 0; i < 3; i++) {
		row_init_for(&row, 1, ABI_OF_TESTS, i);
		row.in_flight = i == 1;
		builder_take_row(builder, &row);
	}
	snapshot = snapshot_take(builder);
	assert_int_equal(snapshot_group(snapshot, GROUP_SYSCALL, NULL, &list), 0);
	assert_int_equal(group_list_select(&list, &all), 0);
	assert_has(&list, nr_groups, 1, groups[0].sum.nr, 1);
	assert_int_equal(group_list_select(&list, &none), 0);
	assert_has(&list, nr_groups, 1, groups[0].nr_merged, 1);
}

/* Equal groups keep the order they had. */
static int all_equal(const struct group *a, const struct group *b, const void *closure)
{
	(void)a, (void)b, (void)closure;
	return 0;
}

BUILDER_TEST(test_select_is_stable)
{
	const struct group_cut filter = { .compare = all_equal };
	__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
	__cleanup(group_list_done) struct group_list list = { 0 };
	struct row row;

	for (int i = 0; i < 100; i++) {
		row_init_for(&row, 1, ABI_OF_TESTS, i);
		row_add_calls(&row, 1, 1, 0, 0);
		builder_take_row(builder, &row);
	}
	snapshot = snapshot_take(builder);
	assert_int_equal(snapshot_group(snapshot, GROUP_SYSCALL, NULL, &list), 0);
	assert_int_equal(group_list_select(&list, &filter), 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(list.groups[i].sum.nr, i);
}

/* Bytes after the NUL of a name are not part of it. */
BUILDER_TEST(test_comm_ends_at_nul)
{
	__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;

	builder_take_process(builder, 1, "sh\0old name", 11, 0);
	builder_take_process(builder, 2, "sh", 2, 0);
	for (uint32_t pid = 1; pid < 3; pid++)
		builder_take_calls(builder, pid, ABI_OF_TESTS, "read", 1, 1, 0, 0);
	snapshot = snapshot_take(builder);
	assert_int_equal(count_groups(snapshot, GROUP_COMM), 1);
}

TEST(test_waiting_list)
{
	static const char *const waiting[] = { "accept4", "clock_nanosleep", "epoll_wait",
					       "futex",   "nanosleep",       "ppoll",
					       "wait4" };
	__cleanup(syscall_set_freep) struct syscall_set *set = NULL, *none = NULL;
	int read = syscall_find(ABI_OF_TESTS, "read"), futex = syscall_find(ABI_OF_TESTS, "futex");

	for (size_t i = 0; i < ARRAY_SIZE(waiting); i++)
		assert_true(syscall_waits(NULL, ABI_X86_64, syscall_find(ABI_X86_64, waiting[i])));
	assert_all(syscall_waits(NULL, ABI_I386, syscall_find(ABI_I386, "_newselect")),
		   !syscall_waits(NULL, ABI_OF_TESTS, syscall_find(ABI_OF_TESTS, "read")),
		   !syscall_waits(NULL, ABI_OF_TESTS, -1));
	assert_int_equal(syscall_set_parse("read", &set, NULL), 0);
	assert_int_equal(syscall_set_parse("!all", &none, NULL), 0);
	assert_all(syscall_waits(set, ABI_OF_TESTS, read), !syscall_waits(set, ABI_OF_TESTS, futex),
		   !syscall_waits(none, ABI_OF_TESTS, futex));
}

/* --- filters ------------------------------------------------------------------------------------- */

/* The web server of tables.h; what found no room, folded processes, and one of which nothing is known. */
static struct snapshot *snapshot_of_many(void)
{
	struct builder *builder = builder_make();
	struct process folded = {
		.boot_ns = 3, .uid = 33, .cgroup_id = 7, .nr_folded = 5, .comm = "nginx"
	};
	struct process unknown = process_make(400, "lost", 4);
	struct snapshot *web = scenario_web(), *snapshot;
	struct row row;

	for (size_t i = 0; i < web->nr_processes; i++)
		assert_int_equal(builder_add_process(builder, &web->processes[i], false), 0);
	for (size_t i = 0; i < web->nr_rows; i++)
		assert_int_equal(builder_add_row(builder, web->rows[i]), 0);
	unknown.uid = UID_NONE;
	unknown.cgroup_id = 55;
	assert_int_equal(builder_add_process(builder, &folded, false), 0);
	assert_int_equal(builder_add_process(builder, &unknown, false), 0);
	for (uint32_t i = 0; i < 2; i++) {
		row_init_named(&row, 0, ABI_OF_TESTS, "read");
		row.boot_ns = i ? folded.boot_ns : 0;
		row.calls = row.untimed = 9;
		builder_take_row(builder, &row);
	}
	snapshot = snapshot_take(builder);
	for (size_t i = 0; i < web->nr_users; i++)
		names_add(&snapshot->users, &snapshot->nr_users, web->users[i].id,
			  web->users[i].name);
	for (size_t i = 0; i < web->nr_cgroups; i++)
		names_add(&snapshot->cgroups, &snapshot->nr_cgroups, web->cgroups[i].id,
			  web->cgroups[i].name);
	snapshot->losses.count[LOSS_TASK_TABLE_FULL] = 4;
	snapshot_free(web);
	return snapshot;
}

/* The pids that are left, as 100,200,; 0 for folded ones. */
static void assert_left(const struct process_filter *filter, const char *expected)
{
	__cleanup(snapshot_freep) struct snapshot *snapshot = snapshot_of_many(), *left = NULL;
	__cleanup(freep) struct filter_globs *globs = NULL;
	char pids[128] = "";
	size_t rows = 0;

	assert_int_equal(snapshot_filter(snapshot, filter, &left), 0);
	assert_int_equal(filter_globs_new(filter, &globs), 0);
	for (size_t i = 0; i < snapshot->nr_processes; i++) {
		const struct process *process = &snapshot->processes[i];
		bool has = filter_has(globs, snapshot, process);

		assert_int_equal(has, snapshot_find_process(left, process->pid, process->boot_ns) !=
					      NULL);
		if (has)
			sprintf(pids + strlen(pids), "%" PRIu32 ",", process->pid);
		for (size_t j = 0; has && j < snapshot->nr_rows; j++)
			rows += snapshot->rows[j]->pid == process->pid &&
				snapshot->rows[j]->boot_ns == process->boot_ns;
	}
	assert_string_equal(pids, expected);
	assert_int_equal(left->nr_rows, rows);
	for (size_t i = 0; i < left->nr_rows; i++)
		assert_row_equal(left->rows[i], snapshot_find_row(snapshot, left->rows[i]));
}

/* Selectors of a kind, and which processes they leave, as bash=300, */
static void assert_selected(enum selector_kind kind, const char *cases)
{
	char word[MAX_WORD];

	while (word_read(&cases, word)) {
		char *left = strrchr(word, '=');
		const struct target_selector selector = { kind, word };

		print_message("%s\n", word);
		*left++ = '\0';
		assert_left(&(struct process_filter){ .selectors = &selector, .nr_selectors = 1 },
			    left);
	}
}

TEST(test_selected)
{
	assert_selected(SELECT_COMM, "nginx=0,100,200, ngin= n*=0,100,200, [a-c]?sh=300, [= =");
	/* Whole components only. */
	assert_selected(
		SELECT_CGROUP,
		"/system.slice=0,100,200, system.slice/nginx.service/=0,100,200, "
		"/sys/fs/cgroup//user.slice/user-0.slice=300, /sys/fs/cgroup=0,100,200,300, "
		"/=0,100,200,300, /system= /system.slice/nginx.service/worker= "
		"/nginx.service= /sys/fs/cgroups/user.slice=");
	assert_selected(SELECT_UNIT,
			"nginx.service=0,100,200, nginx=0,100,200, session-1.scope=300, session-1= "
			"user.slice=300, nginx.servic= system.slice/nginx.service= =");
	assert_selected(SELECT_USER, "www-data=0,100,200, 33=0,100,200, 1000=300, nobody-here= -1= "
				     "4294967295= 33x= =");
}

/* Any of them is enough. */
TEST(test_together)
{
	static const pid_t pids[] = { 200, 400, 0, -1 };
	static const struct target_selector selectors[] = { { SELECT_COMM, "bash" },
							    { SELECT_USER, "nobody-here" } };
	struct process_filter filter = { .pids = pids, .nr_pids = ARRAY_SIZE(pids) };

	assert_left(&filter, "200,400,");
	filter.selectors = selectors;
	filter.nr_selectors = ARRAY_SIZE(selectors);
	assert_left(&filter, "200,300,400,");
}

/* With all come the calls that belong to nobody; a filter never changes what is said of the whole. */
TEST(test_all)
{
	static const struct target_selector all = { SELECT_ALL, "" };
	static const pid_t pid = 100;
	const struct process_filter filters[] = {
		{ .nr_pids = 0 },
		{ .pids = &pid, .nr_pids = 1, .selectors = &all, .nr_selectors = 1 },
	};
	const struct process_filter one = { .pids = &pid, .nr_pids = 1 };
	__cleanup(snapshot_freep) struct snapshot *snapshot = snapshot_of_many(), *left = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
		__cleanup(snapshot_freep) struct snapshot *same = NULL;

		assert_int_equal(snapshot_filter(snapshot, &filters[i], &same), 0);
		assert_snapshot_equal(snapshot, same);
	}
	assert_int_equal(snapshot_filter(snapshot, &one, &left), 0);
	assert_has(left, nr_processes, 1, losses.count[LOSS_TASK_TABLE_FULL], 4);
	assert_same(left, snapshot, elapsed_ns, end_mono_ns);
	assert_string_equal(snapshot_user(left, &(struct process){ .uid = 33 }), "www-data");
}

/* The text of random characters of a set. */
static void random_text(uint64_t *seed, const char *set, size_t limit, char *text)
{
	size_t length = random_below(seed, limit);

	for (size_t i = 0; i < length; i++)
		text[i] = set[random_below(seed, strlen(set))];
	text[length] = '\0';
}

/* The globs of the shell, as the C library has them. */
TEST(test_globs)
{
	char glob[12], name[PROCESS_COMM_SIZE];
	uint64_t seed = 3;
	int matches = 0;

	for (int i = 0; i < 20000; i++) {
		struct selector selector = { .kind = SELECT_COMM };

		random_text(&seed, "ab*?[]!-", sizeof(glob), glob);
		random_text(&seed, "ab]-", 5, name);
		if (glob_compile(glob, &selector, NULL))
			continue;
		if (glob_matches(&selector, name, sizeof(name)) != !fnmatch(glob, name, 0))
			fail_msg("%s, %s", glob, name);
		matches += !fnmatch(glob, name, 0);
	}
	assert_true(matches > 300);
}

/* The kernel keeps 15 bytes of a name: a longer one is cut there, unless a * may stand for the rest. */
TEST(test_long_names)
{
	static const struct {
		const char *glob, *name;
		bool matches;
	} cases[] = {
		{ "fifteen-letters", "fifteen-letters", true },
		{ "fifteen-letters-and-more", "fifteen-letters", true },
		{ "fifteen-letters-and-more", "fifteen-letter", false },
		{ "[f]ifteen-letter?-and-more", "fifteen-letters", true },
		{ "fifteen-letters[", "fifteen-letters", true },
		{ "fifteen-letters*", "fifteen-letters", true },
		{ "*fifteen-letters-and-more", "fifteen-letters", false },
		{ "fif*-letters-and-more", "fifteen-letters", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct selector selector = { .kind = SELECT_COMM };
		char name[PROCESS_COMM_SIZE] = "";

		memcpy(name, cases[i].name, strlen(cases[i].name));
		assert_int_equal(glob_compile(cases[i].glob, &selector, NULL), 0);
		if (glob_matches(&selector, name, sizeof(name)) != cases[i].matches)
			fail_msg("%s, %s", cases[i].glob, name);
	}
}
