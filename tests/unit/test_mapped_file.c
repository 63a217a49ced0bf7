/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests what is said of a mapping's file that cannot be opened: of this process's own mappings. */
#include "fixture.h"

#include "base/process.h"
#include "collect/mapped_file.c" /* NOLINT: without the collector, of which it needs no more */

static int mapping_open(const void *place, struct opened_code *ret)
{
	const struct code_identity nobody = { .program = -1 };
	int process __cleanup(closep) = process_open((uint32_t)getpid());
	struct code_mapping mapping;

	assert_true(process_maps_find_own((uintptr_t)place, &mapping));
	return mapped_file_open(&nobody, process, mapping.start, mapping.end, ret);
}

/* Somebody holds a lease, as anybody may of a file of his: that says nothing about any file. */
TEST(test_a_file_that_cannot_be_opened_now)
{
	__cleanup(opened_code_close) struct opened_code opened = NO_CODE;
	char path[] = "/tmp/bpftruss-test-XXXXXX";
	int held __cleanup(closep) = mkostemp(path, O_CLOEXEC);
	struct stat status;
	void *place;

	assert_int_equal(unlink(path), 0);
	/* Only root may open what is mapped. */
	if (getuid())
		skip();
	assert_int_equal(ftruncate(held, 4096), 0);
	place = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, held, 0);
	assert_true(place != MAP_FAILED);
	signal(SIGIO, SIG_IGN);
	assert_int_equal(fcntl(held, F_SETLEASE, F_WRLCK), 0);
	assert_int_equal(mapping_open(place, &opened), -EWOULDBLOCK);
	assert_int_equal(fcntl(held, F_SETLEASE, F_UNLCK), 0);
	assert_int_equal(mapping_open(place, &opened), 0);
	assert_true(opened.fd >= 0);
	assert_int_equal(fstat(held, &status), 0);
	assert_int_equal(opened.key.ino, status.st_ino);
	munmap(place, 4096);
}

/* A file that is not regular is known by its device and inode, and by no more. */
TEST(test_no_regular_file)
{
	__cleanup(opened_code_close) struct opened_code opened = NO_CODE;
	int device __cleanup(closep) = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	struct stat status;
	void *place;

	if (getuid())
		skip();
	place = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, device, 0);
	assert_true(place != MAP_FAILED);
	assert_int_equal(mapping_open(place, &opened), 0);
	assert_int_equal(opened.fd, -1);
	assert_int_equal(fstat(device, &status), 0);
	assert_has(&opened.key, ino, status.st_ino, mtime_s, 0);
	munmap(place, 4096);
}
