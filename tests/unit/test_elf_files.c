/* SPDX-License-Identifier: BSD-2-Clause */
/* Debug files and perf maps below a root that somebody else has arranged. */
#include "elf_fixture.h"

#include "base/process.h"

struct root {
	char path[TEMPORARY_SIZE];
	int fd;
};

static void root_done(struct root *root)
{
	close(root->fd);
	shell_run("rm -rf %s", root->path);
}

static void root_init(struct root *root)
{
	temporary_name(root->path);
	assert_non_null(mkdtemp(root->path));
	shell_run("cd %s && mkdir -p tmp app/.debug usr/lib/debug/app usr/lib/debug/.build-id/ab",
		  root->path);
	root->fd = open(root->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(root->fd >= 0);
}

#define ROOT_TEST(name) TEST_OF(name, struct root, root, root_done, root_init)

static const char *root_path(const struct root *root, const char *path)
{
	static char full[PATH_MAX];

	snprintf(full, sizeof(full), "%s%s", root->path, path);
	return full;
}

static void root_write(const struct root *root, const char *path, const char *text)
{
	int fd __cleanup(closep) = open(root_path(root, path), O_CREAT | O_WRONLY | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void root_remove(const struct root *root, const char *path)
{
	assert_int_equal(unlink(root_path(root, path)), 0);
}

/* Takes what was found; a descriptor for reading it. */
static int readable(int found)
{
	struct stat status;
	int fd = regular_file_reopen(found, UINT64_MAX, &status);

	close(found);
	assert_true(fd >= 0);
	return fd;
}

/* Returns what a file reads as, and takes the descriptor. */
static void assert_text(int found, const char *text)
{
	int fd __cleanup(closep) = -1;
	char buf[64] = "";

	assert_all(found >= 0, fcntl(found, F_GETFL) & O_PATH);
	fd = readable(found);
	assert_int_equal(pread(fd, buf, sizeof(buf) - 1, 0), strlen(text));
	assert_string_equal(buf, text);
}

/* --- debug files ------------------------------------------------------------------------------ */

#define BUILD_ID_PATH "/usr/lib/debug/.build-id/ab/cdef.debug"

/* The candidate of a number; a descriptor that the caller takes, negative when there is none. */
static int candidate(const struct root *root, const char *path, uid_t owner,
		     const struct elf_identity *identity, size_t number)
{
	struct debug_files files;
	int fd = -1;

	debug_files_open(root->fd, path, owner, identity, &files);
	assert_true(files.nr <= MAX_DEBUG_FILES);
	if (number < files.nr)
		fd = fcntl(files.fds[number], F_DUPFD_CLOEXEC, 0);
	debug_files_close(&files);
	return fd;
}

/* The one that is chosen. */
static int chosen(const struct root *root, const char *path, uid_t owner,
		  const struct elf_identity *identity)
{
	struct debug_files files;
	size_t number;

	debug_files_open(root->fd, path, owner, identity, &files);
	for (size_t i = 0; i < files.nr; i++)
		files.fds[i] = readable(files.fds[i]);
	number = debug_files_choose(&files, identity);
	debug_files_close(&files);
	return candidate(root, path, owner, identity, number);
}

ROOT_TEST(test_build_id)
{
	const struct elf_identity identity = { .build_id = { 0xab, 0xcd, 0xef }, .nr_build_id = 3 };

	assert_int_equal(candidate(root, "/app/x", getuid(), &identity, 0), -1);
	root_write(root, BUILD_ID_PATH, "by id");
	assert_text(candidate(root, "/app/x", getuid(), &identity, 0), "by id");
	assert_text(candidate(root, NULL, getuid(), &identity, 0), "by id");
	assert_int_equal(candidate(root, NULL, getuid(), &identity, 1), -1);

	/* Packages put a link there; where it leads to is below the root. */
	root_remove(root, BUILD_ID_PATH);
	root_write(root, "/usr/lib/debug/app/x.debug", "by link");
	assert_int_equal(symlink("/usr/lib/debug/app/x.debug", root_path(root, BUILD_ID_PATH)), 0);
	assert_text(candidate(root, NULL, getuid(), &identity, 0), "by link");
	root_remove(root, BUILD_ID_PATH);
	assert_int_equal(
		symlink("../../../../../../../../../../etc/passwd", root_path(root, BUILD_ID_PATH)),
		0);
	assert_int_equal(candidate(root, NULL, getuid(), &identity, 0), -1);
}

ROOT_TEST(test_no_regular_file)
{
	const struct elf_identity identity = { .build_id = { 0xab, 0xcd, 0xef }, .nr_build_id = 3 };
	struct stat status;

	assert_int_equal(mkfifo(root_path(root, BUILD_ID_PATH), 0644), 0);
	assert_int_equal(candidate(root, NULL, getuid(), &identity, 0), -1);
	assert_int_equal(regular_file_find(root->fd, BUILD_ID_PATH, 0, 100, &status), -EINVAL);
	assert_int_equal(regular_file_open(root->fd, BUILD_ID_PATH, 0, 100, &status), -EINVAL);
	assert_int_equal(regular_file_open(root->fd, "/app", 0, 100, &status), -EINVAL);
	root_write(root, "/app/long", "12345");
	assert_int_equal(regular_file_open(root->fd, "/app/long", 0, 4, &status), -EFBIG);
	assert_text(regular_file_find(root->fd, "/app/long", 0, 5, &status), "12345");
}

ROOT_TEST(test_debuglink)
{
	static const char *const places[] = {
		"/app/x.debug",
		"/app/.debug/x.debug",
		"/usr/lib/debug/app/x.debug",
	};
	/* The checksum is that of "123456789", which every description of CRC-32 has. */
	struct elf_identity identity = { .debuglink = "x.debug", .debuglink_crc = 0xcbf43926 };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		assert_int_equal(chosen(root, "/app/x", getuid(), &identity), -1);
		root_write(root, places[i], "123456789");
		assert_text(chosen(root, "/app/x", getuid(), &identity), "123456789");
		/* It may be an old one, and another place have the right one. */
		root_write(root, places[i], "12345678");
	}
	assert_int_equal(chosen(root, NULL, getuid(), &identity), -1);
	assert_int_equal(chosen(root, "app/x", getuid(), &identity), -1);
	root_write(root, "/app/x.debug", "123456789");
	assert_int_equal(chosen(root, "/app/x.debug", getuid(), &identity), -1);
}

/* A build id is proof enough, and its lack is none; a checksum costs a look at each byte. */
TEST(test_which_debug_file_is_chosen)
{
	int plain __cleanup(closep) = fixture_open("plain"), lean __cleanup(closep) = -1;
	int text __cleanup(closep) = memory_file("123456789", 9);
	struct debug_files files = { .fds = { text, plain }, .nr = 2 };
	struct elf_identity identity;

	lean = fixture_open("lean");
	assert_int_equal(elf_identity_of_file(lean, &identity), 0);
	assert_int_equal(debug_files_choose(&files, &identity), DEBUG_FILE_NONE);
	files.fds[files.nr++] = lean;
	assert_int_equal(debug_files_choose(&files, &identity), 2);
	/* Another build with the right checksum cannot be. */
	strcpy(identity.debuglink, "x.debug");
	identity.debuglink_crc = 0xcbf43926;
	assert_int_equal(debug_files_choose(&files, &identity), 0);
	files.nr = 0;
	assert_int_equal(debug_files_choose(&files, &identity), DEBUG_FILE_NONE);
}

ROOT_TEST(test_debug_file_of_another)
{
	static const struct elf_identity identities[] = {
		{ .build_id = { 0xab, 0xcd, 0xef }, .nr_build_id = 3 },
		{ .debuglink = "x.debug", .debuglink_crc = 0xcbf43926 },
	};
	static const char *const paths[] = { BUILD_ID_PATH, "/app/x.debug" };

	if (getuid()) {
		root_done(root);
		skip(); /* files of several users are needed */
	}
	for (int i = 0; i < 2; i++) {
		const struct elf_identity *identity = &identities[i];

		root_write(root, paths[i], "123456789");
		assert_text(candidate(root, "/app/x", 1000, identity, 0), "123456789");
		assert_int_equal(chown(root_path(root, paths[i]), 1000, 1000), 0);
		assert_text(candidate(root, "/app/x", 1000, identity, 0), "123456789");
		assert_int_equal(candidate(root, "/app/x", 0, identity, 0), -1);
		assert_int_equal(candidate(root, "/app/x", 1001, identity, 0), -1);
	}
}

/* --- perf maps -------------------------------------------------------------------------------- */

ROOT_TEST(test_perf_map_open)
{
	assert_int_equal(perf_map_open(root->fd, 7, getuid()), -ENOENT);
	root_write(root, "/tmp/perf-7.map", "map");
	assert_text(perf_map_open(root->fd, 7, getuid()), "map");
	if (!getuid()) {
		assert_text(perf_map_open(root->fd, 7, 1000), "map");
		assert_int_equal(chown(root_path(root, "/tmp/perf-7.map"), 1001, 1001), 0);
		assert_int_equal(perf_map_open(root->fd, 7, 1000), -EPERM);
		assert_text(perf_map_open(root->fd, 7, 1001), "map");
		/* Root's own, which others may have mounted there. */
		assert_int_equal(chown(root_path(root, "/tmp/perf-7.map"), 0, 0), 0);
		assert_int_equal(chmod(root_path(root, "/tmp/perf-7.map"), 0600), 0);
		assert_int_equal(perf_map_open(root->fd, 7, 1000), -EPERM);
		assert_text(perf_map_open(root->fd, 7, 0), "map");
	}
	assert_int_equal(chmod(root_path(root, "/tmp/perf-7.map"), 0666), 0);
	assert_int_equal(perf_map_open(root->fd, 7, getuid()), -EPERM);
	root_remove(root, "/tmp/perf-7.map");
	root_write(root, "/app/secret", "secret");
	assert_int_equal(symlink("/app/secret", root_path(root, "/tmp/perf-7.map")), 0);
	assert_true(perf_map_open(root->fd, 7, getuid()) < 0);
}
