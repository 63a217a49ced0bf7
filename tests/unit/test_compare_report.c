/* SPDX-License-Identifier: BSD-2-Clause */
/* The report of a comparison: golden files at several widths, JSON, what fails and why. */
#include "tables.h"

#include <jansson.h>

#include "report/report.h"

static struct snapshot *side_take(const char *calls, uint64_t seconds)
{
	struct builder *builder = builder_make();
	struct snapshot *snapshot;

	calls_read(builder, 100, calls);
	web_process(builder, 100, "nginx", 33, 7, 0);
	snapshot = snapshot_take(builder);
	snapshot->start_ns = 1793350800000000000; /* 2026-10-30 09:00:00 UTC */
	snapshot->end_ns = snapshot->start_ns + (int64_t)(seconds * SEC);
	snapshot->elapsed_ns = seconds * SEC;
	names_add(&snapshot->users, &snapshot->nr_users, 33, "www-data");
	names_add(&snapshot->cgroups, &snapshot->nr_cgroups, 7, "/system.slice/nginx.service");
	return snapshot;
}

/* An hour as it should be; a minute with a slow disk, a missing file, no random numbers, a new call. */
#define BEFORE                                                                           \
	"read:3600000x2u/1u write:360000x12u/6u openat:72000x4u/2u openat:360x3u!360 "   \
	"fstat:72000x700/350 fsync:3600x2m/1m getrandom:15x300/150 unlinkat:40x90u/45u " \
	"pread64:36000x50u/25u epoll_pwait:360000x9m/4500u futex:900x2m/1m"
#define AFTER                                                                         \
	"read:59000x2u/1u write:5900x12u/6u write:200x3m/1500u openat:1200x4u/2u "    \
	"openat:2400x3u!2400 fstat:1250x700/350 fsync:66x48m/24m unlinkat:1x90u/45u " \
	"pread64:1200x20u/10u renameat:130x25u/12500 epoll_pwait:5000x10m/5m"

struct fixture {
	struct snapshot *a, *b;
	struct compare_input input;
};

static struct fixture fixture_make(void)
{
	struct fixture fixture = { side_take(BEFORE, 3600),
				   side_take(AFTER, 60),
				   { .fail_over = 0 } };

	fixture.input.a = (struct compare_source){ "baseline monday", fixture.a };
	fixture.input.b = (struct compare_source){ "now", fixture.b };
	return fixture;
}

static void fixture_done(struct fixture *fixture)
{
	snapshot_free(fixture->a);
	snapshot_free(fixture->b);
}

static int comparison_write(const struct compare_input *input, const struct table_options *options,
			    bool json, FILE *out)
{
	__cleanup(compare_view_done) struct compare_view view = { .groups = 0 };
	int err = compare_view_make(input, options, &view);

	if (err)
		return err;
	return json ? report_comparison_json(input, &view, out)
		    : report_comparison(input, &view, options, out);
}

TEST(test_golden)
{
	static const struct {
		const char *golden;
		struct table_options options;
		double fail_over;
	} cases[] = {
		{ "compare_80", { .width = 80 }, 0 },
		{ "compare_100", { .width = 100 }, 0.2 },
		{ "compare_160", { .width = 160 }, 0 },
		{ "compare_all", { .keys = GROUP_UNIT | GROUP_COMM | GROUP_SYSCALL }, 0.5 },
		{ "compare_top", { .width = 80, .top = 3 }, 0.2 },
		{ "compare_comm", { .width = 80, .keys = GROUP_COMM }, 50 },
	};
	__cleanup(fixture_done) struct fixture fixture = fixture_make();
	__cleanup(compare_view_done) struct compare_view view = { .groups = 0 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		fixture.input.fail_over = cases[i].fail_over;
		golden_render(cases[i].golden, comparison_write, &fixture.input, &cases[i].options,
			      false);
	}
	assert_int_equal(compare_view_make(&fixture.input, &plain, &view), 0);
	fixture.input.fail_over = 0.2;
	golden_render("compare_json", comparison_write, &fixture.input,
		      &(struct table_options){ .top = 4 }, true);
	assert_full(report_comparison, &fixture.input, &view, &plain);
	assert_full(report_comparison_json, &fixture.input, &view);
}

/* Two hosts, of which one counted slow calls only and lost some. */
TEST(test_unlike)
{
	const struct table_options options = { .width = 100 };
	__cleanup(fixture_done) struct fixture fixture = fixture_make();

	free(fixture.b->host);
	fixture.b->host = strdup("web-2\x1b[2J");
	fixture.b->slower_than_ns = 10 * MSEC;
	fixture.b->losses.count[LOSS_TASK_TABLE_FULL] = 12;
	fixture.b->elapsed_ns = 0;
	fixture.input.b.label = "/tmp/\xff\n.json";
	golden_render("compare_unlike", comparison_write, &fixture.input, &options, false);
}

/* A side is as exact as its own report says. */
TEST(test_errors_without_errno)
{
	const struct table_options options = { .width = 100 };
	__cleanup(fixture_done) struct fixture fixture = fixture_make();
	__cleanup(freep) char *text = NULL, *json = NULL;

	text = render(comparison_write, &fixture.input, &options, false);
	assert_null(strstr(text, "without their errno"));
	fixture.b->rows[0]->errors += 2;
	free(text);
	text = render(comparison_write, &fixture.input, &options, false);
	assert_non_null(strstr(text, "\nB: not exact: 2 errors counted without their errno\n"));
	json = render(comparison_write, &fixture.input, &options, true);
	assert_all(strstr(json, "\"exact\":true"), strstr(json, "\"exact\":false"));
}

TEST(test_empty)
{
	const struct table_options options = { .width = 80 };
	__cleanup(snapshot_freep) struct snapshot *empty = scenario_empty(ABI_OF_TESTS);
	const struct compare_input input = { { "a", empty }, { "b", empty }, 0.2 };

	golden_render("compare_empty", comparison_write, &input, &options, false);
}

/* Every group is in the object, and the sums are those of the groups. */
TEST(test_json_sums)
{
	__cleanup(fixture_done) struct fixture fixture = fixture_make();
	__cleanup(freep) char *text = render(comparison_write, &fixture.input, &plain, true);
	json_t *json = json_loads(text, 0, NULL), *group;
	json_int_t calls[2] = { 0 }, expected[2];
	size_t i;

	assert_all(json, json_is_null(json_object_get(json, "fail_over")));
	json_array_foreach(json_object_get(json, "groups"), i, group)
	{
		if (json_is_true(json_object_get(group, "waiting")))
			continue;
		assert_int_equal(json_unpack(group, "{s:{s:I}}", "a", "calls", &expected[0]) == 0,
				 json_is_object(json_object_get(group, "a")));
		for (int side = 0; side < 2; side++) {
			const json_t *at = json_object_get(group, side ? "b" : "a");

			calls[side] += json_integer_value(json_object_get(at, "calls"));
		}
	}
	assert_int_equal(json_unpack(json, "{s:{s:{s:I},s:{s:I}}}", "working", "a", "calls",
				     &expected[0], "b", "calls", &expected[1]),
			 0);
	assert_int_equal(calls[0], expected[0]);
	assert_int_equal(calls[1], expected[1]);
	json_decref(json);
}

/* The table is never wider than asked, and wider ones have all columns of narrower ones. */
TEST(test_fits)
{
	__cleanup(fixture_done) struct fixture fixture = fixture_make();
	size_t before = 0;

	for (int width = 76; width < 200; width += 4) {
		const struct table_options options = { .width = width };
		__cleanup(freep) char *text =
			render(comparison_write, &fixture.input, &options, false);
		size_t columns = 0;

		*strstr(text, "\nbeyond noise") = '\0';
		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
			assert_in_range(strlen(line), 1, width);
			assert_int_not_equal(line[strlen(line) - 1], ' ');
			if (strncmp(line, "syscall", 7))
				continue;
			for (const char *at = line; (at = strstr(at, "  ")); at += strspn(at, " "))
				columns++;
		}
		assert_true(columns >= before);
		before = columns;
	}
	assert_int_equal(before, 15);
}

/* What fails does not depend on what is shown. */
TEST(test_failed)
{
	const struct table_options options = { .top = 1 }, all = { 0 };
	__cleanup(compare_view_done) struct compare_view cut = { .groups = 0 };
	__cleanup(compare_view_done) struct compare_view whole = { .groups = 0 };
	__cleanup(fixture_done) struct fixture fixture = fixture_make();

	fixture.input.fail_over = 0.2;
	assert_int_equal(compare_view_make(&fixture.input, &options, &cut), 0);
	assert_int_equal(compare_view_make(&fixture.input, &all, &whole), 0);
	assert_int_equal(cut.failed, whole.failed);
	assert_true(cut.failed > 1);
	assert_int_equal(cut.left_out, whole.groups - 2);
	compare_view_done(&whole);
	fixture.input.fail_over = 0;
	assert_int_equal(compare_view_make(&fixture.input, &all, &whole), 0);
	assert_int_equal(whole.failed, 0);
}
