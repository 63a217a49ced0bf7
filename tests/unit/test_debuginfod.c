/* SPDX-License-Identifier: BSD-2-Clause */
/* Servers of debug files that are too slow. */
#include "fixture.h"

#include "base/clock.h"
#include "elf/debuginfod.h"

static const struct elf_identity identity = { .build_id = { 1, 2, 3 }, .nr_build_id = 3 };

/* A client that finds nothing: at once, or never. */
static void client_make(const char *folder, const char *command)
{
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/debuginfod-find", folder);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "#!/bin/sh\n%s\nexit 1\n", command);
	fclose(file);
	assert_int_equal(chmod(path, 0755), 0);
}

static void be_too_slow(struct debuginfod *debuginfod)
{
	struct debuginfod_folder folder;
	struct child client;

	assert_int_equal(debuginfod_start(debuginfod, &identity, &folder, &client), 0);
	child_stop(&client);
	/* However often it is said. */
	child_stop(&client);
	assert_int_equal(debuginfod_finish(debuginfod, &folder, &client), -ETIMEDOUT);
}

/* One file that takes long is no reason to ask for no other. */
TEST(test_servers_are_left_alone_after_several)
{
	char folder[] = "/tmp/bpftruss-test-XXXXXX", path[PATH_MAX], command[PATH_MAX];
	struct debuginfod *debuginfod __cleanup(debuginfod_freep) = NULL;
	struct debuginfod_folder own;
	struct child client;

	assert_non_null(mkdtemp(folder));
	assert_int_equal(chmod(folder, 0777), 0);
	snprintf(path, sizeof(path), "%s:%s", folder, getenv("PATH"));
	setenv("PATH", path, 1);
	client_make(folder, "sleep 60");
	assert_int_equal(debuginfod_new(&debuginfod), 0);
	for (int i = 0; i < 3; i++)
		be_too_slow(debuginfod);
	/* An answer in between: they are there. */
	client_make(folder, ":");
	assert_int_equal(debuginfod_start(debuginfod, &identity, &own, &client), 0);
	assert_int_equal(debuginfod_finish(debuginfod, &own, &client), -ENOENT);
	client_make(folder, "sleep 60");
	for (int i = 0; i < 4; i++)
		be_too_slow(debuginfod);
	assert_int_equal(debuginfod_start(debuginfod, &identity, &own, &client), -EAGAIN);
	assert_true(debuginfod_again_ns(debuginfod) > clock_mono_ns() + 50 * NS_PER_SEC);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}
