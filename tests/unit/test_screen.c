/* SPDX-License-Identifier: BSD-2-Clause */
/* The frames of `bpftruss top`, at every size, and what its keys do. */
#include "screen_fixture.h"

TOP_TEST(test_sizes, 80, 14)
{
	static const struct {
		int width, height;
		const char *name;
	} sizes[] = {
		{ 80, 14, "top_80" },
		{ 150, 14, "top_150" },
		{ 40, 10, "top_40" },
		{ 40, 5, "top_tiny" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		top_resize(top, sizes[i].width, sizes[i].height);
		check(top, sizes[i].name);
	}
}

/* Two CPUs stand beside each other, and no number of one reaches into the other. */
TOP_TEST(test_cpus_stand_apart, 136, 24)
{
	static const struct host_cpu cpu = {
		.user = 20, .system = 10, .idle = 70, .switches = 98765, .migrations = 1234
	};
	struct host *host = &top->host;

	host->cpus = calloc(2, sizeof(*host->cpus));
	assert_non_null(host->cpus);
	host->nr_cpus = 2;
	for (unsigned int i = 0; i < host->nr_cpus; i++) {
		host->cpus[i] = cpu;
		host->cpus[i].number = i;
	}
	check(top, "top_cpus");
	for (unsigned int i = 0; i < host->nr_cpus; i++)
		host->cpus[i].switches = 9876543;
	check(top, "top_cpus_busy");
}

/* A loss never hides what the lines are sorted by. */
TOP_TEST(test_losses_leave_the_order, 80, 14)
{
	for (int loss = 0; loss < NR_MODEL_LOSS; loss++) {
		__cleanup(freep) char *text = NULL;

		memset(&top->rates->losses, 0, sizeof(top->rates->losses));
		top->rates->losses.count[loss] = 115229;
		text = screen_text(top);
		assert_non_null(strstr(text, "\nnot exact"));
		assert_non_null(strstr(text, " by pid, sort CALLS/s|!\n"));
		if (loss == LOSS_TASK_TABLE_FULL)
			assert_non_null(strstr(text, "\nnot exact: 115229 calls lost their process "
						     "(--max-tasks) "));
	}
}

/* Keys of other tops do something, or say what does. */
TOP_TEST(test_keys_of_other_tops, 80, 14)
{
	bool quit = false;

	assert_int_equal(top_press(top, 'M', &quit), 0);
	assert_non_null(strstr(top->message, "Memory is not measured"));
	assert_int_equal(top_press(top, 'u', &quit), 0);
	for (const char *key = "www-data"; *key; key++)
		assert_int_equal(top_press(top, *key, &quit), 0);
	assert_int_equal(top->nr_shown, 1);
	assert_int_equal(top_line(top, 0)->pid, 300);
}

/* No size and no state may write beyond the grid: the sanitizers watch. */
TEST(test_every_size)
{
	static const char *const states[] = { "", "E", "h", "/ngi", "d", "d9E", "gg", "/nothing" };

	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		struct top top __cleanup(top_done);

		top_make(&top, 80, 24);
		press(&top, states[i]);
		for (int width = 1; width < 200; width += width < 20 ? 1 : 17) {
			for (int height = 1; height < 30; height++) {
				top_resize(&top, width, height);
				free(screen_text(&top));
			}
		}
	}
}

TEST(test_states)
{
	struct top top __cleanup(top_done);

	top_init(&top, SEC / 2);
	top_resize(&top, 80, 12);
	check(&top, "top_first");
	assert_int_equal(top_update(&top, rates_ordinary(false)), 0);
	press(&top, "p");
	check(&top, "top_paused");
	press(&top, "pE");
	check(&top, "top_opened");
	press(&top, "Xh");
	check(&top, "top_help");
	press(&top, "x/ngi");
	check(&top, "top_filter");
	press(&top, "XXg");
	check(&top, "top_by_comm");
	press(&top, "g");
	check(&top, "top_by_unit");
	press(&top, "g");
	check(&top, "top_by_user");
	press(&top, "ggg");
	check(&top, "top_by_syscall");
	press(&top, "E");
	assert_non_null(top.message);
	press(&top, "G");
	assert_int_equal(top.by, RATE_BY_POD);
}

static void title_check(const struct top *top, size_t index, const char *expected)
{
	char title[TOP_TEXT_MAX];

	columns_title(top->rates, top_line(top, index), title, sizeof(title));
	assert_string_equal(title, expected);
}

TOP_TEST(test_titles, 80, 24)
{
	pressed(top, "g", by, RATE_BY_COMM);
	title_check(top, 0, "processes named nginx");
	pressed(top, "gg", by, RATE_BY_USER);
	title_check(top, 0, "user www-data");
	pressed(top, "g", by, RATE_BY_CONTAINER);
	title_check(top, 0, "processes in no container");
	pressed(top, "g", by, RATE_BY_POD);
	title_check(top, 0, "processes in no pod");
}

/* A call has no calls: of it errors are shown first. */
TOP_TEST(test_panes_of_a_call, 100, 36)
{
	struct pane_text shown, chosen;

	assert_int_equal(top_pane_shown(top), PANE_CALLS);
	pressed(top, "gggggg", by, RATE_BY_SYSCALL);
	assert_int_equal(top_pane_shown(top), PANE_ERRORS);
	/* What it says is what it says when it is chosen. */
	assert_int_equal(pane_write(top, PANE_MAX, &shown), 0);
	pressed(top, "\t", pane, PANE_DURATIONS);
	pressed(top, "\t", pane, PANE_HEAT);
	pressed(top, "\t\t", pane, PANE_ERRORS);
	assert_int_equal(pane_write(top, PANE_MAX, &chosen), 0);
	assert_int_equal(shown.count, chosen.count);
	for (size_t i = 0; i < shown.count; i++)
		assert_string_equal(shown.lines[i], chosen.lines[i]);
	pressed(top, "\t\t\tg\t", pane, PANE_CALLS);
}

TOP_TEST(test_panes, 100, 36)
{
	check(top, "top_pane_calls");
	press(top, "\t");
	check(top, "top_pane_errors");
	press(top, "\t");
	check(top, "top_pane_durations");
	press(top, "\t\t");
	assert_int_equal(top_pane_lines(top), 0);
	press(top, "\tE\t");
	check(top, "top_opened_errors");
}

/* A click chooses, another one opens; one on a head sorts, and another one reverses. */
TOP_TEST(test_clicks, 80, 24)
{
	int head = top_head_lines(top) - 1;

	assert_int_equal(top_click(top, 3, head), 0);
	assert_has(top, places[0].sort, RATE_PID);
	assert_int_equal(top_line(top, 0)->pid, 0);
	assert_int_equal(top_click(top, 3, head), 0);
	assert_true(top->places[0].reversed);
	assert_int_equal(top_line(top, 0)->pid, 4194304);
	assert_int_equal(top_click(top, 3, head + 3), 0);
	assert_has(top, places[0].cursor, 2);
	assert_false(top->opened);
	assert_int_equal(top_click(top, 3, head + 3), 0);
	assert_true(top->opened);
	for (int y = -1; y < 40; y++)
		assert_int_equal(top_click(top, 79, y), 0);
}

TOP_TEST(test_reverse_and_threads, 80, 24)
{
	pressed(top, "I", places[0].reversed, 1, places[0].sort, RATE_CALLS);
	assert_int_equal(top_line(top, 0)->pid, 4194304);
	pressed(top, "R", places[0].reversed, 0);
	/* Threads are known from the next interval on. */
	pressed(top, "H", by, RATE_BY_TID, nr_shown, 0);
	assert_null(top->rates);
	free(screen_text(top));
	assert_int_equal(top_update(top, rates_ordinary(false)), 0);
	assert_has(top, rates->by, RATE_BY_TID);
	free(screen_text(top));
	pressed(top, "H", by, RATE_BY_PID);
}

/* A process whose first parent, given here, ends when asked to; then it has another one. */
static pid_t orphan_start(pid_t *ret_parent)
{
	pid_t child = 0;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	*ret_parent = fork();
	assert_true(*ret_parent >= 0);
	if (*ret_parent == 0) {
		child = fork();
		if (child > 0 && write(fds[1], &child, sizeof(child)) != sizeof(child))
			_exit(1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(fds[0], &child, sizeof(child)), sizeof(child));
	close(fds[0]);
	close(fds[1]);
	return child;
}

static struct rates *rates_of_two(pid_t one, pid_t other)
{
	struct builder *before = builder_make(), *after = builder_make();
	__cleanup(snapshot_freep) struct snapshot *earlier = NULL, *later = NULL;
	struct rates *rates;

	take_process(after, (uint32_t)one, "parent", 6, 1, 0);
	take_process(after, (uint32_t)other, "child", 5, 1, 0);
	earlier = reading(before, 0);
	later = reading(after, 2 * SEC);
	assert_int_equal(rates_new(earlier, later, RATE_BY_PID, &rates), 0);
	return rates;
}

/* How deep a process stands in the tree. */
static int depth_of(const struct top *top, pid_t pid)
{
	for (size_t i = 0; i < top->rates->nr_lines; i++) {
		if (top->rates->lines[i].pid == (uint32_t)pid)
			return top->depths[i];
	}
	return -1;
}

TOP_TEST(test_tree_reads_parents_once_an_interval, 80, 24)
{
	pid_t parent, child = orphan_start(&parent);
	struct column_place places[MAX_COLUMNS];

	assert_int_equal(top_update(top, rates_of_two(parent, child)), 0);
	press(top, "t");
	assert_all(depth_of(top, parent) == 0, depth_of(top, child) == 1);
	/* Names keep their whole width behind the branches. */
	assert_true(columns_place(top, places) > 4);
	assert_string_equal(places[1].column->head, "COMM");
	assert_int_equal(places[1].width, 15 + 8);
	press(top, "t");
	assert_true(columns_place(top, places) > 4);
	assert_int_equal(places[1].width, 15);
	press(top, "t");
	kill(parent, SIGKILL);
	assert_int_equal(waitpid(parent, NULL, 0), parent);
	/* Keys arrange the tree anew, also with fewer lines, and ask nobody. */
	press(top, "IR/childXtt");
	assert_int_equal(depth_of(top, child), 1);
	assert_int_equal(top_update(top, rates_of_two(parent, child)), 0);
	assert_int_equal(depth_of(top, child), 0);
	kill(child, SIGKILL);
}

/* Whose parent nobody knows stands below the tree, however much it did. */
TOP_TEST(test_tree_has_ended_processes_last, 80, 24)
{
	struct builder *before = builder_make(), *after = builder_make();
	__cleanup(snapshot_freep) struct snapshot *earlier = NULL, *later = NULL;
	struct rates *rates;

	take_process(after, 4194300, "ended", 5, 0, 0);
	take_row(after, 4194300, "read", 1000, USEC, 0, 0);
	take_process(after, 4194301, "lives", 5, 1, 0);
	take_row(after, 4194301, "read", 1, USEC, 0, 0);
	earlier = reading(before, 0);
	later = reading(after, 2 * SEC);
	assert_int_equal(rates_new(earlier, later, RATE_BY_PID, &rates), 0);
	assert_int_equal(top_update(top, rates), 0);
	assert_int_equal(top_line(top, 0)->pid, 4194300);
	press(top, "t");
	assert_all(top_line(top, 0)->pid == 4194301, top_line(top, 1)->pid == 4194300);
}

static void bar_check(struct microstates states, const char *expected)
{
	char text[32];

	write_states(&states, 10, text);
	assert_string_equal(text, expected);
}

TEST(test_bars)
{
	bar_check((struct microstates){ 1, 1, 1, 1, 6 }, "usrl......");
	bar_check((struct microstates){ .user_ns = 1 }, "uuuuuuuuuu");
	bar_check((struct microstates){ 0 }, "");
	/* A twentieth is the larger remainder of the two. */
	bar_check((struct microstates){ .user_ns = 6, .sleep_ns = 94 }, "u.........");
	bar_check((struct microstates){ 33, 33, 34, 0, 0 }, "uuusssrrrr");
}

TOP_TEST(test_process_ends, 80, 12)
{
	press(top, "/sleepEE");
	assert_true(top->opened);
	assert_string_equal(top->title, "process 17 (sleep)");
	assert_int_equal(top->nr_calls, 2);
	assert_int_equal(top_update(top, rates_ordinary(true)), 0);
	assert_true(top->gone);
	check(top, "top_gone");
	press(top, ">DDNs");
	assert_false(press(top, "q"));
	assert_int_equal(top->nr_shown, 0);
	free(screen_text(top));
	press(top, "E");
	assert_false(top->opened);
}

TOP_TEST(test_move, 80, 7)
{
	assert_int_equal(top->nr_shown, 5);
	assert_int_equal(top_room(top), 5);
	top_resize(top, 80, 4);
	assert_int_equal(top_room(top), 2);
	pressed(top, "U", places[0].cursor, 0);
	pressed(top, "DD", places[0].cursor, 2, places[0].first, 1);
	pressed(top, "N", places[0].cursor, 4);
	pressed(top, "NZ", places[0].first, 3);
	pressed(top, "P", places[0].cursor, 2);
	pressed(top, "A", places[0].first, 0);
	assert_false(top->follows);
}

/* The cursor stays on its process while the order changes around it. */
TOP_TEST(test_follow, 80, 24)
{
	uint32_t pid;

	press(top, "Z");
	pid = top->rates->lines[top->shown[top->places[0].cursor]].pid;
	top->places[0].sort = RATE_PID;
	assert_int_equal(top_update(top, rates_ordinary(true)), 0);
	assert_int_equal(top->rates->lines[top->shown[top->places[0].cursor]].pid, pid);
}

TOP_TEST(test_sort_keys, 80, 24)
{
	pressed(top, "s", places[0].sort, RATE_ERRORS);
	pressed(top, "<<", places[0].sort, RATE_COMM);
	pressed(top, "<<", places[0].sort, RATE_OLDEST);
	pressed(top, "E>", places[1].sort, RATE_ERRORS);
}

TOP_TEST(test_prompts, 80, 24)
{
	pressed(top, "/nginy", nr_shown, 0);
	press(top, "BxBE");
	assert_string_equal(top->filter, "ngin");
	/* Its unit is nginx.service, too. */
	assert_int_equal(top->nr_shown, 2);
	press(top, "/zX");
	assert_string_equal(top->filter, "ngin");
	assert_false(press(top, "X"));
	assert_string_equal(top->filter, "");
	pressed(top, "d0.25E", delay_ns, SEC / 4);
	pressed(top, "d1e9E", delay_ns, SEC / 4);
	assert_non_null(top->message);
	press(top, "dnanE");
	assert_non_null(top->message);
	press(top, "d7X");
	assert_null(top->message);
	assert_int_equal(top->delay_ns, SEC / 4);
	press(top, "/");
	for (int i = 0; i < 200; i++)
		press(top, "m");
	assert_int_equal(strlen(top->filter), TOP_TEXT_MAX - 1);
}

TOP_TEST(test_quit, 80, 24)
{
	assert_all(!press(top, "hq"), !press(top, "Eq"), !press(top, "/qX"), press(top, "q"),
		   press(top, "X"));
	top_done(top);
	/* Before the first figures. */
	top_init(top, SEC);
	assert_false(press(top, "EDUNPAZ<>sgp/xEd1Eh "));
	free(screen_text(top));
	assert_true(press(top, "q") || press(top, "Xq"));
}

TEST(test_json)
{
	__cleanup(rates_freep) struct rates *rates = rates_ordinary(false);

	rates_sort(rates, RATE_CALLS, false);
	golden_render("top_json", report_rates_json, rates, 3);
}
