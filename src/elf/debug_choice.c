/* SPDX-License-Identifier: BSD-2-Clause */
/* Proves that a debug file is the file's. It reads foreign bytes: only a worker may do so. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "elf/debug_file.h"
#include "elf/elf_handle.h"

/* A checksum takes some seconds for so many bytes; a worker has no more time. */
#define MAX_DEBUGLINK_BYTES (1ULL << 30)
#define CRC_BUFFER_BYTES    65536

/* This table of CRC-32 (zlib's) is for half a byte. */
static const uint32_t crc_steps[16] = {
	0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
	0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
	0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
};

static int crc_of_file(int fd, uint32_t *ret)
{
	__cleanup(freep) uint8_t *buffer = malloc(CRC_BUFFER_BYTES);
	uint64_t offset = 0;
	uint32_t crc = ~0U;
	ssize_t n;

	if (!buffer)
		return -ENOMEM;
	/* It may be growing. */
	while (offset <= MAX_DEBUGLINK_BYTES &&
	       (n = pread(fd, buffer, CRC_BUFFER_BYTES, (off_t)offset)) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			crc ^= buffer[i];
			crc = crc >> 4 ^ crc_steps[crc & 15];
			crc = crc >> 4 ^ crc_steps[crc & 15];
		}
		offset += n;
	}
	*ret = ~crc;
	return 0;
}

static bool checksum_is(int fd, const struct elf_identity *identity)
{
	struct stat status;
	uint32_t crc = 0;

	if (!identity->debuglink[0] || fstat(fd, &status) ||
	    (uint64_t)status.st_size > MAX_DEBUGLINK_BYTES)
		return false;
	return !crc_of_file(fd, &crc) && crc == identity->debuglink_crc;
}

static bool debug_file_is(int fd, const struct elf_identity *identity)
{
	struct elf_identity other = { .nr_build_id = 0 };

	if (identity->nr_build_id && !elf_identity_of_file(fd, &other) && other.nr_build_id)
		return identity->nr_build_id == other.nr_build_id &&
		       !memcmp(identity->build_id, other.build_id, other.nr_build_id);
	return checksum_is(fd, identity);
}

size_t debug_files_choose(const struct debug_files *files, const struct elf_identity *identity)
{
	for (size_t i = 0; i < files->nr; i++) {
		if (debug_file_is(files->fds[i], identity))
			return i;
	}
	return DEBUG_FILE_NONE;
}
