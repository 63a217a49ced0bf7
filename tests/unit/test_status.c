/* SPDX-License-Identifier: BSD-2-Clause */
/* The findings of doctor, a daemon's status and its baselines, as JSON and as what people read. */
#include "fixture.h"

#include "base/clock.h"
#include "json/status.h"

#define START_NS (1767225600LL * 1000000000LL) /* 2026-01-01 */

static const struct losses no_losses;

/* All that a status may say. */
static struct daemon_status full(const struct losses *losses)
{
	return (struct daemon_status){
		.host = "web1",
		.kernel = "6.12.0",
		.start_ns = START_NS,
		.now_ns = START_NS + 93784 * (int64_t)NS_PER_SEC,
		.uptime_ns = 93784 * NS_PER_SEC,
		.targets = "unit nginx.service",
		.processes = 12,
		.threads = 34,
		.rows = 560,
		.losses = losses,
		.tables = { { "threads", 34, 1535, 50, 0 }, { "rows", 20000, 40000, 20000, 0 } },
		.nr_tables = 2,
		.kernel_bytes = 30 << 20,
		.has_names = true,
		.names = { .places = 1200, .bytes = 100 << 10, .waiting = 30, .refused = 2 },
		.max_table_bytes = 491 << 20,
		.has_call_ns = true,
		.call_ns = 512,
		.samples = 100,
		.own_cpu_ns = 5,
		.resident_bytes = 9 << 20,
		.has_percent = true,
		.own_percent = 0.25,
		.answers_percent = 0.125,
		.used_percent = 1.5,
		.budget_percent = 50,
		.budget_step = 2,
		.has_history = true,
		.history_trouble = "no space left",
		.history_bytes = 2048,
		.history_intervals = 1500,
		.history_failed = 1,
		.history_first_ns = START_NS,
		.interval_ns = 60 * NS_PER_SEC,
		.recent_start_ns = START_NS,
		.recent_bytes = 100 << 10,
		.recorder = { .is_on = true,
			      .is_paused = true,
			      .bytes = 64 << 20,
			      .reach_ns = 12345 * NS_PER_MS,
			      .recorded = 1000,
			      .overwritten = 400,
			      .left_out = 30,
			      .lost = 2,
			      .saved = 5,
			      .save_failed = 1,
			      .save_removed = 3 },
		.otlp = { .endpoint = "http://localhost:4318",
			  .trouble = "Connection refused",
			  .sent = 200,
			  .failed = 3,
			  .refused = 1,
			  .rejected = 40,
			  .dropped = 5,
			  .queued = 6,
			  .queued_bytes = 70 << 10,
			  .max_bytes = 32 << 20,
			  .sent_ns = START_NS },
		.clients = 1,
		.requests = 20,
		.refused = 3,
		.malformed = 4,
	};
}

/* Nothing is known yet, and nothing is kept. */
static struct daemon_status smallest(void)
{
	return (struct daemon_status){ .host = "",
				       .kernel = "",
				       .targets = "all processes",
				       .losses = &no_losses,
				       .history_trouble = "" };
}

typedef int text_report(const char *json, size_t size, FILE *out, struct diag *d);

static char *text_of(text_report *report, const char *json)
{
	struct text_stream stream;

	assert_int_equal(report(json, strlen(json), text_open(&stream), &d), 0);
	return text_close(&stream);
}

static char *status_text(const struct daemon_status *status)
{
	__cleanup(freep) char *json = render(report_status_json, status);

	return text_of(report_status_text, json);
}

TEST(test_full)
{
	const struct losses losses = { .count = { [0] = 7, [NR_MODEL_LOSS - 1] = 1 } };
	const struct daemon_status status = full(&losses);
	__cleanup(freep) char *text = status_text(&status);
	const struct daemon_status least = smallest();
	__cleanup(freep) char *least_text = status_text(&least);

	golden_check("status_full", text);
	golden_check("status_smallest", least_text);
}

/* Any part of the cost may be known before the others; each line is a line. */
TEST(test_cost)
{
	static const struct {
		bool has_call_ns, has_percent;
		double budget_percent;
		const char *expected;
	} cases[] = {
		{ false, false, 50, "\ncost      budget 50.00%\nmemory    " },
		{ true, false, 50,
		  "\ncost      9 ns in our programs for each traced call; "
		  "budget 50.00%\nmemory    " },
		{ false, true, 0,
		  "\ncost      2.00% of a CPU in all, 1.00% by the daemon itself\nmemory    " },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct daemon_status status = smallest();
		__cleanup(freep) char *text = NULL;

		status.has_call_ns = cases[i].has_call_ns;
		status.call_ns = 9;
		status.has_percent = cases[i].has_percent;
		status.used_percent = 2;
		status.own_percent = 1;
		status.budget_percent = cases[i].budget_percent;
		text = status_text(&status);
		if (!strstr(text, cases[i].expected))
			fail_msg("%s", text);
	}
}

/* Nothing of a text reaches the terminal but what can be seen. */
static void hostile_check(const char *text)
{
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		assert_true(*c == '\n' || (*c >= ' ' && *c != 0x7f));
		/* C1, as UTF-8. */
		assert_false(*c == 0xc2 && c[1] < 0xa0);
	}
}

TEST(test_hostile)
{
	static const char bytes[] = "\x1b]0;x\x07\xc2\x90\xc2\x9b\xff\xe2\x80\xae\r\n\xc3";
	struct daemon_status status = full(&no_losses);
	__cleanup(freep) char *text = NULL;

	status.host = status.targets = status.history_trouble = bytes;
	text = status_text(&status);
	hostile_check(text);
	assert_non_null(strstr(text, "on \\x1b]0;x\\x07\\xc2\\x90\\xc2\\x9b\\xff\\xe2\\x80\\xae"));
}

/* Every key as every type: nothing is more than a wrong number. */
TEST(test_wrong_types)
{
	static const char *const values[] = { "null",  "true",     "-1",
					      "1e300", "\"text\"", "[]",
					      "{}",    "[[1]]",    "{\"a\": {\"b\": 1}}" };
	const struct daemon_status status = full(&no_losses);
	__cleanup(freep) char *good = render(report_status_json, &status);
	json_t *whole = json_loads(good, 0, NULL), *value, *inner;
	const char *key, *inner_key;

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		json_auto_t *wrong = json_loads(values[i], JSON_DECODE_ANY, NULL);

		json_object_foreach(whole, key, value)
		{
			json_auto_t *copy = json_deep_copy(whole);

			if (strcmp(key, "schema") != 0)
				json_object_set(copy, key, wrong);
			json_object_foreach(value, inner_key, inner)
				json_object_set(json_object_get(copy, key), inner_key, wrong);
			__cleanup(freep) char *json = json_dumps(copy, 0);
			__cleanup(freep) char *text = text_of(report_status_text, json);

			hostile_check(text);
		}
	}
	json_decref(whole);
}

TEST(test_foreign)
{
	static const char *const texts[] = {
		"", "null", "[]", "{}", "{\"schema\": 99}", "{\"schema\": \"1\"}", "{\"sch"
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct text_stream stream;
		struct diag d = { .text = "" };
		FILE *out = text_open(&stream);
		__cleanup(freep) char *text = NULL;

		assert_int_equal(report_status_text(texts[i], strlen(texts[i]), out, &d), -EINVAL);
		assert_int_equal(report_baselines_text(texts[i], strlen(texts[i]), out, &d),
				 -EINVAL);
		assert_string_not_equal(d.text, "");
		text = text_close(&stream);
		assert_string_equal(text, "");
	}
}

/* --- baselines --------------------------------------------------------------------------------- */

TEST(test_baselines)
{
	static const struct baseline list[] = {
		{ .name = "monday",
		  .start_ns = START_NS,
		  .end_ns = START_NS + 60000000000,
		  .covered_ns = 60000000000 },
		{ .name = "a-name-that-is-longer-than-its-column",
		  .start_ns = START_NS,
		  .end_ns = START_NS,
		  .covered_ns = 0 },
	};
	__cleanup(freep) char *json = render(report_baselines_json, list, ARRAY_SIZE(list));
	__cleanup(freep) char *text = text_of(report_baselines_text, json);
	__cleanup(freep) char *none_json = render(report_baselines_json, list, 0);
	__cleanup(freep) char *none = text_of(report_baselines_text, none_json);

	golden_check("baselines", text);
	assert_string_equal(none, "no baselines; 'bpftruss baseline save NAME' makes one\n");
}

/* Names come over a socket; wide ones keep the columns. */
TEST(test_baselines_hostile)
{
	static const char json[] =
		"{\"schema\": 1, \"baselines\": [{\"name\": \"\\u0007\\u0090\\u009b\\u001b[2J\"}, "
		"{\"name\": \"caf\xc3\xa9\"}, {\"name\": 7}, 7, null]}";
	__cleanup(freep) char *text = text_of(report_baselines_text, json);

	hostile_check(text);
	assert_all(strstr(text, "\\x07\\xc2\\x90\\xc2\\x9b\\x1b[2J  -  -  "),
		   strstr(text, "\ncaf\xc3\xa9                      -  -  "));
}

/* --- doctor -------------------------------------------------------------------------------------- */

static const struct finding findings[] = {
	{ "kernel type information", FINDING_OK, "/sys/kernel/btf/vmlinux", "" },
	{ "run-queue time", FINDING_NOTE, "not built in", "build with CONFIG_SCHED_INFO" },
	{ "a name that is longer than its column", FINDING_OK, "detail", "" },
	{ "privileges", FINDING_PROBLEM, "no \"CAP_BPF\"\n", "run as root" },
};

static char *findings_text(size_t count)
{
	struct text_stream stream;

	report_findings(findings, count, text_open(&stream));
	return text_close(&stream);
}

TEST(test_findings)
{
	__cleanup(freep) char *text = findings_text(ARRAY_SIZE(findings));
	__cleanup(freep) char *nothing = findings_text(0);

	golden_check("doctor_text", text);
	golden_render("doctor_json", report_findings_json, findings, ARRAY_SIZE(findings));
	assert_string_equal(nothing, "");
	assert_full(report_findings_json, findings, ARRAY_SIZE(findings));
}

/* An absent feature does no harm, a missing one does. */
TEST(test_works)
{
	static const bool works[] = { true, true, true, true, false };

	for (size_t count = 0; count < ARRAY_SIZE(works); count++) {
		__cleanup(freep) char *text = render(report_findings_json, findings, count);
		json_auto_t *json = json_loads(text, 0, NULL);

		assert_all(json, json_is_boolean(json_object_get(json, "works")));
		assert_int_equal(json_is_true(json_object_get(json, "works")), works[count]);
	}
}
