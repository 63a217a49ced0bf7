/* SPDX-License-Identifier: BSD-2-Clause */
/* Serves the tests of src/elf: the ELF files that the Makefile has made, and files in memory. */
#pragma once

#include "fixture.h"

#include "elf/symbols.h"
#include "elf/worker.h"

static inline int fixture_open(const char *name)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", FIXTURES, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static inline struct bytes fixture_bytes(const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", FIXTURES, name);
	return bytes_read(path);
}

/* A file of these bytes without a name. */
static inline int memory_file(const void *bytes, size_t size)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, size, 0), size);
	return fd;
}

/* Returns one debug file, or with -1 none. */
static inline struct debug_files debug_file(int fd)
{
	return (struct debug_files){ .fds = { fd }, .nr = fd >= 0 };
}

/* --- workers ---------------------------------------------------------------------------------- */

static inline int worker_ask(const struct elf_question *question, struct elf_unwind **ret)
{
	struct child child;
	int err = elf_worker_start(question, &child);

	return err ? err : elf_worker_unwind(&child, ret);
}

static inline int worker_unwind(int fd, struct elf_unwind **ret)
{
	return worker_ask(&(struct elf_question){ .kind = ELF_UNWIND, .fd = fd }, ret);
}

static inline int worker_functions(enum elf_question_kind kind, int fd,
				   const struct debug_files *debug,
				   const struct elf_addresses *addresses,
				   struct elf_functions **ret)
{
	const struct elf_question question = { kind, fd, debug, addresses, NULL };
	struct child child;
	int err = -ETIMEDOUT; /* as of a worker that a busy host keeps from its CPU */

	for (int attempt = 0; err == -ETIMEDOUT && attempt < 3; attempt++)
		err = elf_worker_start(&question, &child) ?: elf_worker_functions(&child, ret);
	return err;
}

/* --- symbols ---------------------------------------------------------------------------------- */

static inline void addresses_done(struct elf_addresses *addresses)
{
	free(addresses->addresses);
}

/* Adds this many addresses, one after the other. */
static inline struct elf_addresses addresses_from(uint64_t first, size_t nr)
{
	struct elf_addresses addresses = { calloc(nr + 1, sizeof(uint64_t)), nr };

	assert_all(addresses.addresses, nr <= MAX_ADDRESSES);
	for (size_t i = 0; i < nr; i++)
		addresses.addresses[i] = first + i;
	return addresses;
}

#define ALL_BYTES 65536

/* The symbols of some offsets in the file of a fixture. */
static inline struct elf_functions *symbols_of_some(const char *name, const char *debug,
						    const struct elf_addresses *some)
{
	int fd __cleanup(closep) = fixture_open(name);
	int debug_fd __cleanup(closep) = debug ? fixture_open(debug) : -1;
	const struct debug_files files = debug_file(debug_fd);
	struct elf_functions *functions = NULL;

	assert_int_equal(elf_symbols_read(fd, &files, some, &functions), 0);
	return functions;
}

/* Returns the symbols of its first bytes. */
static inline struct elf_functions *symbols_of(const char *name, const char *debug)
{
	__cleanup(addresses_done) struct elf_addresses all = addresses_from(0, ALL_BYTES);

	return symbols_of_some(name, debug, &all);
}

/* The name of an address; NULL: there is none. */
static inline const char *name_at(const struct elf_functions *functions, uint64_t address)
{
	const struct elf_function *function = elf_functions_find(functions, address);

	return function ? elf_function_name(functions, function, 0) : NULL;
}

/* Returns the address of a function in its file. */
static inline uint64_t function_start(const struct elf_functions *functions, const char *name)
{
	for (size_t i = 0; i < functions->nr; i++) {
		const struct elf_function *function = &functions->list[i];

		if (function->address == function->start &&
		    !strcmp(elf_function_name(functions, function, 0), name))
			return function->start;
	}
	fail_msg("there is no %s", name);
	return 0;
}
