/* SPDX-License-Identifier: BSD-2-Clause */
/* Which processes of a snapshot a filter has, and what is left of the snapshot. */
#include "tables.h"

#include <fnmatch.h>

#include "model/query.h"
#include "model/match.h"

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

TEST(test_selected)
{
	static const struct {
		struct target_selector selector;
		const char *left;
	} cases[] = {
		{ { SELECT_COMM, "nginx" }, "0,100,200," },
		{ { SELECT_COMM, "ngin" }, "" },
		{ { SELECT_COMM, "n*" }, "0,100,200," },
		{ { SELECT_COMM, "[a-c]?sh" }, "300," },
		{ { SELECT_COMM, "[" }, "" },
		{ { SELECT_COMM, "" }, "" },
		{ { SELECT_CGROUP, "/system.slice" }, "0,100,200," },
		{ { SELECT_CGROUP, "system.slice/nginx.service/" }, "0,100,200," },
		{ { SELECT_CGROUP, "/sys/fs/cgroup//user.slice/user-0.slice" }, "300," },
		{ { SELECT_CGROUP, "/sys/fs/cgroup" }, "0,100,200,300," },
		{ { SELECT_CGROUP, "/" }, "0,100,200,300," },
		/* Whole components only. */
		{ { SELECT_CGROUP, "/system" }, "" },
		{ { SELECT_CGROUP, "/system.slice/nginx.service/worker" }, "" },
		{ { SELECT_CGROUP, "/nginx.service" }, "" },
		{ { SELECT_CGROUP, "/sys/fs/cgroups/user.slice" }, "" },
		{ { SELECT_UNIT, "nginx.service" }, "0,100,200," },
		{ { SELECT_UNIT, "nginx" }, "0,100,200," },
		{ { SELECT_UNIT, "session-1.scope" }, "300," },
		{ { SELECT_UNIT, "session-1" }, "" },
		{ { SELECT_UNIT, "user.slice" }, "300," },
		{ { SELECT_UNIT, "nginx.servic" }, "" },
		{ { SELECT_UNIT, "system.slice/nginx.service" }, "" },
		{ { SELECT_UNIT, "" }, "" },
		{ { SELECT_USER, "www-data" }, "0,100,200," },
		{ { SELECT_USER, "33" }, "0,100,200," },
		{ { SELECT_USER, "1000" }, "300," },
		{ { SELECT_USER, "nobody-here" }, "" },
		{ { SELECT_USER, "-1" }, "" },
		{ { SELECT_USER, "4294967295" }, "" },
		{ { SELECT_USER, "33x" }, "" },
		{ { SELECT_USER, "" }, "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("%s\n", cases[i].selector.text);
		assert_left(&(struct process_filter){ .selectors = &cases[i].selector,
						      .nr_selectors = 1 },
			    cases[i].left);
	}
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
	assert_int_equal(left->nr_processes, 1);
	assert_int_equal(left->losses.count[LOSS_TASK_TABLE_FULL], 4);
	assert_same(left, snapshot, elapsed_ns, end_mono_ns);
	assert_string_equal(snapshot_user(left, 33), "www-data");
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
