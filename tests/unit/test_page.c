/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pages: nothing gets in or out of them but by their policy, the data is what was counted and stays data whatever
 * the names, and they stay small. What the script makes of it is tested in tests/readers.
 */
#include "stack_scenarios.h"
#include "tables.h"

#include <gnutls/crypto.h>

#include "base/clock.h"
#include "json/json.h"
#include "report/picture.h"

#define PAGE_BYTES (60 << 10)

static const struct report_options plain_page = { .format = FORMAT_HTML };

static char *page_render(const struct snapshot *snapshot, const struct report_options *options,
			 const char *name)
{
	char *text = render(report_page, snapshot, options);
	char file[64];

	snprintf(file, sizeof(file), "page_%s.html", name);
	sample_write(file, text, strlen(text));
	return text;
}

/* A copy of what is between two marks from a place on, which moves behind; NULL: there is no more. */
static char *between(const char **at, const char *from, const char *to)
{
	const char *start = strstr(*at, from), *end;

	if (!start)
		return NULL;
	start += strlen(from);
	end = strstr(start, to);
	assert_non_null(end);
	*at = end;
	return strndup(start, (size_t)(end - start));
}

/* 'sha256-…', as a policy has it. */
static void hash_of(const char *text, char *buf, size_t size)
{
	uint8_t digest[32];
	const gnutls_datum_t binary = { digest, sizeof(digest) };
	gnutls_datum_t base64 = { NULL, 0 };

	assert_int_equal(gnutls_hash_fast(GNUTLS_DIG_SHA256, text, strlen(text), digest), 0);
	assert_int_equal(gnutls_base64_encode2(&binary, &base64), 0);
	snprintf(buf, size, "'sha256-%.*s'", (int)base64.size, base64.data);
	gnutls_free(base64.data);
}

/* Each element of a name is allowed by its hash. Returns how many there are. */
static size_t policy_check(const char *page, const char *tag, const char *directive)
{
	__cleanup(freep) char *policy = NULL, *list = NULL;
	const char *at = page, *head = page;
	char from[32], to[32], hash[96];
	size_t count = 0;

	policy = between(&head, "http-equiv=\"Content-Security-Policy\" content=\"", "\"");
	assert_non_null(strstr(policy, "default-src 'none';"));
	head = policy;
	list = between(&head, directive, ";");
	assert_non_null(list);
	assert_null(strstr(list, "unsafe"));
	snprintf(from, sizeof(from), "<%s>", tag);
	snprintf(to, sizeof(to), "</%s>", tag);
	for (char *text; (text = between(&at, from, to)); free(text), count++) {
		hash_of(text, hash, sizeof(hash));
		if (!strstr(list, hash))
			fail_msg("%s is not in the policy: %s", hash, list);
	}
	assert_int_equal(count_of(list, "'sha256-"), count);
	return count;
}

/* The data of a page; json_close() is due. */
static struct json_place data_open(struct json_document *document, const char *page)
{
	const char *at = page;
	char *data = between(&at, "<script type=\"application/json\" id=\"data\">", "</script>");
	struct json_place place;
	struct diag d = { 0 };

	assert_non_null(data);
	assert_null(strchr(data, '<'));
	place = json_open(document, data, strlen(data), &d);
	if (document->err)
		fail_msg("%s", d.text);
	document->d = NULL;
	free(data);
	return place;
}

/* Nothing of what is in the page acts but what its policy allows. */
static void sound_check(const char *page, size_t scripts, size_t styles)
{
	static const char *const never[] = { "<!--", "<img",    "<link",  "<base",  "<iframe",
					     "src=", "onload=", "style=", "http:/", "https:/" };
	__cleanup(json_close) struct json_document document;

	data_open(&document, page);
	assert_int_equal(policy_check(page, "script", "script-src"), scripts);
	assert_int_equal(policy_check(page, "style", "style-src"), styles);
	assert_int_equal(count_of(page, "<script"), scripts + 1);
	assert_int_equal(count_of(page, "<style"), styles);
	assert_true(!strncmp(page, "<!doctype html>\n", 16));
	for (size_t i = 0; i < ARRAY_SIZE(never); i++) {
		const char *found = strstr(page, never[i]);

		/* Names of formats are no addresses. */
		while (found && !strncmp(found, "http://www.w3.org/", 18))
			found = strstr(found + 1, never[i]);
		if (found)
			fail_msg("%.60s", found);
	}
}

/* The table of an id; a place without an object if there is none. */
static struct json_place table_find(const struct json_place *data, const char *id)
{
	const json_t *tables = json_get_list(data, "tables");
	struct json_place table;

	for (size_t i = 0; json_get_element(data, tables, i, &table); i++) {
		if (!strcmp(json_get_word(&table, "id", 0), id))
			return table;
	}
	return (struct json_place){ NULL, data->document };
}

static size_t field_find(const struct json_place *table, const char *name)
{
	struct json_place field;

	for (size_t i = 0; json_get_element(table, json_get_list(table, "fields"), i, &field);
	     i++) {
		if (!strcmp(json_get_word(&field, "name", 0), name))
			return i;
	}
	fail_msg("no field %s", name);
	return 0;
}

/* The sum of a field over all rows of a table; 0 if there is no such table. */
static uint64_t field_sum(const struct json_place *data, const char *id, const char *name)
{
	const struct json_place table = table_find(data, id);
	const json_t *rows = table.object ? json_get_list(&table, "rows") : NULL;
	size_t at = table.object ? field_find(&table, name) : 0;
	uint64_t sum = 0;

	for (size_t i = 0; i < json_array_size(rows); i++)
		sum += (uint64_t)json_integer_value(json_array_get(json_array_get(rows, i), at));
	return sum;
}

TEST(test_every_scenario)
{
	static const unsigned int keys[] = { 0, GROUP_PID, GROUP_COMM | GROUP_SYSCALL, GROUP_UNIT };

	scenario_for_each (i, snapshot, ABI_OF_TESTS) {
		const struct row all = snapshot_sum(snapshot);
		uint64_t in_flight = 0;

		for (size_t j = 0; j < snapshot->nr_rows; j++)
			in_flight += snapshot->rows[j]->in_flight;
		for (size_t j = 0; j < ARRAY_SIZE(keys); j++) {
			const struct report_options options = { .table.keys = keys[j],
								.command = "bpftruss" };
			__cleanup(json_close) struct json_document document;
			__cleanup(freep) char *text =
				j ? render(report_page, snapshot, &options)
				  : page_render(snapshot, &options, scenario_at(i)->name);
			struct json_place data;

			sound_check(text, 1, 1);
			data = data_open(&document, text);
			assert_int_equal(field_sum(&data, "calls", "calls") +
						 field_sum(&data, "waiting", "calls"),
					 all.calls);
			assert_int_equal(field_sum(&data, "errors", "count"), all.errors);
			assert_int_equal(field_sum(&data, "in-flight", "in_flight"), in_flight);
			/* Where the first table is the same, it is not there twice. */
			assert_int_equal(field_sum(&data, "processes", "calls"),
					 keys[j] == GROUP_PID ? 0 : all.calls);
		}
	}
	assert_scenario_full(report_page, &plain_page);
}

/* All graphs that there is anything of, the one that was asked for first; style and script once. */
STACKS_TEST(test_flames, scenario_stacks())
{
	const struct report_options by_time = { .stacks.weight = STACK_WEIGHT_TIME };
	__cleanup(freep) char *text = page_render(snapshot, &plain_page, "stacks");
	__cleanup(freep) char *other = render(report_page, snapshot, &by_time);

	sound_check(text, 2, 2);
	assert_int_equal(count_of(text, "<figure class=\"graph\""), NR_STACK_WEIGHT);
	assert_true(strstr(text, "data-weight=\"calls\"") <
		    strstr(text, "data-weight=\"wall time\""));
	assert_true(strstr(other, "data-weight=\"wall time\"") <
		    strstr(other, "data-weight=\"calls\""));
	assert_int_equal(count_of(other, "data-weight=\"wall time\""), 1);
}

/* Frames and programs are called what would end an element. */
STACKS_TEST(test_hostile, scenario_stacks_hostile())
{
	static const char command[] = "bpftruss '</script><!--<script>' \x1b[2J";
	const struct report_options options = { .table.keys = GROUP_COMM | GROUP_SYSCALL,
						.command = command };
	__cleanup(freep) char *text = page_render(snapshot, &options, "hostile_stacks");

	sound_check(text, 2, 2);
	assert_non_null(strstr(text, "&lt;/script&gt;&lt;!--&lt;script&gt;"));
	assert_non_null(strstr(text, "\\u003c/script>"));
	assert_null(strchr(text, '\x1b'));
}

/* All but the data of a page is small, and ten thousand rows are no burden. */
STACKS_TEST(test_size_without_data, scenario_stacks_empty())
{
	__cleanup(freep) char *text = page_render(snapshot, &plain_page, "empty_stacks");

	sound_check(text, 2, 2);
	assert_in_range(strlen(text), PAGE_BYTES / 3, PAGE_BYTES);
}

BUILDER_TEST(test_many_rows)
{
	const struct report_options options = { .table.keys = GROUP_PID | GROUP_SYSCALL };
	__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
	__cleanup(json_close) struct json_document document;
	__cleanup(freep) char *text = NULL;
	struct json_place data, calls, waiting;
	struct row row;

	for (uint32_t pid = 1; pid <= 1000; pid++) {
		builder_take_process(builder, pid, "worker", 6, 0);
		for (int nr = 0; nr < 10; nr++) {
			row_init_for(&row, pid, ABI_OF_TESTS, nr);
			row_add_calls(&row, 12345 + pid, 1234567ULL << (nr % 7), 12345, 0);
			builder_take_row(builder, &row);
		}
	}
	snapshot = snapshot_take(builder);
	text = page_render(snapshot, &options, "many_rows");
	assert_in_range(strlen(text), 500000, 2000000);
	data = data_open(&document, text);
	calls = table_find(&data, "calls");
	waiting = table_find(&data, "waiting");
	assert_int_equal(json_array_size(json_get_list(&calls, "rows")) +
				 json_array_size(json_get_list(&waiting, "rows")),
			 10000);
}

/* Thousands of deep stacks, sixty of them with most of the calls. */
static struct stacked many_stacks_make(void)
{
	struct stack_table *table = stack_table_make();
	struct builder *builder = builder_make();
	char name[64];
	struct row row;

	row_init_named(&row, 1, ABI_OF_TESTS, "read");
	for (size_t i = 0; i < 2000; i++) {
		struct stack_frame frames[127];

		snprintf(name, sizeof(name), "a_function_that_has_a_longer_name_%zu", i);
		for (size_t j = 0; j < ARRAY_SIZE(frames); j++)
			frames[j] = (struct stack_frame)FRAME("libexample.so.6", name, 1);
		stack_take(table, 1 + i, STACK_COMPLETE, frames, ARRAY_SIZE(frames));
		row_add_calls_of(&row, 1 + i, i < 60 ? 1000 : 1, 64, 1, 0);
		row_add_errors_of(&row, 1 + i, EAGAIN, 1);
	}
	builder_take_process(builder, 1, "deep", 4, 0);
	builder_take_row(builder, &row);
	return stacked_take(table, builder);
}

/* Its four graphs are bounded, and say what they leave out. */
STACKS_TEST(test_many_stacks, many_stacks_make())
{
	__cleanup(freep) char *text = page_render(snapshot, &plain_page, "many_stacks");

	sound_check(text, 2, 2);
	assert_in_range(strlen(text), 500000, 2000000);
	assert_int_equal(count_of(text, "<figure class=\"graph\""), NR_STACK_WEIGHT);
	assert_int_equal(count_of(text, " are not drawn; those above include them."),
			 NR_STACK_WEIGHT);
	assert_in_range(count_of(text, "<g class=\"box"), NR_STACK_WEIGHT,
			NR_STACK_WEIGHT * FLAME_PAGE_BOXES);
	assert_true(count_of(text, "or below level") >= NR_STACK_WEIGHT - 1);
}

/* --top leaves rows out of each table, and adds them up in a last one. */
STACKS_TEST(test_top, scenario_stacks())
{
	const struct report_options options = { .table.top = 1 };
	const struct row all = snapshot_sum(snapshot);
	__cleanup(json_close) struct json_document document;
	__cleanup(freep) char *text = render(report_page, snapshot, &options);
	const struct json_place data = data_open(&document, text);
	const struct json_place table = table_find(&data, "processes");

	assert_int_equal(json_array_size(json_get_list(&table, "rows")), 2);
	assert_true(json_get_bool(&table, "has_others", 0));
	assert_int_equal(field_sum(&data, "processes", "calls"), all.calls);
}

/* Without a script one still reads how exact it is, of which host and command, and the first rows. */
TEST(test_without_script)
{
	__cleanup(snapshot_freep) struct snapshot *exact = scenario_ordinary(ABI_OF_TESTS);
	__cleanup(snapshot_freep) struct snapshot *losses = scenario_losses(ABI_OF_TESTS);
	const struct report_options options = { .command = "bpftruss -c -a" };
	__cleanup(freep) char *text = render(report_page, exact, &options);
	__cleanup(freep) char *other = render(report_page, losses, &options);

	assert_non_null(strstr(text, "<p>exact: no call is missing</p>"));
	assert_non_null(strstr(text, "<dd>bpftruss -c -a</dd>"));
	assert_non_null(strstr(text, "<dd>web-1</dd>"));
	assert_non_null(strstr(text, "<td>read</td>"));
	assert_non_null(strstr(other, "<p>not exact:</p>"));
	assert_int_equal(count_of(other, "<li>"), NR_MODEL_LOSS);
}

/* --- timelines and comparisons ------------------------------------------------------------------ */

static struct snapshot *web_make(uint64_t scale, int64_t start_ns)
{
	struct builder *builder = builder_make();
	struct snapshot *snapshot;

	web_process(builder, 100, "nginx", 33, 7, 0);
	web_rows(builder, 100, scale);
	snapshot = snapshot_take(builder);
	snapshot->start_ns = start_ns;
	snapshot->end_ns = start_ns + 300 * (int64_t)SEC;
	snapshot->elapsed_ns = 300 * SEC;
	return snapshot;
}

TEST(test_timeline)
{
	const int64_t start = 1795132200LL * (int64_t)SEC, length = 300 * (int64_t)SEC;
	struct timeline_step steps[] = {
		{ start, start + length, (uint64_t)length, web_make(10, start) },
		{ start + 2 * length, start + 3 * length, (uint64_t)length,
		  web_make(20, start + 2 * length) },
	};
	struct timeline_gap gap = { start + length, start + 2 * length, GAP_NOT_RUNNING };
	const struct time_picture_options picture = { .subject = "</style><script>" };
	const struct timeline timeline = { steps, ARRAY_SIZE(steps), &gap, 1 };
	__cleanup(snapshot_freep) struct snapshot *sum = web_make(30, start);
	__cleanup(json_close) struct json_document document;
	__cleanup(freep) char *text =
		render(report_timeline_page, &timeline, &picture, sum, &plain_page);
	struct json_place data, table;

	sample_write("page_timeline.html", text, strlen(text));
	sound_check(text, 1, 2);
	data = data_open(&document, text);
	table = table_find(&data, "steps");
	assert_int_equal(json_array_size(json_get_list(&table, "rows")), 3);
	assert_int_equal(field_sum(&data, "steps", "calls"), field_sum(&data, "calls", "calls"));
	assert_non_null(strstr(text, ": the daemon was not running"));
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		snapshot_free(steps[i].sum);
}

/* Where nothing was counted, there is a page that says so. */
TEST(test_nothing_in_a_timeline)
{
	const struct time_picture_options picture = { .subject = NULL };
	const int64_t start = 1795132200LL * (int64_t)SEC, length = 300 * (int64_t)SEC;
	struct timeline_step step = { start, start + length, 0, NULL };
	struct timeline_gap gap = { start, start + 2 * length, GAP_NOT_RUNNING };
	const struct timeline timelines[] = { { &step, 1, &gap, 1 }, { .nr_steps = 0 } };
	char wanted[3 * CLOCK_LOCAL_SIZE], first[CLOCK_LOCAL_SIZE], last[CLOCK_LOCAL_SIZE];

	clock_local(start, first, sizeof(first));
	clock_local(start + 2 * length, last, sizeof(last));
	for (size_t i = 0; i < ARRAY_SIZE(timelines); i++) {
		__cleanup(json_close) struct json_document document;
		__cleanup(freep) char *text =
			render(report_timeline_page, &timelines[i], &picture, NULL, &plain_page);
		struct json_place data = data_open(&document, text);

		sample_write("page_nothing.html", text, strlen(text));
		sound_check(text, 1, 2);
		assert_non_null(strstr(text, "No call was counted."));
		assert_non_null(strstr(text, "<p>nothing was counted</p>"));
		assert_null(strstr(text, "exact: no call is missing"));
		assert_false(json_get_bool(&data, "exact", 0));
		snprintf(wanted, sizeof(wanted), "<dd>%s to %s, 0.000 s counted</dd>", first, last);
		assert_int_equal(count_of(text, wanted), i == 0);
		snprintf(wanted, sizeof(wanted), "<title>System calls%s%s</title>", i ? "" : ", ",
			 i ? "" : first);
		assert_non_null(strstr(text, wanted));
	}
}

TEST(test_comparison)
{
	__cleanup(snapshot_freep) struct snapshot *a = web_make(10, 0), *b = web_make(30, 0);
	const struct compare_input input = { { "before </script>", a }, { "after", b }, 0.2 };
	const struct table_options table = { .keys = GROUP_SYSCALL };
	__cleanup(compare_view_done) struct compare_view view;
	__cleanup(json_close) struct json_document document;
	__cleanup(freep) char *text = NULL;
	struct json_place data, plot;
	const json_t *plots;

	assert_int_equal(compare_view_make(&input, &table, &view), 0);
	text = render(report_comparison_page, &input, &view, &plain_page);
	sample_write("page_compare.html", text, strlen(text));
	sound_check(text, 1, 1);
	data = data_open(&document, text);
	plots = json_get_list(&data, "histograms");
	assert_true(json_array_size(plots) > 2);
	for (size_t i = 0; json_get_element(&data, plots, i, &plot); i++)
		assert_all(json_array_size(json_get_list(&plot, "a")) > 0,
			   json_array_size(json_get_list(&plot, "b")) > 0);
	assert_non_null(strstr(text, "failed (!): this rose by more than 20%"));
	assert_full(report_comparison_page, &input, &view, &plain_page);
}

/* A merged snapshot has no host of its own: the page says of how many it is. */
TEST(test_pages_of_several_hosts)
{
	__cleanup(snapshot_freep) struct snapshot *a = web_make(10, 0), *b = web_make(30, 0);
	const struct compare_input input = { { "before", a }, { "after", b }, 0 };
	const struct table_options table = { .keys = GROUP_SYSCALL };
	__cleanup(compare_view_done) struct compare_view view;
	__cleanup(freep) char *text = NULL, *comparison = NULL;

	assert_int_equal(origins_new(&b->origins), 0);
	for (const char *const *host = (const char *const[]){ "web-1", "web-2", NULL }; *host;
	     host++)
		assert_int_equal(origins_add(b->origins, &(struct origin){ .host = (char *)*host }),
				 0);
	b->host[0] = '\0';
	text = render(report_page, b, &plain_page);
	assert_int_equal(count_of(text, "System calls on 2 hosts, "), 2);
	assert_non_null(strstr(text, "<dt>Host</dt><dd>2 hosts</dd>"));
	assert_int_equal(compare_view_make(&input, &table, &view), 0);
	comparison = render(report_comparison_page, &input, &view, &plain_page);
	assert_non_null(strstr(comparison, "before: web-1, "));
	assert_non_null(strstr(comparison, "after: 2 hosts, "));
}

/* Where both sides have stacks, a page shows what changed in them. */
STACKS_TEST(test_comparison_of_stacks, scenario_stacks())
{
	__cleanup(stacked_done) struct stacked other = scenario_stacks_many();
	const struct compare_input input = { { "a", snapshot }, { "b", other.snapshot }, 0 };
	const struct report_options by_time = { .stacks.weight = STACK_WEIGHT_TIME };
	const struct table_options table = { .keys = GROUP_SYSCALL };
	__cleanup(compare_view_done) struct compare_view view;
	__cleanup(freep) char *text = NULL;

	assert_int_equal(compare_view_make(&input, &table, &view), 0);
	text = render(report_comparison_page, &input, &view, &by_time);
	sample_write("page_compare_stacks.html", text, strlen(text));
	sound_check(text, 2, 2);
	assert_int_equal(count_of(text, "<figure class=\"graph\""), 2);
	assert_true(strstr(text, "data-weight=\"wall time\"") <
		    strstr(text, "data-weight=\"calls\""));
}
