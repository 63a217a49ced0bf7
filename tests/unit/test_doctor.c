/* SPDX-License-Identifier: BSD-2-Clause */
/* How doctor's findings look. */
#include "fixture.h"

#include <jansson.h>

#include "json/status.h"

static const struct finding findings[] = {
	{ "kernel type information", FINDING_OK, "/sys/kernel/btf/vmlinux", "" },
	{ "run-queue time", FINDING_NOTE, "not built in", "build with CONFIG_SCHED_INFO" },
	{ "a name that is longer than its column", FINDING_OK, "detail", "" },
	{ "privileges", FINDING_PROBLEM, "no \"CAP_BPF\"\n", "run as root" },
};

static char *render_text(size_t count)
{
	struct text_stream stream;

	report_findings(findings, count, text_open(&stream));
	return text_close(&stream);
}

static char *render_json(size_t count)
{
	return render(report_findings_json, findings, count);
}

TEST(test_text)
{
	__cleanup(freep) char *text = render_text(ARRAY_SIZE(findings));
	__cleanup(freep) char *nothing = render_text(0);

	golden_check("doctor_text", text);
	assert_string_equal(nothing, "");
}

TEST(test_json)
{
	static const char *const keys[] = { "ok", "absent", "ok", "missing" };
	__cleanup(freep) char *text = render_json(ARRAY_SIZE(findings));
	json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL), *list;

	assert_non_null(json);
	assert_int_equal(strchr(text, '\n') - text, strlen(text) - 1);
	assert_int_equal(json_integer_value(json_object_get(json, "schema")), 1);
	assert_string_equal(json_string_value(json_object_get(json, "version")), BPFTRUSS_VERSION);
	list = json_object_get(json, "findings");
	assert_int_equal(json_array_size(list), ARRAY_SIZE(findings));
	for (size_t i = 0; i < ARRAY_SIZE(findings); i++) {
		const json_t *finding = json_array_get(list, i);

		assert_string_equal(json_string_value(json_object_get(finding, "name")),
				    findings[i].name);
		assert_string_equal(json_string_value(json_object_get(finding, "state")), keys[i]);
		assert_string_equal(json_string_value(json_object_get(finding, "detail")),
				    findings[i].detail);
		assert_string_equal(json_string_value(json_object_get(finding, "remedy")),
				    findings[i].remedy);
	}
	json_decref(json);
}

/* What is absent does no harm, what is missing does. */
TEST(test_works)
{
	static const bool works[] = { true, true, true, true, false };

	for (size_t count = 0; count < ARRAY_SIZE(works); count++) {
		__cleanup(freep) char *text = render_json(count);
		json_auto_t *json = json_loads(text, 0, NULL);

		assert_all(json, json_is_boolean(json_object_get(json, "works")));
		assert_int_equal(json_is_true(json_object_get(json, "works")), works[count]);
	}
}

TEST(test_failing_stream)
{
	assert_full(report_findings_json, findings, ARRAY_SIZE(findings));
}
