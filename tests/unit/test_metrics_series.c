/* SPDX-License-Identifier: BSD-2-Clause */
/* /metrics: which processes have series of their own, and under which names. */
#include "metrics_fixture.h"

/* --- series of their own ------------------------------------------------------------------------- */

/* So many calls of one program, at a moment. */
static void program_add(struct builder *builder, uint32_t pid, const char *comm, uint64_t calls)
{
	builder_take_process(builder, pid, comm, strlen(comm), 0);
	builder_take_calls(builder, pid, ABI_OF_TESTS, "read", calls, 1500, 0, 0);
}

static struct snapshot *interval_at(struct builder *builder, uint64_t second)
{
	struct snapshot *interval = snapshot_take(builder);

	interval->end_mono_ns = second * SEC;
	return interval;
}

static uint64_t comm_calls(const char *text, const char *comm)
{
	char series[128];
	const char *value;

	snprintf(series, sizeof(series), "bpftruss_syscalls_total{comm=\"%s\",syscall=\"read\"}",
		 comm);
	value = series_find(text, series);
	return value ? strtoull(value, NULL, 10) : UINT64_MAX;
}

/* Programs and their calls, as busy=50; late=- has no series. */
static void scrape_check(const struct metrics *metrics, const char *expected)
{
	__cleanup(freep) char *text = metrics_render(metrics, METRICS_PROMETHEUS_TEXT);
	char word[MAX_WORD];

	while (word_read(&expected, word)) {
		char *calls = strchr(word, '=');

		*calls++ = '\0';
		assert_int_equal(comm_calls(text, word),
				 *calls == '-' ? UINT64_MAX : strtoull(calls, NULL, 10));
	}
}

/* The first process keeps its place; a later one has series only of what it does from then on. */
METRICS_TEST(test_places, .group = METRICS_BY_COMM, .top = 2)
{
	program_add(builder, 1, "idle", 10);
	program_add(builder, 2, "late", 9);
	program_add(builder, 3, "busy", 50);
	metrics_take(metrics, interval_at(builder, 100));
	scrape_check(metrics, "busy=50 idle=10 late=- other=9");
	builder = builder_make();
	program_add(builder, 2, "late", 1000);
	program_add(builder, 3, "busy", 1);
	metrics_take(metrics, interval_at(builder, 399));
	scrape_check(metrics, "busy=51 idle=10 late=- other=1009");
	/* For five minutes to the second nothing was seen of idle: it stays until they are over. */
	builder = builder_make();
	program_add(builder, 2, "late", 1);
	metrics_take(metrics, interval_at(builder, 400));
	scrape_check(metrics, "busy=51 idle=10 late=- other=1010");
	builder = builder_make();
	program_add(builder, 2, "late", 5);
	metrics_take(metrics, interval_at(builder, 401));
	scrape_check(metrics, "busy=51 idle=- late=5 other=1010");
}

/* A living process keeps the place of its group, whether it makes calls or not. */
TEST(test_quiet_process)
{
	const struct metrics_options options = { .group = METRICS_BY_COMM };
	__cleanup(metrics_freep) struct metrics *metrics = metrics_make(&options);

	for (uint64_t i = 0; i < 3; i++) {
		struct builder *builder = builder_make();

		if (i)
			builder_take_process(builder, 1, "quiet", 5, 0);
		else
			program_add(builder, 1, "quiet", 7);
		metrics_take(metrics, interval_at(builder, 1000 * (i + 1)));
		scrape_check(metrics, "quiet=7");
	}
}

/* A program that tries many calls and errors uses up its share, not that of the others. */
BUILDERS_TEST(test_cap)
{
	const struct metrics_options options = { .group = METRICS_BY_COMM, .max_series = 400 };
	__cleanup(metrics_freep) struct metrics *metrics = metrics_make(&options);
	__cleanup(freep) char *text = NULL, *later = NULL;
	char most[SYSCALL_NAME_MAX], series[128];
	uint64_t calls = 0;
	struct row row;

	builder_take_process(before, 1, "greedy", 6, 0);
	for (int nr = -1; (nr = syscall_next(ABI_OF_TESTS, nr)) >= 0;) {
		row_init_for(&row, 1, ABI_OF_TESTS, nr);
		row_add_calls(&row, 1000 - (uint64_t)nr, 500, 0, 0);
		for (int err = 1; err < 130; err++)
			row_add_errors(&row, err, 1);
		calls += row.calls;
		builder_take_row(before, &row);
	}
	metrics_take(metrics, snapshot_take(before));
	text = metrics_render(metrics, METRICS_PROMETHEUS_TEXT);
	assert_int_equal(series_sum(text, "bpftruss_syscalls_total"), calls);
	assert_all(series_value(text, "bpftruss_series_dropped_total") > 0,
		   series_value(text, "bpftruss_syscalls_total{comm=\"greedy\","
				      "syscall=\"other\"}") > calls / 2,
		   count_of(text, "comm=\"greedy\"") <= 100);
	/* Its most frequent call has room. */
	syscall_name(ABI_OF_TESTS, syscall_next(ABI_OF_TESTS, -1), most, sizeof(most));
	snprintf(series, sizeof(series), "bpftruss_syscalls_total{comm=\"greedy\",syscall=\"%s\"}",
		 most);
	assert_int_equal(series_value(text, series), 1000);
	program_add(after, 2, "modest", 3);
	metrics_take(metrics, snapshot_take(after));
	later = metrics_render(metrics, METRICS_PROMETHEUS_TEXT);
	assert_int_equal(comm_calls(later, "modest"), 3);
	/* Nothing more was refused. */
	assert_int_equal(series_value(later, "bpftruss_series_dropped_total"),
			 series_value(text, "bpftruss_series_dropped_total"));
}

/* --- names --- */

/* Reserved names, and those that are told apart by bytes but look alike in a label, share a series. */
TEST(test_shared_names)
{
	static const struct {
		const char *names[4], *series;
	} cases[] = {
		{ { "other", "total", "unattributed", "" }, "other" },
		{ { "\xff", "\\xff", "\\xff", "\xff" }, "\\\\xff" },
	};
	const struct metrics_options options = { .group = METRICS_BY_COMM };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__cleanup(metrics_freep) struct metrics *metrics = metrics_make(&options);
		struct builder *builder = builder_make();
		__cleanup(freep) char *text = NULL;

		for (uint32_t j = 0; j < 4; j++)
			program_add(builder, j + 1, cases[i].names[j], 1ULL << j);
		text = metrics_scrape(metrics, builder);
		assert_int_equal(comm_calls(text, cases[i].series), 15);
		assert_int_equal(count_of(text, "bpftruss_syscalls_total{"), 1);
	}
}

/* Numbers that no kernel knows, and errors that none has, make no series each. */
METRICS_TEST(test_made_up_numbers, .group = METRICS_BY_COMM)
{
	__cleanup(freep) char *text = NULL;

	builder_take_process(builder, 1, "odd", 3, 0);
	for (int nr = 5000; nr < 5100; nr++) {
		struct row row;

		row_init_for(&row, 1, nr % 2 ? ABI_OF_TESTS : ABI_I386, nr);
		row_add_calls(&row, 1, 100, 0, 0);
		row_add_errors(&row, nr - 2000, 1);
		builder_take_row(builder, &row);
	}
	text = metrics_scrape(metrics, builder);
	lines_check(text,
		    "syscalls_total{comm=\"odd\",syscall=\"unknown\"} 100\n"
		    "syscall_errors_total{comm=\"odd\",syscall=\"unknown\",errno=\"other\"} 100\n");
}

/* --- one number, several processes --- */

/* A process of pid 9 that started at its number, which is still there unless it is the first. */
static void pid_add(struct builder *builder, uint64_t start, uint64_t calls, bool ended)
{
	struct process process = process_make(9, start == 1 ? "old" : "new", 3);
	struct row row;

	row_init_calls(&row, 9, ABI_OF_TESTS, "read", calls, 1500, 0, 0);
	process.boot_ns = row.boot_ns = 1000 * start;
	process.ended_ns = ended ? 2000 : 0;
	assert_int_equal(builder_add_process(builder, &process, false), 0);
	builder_take_row(builder, &row);
}

/* A target that is gone stays until it was pushed. */
TEST(test_gone_targets_stay_for_as_long_as_is_asked)
{
	static const struct {
		uint64_t keep_s, retired[2]; /* at 350 s, and 650 s */
	} cases[] = { { 0, { 100, 100 } }, { 600, { 0, 100 } } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct metrics_options options = { .group = METRICS_BY_PID,
							 .keep_gone_ns = cases[i].keep_s * SEC };
		__cleanup(metrics_freep) struct metrics *metrics = metrics_make(&options);
		struct builder *builder = builder_make();

		pid_add(builder, 1, 100, true);
		metrics_take(metrics, interval_at(builder, 10));
		for (uint64_t j = 0; j < 2; j++) {
			__cleanup(freep) char *text = NULL;

			metrics_take(metrics, interval_at(builder_make(), 350 + 300 * j));
			text = metrics_render(metrics, METRICS_OPENMETRICS);
			assert_int_equal(series_value(text, "bpftruss_retired_syscalls_total"),
					 cases[i].retired[j]);
		}
	}
}

#define INFO(comm) "bpftruss_target_info{pid=\"9\",comm=\"" comm "\",unit=\"-\"}"

TEST(test_pids)
{
	const struct metrics_options by_pid = { .group = METRICS_BY_PID };
	static const struct {
		uint64_t ended, first, second; /* the processes of each interval */
		uint64_t calls, all, retired;
		const char *info;
	} cases[] = {
		/* A number that comes again is another process: it begins anew. */
		{ 0, 1, 2, 3, 3, 100, INFO("new") },
		/* A process that stays is one target, however often it is read. */
		{ 0, 1, 1, 103, 103, 0, INFO("old") },
		/* Two of one pid in one interval: the series are of the later one, which may go on. */
		{ 1, 2, 2, 6, 106, 0, INFO("new") },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__cleanup(metrics_freep) struct metrics *metrics = metrics_make(&by_pid);
		struct builder *first = builder_make(), *second = builder_make();
		__cleanup(freep) char *text = NULL;

		if (cases[i].ended)
			pid_add(first, cases[i].ended, 100, true);
		pid_add(first, cases[i].first, cases[i].ended ? 3 : 100, false);
		pid_add(second, cases[i].second, 3, false);
		metrics_take(metrics, interval_at(first, 10));
		metrics_take(metrics, interval_at(second, 20));
		text = metrics_render(metrics, METRICS_OPENMETRICS);
		assert_int_equal(
			series_value(text, "bpftruss_syscalls_total{pid=\"9\",syscall=\"read\"}"),
			cases[i].calls);
		assert_int_equal(series_sum(text, "bpftruss_syscalls_total"), cases[i].all);
		assert_int_equal(series_value(text, "bpftruss_retired_syscalls_total"),
				 cases[i].retired);
		assert_int_equal(series_value(text, cases[i].info), 1);
	}
}
