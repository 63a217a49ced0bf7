/* SPDX-License-Identifier: BSD-2-Clause */
/* Paths and files of rows: their texts, folders and groups, how tables show them, and JSON and back. */
#include "scenarios.h"

#include "json/documents.h"
#include "model/group.h"
#include "report/report.h"
#include "syscalls/arguments.h"

static struct argument_texts *texts_make(void)
{
	struct argument_texts *texts;

	assert_int_equal(argument_texts_new(&texts), 0);
	return texts;
}

TEST(test_texts_are_found_by_key)
{
	struct argument_texts *texts = texts_make();
	char text[16];

	assert_null(argument_texts_find(NULL, 1));
	assert_null(argument_texts_find(texts, 1));
	for (uint64_t i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "/%" PRIu64, i);
		assert_int_equal(argument_texts_add(texts, i * 7919 % 1009, text), 0);
	}
	argument_texts_sort(texts);
	for (uint64_t i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "/%" PRIu64, i);
		assert_string_equal(argument_texts_find(texts, i * 7919 % 1009), text);
	}
	assert_null(argument_texts_find(texts, 1009));
	argument_texts_free(texts);
}

TEST(test_texts_are_numbered_in_their_order)
{
	char *list[] = { "/b", "/a", "", "/b", "/a" };
	struct argument_texts *texts;

	assert_int_equal(argument_texts_number(list, ARRAY_SIZE(list), &texts), 0);
	assert_int_equal(texts->count, 3);
	assert_true(argument_texts_key(texts, "") == ARGUMENT_FIRST);
	assert_true(argument_texts_key(texts, "/a") == ARGUMENT_FIRST + 1);
	assert_true(argument_texts_key(texts, "/b") == ARGUMENT_FIRST + 2);
	assert_true(argument_texts_key(texts, "/c") == ARGUMENT_ABSENT);
	assert_string_equal(argument_texts_find(texts, ARGUMENT_FIRST + 2), "/b");
	argument_texts_free(texts);
	assert_int_equal(argument_texts_number(list, 0, &texts), 0);
	assert_true(argument_texts_key(texts, "") == ARGUMENT_ABSENT);
	argument_texts_free(texts);
}

TEST(test_folders)
{
	/* The folders that dirname(1) prints, but "" for ".". */
	static const char *const list[][2] = {
		{ "/srv/www/.htaccess", "/srv/www" },
		{ "/x", "/" },
		{ "/", "/" },
		{ "//", "/" },
		{ "x", "" },
		{ "", "" },
		{ "a/b", "a" },
		{ "a/b/", "a" },
		{ "a//b", "a" },
		{ "./x", "." },
		{ "/a/b//", "/a" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		size_t length = path_folder_length(list[i][0]);

		assert_int_equal(length, strlen(list[i][1]));
		assert_memory_equal(list[i][0], list[i][1], length);
	}
}

TEST(test_which_calls_have_paths_and_files)
{
	static const struct {
		const char *name;
		bool path, file;
	} calls[] = { { "openat", true, true },    { "read", false, true },
		      { "getppid", false, false }, { "renameat2", true, true },
		      { "mmap", false, true },     { "execve", true, false } };

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		const int nr = syscall_find(ABI_OF_TESTS, calls[i].name);

		assert_int_equal(call_is_split_by(ABI_OF_TESTS, nr, SPLIT_PATH), calls[i].path);
		assert_int_equal(call_is_split_by(ABI_OF_TESTS, nr, SPLIT_FILE), calls[i].file);
	}
	assert_false(call_is_split_by(ABI_OF_TESTS, -1, SPLIT_PATH));
	assert_false(call_is_split_by(ABI_OF_TESTS, CALLS_INDEXED, SPLIT_PATH));
}

TEST(test_the_end_of_a_long_path_stays)
{
	char text[64] = "/srv/www/\xc3\xa4\xc3\xb6.html";

	text_cut_front(text, 64);
	assert_string_equal(text, "/srv/www/\xc3\xa4\xc3\xb6.html");
	text_cut_front(text, 16);
	assert_string_equal(text, "/srv/www/\xc3\xa4\xc3\xb6.html");
	text_cut_front(text, 8);
	assert_string_equal(text, "..\xc3\xb6.html");
}

/* --- rows --------------------------------------------------------------------------------------- */

#define HOSTILE "/tmp/a\nb\x1b[31m\xff\xc3"

static void take_split(struct builder *builder, const char *call, uint64_t value, uint64_t calls)
{
	struct row row;

	row_init_calls(&row, 7, ABI_OF_TESTS, call, calls, calls * 100, 0, 0);
	row.split = value == ARGUMENT_ABSENT ? SPLIT_NONE : SPLIT_PATH;
	row.split_value = value;
	builder_take_row(builder, &row);
}

static struct snapshot *scenario_paths(void)
{
	static const char *const texts[] = { "/srv/a", "/srv/b",        HOSTILE,
					     "",       "[other paths]", "relative" };
	struct builder *builder = builder_make();
	struct snapshot *snapshot;

	builder_take_process(builder, 7, "server", sizeof("server"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		take_split(builder, "openat", ARGUMENT_FIRST + i, 1 + i);
	take_split(builder, "faccessat", ARGUMENT_FIRST, 20);
	/* Another key of the same text: a file that was made again. */
	take_split(builder, "faccessat", ARGUMENT_FIRST + 10, 30);
	take_split(builder, "openat", ARGUMENT_OTHERS, 40);
	take_split(builder, "openat", ARGUMENT_UNKNOWN, 50);
	take_split(builder, "openat", ARGUMENT_NONE, 60);
	take_split(builder, "openat", ARGUMENT_ABSENT, 70);
	take_split(builder, "getppid", ARGUMENT_ABSENT, 80);
	snapshot = snapshot_take(builder);
	snapshot->arguments = texts_make();
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(
			argument_texts_add(snapshot->arguments, ARGUMENT_FIRST + i, texts[i]), 0);
	assert_int_equal(argument_texts_add(snapshot->arguments, ARGUMENT_FIRST + 10, "/srv/a"), 0);
	argument_texts_sort(snapshot->arguments);
	return snapshot;
}

static int csv_by(const struct snapshot *snapshot, unsigned int keys, FILE *out)
{
	struct column_list columns = { .count = 0 };
	struct report_options options = { .format = FORMAT_CSV, .no_header = true };
	const struct column *calls;

	assert_int_equal(column_find("", "calls", &calls, NULL), 0);
	column_list_add(&columns, calls);
	options.table.keys = keys;
	options.table.columns = &columns;
	return report_write(snapshot, &options, out);
}

static int csv_by_path(const struct snapshot *snapshot, FILE *out)
{
	return csv_by(snapshot, GROUP_PATH, out);
}

static int csv_by_dir(const struct snapshot *snapshot, FILE *out)
{
	return csv_by(snapshot, GROUP_DIR, out);
}

/* Each row begins with the same two times. */
static void assert_rows(const struct snapshot *snapshot, snapshot_report *report,
			const char *const *rows, size_t count)
{
	__cleanup(freep) char *text = render(report, snapshot);
	char *at = text, *line;
	size_t found = 0;

	while ((line = strsep(&at, "\n")) && *line) {
		const char *row = strchr(strchr(line, ',') + 1, ',') + 1;
		bool is_there = false;

		for (size_t i = 0; i < count; i++)
			is_there |= !strcmp(rows[i], row);
		if (!is_there)
			fail_msg("%s is not expected", row);
		found++;
	}
	assert_int_equal(found, count);
}

static const char *const by_path[] = {
	"/srv/a,51",
	"/srv/b,2",
	"/tmp/a\\x0ab\\x1b[31m\\xff\\xc3,3",
	"[empty],4",
	"\\x5bother paths],5",
	"relative,6",
	"[other paths],110",
	"[unreadable],50",
	",140",
};

static const char *const by_dir[] = {
	"/srv,53", "/tmp,3", ".,15", "[other paths],110", "[unreadable],50", ",140",
};

SNAPSHOT_TEST(test_groups, scenario_paths())
{
	assert_rows(snapshot, csv_by_path, by_path, ARRAY_SIZE(by_path));
	assert_rows(snapshot, csv_by_dir, by_dir, ARRAY_SIZE(by_dir));
}

SNAPSHOT_TEST(test_parts_share_the_texts, scenario_paths())
{
	struct snapshot *part;

	assert_int_equal(snapshot_new_like(snapshot, &part), 0);
	assert_ptr_equal(part->arguments, snapshot->arguments);
	assert_int_equal(snapshot->arguments->refs, 2);
	snapshot_free(part);
	assert_int_equal(snapshot->arguments->refs, 1);
}

SNAPSHOT_TEST(test_json_and_back, scenario_paths())
{
	__cleanup(freep) char *text = render(report_json, snapshot);
	struct stack_table *stacks = NULL;
	struct snapshot *back;

	must(report_json_read(text, strlen(text), &back, &stacks, &d));
	assert_int_equal(back->nr_rows, snapshot->nr_rows - 1);
	assert_rows(back, csv_by_path, by_path, ARRAY_SIZE(by_path));
	snapshot_free(back);
}

/* Whatever the order of the rows was. */
SNAPSHOT_TEST(test_json_that_was_read_stays_as_it_is, scenario_paths())
{
	__cleanup(freep) char *text = render(report_json, snapshot), *again = NULL, *last = NULL;
	struct stack_table *stacks = NULL;
	struct snapshot *back;

	must(report_json_read(text, strlen(text), &back, &stacks, &d));
	again = render(report_json, back);
	snapshot_free(back);
	must(report_json_read(again, strlen(again), &back, &stacks, &d));
	last = render(report_json, back);
	snapshot_free(back);
	assert_string_equal(again, last);
}

SNAPSHOT_TEST(test_json_that_is_wrong, scenario_paths())
{
	static const char *const changes[][2] = {
		{ "\"missing\":\"no_room\"", "\"missing\":\"no_rooN\"" },
		{ "\"missing\":\"none\"", "\"missinG\":\"none\"" },
		{ "\"path\":\"/srv/b\"", "\"path\":12345678" },
		{ "\"path\":\"/srv/a\"", "\"file\":\"\",\"path\":\"\"" },
	};
	__cleanup(freep) char *text = render(report_json, snapshot);

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		__cleanup(freep) char *wrong = strdup(text);
		struct stack_table *stacks = NULL;
		struct snapshot *back;
		char *at = strstr(wrong, changes[i][0]);
		struct diag d;

		assert_non_null(at);
		memset(at, ' ', strlen(changes[i][0]));
		memcpy(at, changes[i][1], strlen(changes[i][1]));
		assert_int_equal(report_json_read(wrong, strlen(wrong), &back, &stacks, &d),
				 -EINVAL);
	}
}
