/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports that a daemon writes: what a question asks for, and what of the text arrives. */
#include "tables.h"

#include "daemon/question.h"

/* The text that arrives is the text that was written, whatever is in a report. */
TEST(test_arrives)
{
	scenario_for_each (i, snapshot, ABI_OF_TESTS) {
		for (int format = 0; format < FORMAT_FOLDED; format++) {
			const struct report_options options = {
				.format = (enum report_format)format,
				.table.keys = GROUP_COMM | GROUP_SYSCALL,
			};
			__cleanup(freep) char *text = render(report_write, snapshot, &options);
			__cleanup(freep) char *json = NULL;
			struct report_text report = { .text = NULL };

			json = render(report_text_json, snapshot, text);
			assert_int_equal(report_text_json_read(json, strlen(json), &report, NULL),
					 0);
			assert_string_equal(report.text, text);
			assert_same(&report, snapshot, start_ns, end_ns, elapsed_ns);
			free(report.text);
		}
	}
}

#define TIME "\"2026-11-19T00:00:00.000000000Z\""
#define ANSWER(text) \
	"{\"schema\":1,\"start\":" TIME ",\"end\":" TIME ",\"elapsed_ns\":1,\"report\":" text "}"

/* A screen is not at the mercy of who answers. */
TEST(test_foreign_text)
{
	static const char *const refused[] = { "",
					       "{}",
					       ANSWER("null"),
					       ANSWER("1"),
					       ANSWER("\"a\\u0000b\""),
					       "{\"schema\":1,\"report\":\"x\"}" };
	static const char hostile[] = ANSWER("\"\\u001b[2Ja\\n\\n\\u009b\\r\\n\"");
	struct report_text report = { .text = NULL };

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		assert_int_equal(report_text_json_read(refused[i], strlen(refused[i]), &report, &d),
				 -EINVAL);
	assert_int_equal(report_text_json_read(hostile, strlen(hostile), &report, &d), 0);
	assert_string_equal(report.text, "\\x1b[2Ja\n\n\\xc2\\x9b\\x0d\n");
	free(report.text);
}

/* Takes name=value&…, of which the request borrows. */
static struct ipc_request request_of(char *query)
{
	struct ipc_request request = { .path = "/v1/report" };

	for (char *word; (word = strsep(&query, "&"));) {
		request.parameters[request.nr_parameters].name = strsep(&word, "=");
		request.parameters[request.nr_parameters++].value = word;
	}
	return request;
}

TEST(test_question)
{
	char query[] = "format=wide&by=comm,unit&sort=p99&columns=calls&top=10&min_calls=3&hist=1&"
		       "width=132&"
		       "stacks=time&trace=%network&errors_only=1&waiting=read&top_stacks=5";
	const struct ipc_request request = request_of(query);
	struct asked_report asked;
	struct syscall_set *calls = NULL;
	const struct table_options *table = &asked.options.table;
	const struct question question = { &request, &d };

	if (question_report(&question, &asked) || question_set(&question, "trace", &calls))
		fail_msg("%s", d.text);
	assert_int_equal(asked.options.format, FORMAT_WIDE);
	assert_int_equal(table->keys, GROUP_COMM | GROUP_UNIT);
	assert_string_equal(table->sort.by[0].column->name, "p99");
	assert_int_equal(table->columns->count, 1);
	assert_string_equal(table->columns->columns[0]->name, "calls");
	assert_has(table, top, 10, min_calls, 3);
	assert_true(table->hist && table->errors_only);
	assert_int_equal(table->width, 132);
	assert_all(syscall_set_has(table->waiting, ABI_X86_64, 0), asked.options.show_stacks);
	assert_has(&asked.options.stacks, weight, STACK_WEIGHT_TIME, top, 5);
	assert_false(syscall_set_has(calls, ABI_X86_64, 0));
	asked_report_done(&asked);
	syscall_set_free(calls);
}

TEST(test_plain_question)
{
	const struct ipc_request request = request_of(NULL);
	const struct question question = { &request, NULL };
	struct asked_report asked;
	struct syscall_set *calls;

	assert_int_equal(question_report(&question, &asked), 0);
	assert_int_equal(question_set(&question, "trace", &calls), 0);
	assert_null(calls);
	assert_int_equal(asked.options.format, FORMAT_WIDE);
	assert_all(!asked.options.table.columns, !asked.options.table.waiting,
		   !asked.options.show_stacks);
	asked_report_done(&asked);
}

/* Each of these is refused, and the sentence has that in it. */
static void assert_refused(const char *queries, const char *sentence)
{
	char query[MAX_WORD], words[MAX_WORD];

	while (word_read(&queries, query)) {
		const struct ipc_request request = request_of(strcpy(words, query));
		struct asked_report asked;
		struct syscall_set *calls = NULL;
		struct diag d = { .text = "" };
		const struct question question = { &request, &d };
		int err = question_report(&question, &asked);

		if ((err ?: question_set(&question, "trace", &calls)) != -EINVAL)
			fail_msg("%s is taken", query);
		assert_int_not_equal(strlen(d.text), 0);
		assert_non_null(strstr(d.text, sentence));
		asked_report_done(&asked);
	}
}

/* Contradictions of the command line are refused here, too. */
TEST(test_refused_questions)
{
	assert_refused("format=json format=x by=x by= by=tid by=arg0 sort=x columns=x top=-1 "
		       "top=99999999999 width=x min_calls= waiting=x top_stacks=x trace=x "
		       "stacks=x stacks= hist=0 errors_only=yes format=flame format=chart",
		       "");
	assert_refused("format=strace&columns=calls format=strace&waiting=read "
		       "format=errors&waiting=read format=errors&errors_only=1 "
		       "errors_only=1&successes_only=1 format=csv&hist=1 by=comm&sort=pid "
		       "by=comm&columns=calls,unit columns=tid,calls",
		       "--");
}

/* Lines are those of the table that would be written. */
SNAPSHOT_TEST(test_lines, scenario_ordinary(ABI_OF_TESTS))
{
	static const struct {
		struct report_options options;
		size_t lines;
	} cases[] = {
		{ { .format = FORMAT_WIDE }, 6 },
		{ { .format = FORMAT_CSV, .table.keys = GROUP_PID | GROUP_SYSCALL }, 7 },
		{ { .format = FORMAT_WIDE, .table.keys = GROUP_PID }, 2 },
		{ { .format = FORMAT_CSV, .table.min_calls = 1000 }, 3 }, /* with the others */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct report_options *options = &cases[i].options;
		struct diag d = { .text = "" };

		assert_int_equal(report_check_lines(snapshot, options, cases[i].lines, &d), 0);
		assert_int_equal(report_check_lines(snapshot, options, cases[i].lines - 1, &d),
				 -E2BIG);
		assert_non_null(strstr(d.text, "--top"));
	}
	assert_int_equal(report_check_lines(snapshot,
					    &(struct report_options){ .format = FORMAT_ERRORS,
								      .table.top = 3 },
					    3, NULL),
			 0);
}

/* No report goes on behind the end of what it is written into, whatever is asked for. */
TEST(test_no_room)
{
	static const struct report_options options[] = {
		{ .format = FORMAT_WIDE },
		{ .format = FORMAT_WIDE, .table.hist = true },
		{ .format = FORMAT_WIDE, .show_stacks = true },
		{ .format = FORMAT_CSV },
		{ .format = FORMAT_ERRORS },
		{ .format = FORMAT_TRUSS },
		{ .format = FORMAT_STRACE },
	};
	__cleanup(snapshot_freep) struct snapshot *snapshot = scenario_ordinary(ABI_OF_TESTS);
	char text[100];

	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		FILE *out = fmemopen(text, sizeof(text), "w");
		int err = report_write(snapshot, &options[i], out);

		assert_true(err || fflush(out));
		fclose(out);
	}
}
