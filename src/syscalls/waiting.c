/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists the calls that wait for work; see waiting.h. */
#include "syscalls/waiting.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "syscalls/names.h"

static const char *const names[] = {
#include "syscalls/waiting.inc"
};

const char *waiting_name(size_t index)
{
	return index < ARRAY_SIZE(names) ? names[index] : NULL;
}

static int compare_name(const void *name, const void *member)
{
	return strcmp(name, *(const char *const *)member);
}

bool syscall_waits(const struct syscall_set *set, enum syscall_abi abi, int nr)
{
	const char *name;

	if (set)
		return syscall_set_has(set, abi, nr);
	name = syscall_find_name(abi, nr);
	return name && bsearch(name, names, ARRAY_SIZE(names), sizeof(names[0]), compare_name);
}
