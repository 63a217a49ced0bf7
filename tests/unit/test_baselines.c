/* SPDX-License-Identifier: BSD-2-Clause */
/* Baselines as files: saved whole, listed, read back as they were, and never touched by retention. */
#include "test.h"

#include "history_fixture.h"

#include "daemon/baselines.h"
#include "report/report.h"

/* One minute of a host, as the history gives it back. */
static void one_minute(const struct place *place, struct timeline *ret)
{
	struct history *history = open_default(place);
	struct host host = host_make(16);

	append_minutes(history, &host, 1, 50);
	ask_must(history, 0, 0, 0, ret);
	history_close(history);
}

static void save_must(const struct baselines *baselines, const char *name,
		      const struct timeline *timeline)
{
	struct diag d = { 0 };

	if (baselines_save(baselines, name, &timeline->steps[0], false, &d))
		fail_msg("%s", d.text);
}

static size_t count_listed(struct baselines *baselines, struct baseline *first)
{
	__cleanup(freep) struct baseline *list = NULL;
	struct diag d = { 0 };
	size_t count;

	if (baselines_list(baselines, &list, &count, &d))
		fail_msg("%s", d.text);
	if (count)
		*first = list[0];
	return count;
}

PLACE_TEST(test_a_baseline_is_what_was_saved)
{
	__cleanup(baselines_done) struct baselines baselines = {
		.state_dir = ((struct place *)*state)->dir
	};
	__cleanup(timeline_done) struct timeline timeline = { 0 };
	__cleanup(snapshot_freep) struct snapshot *loaded = NULL;
	struct baseline listed;
	struct diag d = { 0 };

	one_minute(*state, &timeline);
	assert_int_equal(count_listed(&baselines, &listed), 0);
	save_must(&baselines, "quiet-1.0", &timeline);
	if (baselines_load(&baselines, "quiet-1.0", &loaded, &d))
		fail_msg("%s", d.text);
	assert_int_equal(loaded->nr_rows, timeline.steps[0].sum->nr_rows);
	assert_string_equal(loaded->host, "web-1");
	/* Twice: from the file, and from what is known of it. */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(count_listed(&baselines, &listed), 1);
		assert_string_equal(listed.name, "quiet-1.0");
		assert_int_equal(listed.start_ns, NEW_YEAR);
		assert_int_equal(listed.end_ns, NEW_YEAR + MINUTE);
		assert_int_equal(listed.covered_ns, MINUTE);
		assert_true(listed.saved_ns > 0);
	}
	assert_int_equal(baselines_remove(&baselines, "quiet-1.0", &d), 0);
	assert_int_equal(count_listed(&baselines, &listed), 0);
	assert_int_equal(baselines_remove(&baselines, "quiet-1.0", &d), -ENOENT);
	assert_int_equal(baselines_load(&baselines, "quiet-1.0", &loaded, &d), -ENOENT);
}

/* The text of the file is what the daemon sends: a report like any other. */
PLACE_TEST(test_a_file_is_a_report)
{
	const struct place *place = *state;
	const struct baselines baselines = { .state_dir = place->dir };
	__cleanup(timeline_done) struct timeline timeline = { 0 };
	__cleanup(freep) char *text = NULL, *wanted = NULL;
	struct diag d = { 0 };
	char path[400];
	size_t size, wanted_size;
	FILE *out;

	one_minute(place, &timeline);
	save_must(&baselines, "monday", &timeline);
	assert_int_equal(baselines_read(&baselines, "monday", &text, &size, &d), 0);
	out = open_memstream(&wanted, &wanted_size);
	assert_int_equal(report_json(timeline.steps[0].sum, out), 0);
	fclose(out);
	assert_int_equal(size, wanted_size);
	assert_memory_equal(text, wanted, size);
	snprintf(path, sizeof(path), "%s/" HISTORY_BASELINES "/monday.json", place->dir);
	assert_int_equal(access(path, R_OK), 0);
}

PLACE_TEST(test_names)
{
	/* Another path, or a time. */
	static const char *const no_names[] = {
		"",    ".",   "..",   ".hidden", "../x",     "a/b",
		"now", "10m", "1..2", "a b",     "\xc3\xa4", "x\n"
	};
	const struct baselines baselines = { .state_dir = ((struct place *)*state)->dir };
	const struct timeline_step nothing = { 0 };
	__cleanup(timeline_done) struct timeline timeline = { 0 };
	__cleanup(freep) char *text = NULL;
	struct diag d = { 0 };
	char long_name[66];
	size_t size;

	memset(long_name, 'x', sizeof(long_name));
	long_name[65] = 0;
	one_minute(*state, &timeline);
	for (size_t i = 0; i < ARRAY_SIZE(no_names); i++) {
		assert_int_equal(baselines_save(&baselines, no_names[i], timeline.steps, false, &d),
				 -EINVAL);
		assert_int_equal(baselines_read(&baselines, no_names[i], &text, &size, &d),
				 -ENOENT);
		assert_int_equal(baselines_remove(&baselines, no_names[i], &d), -ENOENT);
	}
	assert_int_equal(baselines_save(&baselines, long_name, timeline.steps, false, &d), -EINVAL);
	long_name[64] = 0;
	save_must(&baselines, long_name, &timeline);
	assert_int_equal(baselines_save(&baselines, "none", &nothing, false, &d), -ENODATA);
}

/* It is not replaced by accident, and one that cannot be written leaves the old one. */
PLACE_TEST(test_replacing)
{
	const struct place *place = *state;
	const struct baselines baselines = { .state_dir = place->dir };
	__cleanup(timeline_done) struct timeline timeline = { 0 };
	__cleanup(snapshot_freep) struct snapshot *loaded = NULL;
	struct diag d = { 0 };
	char path[400];

	one_minute(place, &timeline);
	save_must(&baselines, "monday", &timeline);
	assert_int_equal(baselines_save(&baselines, "monday", timeline.steps, false, &d), -EEXIST);
	assert_non_null(strstr(d.text, "--replace"));
	assert_int_equal(baselines_save(&baselines, "monday", timeline.steps, true, &d), 0);
	/* A file in the way of the new one is not removed. */
	snprintf(path, sizeof(path), "%s/" HISTORY_BASELINES "/.new", place->dir);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(baselines_save(&baselines, "monday", timeline.steps, true, &d), -EISDIR);
	assert_non_null(strstr(d.text, "monday"));
	assert_int_equal(baselines_load(&baselines, "monday", &loaded, &d), 0);
}

/* One that somebody has spoilt costs itself alone. */
PLACE_TEST(test_a_spoilt_file)
{
	const struct place *place = *state;
	__cleanup(baselines_done) struct baselines baselines = { .state_dir = place->dir };
	__cleanup(timeline_done) struct timeline timeline = { 0 };
	__cleanup(snapshot_freep) struct snapshot *loaded = NULL;
	struct baseline listed;
	struct diag d = { 0 };
	char path[400];

	one_minute(place, &timeline);
	save_must(&baselines, "bad", &timeline);
	save_must(&baselines, "good", &timeline);
	snprintf(path, sizeof(path), "%s/" HISTORY_BASELINES "/bad.json", place->dir);
	assert_int_equal(truncate(path, 100), 0);
	assert_int_equal(count_listed(&baselines, &listed), 1);
	assert_string_equal(listed.name, "good");
	assert_int_equal(baselines_load(&baselines, "bad", &loaded, &d), -EBADMSG);
	assert_non_null(strstr(d.text, "save it again"));
	assert_int_equal(baselines_save(&baselines, "bad", timeline.steps, true, &d), 0);
	assert_int_equal(count_listed(&baselines, &listed), 2);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("good.json", path), 0);
	assert_int_equal(baselines_load(&baselines, "bad", &loaded, &d), -ELOOP);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(baselines_load(&baselines, "bad", &loaded, &d), -EBADMSG);
	assert_non_null(strstr(d.text, "no file of a snapshot"));
	assert_int_equal(rmdir(path), 0);
}

/* One that could not be read back is not kept. */
PLACE_TEST(test_too_large)
{
	enum { HOST = 9 << 20 };
	const struct place *place = *state;
	const struct baselines baselines = { .state_dir = place->dir };
	__cleanup(timeline_done) struct timeline timeline = { 0 };
	__cleanup(freep) char *text = NULL;
	struct snapshot *sum;
	struct diag d = { 0 };
	char path[400];
	size_t size;

	one_minute(place, &timeline);
	sum = timeline.steps[0].sum;
	sum->host = realloc(sum->host, HOST + 1);
	assert_non_null(sum->host);
	memset(sum->host, 'x', HOST);
	sum->host[HOST] = 0;
	assert_int_equal(baselines_save(&baselines, "large", timeline.steps, false, &d), -E2BIG);
	assert_non_null(
		strstr(d.text, "choose a shorter span, or fewer processes (PUT with name="));
	assert_int_equal(baselines_read(&baselines, "large", &text, &size, &d), -ENOENT);
	/* An older bpftruss has saved larger ones. */
	sum->host[10] = 0;
	save_must(&baselines, "old", &timeline);
	snprintf(path, sizeof(path), "%s/" HISTORY_BASELINES "/old.json", place->dir);
	assert_int_equal(truncate(path, HOST), 0);
	assert_int_equal(baselines_read(&baselines, "old", &text, &size, &d), -EFBIG);
	assert_non_null(strstr(d.text, "remove it, and save a shorter span"));
}

/* A new baseline is refused once there are many; an existing one may be replaced. */
PLACE_TEST(test_too_many)
{
	struct baselines baselines = { .state_dir = ((struct place *)*state)->dir };
	__cleanup(timeline_done) struct timeline timeline = { 0 };
	struct baseline listed;
	struct diag d = { 0 };
	char name[32];

	one_minute(*state, &timeline);
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "day-%d", i);
		save_must(&baselines, name, &timeline);
	}
	assert_int_equal(baselines_save(&baselines, "more", timeline.steps, false, &d), -E2BIG);
	assert_non_null(strstr(d.text, "100 baselines are kept"));
	assert_non_null(strstr(d.text, "baseline rm"));
	assert_int_equal(baselines_save(&baselines, name, timeline.steps, false, &d), -EEXIST);
	assert_int_equal(baselines_save(&baselines, name, timeline.steps, true, &d), 0);
	assert_int_equal(baselines_remove(&baselines, "day-7", &d), 0);
	save_must(&baselines, "more", &timeline);
	assert_int_equal(count_listed(&baselines, &listed), 100);
	baselines_done(&baselines);
}

/* A list reads the head of a file, whatever comes behind it, and whatever the host is called. */
PLACE_TEST(test_a_list_reads_heads)
{
	const struct place *place = *state;
	__cleanup(baselines_done) struct baselines baselines = { .state_dir = place->dir };
	__cleanup(timeline_done) struct timeline timeline = { 0 };
	__cleanup(snapshot_freep) struct snapshot *loaded = NULL;
	struct baseline listed;
	struct snapshot *sum;
	struct diag d = { 0 };
	char path[400];

	one_minute(place, &timeline);
	sum = timeline.steps[0].sum;
	free(sum->host);
	sum->host = strdup("a\",\"targets\":");
	save_must(&baselines, "monday", &timeline);
	snprintf(path, sizeof(path), "%s/" HISTORY_BASELINES "/monday.json", place->dir);
	assert_int_equal(truncate(path, 1000), 0);
	assert_int_equal(count_listed(&baselines, &listed), 1);
	assert_int_equal(listed.start_ns, NEW_YEAR);
	assert_int_equal(listed.end_ns, NEW_YEAR + MINUTE);
	assert_int_equal(listed.covered_ns, MINUTE);
	assert_int_equal(baselines_load(&baselines, "monday", &loaded, &d), -EBADMSG);
}

/* They count towards the size of the history, and no retention removes them. */
PLACE_TEST(test_size)
{
	enum { MAX = 1 << 20 };
	const struct history_options options = { .max_bytes = MAX,
						 .keep_ns = { MINUTE, MINUTE, DAY } };
	const struct place *place = *state;
	const struct baselines baselines = { .state_dir = place->dir };
	__cleanup(timeline_done) struct timeline timeline = { 0 };
	__cleanup(freep) char *text = NULL;
	__cleanup(history_closep) struct history *history = NULL;
	struct history_size before, after;
	struct host host = host_make(17);
	struct diag d = { 0 };
	char path[400];
	size_t size;

	one_minute(place, &timeline);
	place_empty(place);
	history = open_with(place, &options);
	append_minutes(history, &host, 12 * 60, 25);
	assert_int_equal(history_size(history, &before), 0);
	save_must(&baselines, "monday", &timeline);
	assert_int_equal(history_size(history, &after), 0);
	assert_int_equal(baselines_read(&baselines, "monday", &text, &size, &d), 0);
	assert_int_equal(after.bytes, before.bytes + size);
	/* Something large: intervals make room for it. */
	snprintf(path, sizeof(path), "%s/" HISTORY_BASELINES "/large.json", place->dir);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(truncate(path, MAX), 0);
	append_minutes(history, &host, 120, 25);
	assert_int_equal(history_size(history, &after), 0);
	assert_true(after.first_ns >= host.real_ns - HOUR);
	assert_int_equal(access(path, F_OK), 0);
	free(steal_ptr(&text));
	assert_int_equal(baselines_read(&baselines, "monday", &text, &size, &d), 0);
}
