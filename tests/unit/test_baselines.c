/* SPDX-License-Identifier: BSD-2-Clause */
/* Baselines as files: saved whole, listed, read back as they were, and never touched by retention. */
#include "history_fixture.h"

#include "daemon/baselines.h"
#include "report/report.h"

/* Makes one minute of a host, as the history gives it back. */
static void one_minute(const struct place *place, struct timeline *ret)
{
	__cleanup(history_closep) struct history *history = open_default(place);
	struct host host = host_make(16);

	append_minutes(history, &host, 1, 50);
	ask_must(history, 0, 0, 0, ret);
}

static void save_must(const char *baselines, const char *name, const struct snapshot *sum)
{
	must(baselines_save(baselines, name, sum, false, &d));
}

static size_t count_listed(const char *baselines, struct baseline *first)
{
	__cleanup(freep) struct baseline *list = NULL;
	size_t count;

	must(baselines_list(baselines, &list, &count, &d));
	if (count)
		*first = list[0];
	return count;
}

static size_t count_damaged(const char *baselines)
{
	__cleanup(freep) struct baseline *list = NULL;
	size_t count, damaged = 0;

	must(baselines_list(baselines, &list, &count, &d));
	for (size_t i = 0; i < count; i++)
		damaged += list[i].is_damaged && !strcmp(list[i].name, "bad");
	return damaged;
}

/* Returns the path of the file of that name, valid until the next call. */
static const char *path_of(const char *baselines, const char *file)
{
	static char path[400];

	snprintf(path, sizeof(path), "%s/" HISTORY_BASELINES "/%s", baselines, file);
	return path;
}

/* Begins a test of baselines; the sum is a minute that can be saved. */
#define BASELINES_TEST(name)                                                     \
	static void name##_of(const struct place *place, const char *baselines,  \
			      struct snapshot *sum);                             \
	PLACE_TEST(name)                                                         \
	{                                                                        \
		__cleanup(timeline_done) struct timeline timeline = { 0 };       \
		one_minute(place, &timeline);                                    \
		name##_of(place, place->dir, timeline.steps[0].sum);             \
	}                                                                        \
	static void name##_of(__attribute__((unused)) const struct place *place, \
			      const char *baselines, struct snapshot *sum)

BASELINES_TEST(test_a_baseline_is_what_was_saved)
{
	__cleanup(snapshot_freep) struct snapshot *loaded = NULL;
	struct baseline listed;

	assert_int_equal(count_listed(baselines, &listed), 0);
	save_must(baselines, "quiet-1.0", sum);
	must(baselines_load(baselines, "quiet-1.0", &loaded, &d));
	assert_int_equal(loaded->nr_rows, sum->nr_rows);
	assert_string_equal(loaded->host, "web-1");
	assert_int_equal(count_listed(baselines, &listed), 1);
	assert_string_equal(listed.name, "quiet-1.0");
	assert_has(&listed, start_ns, NEW_YEAR, end_ns, NEW_YEAR + MINUTE, covered_ns, MINUTE);
	assert_true(listed.saved_ns > 0);
	assert_int_equal(baselines_remove(baselines, "quiet-1.0", &d), 0);
	assert_int_equal(count_listed(baselines, &listed), 0);
	assert_int_equal(baselines_remove(baselines, "quiet-1.0", &d), -ENOENT);
	assert_int_equal(baselines_load(baselines, "quiet-1.0", &loaded, &d), -ENOENT);
}

/* The text of the file is what the daemon sends: a report like any other. */
BASELINES_TEST(test_a_file_is_a_report)
{
	__cleanup(freep) char *text = NULL, *wanted = NULL;
	size_t size;

	save_must(baselines, "monday", sum);
	assert_int_equal(baselines_read(baselines, "monday", &text, &size, &d), 0);
	wanted = render(report_json, sum);
	assert_int_equal(size, strlen(wanted));
	assert_memory_equal(text, wanted, size);
	assert_int_equal(access(path_of(baselines, "monday.json"), R_OK), 0);
}

BASELINES_TEST(test_names)
{
	/* Another path, or a time. */
	static const char *const no_names[] = {
		"",    ".",   "..",   ".hidden", "../x",     "a/b",
		"now", "10m", "1..2", "a b",     "\xc3\xa4", "x\n"
	};
	const struct snapshot nothing = { 0 };
	__cleanup(freep) char *text = NULL;
	char long_name[66];
	size_t size;

	memset(long_name, 'x', sizeof(long_name));
	long_name[65] = 0;
	for (size_t i = 0; i < ARRAY_SIZE(no_names); i++) {
		assert_int_equal(baselines_save(baselines, no_names[i], sum, false, &d), -EINVAL);
		assert_int_equal(baselines_read(baselines, no_names[i], &text, &size, &d), -ENOENT);
		assert_int_equal(baselines_remove(baselines, no_names[i], &d), -ENOENT);
	}
	assert_int_equal(baselines_save(baselines, long_name, sum, false, &d), -EINVAL);
	long_name[64] = 0;
	save_must(baselines, long_name, sum);
	assert_int_equal(baselines_save(baselines, "none", &nothing, false, &d), -ENODATA);
}

/* It is not replaced by accident, and one that cannot be written leaves the old one. */
BASELINES_TEST(test_replacing)
{
	__cleanup(snapshot_freep) struct snapshot *loaded = NULL;

	save_must(baselines, "monday", sum);
	must_fail(baselines_save(baselines, "monday", sum, false, &d), -EEXIST, "--replace");
	assert_int_equal(baselines_save(baselines, "monday", sum, true, &d), 0);
	/* A file in the way of the new one is not removed. */
	assert_int_equal(mkdir(path_of(baselines, ".new"), 0700), 0);
	must_fail(baselines_save(baselines, "monday", sum, true, &d), -EISDIR, "monday");
	assert_int_equal(baselines_load(baselines, "monday", &loaded, &d), 0);
}

/* A baseline that somebody has spoilt costs itself alone. */
BASELINES_TEST(test_a_spoilt_file)
{
	__cleanup(snapshot_freep) struct snapshot *loaded = NULL;
	struct baseline listed;
	const char *path = path_of(baselines, "bad.json");

	save_must(baselines, "bad", sum);
	save_must(baselines, "good", sum);
	assert_int_equal(truncate(path, 100), 0);
	/* It is in the list, so that one sees what to remove. */
	assert_int_equal(count_damaged(baselines), 1);
	must_fail(baselines_load(baselines, "bad", &loaded, &d), -EBADMSG, "save it again");
	assert_int_equal(baselines_save(baselines, "bad", sum, true, &d), 0);
	assert_int_equal(count_damaged(baselines), 0);
	assert_int_equal(count_listed(baselines, &listed), 2);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("good.json", path), 0);
	assert_int_equal(baselines_load(baselines, "bad", &loaded, &d), -ELOOP);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	must_fail(baselines_load(baselines, "bad", &loaded, &d), -EBADMSG,
		  "not the file of a snapshot");
	assert_int_equal(rmdir(path), 0);
}

/* Nobody can put another folder in the place of theirs. */
BASELINES_TEST(test_a_linked_folder)
{
	char path[400];

	snprintf(path, sizeof(path), "%s/" HISTORY_BASELINES, baselines);
	assert_int_equal(symlink(".", path), 0);
	assert_int_equal(baselines_save(baselines, "monday", sum, false, &d), -ENOTDIR);
	assert_int_equal(baselines_remove(baselines, "monday", &d), -ENOTDIR);
	assert_int_equal(unlink(path), 0);
}

/* A baseline that could not be read back is not kept. */
BASELINES_TEST(test_too_large)
{
	enum { HOST = 9 << 20 };
	__cleanup(freep) char *text = NULL;
	size_t size;

	sum->host = realloc(sum->host, HOST + 1);
	memset(sum->host, 'x', HOST);
	sum->host[HOST] = 0;
	must_fail(baselines_save(baselines, "large", sum, false, &d), -E2BIG,
		  "choose a shorter span, or fewer processes (PUT with name=");
	assert_int_equal(baselines_read(baselines, "large", &text, &size, &d), -ENOENT);
	/* An older bpftruss has saved larger ones. */
	sum->host[10] = 0;
	save_must(baselines, "old", sum);
	assert_int_equal(truncate(path_of(baselines, "old.json"), HOST), 0);
	must_fail(baselines_read(baselines, "old", &text, &size, &d), -EFBIG,
		  "remove it, and save a shorter span");
}

/* A new baseline is refused once there are many; an existing one may be replaced. */
BASELINES_TEST(test_too_many)
{
	struct baseline listed;
	char name[32];

	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "day-%d", i);
		save_must(baselines, name, sum);
	}
	assert_int_equal(baselines_save(baselines, "more", sum, false, &d), -E2BIG);
	assert_all(strstr(d.text, "already 100 baselines"), strstr(d.text, "baseline rm"));
	assert_int_equal(baselines_save(baselines, name, sum, false, &d), -EEXIST);
	assert_int_equal(baselines_save(baselines, name, sum, true, &d), 0);
	assert_int_equal(baselines_remove(baselines, "day-7", &d), 0);
	save_must(baselines, "more", sum);
	assert_int_equal(count_listed(baselines, &listed), 100);
}

/* A list reads the head of a file, whatever comes behind it, and whatever the host is called. */
BASELINES_TEST(test_a_list_reads_heads)
{
	__cleanup(snapshot_freep) struct snapshot *loaded = NULL;
	struct baseline listed;

	free(sum->host);
	sum->host = strdup("a\",\"targets\":");
	save_must(baselines, "monday", sum);
	assert_int_equal(truncate(path_of(baselines, "monday.json"), 1000), 0);
	assert_int_equal(count_listed(baselines, &listed), 1);
	assert_has(&listed, start_ns, NEW_YEAR, end_ns, NEW_YEAR + MINUTE, covered_ns, MINUTE);
	assert_int_equal(baselines_load(baselines, "monday", &loaded, &d), -EBADMSG);
}

/* They count towards the size of the history, and no retention removes them. */
BASELINES_TEST(test_size)
{
	enum { MAX = 1 << 20 };
	const struct history_options options = { .max_bytes = MAX,
						 .keep_ns = { MINUTE, MINUTE, DAY } };
	__cleanup(freep) char *text = NULL;
	__cleanup(history_closep) struct history *history = NULL;
	struct history_size before, after;
	struct host host = host_make(17);
	const char *path = path_of(baselines, "large.json");
	size_t size;

	place_empty(place);
	history = open_with(place, &options);
	append_minutes(history, &host, 12 * 60, 25);
	assert_int_equal(history_size(history, &before), 0);
	save_must(baselines, "monday", sum);
	assert_int_equal(history_size(history, &after), 0);
	assert_int_equal(baselines_read(baselines, "monday", &text, &size, &d), 0);
	assert_int_equal(after.bytes, before.bytes + size);
	/* Something large: intervals make room for it. */
	close(open(path, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(truncate(path, MAX), 0);
	append_minutes(history, &host, 120, 25);
	assert_int_equal(history_size(history, &after), 0);
	assert_true(after.first_ns >= host.real_ns - HOUR);
	assert_int_equal(access(path, F_OK), 0);
	free(steal_ptr(&text));
	assert_int_equal(baselines_read(baselines, "monday", &text, &size, &d), 0);
}
