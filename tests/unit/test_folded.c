/* SPDX-License-Identifier: BSD-2-Clause */
/* Folded stacks: golden files, and lines that every reader splits at the same places. */
#include "stack_scenarios.h"

STACKS_TEST(test_golden)
{
	__cleanup(freep) char *calls = render(report_folded, snapshot, STACK_WEIGHT_CALLS);

	sample_write("stacks.folded", calls, strlen(calls));
	golden_check("folded_calls", calls);
	golden_render("folded_time", report_folded, snapshot, STACK_WEIGHT_TIME);
}

/* Reads a line back as tools do: the number behind the last blank. Returns the line's end. */
static const char *line_read(const char *line, uint64_t *sum)
{
	const char *end = strchr(line, '\n'), *blank = memchr(line, ' ', (size_t)(end - line));
	uint64_t count;
	int length;

	assert_non_null(blank);
	assert_int_equal(sscanf(blank, " %" SCNu64 "%n", &count, &length), 1);
	assert_ptr_equal(blank + length, end);
	assert_true(count > 0);
	/* No name is empty. */
	assert_int_not_equal(*line, ';');
	for (const char *at = line; at < blank; at++)
		assert_true((unsigned char)*at > ' ' &&
			    (*at != ';' || (at[1] != ';' && at[1] != ' ')));
	*sum += count;
	return end + 1;
}

static uint64_t folded_sum(const struct snapshot *snapshot, enum stack_weight weight)
{
	__cleanup(freep) char *text = render(report_folded, snapshot, weight);
	uint64_t sum = 0;

	for (const char *line = text; *line;)
		line = line_read(line, &sum);
	return sum;
}

static void sums_check(const struct snapshot *snapshot)
{
	const struct row sum = snapshot_sum(snapshot);

	assert_int_equal(folded_sum(snapshot, STACK_WEIGHT_CALLS), sum.calls);
	assert_int_equal(folded_sum(snapshot, STACK_WEIGHT_TIME), sum.wall_ns);
}

STACKS_TEST(test_sums)
{
	sums_check(snapshot);
	/* Without any stack all calls are of others. */
	snapshot->stacks = NULL;
	sums_check(snapshot);
}

TEST(test_hostile)
{
	__cleanup(stacked_done) struct stacked stacked = scenario_stacks_hostile();
	__cleanup(freep) char *text = render(report_folded, stacked.snapshot, STACK_WEIGHT_CALLS);

	sums_check(stacked.snapshot);
	sample_write("hostile.folded", text, strlen(text));
	golden_check("folded_hostile", text);
	/* Blanks beyond ASCII. */
	assert_all(!strstr(text, "\xc2\xa0"), !strstr(text, "\xe3\x80\x80"),
		   strstr(text, "nb_sp_x_y"));
}

TEST(test_empty)
{
	__cleanup(stacked_done) struct stacked stacked = scenario_stacks_empty();
	__cleanup(freep) char *text = render(report_folded, stacked.snapshot, STACK_WEIGHT_CALLS);

	assert_string_equal(text, "");
}

STACKS_TEST(test_failing_stream)
{
	assert_full(report_folded, snapshot, STACK_WEIGHT_CALLS);
}
