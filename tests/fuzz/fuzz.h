/* SPDX-License-Identifier: BSD-2-Clause */
/* Holds what all fuzzers begin with. */
#pragma once

#include <sys/mman.h>

#include "base/mem.h"

#define require(condition)        \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline int file_make(const void *bytes, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	require(fd >= 0 && pwrite(fd, bytes, size, 0) == (ssize_t)size);
	return fd;
}
