/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests which calls are kept as the slowest, in how much memory, and under which name their file is known. */
#include "call_fixture.h"
#include "stack_scenarios.h"

#include "calls/exemplars.h"
#include "report/report.h"

/* The answers of /proc. */
struct proc {
	const char *link;
	uint64_t inode;
	unsigned int asked;
};

static ssize_t read_link(void *context, __attribute__((unused)) uint32_t pid, int fd, char *buf,
			 size_t size)
{
	struct proc *proc = context;

	proc->asked++;
	if (fd != 3)
		return -ENOENT;
	return snprintf(buf, size, "%s", proc->link);
}

static ssize_t read_socket(__attribute__((unused)) void *context,
			   __attribute__((unused)) uint32_t pid, __attribute__((unused)) int fd,
			   uint64_t inode, char *buf, size_t size)
{
	return snprintf(buf, size, "TCP of %d", (int)inode);
}

static int read_inode(void *context, __attribute__((unused)) uint32_t pid,
		      __attribute__((unused)) int fd, uint64_t *ret)
{
	const struct proc *proc = context;

	*ret = proc->inode;
	return 0;
}

struct kept {
	uint64_t later_ns; /* that calls end later by */
	struct proc proc;
	struct descriptor_source source;
	struct exemplars *exemplars;
};

static void kept_begin(struct kept *kept, size_t most, size_t max_bytes)
{
	struct exemplars_options options = { .most = most, .max_bytes = max_bytes };

	*kept = (struct kept){ .proc = { .link = "/srv/x", .inode = 77 } };
	kept->source = (struct descriptor_source){ .context = &kept->proc,
						   .read_link = read_link,
						   .read_socket = read_socket };
	options.source = &kept->source;
	options.read_inode = read_inode;
	options.mono_to_real_ns = 5000;
	assert_int_equal(exemplars_new(&options, &kept->exemplars), 0);
}

static void kept_done(struct kept *kept)
{
	exemplars_free(kept->exemplars);
}

#define KEPT_TEST(name, ...) TEST_OF(name, struct kept, given, kept_done, kept_begin, __VA_ARGS__)

static void add(struct kept *kept, uint32_t pid, const char *call, uint64_t wall_ns, uint64_t inode)
{
	struct record_made made;
	struct call_record *record = record_of(&made);

	record_begin(&made, ABI_X86_64, call, (uint64_t[6]){ 3, 0, 512 }, 0);
	record->pid = record->tid = pid;
	record->number = 0;
	record->inode = inode;
	record->flags |= CALL_SLOWEST;
	record->wall_ns = wall_ns;
	record->end_ns += kept->later_ns;
	exemplars_add(kept->exemplars, record);
}

/* Those of a call that took no longer than max_ns took these times. */
static void assert_kept(const struct kept *kept, uint32_t pid, const char *call, uint64_t max_ns,
			size_t count, const uint64_t *times)
{
	const struct exemplar_kind kind = { pid, ABI_X86_64, syscall_find(ABI_X86_64, call) };
	const struct exemplar *list[EXEMPLARS_MAX];

	assert_int_equal(exemplars_find(kept->exemplars, &kind, max_ns, list), count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(list[i]->record->wall_ns, times[i]);
}

#define assert_times(kept, pid, call, max_ns, ...)                              \
	assert_kept(kept, pid, call, max_ns,                                    \
		    sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t) - 1, \
		    &((const uint64_t[]){ __VA_ARGS__ })[1])

KEPT_TEST(test_slowest_are_kept_in_order, 3, EXEMPLARS_BYTES)
{
	const uint64_t times[] = { 50, 10, 70, 30, 60, 20 };

	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		add(given, 1, "read", times[i], 0);
	add(given, 1, "write", 99, 0);
	add(given, 2, "read", 98, 0);
	assert_times(given, 1, "read", UINT64_MAX, 0, 70, 60, 50);
	assert_times(given, 1, "write", UINT64_MAX, 0, 99);
	assert_times(given, 2, "read", UINT64_MAX, 0, 98);
	assert_times(given, 2, "write", UINT64_MAX, 0);
	/* A call that ended after a row was read does not belong to that row. */
	assert_times(given, 1, "read", 65, 0, 60, 50);
	/* For processes that are added up, it is the call that took exactly as long. */
	assert_times(given, 0, "read", 98, 0, 98);
	assert_times(given, 0, "read", 97, 0);
	assert_int_equal(exemplars_count(given->exemplars).forgotten, 0);
}

/* What ended after an interval is of the next one. */
KEPT_TEST(test_intervals_have_their_own, 2, EXEMPLARS_BYTES)
{
	const size_t empty = exemplars_bytes(given->exemplars);

	add(given, 1, "read", 50, 0);
	add(given, 2, "write", 60, 0);
	given->later_ns = 1000000000;
	add(given, 1, "read", 40, 0);
	add(given, 1, "close", 30, 0);
	exemplars_set_until(given->exemplars, 2500000000);
	assert_times(given, 1, "read", UINT64_MAX, 0, 50);
	assert_times(given, 1, "close", UINT64_MAX, 0);
	assert_int_equal(exemplars_begin_anew(given->exemplars), 0);
	assert_times(given, 1, "read", UINT64_MAX, 0, 40);
	assert_times(given, 2, "write", UINT64_MAX, 0);
	assert_times(given, 1, "close", UINT64_MAX, 0, 30);
	exemplars_set_until(given->exemplars, UINT64_MAX);
	assert_int_equal(exemplars_begin_anew(given->exemplars), 0);
	assert_int_equal(exemplars_bytes(given->exemplars), empty);
	assert_int_equal(exemplars_count(given->exemplars).forgotten, 0);
}

static const struct exemplar *first_of(const struct kept *kept, const char *call)
{
	const struct exemplar_kind kind = { 1, ABI_X86_64, syscall_find(ABI_X86_64, call) };
	const struct exemplar *list[EXEMPLARS_MAX];

	assert_true(exemplars_find(kept->exemplars, &kind, UINT64_MAX, list));
	assert_int_equal(exemplar_real_ns(kept->exemplars, list[0]), 2000005000);
	return list[0];
}

static void assert_line(struct kept *kept, const char *call, const char *expected)
{
	static const struct truss_options options = { .start_ns = 0 };
	const struct exemplar *exemplar = first_of(kept, call);
	struct line line __cleanup(line_done) = { 0 };
	size_t length = strlen(expected);

	truss_put_call(exemplars_decoder(kept->exemplars, exemplar), exemplar->record, &options, 0,
		       &line);
	if (line.used < length || memcmp(line.bytes, expected, length) != 0)
		fail_msg("%.*s is not %s", (int)line.used, line.bytes, expected);
}

KEPT_TEST(test_file_has_its_name, 1, EXEMPLARS_BYTES)
{
	add(given, 1, "read", 10, 77);
	assert_line(given, "read", "read(3</srv/x>, ");
	given->proc.link = "socket:[4711]";
	add(given, 1, "read", 20, 77);
	assert_line(given, "read", "read(3<TCP of 4711>, ");
	/* Names are somebody else's bytes. */
	given->proc.link = "/a\033\n>";
	add(given, 1, "read", 30, 77);
	assert_line(given, "read", "read(3</a\\33\\n\\76>, ");
}

KEPT_TEST(test_another_file_has_no_name, 1, EXEMPLARS_BYTES)
{
	/* By now the descriptor is another file. */
	add(given, 1, "read", 10, 78);
	assert_line(given, "read", "read(3, ");
	/* Nothing was open when the call ended. */
	given->proc.asked = 0;
	add(given, 1, "close", 10, 0);
	assert_line(given, "close", "close(3)");
	assert_int_equal(given->proc.asked, 0);
	/* Nobody asks for the descriptors of calls that are not kept. */
	add(given, 1, "read", 9, 77);
	assert_int_equal(given->proc.asked, 0);
}

/* Each call is slower than the one before. */
KEPT_TEST(test_ever_slower_calls_take_no_more_memory, 2, EXEMPLARS_BYTES)
{
	size_t bytes;

	add(given, 1, "read", 1, 77);
	add(given, 1, "read", 2, 77);
	bytes = exemplars_bytes(given->exemplars);
	for (uint64_t i = 3; i <= 100000; i++)
		add(given, 1, "read", i, 77);
	assert_int_equal(exemplars_bytes(given->exemplars), bytes);
	assert_times(given, 1, "read", UINT64_MAX, 0, 100000, 99999);
	assert_int_equal(exemplars_count(given->exemplars).forgotten, 0);
}

#define SMALL (256UL << 10)

/* Among very many processes the slowest calls stay, and the others are counted. */
KEPT_TEST(test_memory_is_bounded, 1, SMALL)
{
	uint64_t found = 0;

	for (uint32_t pid = 1; pid <= 20000; pid++) {
		add(given, pid, "read", 1000 + pid * 7919ULL % 20011, 77);
		assert_true(exemplars_bytes(given->exemplars) <= SMALL);
	}
	for (uint32_t pid = 1; pid <= 20000; pid++) {
		const struct exemplar_kind kind = { pid, ABI_X86_64, 0 };
		const struct exemplar *list[EXEMPLARS_MAX];

		found += exemplars_find(given->exemplars, &kind, UINT64_MAX, list);
	}
	assert_true(found > 100);
	assert_int_equal(found + exemplars_count(given->exemplars).forgotten, 20000);
	/* The slowest of each call is never forgotten. */
	add(given, 5, "getppid", 2, 77);
	add(given, 6, "getppid", 1, 77);
	add(given, 30000, "read", 10, 77);
	add(given, 30001, "read", 1000000, 77);
	for (uint32_t pid = 40000; pid <= 60000; pid++)
		add(given, pid, "read", 100, 77);
	assert_times(given, 30001, "read", UINT64_MAX, 0, 1000000);
	assert_times(given, 5, "getppid", UINT64_MAX, 0, 2);
	assert_true(exemplars_count(given->exemplars).forgotten > 20000);
}

/* Others go before the slowest of a process. */
KEPT_TEST(test_slowest_of_each_process_stays, 5, SMALL)
{
	const uint32_t processes = 300;

	for (uint64_t wall_ns = 1; wall_ns <= 5; wall_ns++) {
		for (uint32_t pid = 1; pid <= processes; pid++)
			add(given, pid, "read", wall_ns, 77);
	}
	assert_true(exemplars_count(given->exemplars).forgotten > 0);
	for (uint32_t pid = 1; pid <= processes; pid++) {
		const struct exemplar_kind kind = { pid, ABI_X86_64, 0 };
		const struct exemplar *list[EXEMPLARS_MAX];

		assert_true(exemplars_find(given->exemplars, &kind, UINT64_MAX, list) > 0);
		assert_int_equal(list[0]->record->wall_ns, 5);
	}
}

/* Numbers of calls that are made up fill no more. */
KEPT_TEST(test_memory_is_bounded_for_any_numbers, 1, SMALL)
{
	struct record_made made;
	struct call_record *record = record_of(&made);

	record_begin(&made, ABI_X86_64, "read", (uint64_t[6]){ 0 }, 0);
	for (int i = 0; i < 20000; i++) {
		record->nr = 1000 + i;
		exemplars_add(given->exemplars, record);
		assert_true(exemplars_bytes(given->exemplars) <= SMALL);
	}
	assert_true(exemplars_count(given->exemplars).forgotten > 10000);
}

KEPT_TEST(test_losses_are_told, 1, EXEMPLARS_BYTES)
{
	exemplars_set_lost(given->exemplars, 17);
	assert_int_equal(exemplars_count(given->exemplars).lost, 17);
}

/* --- reports -------------------------------------------------------------------------------------- */

/*
 * Two processes: of one the slowest call is known, of the other its record was lost, but one is there that
 * ended after the reading.
 */
static struct snapshot *two_processes(struct kept *kept)
{
	struct builder *builder = builder_make();
	struct snapshot *snapshot;

	builder_take_process(builder, 1, "one", 3, 0);
	builder_take_process(builder, 2, "two", 3, 0);
	builder_take_calls(builder, 1, ABI_X86_64, "read", 1, 100, 0, 0);
	builder_take_calls(builder, 2, ABI_X86_64, "read", 1, 300, 0, 0);
	snapshot = snapshot_take(builder);
	/* A whole report knows when the slowest call began. */
	for (size_t i = 0; i < snapshot->nr_rows; i++)
		snapshot->rows[i]->max_start_ns = 1;
	add(kept, 1, "read", 90, 77);
	add(kept, 1, "read", 100, 77);
	add(kept, 2, "read", 200, 77);
	add(kept, 2, "read", 400, 77);
	exemplars_set_lost(kept->exemplars, 1);
	snapshot->exemplars = kept->exemplars;
	return snapshot;
}

#define REPORT_TEST(name)                                                               \
	static void name##_in(const struct snapshot *snapshot);                         \
	KEPT_TEST(name, 3, EXEMPLARS_BYTES)                                             \
	{                                                                               \
		__cleanup(snapshot_freep) struct snapshot *made = two_processes(given); \
		name##_in(made);                                                        \
	}                                                                               \
	static void name##_in(const struct snapshot *snapshot)

REPORT_TEST(test_table_says_what_is_not_known)
{
	const struct report_options options = { .format = FORMAT_WIDE,
						.exemplars = 3,
						.table.slowest = true };
	__cleanup(freep) char *text = render(report_write, snapshot, &options);
	static const char *const expected[] = {
		"\nread:\n    slowest: 300 ns, of which no more is known\n    also:    200 ns at ",
		" in thread 2: read(3</srv/x>, ",
		"    also:    100 ns at ",
		"    also:    90 ns at ",
		"\nof 1 slow call no more is known: the kernel had no room for it\n",
	};
	const char *at = text;

	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		at = strstr(at, expected[i]);
		if (!at)
			fail_msg("%s is not in its place in %s", expected[i], text);
	}
	assert_null(strstr(text, "400 ns at"));
}

REPORT_TEST(test_json_has_them_in_rows)
{
	const struct report_options options = { .format = FORMAT_JSON, .exemplars = 3 };
	__cleanup(freep) char *text = render(report_write, snapshot, &options);
	struct snapshot *again = NULL;
	struct stack_table *stacks = NULL;
	json_t *json = json_parse(text);

	assert_int_equal(json_number(json, "exemplars_lost"), 1);
	assert_int_equal(json_number(json, "exemplars_forgotten"), 0);
	assert_int_equal(json_number(json, "rows/0/exemplars/0/wall_ns"), 100);
	assert_int_equal(json_number(json, "rows/0/exemplars/1/wall_ns"), 90);
	assert_string_equal(json_text(json, "rows/0/exemplars/0/args/0/is"), "/srv/x");
	assert_int_equal(json_number(json, "rows/1/max_ns"), 300);
	assert_int_equal(json_array_size(json_at(json, "rows/1/exemplars")), 1);
	assert_int_equal(json_number(json, "rows/1/exemplars/0/wall_ns"), 200);
	assert_null(json_at(json, "rows/0/exemplars/0/number"));
	json_decref(json);
	assert_int_equal(report_json_read(text, strlen(text), &again, &stacks, &d), 0);
	assert_int_equal(again->rows[0]->nr_told, 2);
	assert_int_equal(again->rows[0]->told[1].wall_ns, 90);
	assert_non_null(strstr(again->rows[0]->told[0].line, "read(3</srv/x>, "));
	snapshot_free(again);
}

REPORT_TEST(test_json_of_a_table_has_them_too)
{
	const struct report_options options = { .format = FORMAT_JSON,
						.exemplars = 3,
						.table.keys = GROUP_SYSCALL };
	__cleanup(freep) char *text = render(report_write, snapshot, &options);
	json_t *json = json_parse(text);

	assert_int_equal(json_number(json, "exemplars_lost"), 1);
	assert_int_equal(json_array_size(json_at(json, "table/0/exemplars")), 3);
	assert_int_equal(json_number(json, "table/0/exemplars/0/wall_ns"), 200);
	assert_int_equal(json_number(json, "table/0/exemplars/1/wall_ns"), 100);
	json_decref(json);
}

/* A wide table besides a page has no more than without it. */
REPORT_TEST(test_table_has_them_only_if_asked)
{
	const struct report_options options = { .format = FORMAT_WIDE };
	__cleanup(freep) char *text = render(report_write, snapshot, &options);

	assert_null(strstr(text, "slowest:"));
}

/* A page has so many of them as stay small, the slowest first; names of files are text. */
KEPT_TEST(test_page_has_the_slowest, 1, EXEMPLARS_BYTES)
{
	const struct report_options options = { .format = FORMAT_HTML };
	struct builder *builder = builder_make();
	__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
	__cleanup(freep) char *text = NULL;
	const char *at, *start;
	const json_t *table;
	struct row row;
	json_t *json;

	given->proc.link = "/srv/</script><script>alert(1)</script>";
	for (uint32_t pid = 1; pid <= 130; pid++) {
		add(given, pid, "read", pid * 1000, 77);
		builder_take_process(builder, pid, "server", 6, 0);
		row_init_for(&row, pid, ABI_X86_64, syscall_find(ABI_X86_64, "read"));
		row_add_calls(&row, 1, pid * 1000, 0, 0);
		builder_take_row(builder, &row);
	}
	exemplars_set_lost(given->exemplars, 2);
	snapshot = snapshot_take(builder);
	snapshot->exemplars = given->exemplars;
	text = render(report_write, snapshot, &options);
	sample_write("page_slowest.html", text, strlen(text));
	at = strstr(text, "id=\"data\">");
	assert_non_null(at);
	start = strchr(at, '{');
	text[strstr(start, "</script>") - text] = '\0';
	json = json_parse(start);
	table = json_at(json, "tables/1");
	assert_string_equal(json_text(table, "id"), "slowest");
	assert_string_equal(json_text(table, "note"),
			    "The slowest 100 of 130 calls.\n" LINE_LATE_LEGEND "\n"
			    "of 2 slow calls no more is known: the kernel had no room for them\n");
	assert_int_equal(json_array_size(json_at(table, "rows")), 100);
	assert_string_equal(json_text(table, "rows/0/0"), "read");
	assert_int_equal(json_number(table, "rows/0/1"), 130000);
	assert_int_equal(json_number(table, "rows/0/5"), 130);
	assert_int_equal(json_number(table, "rows/99/1"), 31000);
	assert_non_null(strstr(json_text(table, "rows/0/2"),
			       "read(3</srv/\\74/script\\76\\74script\\76alert(1)"));
	assert_null(strchr(json_text(table, "rows/0/2"), '\n'));
	json_decref(json);
}

/* Nobody asked. */
TEST(test_reports_without_exemplars)
{
	__cleanup(snapshot_freep) struct snapshot *snapshot = snapshot_take(builder_make());
	const struct report_options options = { .format = FORMAT_JSON };
	__cleanup(freep) char *text = render(report_write, snapshot, &options);

	assert_null(strstr(text, "exemplars"));
}
