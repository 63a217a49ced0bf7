/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of src/elf share: the ELF files that the Makefile has made, and files in memory. */
#ifndef TESTS_ELF_FIXTURE_H
#define TESTS_ELF_FIXTURE_H

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"

#include "elf/debug_file.h"

static inline int fixture_open(const char *name)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", FIXTURES, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* A file of these bytes without a name. */
static inline int memory_file(const void *bytes, size_t size)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, size, 0), size);
	return fd;
}

/* One debug file, or with -1 none. */
static inline struct debug_files debug_file(int fd)
{
	return (struct debug_files){ .fds = { fd }, .nr = fd >= 0 };
}

struct bytes {
	uint8_t *data;
	size_t size;
};

static inline struct bytes fixture_bytes(const char *name)
{
	int fd __cleanup(closep) = fixture_open(name);
	struct bytes bytes;
	struct stat status;

	assert_int_equal(fstat(fd, &status), 0);
	bytes.size = status.st_size;
	bytes.data = malloc(bytes.size);
	assert_non_null(bytes.data);
	assert_int_equal(read(fd, bytes.data, bytes.size), bytes.size);
	return bytes;
}

static inline void bytes_done(struct bytes *bytes)
{
	free(bytes->data);
}

#endif
