/* SPDX-License-Identifier: BSD-2-Clause */
/* Knows which calls are in which class, and their traits; see classes.h. */
#include "syscalls/classes.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "syscalls/names.h"

struct member {
	const char *name;
	unsigned int traits;
};

static const struct member members[] = {
#include "syscalls/classes.inc"
};

/* Only what a user can select; the order is that of messages and of the manual page. */
static const struct {
	const char *name;
	unsigned int trait;
} classes[] = {
	{ "file", TRAIT_FILE },     { "desc", TRAIT_DESC },       { "network", TRAIT_NETWORK },
	{ "memory", TRAIT_MEMORY }, { "process", TRAIT_PROCESS }, { "signal", TRAIT_SIGNAL },
	{ "ipc", TRAIT_IPC },       { "io", TRAIT_IO },           { "creds", TRAIT_CREDS },
	{ "clock", TRAIT_CLOCK },   { "stat", TRAIT_STAT },       { "lstat", TRAIT_LSTAT },
	{ "fstat", TRAIT_FSTAT },   { "statfs", TRAIT_STATFS },   { "fstatfs", TRAIT_FSTATFS },
};

static int member_compare(const void *name, const void *member)
{
	return strcmp(name, ((const struct member *)member)->name);
}

unsigned int syscall_name_traits(const char *name)
{
	const struct member *member =
		bsearch(name, members, ARRAY_SIZE(members), sizeof(members[0]), member_compare);

	return member ? member->traits : 0;
}

unsigned int syscall_traits(enum syscall_abi abi, int nr)
{
	const char *name = syscall_find_name(abi, nr);

	return name ? syscall_name_traits(name) : 0;
}

bool syscall_has_trait(enum syscall_abi abi, int nr, unsigned int mask)
{
	return syscall_traits(abi, nr) & mask;
}

unsigned int class_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		if (strcmp(classes[i].name, name) == 0)
			return classes[i].trait;
	}
	return 0;
}

const char *class_name(size_t index)
{
	return index < ARRAY_SIZE(classes) ? classes[index].name : NULL;
}
