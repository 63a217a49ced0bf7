/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * OTLP: a golden file, buckets with exact bounds, deltas that add up to the counters, what a resource is
 * called, events as logs, and answers of collectors.
 */
#include "metrics_fixture.h"

#include <syslog.h>

#include "metrics/otlp.h"

#define NOW_NS 1769904000000000000

static struct otlp *otlp_make(struct otlp_options options)
{
	struct otlp *otlp;

	assert_int_equal(otlp_new(&options, &otlp), 0);
	return otlp;
}

/* The request as a document; NULL text: it is freed here. */
static json_t *otlp_take(struct otlp *otlp, const struct metrics *metrics)
{
	__cleanup(freep) char *text =
		render(otlp_write_metrics, otlp, metrics, &self_of_tests, NOW_NS);

	return json_parse(text);
}

/* Whether a list of attributes has one of this key and text. */
static bool attributes_have(const json_t *list, const char *key, const char *value)
{
	const json_t *attribute;
	size_t i;

	json_array_foreach(list, i, attribute)
	{
		const json_t *is = json_object_get(attribute, "value");
		const char *text = json_string_value(json_object_get(is, "stringValue"))
					   ?: json_string_value(json_object_get(is, "intValue"));

		if (!strcmp(json_string_value(json_object_get(attribute, "key")), key))
			return !strcmp(text, value);
	}
	return false;
}

static const json_t *resource_of(const json_t *whole, const char *list, const char *service)
{
	const json_t *resource;
	size_t i;

	json_array_foreach(json_object_get(whole, list), i, resource)
	{
		if (attributes_have(
			    json_object_get(json_object_get(resource, "resource"), "attributes"),
			    "service.name", service))
			return resource;
	}
	return NULL;
}

/* The points of a metric of a service; NULL: none. kind is sum, gauge or histogram. */
static const json_t *points_of(const json_t *whole, const char *service, const char *name,
			       const char *kind)
{
	const json_t *scopes =
		json_object_get(resource_of(whole, "resourceMetrics", service), "scopeMetrics");
	const json_t *metric;
	size_t i;

	json_array_foreach(json_object_get(json_array_get(scopes, 0), "metrics"), i, metric)
	{
		if (!strcmp(json_string_value(json_object_get(metric, "name")), name))
			return json_object_get(json_object_get(metric, kind), "dataPoints");
	}
	return NULL;
}

/* The value of the point with an attribute, or of the only one; 0 when there is none. */
static uint64_t value_of(const json_t *whole, const char *service, const char *name,
			 const char *key, const char *value)
{
	const json_t *point;
	size_t i;

	json_array_foreach(points_of(whole, service, name, "sum"), i, point)
	{
		if (!key || attributes_have(json_object_get(point, "attributes"), key, value))
			return strtoull(json_string_value(json_object_get(point, "asInt")), NULL,
					10);
	}
	return 0;
}

/* --- golden files --- */

TEST(test_golden)
{
	const struct metrics_options options = { .max_series = 10000, .histograms = set_of("all") };
	__cleanup(metrics_freep) struct metrics *metrics = metrics_make(&options);
	struct otlp_attributes attributes = { .count = 0 };
	__cleanup(otlp_freep) struct otlp *otlp = otlp_make((struct otlp_options){
		.host_id = "0123456789abcdef0123456789abcdef", .attributes = &attributes });

	assert_all(otlp_attributes_add(&attributes, "deployment.environment.name=test"),
		   otlp_attributes_add(&attributes, "os.type=mine"),
		   otlp_attributes_add(&attributes, "service.version=1"),
		   !otlp_attributes_add(&attributes, "none"),
		   !otlp_attributes_add(&attributes, "=x"),
		   !otlp_attributes_add(&attributes, "a\"b=x"));
	metrics_take(metrics, scenario_web());
	golden_render("otlp_web", otlp_write_metrics, otlp, metrics, &self_of_tests, NOW_NS);
	assert_full(otlp_write_metrics, otlp, metrics, &self_of_tests, NOW_NS);
}

/* Text of programs is valid UTF-8 without control characters. */
TEST(test_hostile)
{
	const struct metrics_options options = { .group = METRICS_BY_COMM, .top = 100 };
	__cleanup(metrics_freep) struct metrics *metrics = metrics_make(&options);
	__cleanup(otlp_freep) struct otlp *otlp = otlp_make((struct otlp_options){ 0 });
	json_t *whole;

	metrics_take(metrics, scenario_hostile(ABI_OF_TESTS));
	whole = otlp_take(otlp, metrics);
	assert_true(json_array_size(json_object_get(whole, "resourceMetrics")) > 3);
	json_decref(whole);
}

/* --- values --- */

static void row_take(struct builder *builder, const char *call, uint64_t calls, uint64_t ns)
{
	builder_take_calls(builder, 100, ABI_OF_TESTS, call, calls, ns, 0, 0);
}

METRICS_TEST(test_buckets, .histograms = set_of("all"))
{
	__cleanup(otlp_freep) struct otlp *otlp = otlp_make((struct otlp_options){ 0 });
	static const char *const counts[] = { "1", "2", "0", "0", "0", "0", "0",
					      "0", "0", "0", "0", "0", "4", "8" };
	const json_t *point, *list;
	struct row row;
	json_t *whole;

	web_process(builder, 100, "nginx", 33, 7, 0);
	row_init_calls(&row, 100, ABI_OF_TESTS, "read", 1, 1023, 0, 0);
	row_add_calls(&row, 2, 1024, 0, 0);
	row_add_calls(&row, 4, (1ULL << 34) - 1, 0, 0);
	row_add_calls(&row, 8, 1ULL << 34, 0, 0);
	builder_take_row(builder, &row);
	metrics_take(metrics, snapshot_take(builder));
	whole = otlp_take(otlp, metrics);
	point = json_array_get(points_of(whole, "-", "bpftruss.syscall.duration", "histogram"), 0);
	assert_string_equal(json_string_value(json_object_get(point, "count")), "15");
	assert_true(json_real_value(json_object_get(point, "sum")) == 206.158433275);
	list = json_object_get(point, "explicitBounds");
	assert_int_equal(json_array_size(list), 13);
	assert_true(json_real_value(json_array_get(list, 0)) == 1.023e-06);
	assert_true(json_real_value(json_array_get(list, 12)) == 17.179869183);
	list = json_object_get(point, "bucketCounts");
	assert_int_equal(json_array_size(list), ARRAY_SIZE(counts));
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		assert_string_equal(json_string_value(json_array_get(list, i)), counts[i]);
	json_decref(whole);
}

/* An interval of one process: reads, closes that fail. */
static struct snapshot *interval_of(uint64_t reads, uint64_t errors)
{
	struct builder *builder = builder_make();
	struct row row;

	web_process(builder, 100, "nginx", 33, 7, 0);
	if (reads)
		row_take(builder, "fsync", reads, 1500);
	if (errors) {
		row_init_calls(&row, 100, ABI_OF_TESTS, "close", errors, 100, 0, 0);
		row.errors = errors;
		assert_int_equal(row_add_errno(&row, EBADF, errors), 0);
		builder_take_row(builder, &row);
	}
	return snapshot_take(builder);
}

/* Deltas that were not kept come again; counters that did not change do not come. */
TEST(test_delta)
{
	const struct metrics_options options = { 0 };
	__cleanup(metrics_freep) struct metrics *metrics = metrics_make(&options);
	__cleanup(otlp_freep) struct otlp *otlp =
		otlp_make((struct otlp_options){ .temporality = OTLP_DELTA });
	static const struct {
		uint64_t reads, errors;
		bool is_kept;
		uint64_t told_reads, told_errors;
	} steps[] = { { 5, 1, true, 5, 1 },  { 7, 0, true, 7, 0 },   { 0, 0, true, 0, 0 },
		      { 1, 2, false, 1, 2 }, { 10, 3, true, 11, 5 }, { 4, 0, true, 4, 0 } };

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		const json_t *histogram;
		json_t *whole;

		metrics_take(metrics, interval_of(steps[i].reads, steps[i].errors));
		whole = otlp_take(otlp, metrics);
		assert_int_equal(value_of(whole, "-", "bpftruss.syscalls", "syscall.name", "fsync"),
				 steps[i].told_reads);
		assert_int_equal(
			value_of(whole, "-", "bpftruss.syscall.errors", "error.type", "EBADF"),
			steps[i].told_errors);
		histogram = points_of(whole, "-", "bpftruss.syscall.duration", "histogram");
		assert_int_equal(json_array_size(histogram), steps[i].told_reads > 0);
		assert_int_equal(strtoull(json_string_value(json_object_get(
						  json_array_get(histogram, 0), "count"))
						  ?: "0",
					  NULL, 10),
				 steps[i].told_reads);
		if (steps[i].is_kept)
			otlp_keep(otlp);
		json_decref(whole);
	}
}

/* What the daemon says of itself may begin anew: a history is opened again, tables grow. */
TEST(test_delta_of_what_begins_anew)
{
	const struct metrics_options options = { 0 };
	__cleanup(metrics_freep) struct metrics *metrics = metrics_make(&options);
	__cleanup(otlp_freep) struct otlp *otlp =
		otlp_make((struct otlp_options){ .temporality = OTLP_DELTA });
	static const uint64_t appended[] = { 10, 14, 3, 3 }, told[] = { 10, 4, 3, 0 };

	metrics_take(metrics, interval_of(1, 0));
	for (size_t i = 0; i < ARRAY_SIZE(appended); i++) {
		struct daemon_status self = self_of_tests;
		char *text __cleanup(freep) = NULL;
		json_t *whole;

		self.history_appended = appended[i];
		text = render(otlp_write_metrics, otlp, metrics, &self, NOW_NS);
		whole = json_parse(text);
		assert_int_equal(
			value_of(whole, "bpftruss", "bpftruss.store_intervals", NULL, NULL),
			told[i]);
		otlp_keep(otlp);
		json_decref(whole);
	}
}

/* Counters begin when their owner did. */
TEST(test_starts)
{
	const struct metrics_options options = { .group = METRICS_BY_COMM };
	__cleanup(metrics_freep) struct metrics *metrics = metrics_make(&options);
	__cleanup(otlp_freep) struct otlp *otlp = otlp_make((struct otlp_options){ 0 });
	static const char *const names[] = { "nginx", "later" };
	char start[32];
	json_t *whole;

	for (uint64_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct builder *builder = builder_make();
		struct snapshot *interval;

		web_process(builder, 100 + (uint32_t)i, names[i], 33, 7, 0);
		builder_take_calls(builder, 100 + (uint32_t)i, ABI_OF_TESTS, "read", 1, 1500, 0, 0);
		interval = snapshot_take(builder);
		interval->start_ns = NOW_NS - (int64_t)(100 * SEC * (2 - i));
		metrics_take(metrics, interval);
	}
	whole = otlp_take(otlp, metrics);
	for (uint64_t i = 0; i < ARRAY_SIZE(names); i++) {
		const json_t *point =
			json_array_get(points_of(whole, names[i], "bpftruss.syscalls", "sum"), 0);

		snprintf(start, sizeof(start), "%" PRIu64,
			 (uint64_t)(NOW_NS - 100 * SEC * (2 - i)));
		assert_string_equal(json_string_value(json_object_get(point, "startTimeUnixNano")),
				    start);
		assert_string_equal(json_string_value(json_object_get(point, "timeUnixNano")),
				    "1769904000000000000");
	}
	json_decref(whole);
}

/* --- resources --- */

#define CONTAINER_ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define POD_UID      "2b801b7a-8f43-4f5a-9e0e-1a2b3c4d5e6f"

TEST(test_resources)
{
	static const struct {
		enum metrics_group group;
		const char *service, *key, *value;
	} cases[] = {
		{ METRICS_BY_PID, "100", "process.pid", "100" },
		{ METRICS_BY_PID, "100", "process.executable.name", "nginx" },
		{ METRICS_BY_PID, "100", "container.id", CONTAINER_ID },
		{ METRICS_BY_POD, POD_UID, "k8s.pod.uid", POD_UID },
		{ METRICS_BY_UNIT, "cri-containerd-0123456789ab.scope", "container.id",
		  CONTAINER_ID },
		{ METRICS_BY_UNIT, "cri-containerd-0123456789ab.scope", "k8s.pod.uid", POD_UID },
		{ METRICS_BY_UNIT, "bpftruss", "service.version", BPFTRUSS_VERSION },
		{ METRICS_BY_UNIT, "bpftruss", "service.instance.id", "id" },
		{ METRICS_BY_UNIT, "bpftruss", "host.id", "id" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct metrics_options options = { .group = cases[i].group };
		__cleanup(metrics_freep) struct metrics *metrics = metrics_make(&options);
		__cleanup(otlp_freep) struct otlp *otlp =
			otlp_make((struct otlp_options){ .host_id = "id" });
		struct snapshot *interval = interval_of(1, 0);
		const json_t *resource;
		json_t *whole;

		names_add(&interval->cgroups, &interval->nr_cgroups, 7,
			  "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod"
			  "2b801b7a_8f43_4f5a_9e0e_1a2b3c4d5e6f.slice/"
			  "cri-containerd-" CONTAINER_ID ".scope");
		metrics_take(metrics, interval);
		whole = otlp_take(otlp, metrics);
		resource = resource_of(whole, "resourceMetrics", cases[i].service);
		assert_non_null(resource);
		assert_true(attributes_have(
			json_object_get(json_object_get(resource, "resource"), "attributes"),
			cases[i].key, cases[i].value));
		json_decref(whole);
	}
}

/* --- logs --- */

TEST(test_logs)
{
	const struct otlp_attributes attributes = { .all = { { "service.version", "1" } },
						    .count = 1 };
	__cleanup(otlp_freep) struct otlp *otlp =
		otlp_make((struct otlp_options){ .attributes = &attributes });
	const struct otlp_event events[] = {
		{ NOW_NS, LOG_WARNING, "bpftruss.loss", "not \"exact\"\n\xff", "slot_table_full", 5,
		  0 },
		{ NOW_NS + 1, LOG_NOTICE, "bpftruss.gap", "nothing was counted", NULL, 0, 17 },
	};

	golden_render("otlp_logs", otlp_write_logs, otlp, &self_of_tests, events,
		      ARRAY_SIZE(events));
	assert_full(otlp_write_logs, otlp, &self_of_tests, events, ARRAY_SIZE(events));
}

TEST(test_answers)
{
	static const struct {
		const char *answer;
		uint64_t rejected;
		const char *why;
	} cases[] = {
		{ "", 0, "" },
		{ "{}", 0, "" },
		{ "{\"partialSuccess\":{}}", 0, "" },
		{ "{\"partialSuccess\":{\"rejectedDataPoints\":\"17\",\"errorMessage\":\"old\"}}",
		  17, "old" },
		{ "{\"partialSuccess\":{\"rejectedLogRecords\":3}}", 3, "" },
		{ "{\"partialSuccess\":{\"errorMessage\":\"a warning\"}}", 0, "a warning" },
		{ "{\"partialSuccess\":{\"rejectedDataPoints\":\"-1\"}}", 0, "" },
		{ "{\"partialSuccess\":{\"rejectedDataPoints\":[]}}", 0, "" },
		{ "{\"partialSuccess\":7}", 0, "" },
		{ "\n\x02\x08\x01", 0, "" },
		{ "[[[[[[[[[[", 0, "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char why[16];

		assert_int_equal(otlp_rejected(cases[i].answer, why, sizeof(why)),
				 cases[i].rejected);
		assert_string_equal(why, cases[i].why);
	}
}
