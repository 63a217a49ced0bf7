/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes /metrics of snapshots, and finds series in its text. */
#pragma once

#include "stack_scenarios.h"

#include "metrics/metrics.h"

static const struct daemon_status self_of_tests = {
	.tables = { { "tasks", 12, 1536, 222, 0 }, { "rows", 345, 40000, 345, 0 } },
	.nr_tables = 2,
	.budget_step = 1,
	.has_call_ns = true,
	.programs_ns = 1234567890,
	.has_history = true,
	.history_bytes = 8192,
	.history_appended = 6,
	.history_failed = 1,
	.scrapes = 3,
	.scrape_ns = 1500000,
	.start_ns = 1769903998000000000,
	.own_cpu_ns = 70000000,
	.resident_bytes = 9437184,
	.kernel_bytes = 12582912,
	.otlp = { .endpoint = "https://collector:4318",
		  .trouble = "",
		  .sent = 41,
		  .failed = 5,
		  .refused = 2,
		  .rejected = 7,
		  .dropped = 1,
		  .queued_bytes = 65536 },
};

/* A set for the options; NULL where that is to be the default. */
static inline struct syscall_set *set_of(const char *list)
{
	static struct syscall_set *set;

	syscall_set_free(steal_ptr(&set));
	assert_int_equal(syscall_set_parse(list, &set, NULL), 0);
	return set;
}

static inline struct metrics *metrics_make(const struct metrics_options *options)
{
	struct metrics *metrics;

	assert_int_equal(metrics_new(options, &metrics), 0);
	return metrics;
}

/* Begins a test of metrics with these options. */
#define METRICS_TEST(name, ...)                                                            \
	static void name##_of(struct metrics *metrics, struct builder *builder);           \
	TEST(name)                                                                         \
	{                                                                                  \
		const struct metrics_options options = { __VA_ARGS__ };                    \
		__cleanup(metrics_freep) struct metrics *metrics = metrics_make(&options); \
		name##_of(metrics, builder_make());                                        \
	}                                                                                  \
	static void name##_of(struct metrics *metrics, struct builder *builder)

static inline void metrics_take(struct metrics *metrics, struct snapshot *interval)
{
	assert_int_equal(metrics_add(metrics, interval), 0);
	snapshot_free(interval);
}

/* A scrape after that interval, which the builder has. */
#define metrics_scrape(metrics, builder)                       \
	({                                                     \
		metrics_take(metrics, snapshot_take(builder)); \
		metrics_render(metrics, METRICS_OPENMETRICS);  \
	})

static inline char *metrics_render(const struct metrics *metrics, enum metrics_format format)
{
	return render(metrics_write, metrics, &self_of_tests, format);
}

/* Value of a series, as written; NULL when there is none. */
static inline const char *series_find(const char *text, const char *series)
{
	size_t length = strlen(series);

	for (const char *at = text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (!strncmp(at, series, length) && at[length] == ' ')
			return at + length + 1;
	}
	return NULL;
}

static inline uint64_t series_value(const char *text, const char *series)
{
	const char *value = series_find(text, series);

	if (!value)
		fprintf(stderr, "no %s in:\n%s", series, text);
	assert_non_null(value);
	return strtoull(value, NULL, 10);
}

/* Each of these lines is in the text; the names of series begin there with "bpftruss_". */
static inline void lines_check(const char *text, const char *lines)
{
	char line[256];

	for (size_t length; *lines; lines += length + 1) {
		length = strcspn(lines, "\n");
		snprintf(line, sizeof(line), "\nbpftruss_%.*s\n", (int)length, lines);
		if (!strstr(text, line))
			fail_msg("no %s in:\n%s", line + 1, text);
	}
}

/* Sum over all series of a name. */
static inline uint64_t series_sum(const char *text, const char *name)
{
	size_t length = strlen(name);
	uint64_t sum = 0;

	for (const char *at = text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (!strncmp(at, name, length) && at[length] == '{')
			sum += strtoull(strstr(at, "} ") + 2, NULL, 10);
	}
	return sum;
}
