/* SPDX-License-Identifier: BSD-2-Clause */
/* Which format of /metrics an Accept header gets. */
#include "fixture.h"

#include "report/metrics.h"

static void test_negotiate(void **state)
{
	static const struct {
		const char *accept;
		enum metrics_format format;
	} cases[] = {
		{ NULL, METRICS_PROMETHEUS_TEXT },
		{ "", METRICS_PROMETHEUS_TEXT },
		{ "*/*", METRICS_PROMETHEUS_TEXT },
		{ "text/html, */*;q=0.1", METRICS_PROMETHEUS_TEXT },
		{ "application/openmetrics-text", METRICS_OPENMETRICS },
		{ "Application/OpenMetrics-Text ; Version=1.0.0", METRICS_OPENMETRICS },
		{ "application/openmetrics-text; version=0.0.1", METRICS_PROMETHEUS_TEXT },
		{ "application/openmetrics-text;version=2.0.0", METRICS_PROMETHEUS_TEXT },
		{ "application/openmetrics-text, text/plain", METRICS_PROMETHEUS_TEXT },
		{ "application/openmetrics-text, text/plain;q=0.999", METRICS_OPENMETRICS },
		{ "application/openmetrics-text;q=0.5, text/plain;q=0.75",
		  METRICS_PROMETHEUS_TEXT },
		{ "application/openmetrics-text;q=0, */*;q=0.1", METRICS_PROMETHEUS_TEXT },
		{ "application/*, text/*;q=0.3", METRICS_OPENMETRICS },
		{ "*/*, text/plain;q=0", METRICS_OPENMETRICS },
		/* Prometheus 2.42, and 3. */
		{ "application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
		  "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		  METRICS_OPENMETRICS },
		{ "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
		  "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;"
		  "escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,/;q=0.1",
		  METRICS_OPENMETRICS },
		/* Nonsense. */
		{ "application/openmetrics-text;q=1.5", METRICS_PROMETHEUS_TEXT },
		{ "application/openmetrics-text;q=nan", METRICS_PROMETHEUS_TEXT },
		{ "application/openmetrics-text;q=", METRICS_PROMETHEUS_TEXT },
		{ "application/openmetrics-text;q=0.1234", METRICS_PROMETHEUS_TEXT },
		{ ",,;;=,;q,\xff", METRICS_PROMETHEUS_TEXT },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (metrics_negotiate(cases[i].accept) != cases[i].format)
			fail_msg("%s", cases[i].accept);
	}
	assert_string_equal(metrics_content_type(METRICS_OPENMETRICS),
			    "application/openmetrics-text; version=1.0.0; charset=utf-8");
	assert_string_equal(metrics_content_type(METRICS_PROMETHEUS_TEXT),
			    "text/plain; version=0.0.4; charset=utf-8");
}

/* Whatever the header is, the answer is one of the two. */
static void test_negotiate_anything(void **state)
{
	static const char *const pieces[] = {
		"application/openmetrics-text",
		"text/plain",
		"*/*",
		";",
		",",
		"=",
		"q",
		"q=",
		"0.5",
		"version=",
		"1.0.0",
		" ",
		"\t",
		"\xff",
		".",
		"9999999999999999999999",
	};
	uint64_t seed = 7;
	size_t open = 0;

	(void)state;
	for (size_t i = 0; i < 20000; i++) {
		/* On the heap, so that reading beyond its end is noticed. */
		__cleanup(freep) char *header = calloc(1, 512);
		enum metrics_format format;

		assert_non_null(header);
		for (size_t left = random_below(&seed, 12); left > 0; left--)
			strcat(header, pieces[random_below(&seed, ARRAY_SIZE(pieces))]);
		header = realloc(header, strlen(header) + 1);
		format = metrics_negotiate(header);
		assert_in_range(format, 0, NR_METRICS_FORMAT - 1);
		open += format == METRICS_OPENMETRICS;
	}
	assert_in_range(open, 1, 19999);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_negotiate),
		cmocka_unit_test(test_negotiate_anything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
