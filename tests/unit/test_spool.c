/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests that wait as files: their order and size, whatever else is in their folder, and what a daemon finds
 * of an earlier one.
 */
#include "history_fixture.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "daemon/spool.h"

#define MAX_BYTES 1000
#define ENDPOINT  "http://localhost:4318"

/* What fsync() got last, and what it is to fail with. */
static struct {
	struct stat status;
	char path[400];
	int err;
} synced;

/* Stands in for the one of libc. */
int fsync(int fd)
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	assert_true(readlink(link, synced.path, sizeof(synced.path) - 1) > 0);
	assert_int_equal(fstat(fd, &synced.status), 0);
	errno = synced.err;
	return synced.err ? -1 : 0;
}

static struct spool spool_open_must(const struct place *place)
{
	struct spool spool;

	spool_init(&spool);
	must(spool_open(&spool, place->dir, ENDPOINT, &d));
	return spool;
}

static void put_must(struct spool *spool, bool is_logs, size_t size)
{
	static const char text[2 * MAX_BYTES];

	must(spool_put(spool, is_logs, text, size, MAX_BYTES, &d));
}

/* Files of these sizes are there, in this order, also for whoever opens the folder now. */
static void sizes_check(const struct place *place, const struct spool *spool, const size_t *sizes,
			size_t count)
{
	struct spool again = spool_open_must(place);
	size_t sum = 0;

	assert_int_equal(spool->nr_files, count);
	assert_int_equal(again.nr_files, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(spool->files[i].bytes, sizes[i]);
		assert_memory_equal(&again.files[i].time_ns, &spool->files[i].time_ns,
				    sizeof(int64_t));
		assert_int_equal(again.files[i].is_logs, spool->files[i].is_logs);
		sum += sizes[i];
	}
	assert_int_equal(spool->bytes, sum);
	assert_int_equal(again.bytes, sum);
	spool_done(&again);
}

#define assert_sizes(place, spool, ...)                            \
	sizes_check(place, spool, (const size_t[]){ __VA_ARGS__ }, \
		    ARRAY_SIZE(((const size_t[]){ __VA_ARGS__ })))

PLACE_TEST(test_order)
{
	struct spool spool = spool_open_must(place);
	char name[SPOOL_NAME_BYTES];

	for (size_t i = 1; i <= 5; i++)
		put_must(&spool, i % 2, i);
	assert_sizes(place, &spool, 1, 2, 3, 4, 5);
	spool_name(&spool.files[0], name);
	assert_non_null(strstr(name, POST_LOGS_SUFFIX));
	spool_name(&spool.files[1], name);
	assert_non_null(strstr(name, POST_METRICS_SUFFIX));
	spool_remove(&spool, spool.files[2].time_ns);
	spool_remove(&spool, 4711);
	assert_sizes(place, &spool, 1, 2, 4, 5);
	spool_done(&spool);
}

/* The oldest go; one that is larger than all may be goes alone. */
PLACE_TEST(test_limit)
{
	struct spool spool = spool_open_must(place);

	put_must(&spool, false, 400);
	put_must(&spool, false, 500);
	put_must(&spool, true, 100);
	assert_sizes(place, &spool, 400, 500, 100);
	assert_int_equal(spool.dropped, 0);
	put_must(&spool, false, 300);
	assert_sizes(place, &spool, 500, 100, 300);
	put_must(&spool, false, MAX_BYTES);
	assert_sizes(place, &spool, MAX_BYTES);
	assert_int_equal(spool.dropped, 4);
	put_must(&spool, false, MAX_BYTES + 1);
	assert_sizes(place, &spool, MAX_BYTES);
	assert_int_equal(spool.dropped, 5);
	/* What can never be sent would keep all others from being sent. */
	must(spool_put(&spool, false, "", POST_MAX_BYTES + 1, UINT64_MAX, &d));
	assert_sizes(place, &spool, MAX_BYTES);
	assert_int_equal(spool.dropped, 6);
	spool_done(&spool);
}

/* A host that crashes leaves no file that has its name but not all of its bytes. */
PLACE_TEST(test_crash)
{
	struct spool spool = spool_open_must(place);
	char name[SPOOL_NAME_BYTES];
	struct stat status;

	synced.status.st_ino = 0;
	put_must(&spool, false, 700);
	spool_name(&spool.files[0], name);
	assert_int_equal(fstatat(spool.folder, name, &status, 0), 0);
	assert_int_equal(synced.status.st_ino, status.st_ino);
	assert_int_equal(synced.status.st_size, 700);
	assert_null(strstr(synced.path, name));
	/* Nor is there one that the disk does not have. */
	synced.err = EIO;
	assert_int_equal(spool_put(&spool, false, "", 1, MAX_BYTES, &d), -EIO);
	synced.err = 0;
	assert_non_null(strstr(d.text, "Input/output error"));
	assert_sizes(place, &spool, 700);
	spool_done(&spool);
}

/* A clock that was set back makes no request earlier than those before it. */
PLACE_TEST(test_clock)
{
	struct spool spool = spool_open_must(place);
	const int64_t later_ns = clock_real_ns() + (int64_t)(1000 * NS_PER_SEC);

	put_must(&spool, false, 1);
	spool.files[0].time_ns = later_ns;
	put_must(&spool, false, 2);
	assert_true(spool.files[1].time_ns == later_ns + 1);
	spool_done(&spool);
}

PLACE_TEST(test_others)
{
	static const char *const names[] = { ".new",
					     "1.metrics.json",
					     "x.logs.json",
					     "00000000000000000001.metrics.json.bak",
					     "00000000000000000001",
					     "-0000000000000000001.logs.json" };
	struct spool spool = spool_open_must(place);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		int fd = openat(spool.folder, names[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

		assert_true(fd >= 0);
		close(fd);
	}
	assert_int_equal(
		symlinkat("/etc/passwd", spool.folder, "00000000000000000002.metrics.json"), 0);
	put_must(&spool, false, 7);
	assert_sizes(place, &spool, 7);
	for (size_t i = 1; i < ARRAY_SIZE(names); i++)
		assert_int_equal(unlinkat(spool.folder, names[i], 0), 0);
	unlinkat(spool.folder, "00000000000000000002.metrics.json", 0);
	spool_done(&spool);
}

/* What waits is for one collector: neither for one with a longer or shorter address, nor for none. */
PLACE_TEST(test_endpoint)
{
	static const char *const others[] = { ENDPOINT "/x", "http://localhost:431", ENDPOINT };
	struct spool spool = spool_open_must(place);
	char path[400];
	int fd;

	assert_int_equal(spool.nr_removed, 0);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		put_must(&spool, false, 1);
		put_must(&spool, true, 2);
		spool_done(&spool);
		must(spool_open(&spool, place->dir, others[i], &d));
		assert_int_equal(spool.nr_removed, 2);
		assert_int_equal(spool.nr_files, 0);
		assert_int_equal(spool.bytes, 0);
	}
	put_must(&spool, false, 1);
	assert_sizes(place, &spool, 1);
	/* It may be edited. */
	fd = openat(spool.folder, "endpoint", O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_int_equal(dprintf(fd, "http://moved\n"), 13);
	close(fd);
	spool_done(&spool);
	must(spool_open(&spool, place->dir, "http://moved", &d));
	assert_int_equal(spool.nr_files, 1);
	spool_done(&spool);
	assert_int_equal(spool_clear(place->dir), 1);
	assert_int_equal(spool_clear(place->dir), 0);
	snprintf(path, sizeof(path), "%s/nothing", place->dir);
	assert_int_equal(spool_clear(path), 0);
}

/* A link is no folder of ours. */
PLACE_TEST(test_folder)
{
	struct spool spool;
	char path[400];

	snprintf(path, sizeof(path), "%s/otlp", place->dir);
	assert_int_equal(symlink("/tmp", path), 0);
	spool_init(&spool);
	assert_true(spool_open(&spool, place->dir, ENDPOINT, &d) < 0);
	assert_non_null(strstr(d.text, "cannot use"));
	unlink(path);
}
