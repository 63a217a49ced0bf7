/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * /metrics: golden files of both formats; that no counter ever shrinks and their sum is that of all
 * calls, over random histories.
 */
#include "metrics_fixture.h"

/* --- golden files --- */

static void golden_metrics(const char *name, struct snapshot *interval,
			   const struct metrics_options *options)
{
	__cleanup(metrics_freep) struct metrics *metrics = metrics_make(options);
	__cleanup(freep) char *open = NULL, *text = NULL;
	char file[64];

	metrics_take(metrics, interval);
	open = metrics_render(metrics, METRICS_OPENMETRICS);
	text = metrics_render(metrics, METRICS_PROMETHEUS_TEXT);
	assert_full(metrics_write, metrics, &self_of_tests, METRICS_OPENMETRICS);
	snprintf(file, sizeof(file), "metrics_%s_open", name);
	golden_check(file, open);
	snprintf(file, sizeof(file), "metrics_%s_text", name);
	golden_check(file, text);
	snprintf(file, sizeof(file), "metrics_%s.openmetrics", name);
	sample_write(file, open, strlen(open));
	snprintf(file, sizeof(file), "metrics_%s.prom", name);
	sample_write(file, text, strlen(text));
}

TEST(test_golden)
{
	const struct metrics_options units = { .max_series = 10000, .histograms = set_of("all") };
	const struct metrics_options processes = { .group = METRICS_BY_PID };
	const struct metrics_options names = { .group = METRICS_BY_COMM, .top = 100 };
	const struct metrics_options cgroups = { .group = METRICS_BY_CGROUP };

	golden_metrics("web", scenario_web(), &units);
	golden_metrics("web_pid", scenario_web(), &processes);
	golden_metrics("web_cgroup", scenario_web(), &cgroups);
	golden_metrics("hostile", scenario_hostile(ABI_OF_TESTS), &names);
	golden_metrics("overflow", scenario_overflow(ABI_OF_TESTS), &units);
	golden_metrics("empty", scenario_empty(ABI_OF_TESTS), &units);
}

/* --- values --- */

METRICS_TEST(test_histogram, .histograms = set_of("all"))
{
	__cleanup(freep) char *text = NULL;
	struct row row;

	web_process(builder, 100, "nginx", 33, 7, 0);
	row_init_calls(&row, 100, ABI_OF_TESTS, "read", 1, 1023, 0, 0);
	row_add_calls(&row, 2, 1024, 0, 0);
	row_add_calls(&row, 4, (1ULL << 34) - 1, 0, 0);
	row_add_calls(&row, 8, 1ULL << 34, 0, 0);
	row.calls += 16;
	row.no_return = 16;
	builder_take_row(builder, &row);
	text = metrics_scrape(metrics, builder);
	/* The sum is 1023 + 2 * 1024 + 4 * (2^34 - 1) + 8 * 2^34 ns. */
	lines_check(
		text,
		"syscall_duration_seconds_bucket{unit=\"-\",syscall=\"read\",le=\"1.023e-06\"} 1\n"
		"syscall_duration_seconds_bucket{unit=\"-\",syscall=\"read\",le=\"4.095e-06\"} 3\n"
		"syscall_duration_seconds_bucket{unit=\"-\",syscall=\"read\",le=\"4.294967295\"} "
		"3\n"
		"syscall_duration_seconds_bucket{unit=\"-\",syscall=\"read\",le=\"17.179869183\"} "
		"7\n"
		"syscall_duration_seconds_bucket{unit=\"-\",syscall=\"read\",le=\"+Inf\"} 15\n"
		"syscall_duration_seconds_count{unit=\"-\",syscall=\"read\"} 15\n"
		"syscall_duration_seconds_sum{unit=\"-\",syscall=\"read\"} 206.158433275\n"
		"syscalls_total{unit=\"-\",syscall=\"read\"} 31\n");
}

/* A process that moves takes nothing along: what it did before stays where it was. */
TEST(test_moving_process)
{
	const struct metrics_options options = { 0 };
	__cleanup(metrics_freep) struct metrics *metrics = metrics_make(&options);
	__cleanup(freep) char *text = NULL;

	for (uint64_t cgroup = 7; cgroup <= 8; cgroup++) {
		struct builder *builder = builder_make();
		struct snapshot *interval;

		web_process(builder, 100, "nginx", 33, cgroup, 0);
		builder_take_calls(builder, 100, ABI_OF_TESTS, "read", cgroup, 1500, 0, 0);
		interval = snapshot_take(builder);
		names_add(&interval->cgroups, &interval->nr_cgroups, 7, "/init.scope");
		names_add(&interval->cgroups, &interval->nr_cgroups, 8, "/a.slice/b.service/c");
		metrics_take(metrics, interval);
	}
	text = metrics_render(metrics, METRICS_PROMETHEUS_TEXT);
	lines_check(text, "syscalls_total{unit=\"init.scope\",syscall=\"read\"} 7\n"
			  "syscalls_total{unit=\"b.service\",syscall=\"read\"} 8\n"
			  "target_info{unit=\"b.service\",cgroup=\"/a.slice/b.service\"} 1\n");
}

/* A program that waits for work, or for a peer, is not stuck. */
METRICS_TEST(test_oldest, .group = METRICS_BY_COMM)
{
	__cleanup(freep) char *text = NULL, *later = NULL;

	builder_take_process(builder, 1234, "worker", 6, 1250 * MSEC);
	builder_take_process(builder, 5678, "nginx", 5, 750 * MSEC);
	builder_take_in_flight(builder, 5678, ABI_OF_TESTS, "epoll_pwait", 1, 0, 1 * SEC);
	builder_take_in_flight(builder, 5678, ABI_OF_TESTS, "read", 1, 0, 2 * SEC);
	builder_take_in_flight(builder, 5678, ABI_OF_TESTS, "recvfrom", 1, 0, 3 * SEC);
	builder_take_in_flight(builder, 5678, ABI_OF_TESTS, "ioctl", 1, 0, 4 * SEC);
	builder_take_in_flight(builder, 5678, ABI_OF_TESTS, "fsync", 2, 0, 987 * SEC + 1);
	builder_take_in_flight(builder, 5678, ABI_OF_TESTS, "openat", 1, 0, 999 * SEC);
	text = metrics_scrape(metrics, builder);
	/* It has made no call that ended, so it has no place yet. */
	lines_check(text, "syscall_oldest_in_flight_seconds{comm=\"other\"} 12.999999999\n"
			  "syscalls_in_flight{comm=\"other\",syscall=\"epoll_pwait\"} 1\n");
	metrics_take(metrics, scenario_empty(ABI_OF_TESTS));
	later = metrics_render(metrics, METRICS_OPENMETRICS);
	lines_check(later, "syscall_oldest_in_flight_seconds{comm=\"other\"} 0\n"
			   "syscalls_in_flight{comm=\"other\",syscall=\"fsync\"} 0\n");
}

/* An interval of one process in a cgroup, whose threads spent so many seconds. */
static struct snapshot *interval_timed(const char *cgroup, uint64_t cpu_s, uint64_t runq_s)
{
	struct builder *builder = builder_make();
	struct snapshot *interval;

	web_process(builder, 100, "nginx", 33, 7, 0);
	builder_take_calls(builder, 100, ABI_OF_TESTS, "read", 1, 1500, 0, 0);
	interval = snapshot_take(builder);
	interval->has_runq = true;
	interval->processes[0].usage = (struct usage){ .threads_ns = 100 * SEC,
						       .cpu_ns = cpu_s * SEC,
						       .runq_ns = runq_s * SEC };
	names_add(&interval->cgroups, &interval->nr_cgroups, 7, cgroup);
	return interval;
}

TEST(test_times)
{
	const struct metrics_options options = { .group = METRICS_BY_UNIT };
	__cleanup(metrics_freep) struct metrics *metrics = metrics_make(&options);
	__cleanup(freep) char *text = NULL;

	metrics_take(metrics, interval_timed("/a.service", 10, 20));
	/* It was longer on a CPU than it was counted: clocks are read one after the other. */
	metrics_take(metrics, interval_timed("/a.service", 90, 20));
	text = metrics_render(metrics, METRICS_OPENMETRICS);
	lines_check(text, "thread_seconds_total{unit=\"a.service\",state=\"cpu\"} 100\n"
			  "thread_seconds_total{unit=\"a.service\",state=\"runq\"} 40\n"
			  "thread_seconds_total{unit=\"a.service\",state=\"sleep\"} 70\n");
	assert_null(
		series_find(text, "bpftruss_thread_seconds_total{unit=\"other\",state=\"cpu\"}"));
}

#define ID "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"

/* Labels have short ids, infos the whole ones to join by. */
TEST(test_containers)
{
	static const char path[] = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-"
				   "pod55c6c714_b240_4dec_9a45_57b61696ab6e.slice/"
				   "cri-containerd-" ID ".scope";
	static const struct {
		enum metrics_group group;
		const char *lines;
	} groups[] = {
		{ METRICS_BY_UNIT,
		  "target_info{unit=\"cri-containerd-2c26b46b68ff.scope\",cgroup=\"/kubepods.slice/"
		  "kubepods-burstable.slice/kubepods-burstable-pod55c6c714_b240_4dec_9a45_"
		  "57b61696ab6e.slice/cri-containerd-" ID ".scope\",container_id=\"" ID
		  "\",pod_uid=\"55c6c714-b240-4dec-9a45-57b61696ab6e\"} 1\n" },
		{ METRICS_BY_CONTAINER,
		  "syscalls_total{container=\"2c26b46b68ff\",syscall=\"read\"} 1\n"
		  "target_info{container=\"2c26b46b68ff\",unit=\"cri-containerd-2c26b46b68ff."
		  "scope\",container_id=\"" ID "\",pod_uid=\"55c6c714-b240-4dec-9a45-57b61696ab6e"
		  "\",runtime=\"containerd\"} 1\n" },
		{ METRICS_BY_POD,
		  "target_info{pod_uid=\"55c6c714-b240-4dec-9a45-57b61696ab6e\",qos=\"Burstable\"} "
		  "1\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		const struct metrics_options options = { .group = groups[i].group };
		__cleanup(metrics_freep) struct metrics *metrics = metrics_make(&options);
		__cleanup(freep) char *text = NULL;

		metrics_take(metrics, interval_timed(path, 1, 1));
		text = metrics_render(metrics, METRICS_PROMETHEUS_TEXT);
		lines_check(text, groups[i].lines);
	}
}

/* Out of the box, a host has no more series than this. */
#define MOST_SERIES 500

static size_t lines_count(const char *text)
{
	size_t count = 0;

	for (; *text; text = strchr(text, '\n') + 1)
		count += *text != '#';
	return count;
}

METRICS_TEST(test_all_series_of_a_host, .group = METRICS_BY_PID)
{
	struct daemon_status full = self_of_tests;
	__cleanup(freep) char *text = NULL, *own = NULL;
	uint64_t reserved;

	own = metrics_render(metrics, METRICS_PROMETHEUS_TEXT);
	assert_in_range(lines_count(own), 40, METRICS_OWN_SERIES);
	for (uint32_t pid = 1; pid < 100; pid++) {
		builder_take_process(builder, pid, "busy", 4, 0);
		for (int nr = 0; nr < 200; nr++) {
			struct row row;

			row_init_for(&row, pid, ABI_OF_TESTS, nr);
			row_add_calls(&row, 1000 - pid, 1500, 0, 0);
			row_add_errors(&row, 1 + nr % 20, 5);
			row.interrupted = 1;
			row.in_flight = 1;
			row.oldest_start_ns = 1;
			builder_take_row(builder, &row);
		}
	}
	full.nr_tables = STATUS_MAX_TABLES;
	for (size_t i = 0; i < STATUS_MAX_TABLES; i++)
		full.tables[i].name = "table";
	full.kernel_bytes = 1;
	metrics_take(metrics, snapshot_take(builder));
	text = render(metrics_write, metrics, &full, METRICS_PROMETHEUS_TEXT);
	assert_in_range(lines_count(text), MOST_SERIES / 2, MOST_SERIES);
	reserved = series_value(text, "bpftruss_series_reserved");
	assert_in_range(reserved, DEFAULT_METRICS_MAX_SERIES - 20, DEFAULT_METRICS_MAX_SERIES);
}

/* --- random histories --- */

#define HISTORY_COMMS 12

struct history_test {
	struct metrics *metrics;
	uint64_t seed, now_ns, most_s; /* between two readings */
	uint64_t calls, errors, interrupted;
	char *before; /* the last scrape */
};

/* An interval of some of the programs, some new, some quiet for long; and of calls of nobody. */
static struct snapshot *interval_random(struct history_test *t)
{
	struct builder *builder = builder_make();
	struct snapshot *interval;

	for (uint32_t pid = 0; pid < HISTORY_COMMS; pid++) {
		size_t rows = random_below(&t->seed, 3);
		char comm[16];

		if (!rows)
			continue;
		snprintf(comm, sizeof(comm), "p%u", pid);
		if (pid)
			builder_take_process(builder, pid, comm, strlen(comm), 0);
		for (size_t i = 0; i < rows; i++) {
			struct row row;

			row_init_random(&row, &t->seed);
			row.pid = pid;
			row.boot_ns = pid * 1000ULL;
			row.oldest_start_ns = row.in_flight ? t->now_ns - 1000 : UINT64_MAX;
			t->calls += row.calls;
			t->errors += row.errors;
			t->interrupted += row.interrupted;
			builder_take_row(builder, &row);
		}
	}
	t->now_ns += random_below(&t->seed, t->most_s) * SEC;
	interval = snapshot_take(builder);
	interval->end_mono_ns = t->now_ns;
	return interval;
}

/* Whether a series may only grow, by its name. */
static bool series_is_counter(const char *series)
{
	static const char *const ends[] = { "_total", "_bucket", "_sum", "_count" };
	size_t length = strcspn(series, "{");

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		size_t end = strlen(ends[i]);

		if (length > end && !strncmp(series + length - end, ends[i], end))
			return true;
	}
	return false;
}

/* Every counter of the last scrape is at least as large now, or is gone. Returns those compared. */
static size_t scrapes_compare(const char *before, const char *after)
{
	const char *from = after;
	size_t compared = 0;

	for (const char *at = before; *at; at = strchr(at, '\n') + 1) {
		const char *end = strchr(at, '\n'), *blank = memrchr(at, ' ', (size_t)(end - at));
		char series[256];
		const char *value;

		snprintf(series, sizeof(series), "%.*s", (int)(blank - at), at);
		if (*at == '#' || !series_is_counter(series))
			continue;
		/* Both are in the same order. */
		value = series_find(from, series) ?: series_find(after, series);
		if (!value)
			continue;
		if (strtod(value, NULL) < strtod(blank, NULL)) {
			fprintf(stderr, "%s shrank\n", series);
			fail();
		}
		from = value;
		compared++;
	}
	return compared;
}

static void history_step(struct history_test *t)
{
	char *after;

	metrics_take(t->metrics, interval_random(t));
	after = metrics_render(t->metrics, METRICS_PROMETHEUS_TEXT);
	assert_int_equal(series_sum(after, "bpftruss_syscalls_total") +
				 series_value(after, "bpftruss_retired_syscalls_total"),
			 t->calls);
	assert_all(series_value(after, "bpftruss_series_reserved") <=
			   series_value(after, "bpftruss_series_limit"),
		   count_of(after, "comm=\"") <= series_value(after, "bpftruss_series_reserved"));
	if (t->before)
		assert_true(scrapes_compare(t->before, after) > 0);
	free(t->before);
	t->before = after;
}

/* Returns how many calls had been retired in the end. */
static uint64_t history_run(const struct metrics_options *options, uint64_t most_s)
{
	struct history_test t = { .seed = 42, .now_ns = 1000 * SEC, .most_s = most_s };
	uint64_t retired;

	t.metrics = metrics_make(options);
	for (size_t i = 0; i < 40; i++)
		history_step(&t);
	retired = series_value(t.before, "bpftruss_retired_syscalls_total");
	if (!retired) {
		assert_int_equal(series_sum(t.before, "bpftruss_syscall_errors_total"), t.errors);
		assert_int_equal(series_sum(t.before, "bpftruss_syscall_interruptions_total"),
				 t.interrupted);
	}
	free(t.before);
	metrics_free(t.metrics);
	return retired;
}

TEST(test_histories)
{
	static const unsigned int tops[] = { 1, 3, 100 }, limits[] = { 64, 300, 100000 };

	for (size_t i = 0; i < ARRAY_SIZE(tops) * ARRAY_SIZE(limits); i++) {
		const struct metrics_options options = {
			.group = METRICS_BY_COMM,
			.top = tops[i / ARRAY_SIZE(limits)],
			.max_series = limits[i % ARRAY_SIZE(limits)],
			.histograms = set_of(i % 2 ? "all" : "none"),
		};

		assert_int_equal(history_run(&options, 2), 0);
		history_run(&options, 200);
	}
	/* The test is about something. */
	assert_true(history_run(&(struct metrics_options){ .group = METRICS_BY_COMM }, 200) > 0);
}

/* --- the rest --- */

TEST(test_negotiate)
{
	static const struct {
		const char *accept;
		enum metrics_format format;
	} cases[] = {
		{ "", METRICS_PROMETHEUS_TEXT },
		{ "*/*", METRICS_PROMETHEUS_TEXT },
		{ "text/html, */*;q=0.1", METRICS_PROMETHEUS_TEXT },
		{ "application/openmetrics-text", METRICS_OPENMETRICS },
		{ "Application/OpenMetrics-Text ; Version=1.0.0", METRICS_OPENMETRICS },
		{ "application/openmetrics-text, text/plain;q=0.9", METRICS_OPENMETRICS },
		{ "text/plain, application/openmetrics-text;q=0.5", METRICS_PROMETHEUS_TEXT },
		/* Prometheus 2.42, and 3. */
		{ "application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
		  "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		  METRICS_OPENMETRICS },
		{ "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
		  "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;"
		  "escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,/;q=0.1",
		  METRICS_OPENMETRICS },
		{ "application/openmetrics-text;q=0", METRICS_PROMETHEUS_TEXT },
		{ "application/openmetrics-text; version=1.0.0; q=0.000, text/plain",
		  METRICS_PROMETHEUS_TEXT },
		{ "text/plain;q=0.0,application/openmetrics-text;q=0.01", METRICS_OPENMETRICS },
		{ "application/openmetrics-text, text/html;q=0", METRICS_OPENMETRICS },
		{ ",,;;=,;q,\xff", METRICS_PROMETHEUS_TEXT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (metrics_negotiate(cases[i].accept) != cases[i].format)
			fail_msg("%s", cases[i].accept);
	}
	assert_string_equal(metrics_content_type(METRICS_OPENMETRICS),
			    "application/openmetrics-text; version=1.0.0; charset=utf-8");
	assert_string_equal(metrics_content_type(METRICS_PROMETHEUS_TEXT),
			    "text/plain; version=0.0.4; charset=utf-8");
}

TEST(test_absent_numbers)
{
	const struct metrics_options options = { 0 };
	__cleanup(metrics_freep) struct metrics *metrics = metrics_make(&options);
	const struct daemon_status self = { 0 };
	__cleanup(freep) char *text = NULL;

	text = render(metrics_write, metrics, &self, METRICS_PROMETHEUS_TEXT);
	assert_all(!strstr(text, "bpftruss_store_"), !strstr(text, "bpftruss_prog_run_seconds"),
		   !strstr(text, "bpftruss_scrape_duration_seconds"),
		   !strstr(text, "bpftruss_syscall_duration_seconds"));
	assert_int_equal(series_value(text, "bpftruss_attached"), 1);
}
