/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps a sorted list of descriptors; ALL_OF_PROCESS stands for all of a process. */
#include "calls/replaced.h"

#include "base/text.h"
#include "calls/descriptors.h"
#include "syscalls/names.h"

#define ALL_OF_PROCESS INT32_MIN

/* Calls replace the descriptor in an argument, the working directory, or any descriptor. */
static const struct replacing {
	const char *call;
	int argument; /* -1: none */
	int what;
} replacing[] = {
	{ "close", 0, 0 },
	{ "dup2", 1, 0 },
	{ "dup3", 1, 0 },
	{ "close_range", -1, ALL_OF_PROCESS },
	{ "execve", -1, ALL_OF_PROCESS },
	{ "execveat", -1, ALL_OF_PROCESS },
	{ "exit_group", -1, ALL_OF_PROCESS },
	{ "unshare", -1, ALL_OF_PROCESS },
	{ "chdir", -1, DESCRIPTOR_CWD },
	{ "fchdir", -1, DESCRIPTOR_CWD },
};

struct replaced {
	int numbers[NR_SYSCALL_ABI][ARRAY_SIZE(replacing)]; /* of the calls; -1: the ABI has none */
	uint64_t *keys;                                     /* owned */
	size_t count;
	bool is_lacking; /* for want of memory it may be any descriptor */
};

int replaced_new(struct replaced **ret)
{
	struct replaced *replaced = calloc(1, sizeof(*replaced));

	if (!replaced)
		return -ENOMEM;
	for (int abi = 0; abi < NR_SYSCALL_ABI; abi++) {
		for (size_t i = 0; i < ARRAY_SIZE(replacing); i++)
			replaced->numbers[abi][i] =
				syscall_find((enum syscall_abi)abi, replacing[i].call);
	}
	*ret = replaced;
	return 0;
}

void replaced_free(struct replaced *replaced)
{
	if (!replaced)
		return;
	free(replaced->keys);
	free(replaced);
}

static uint64_t key_of(uint32_t pid, int fd)
{
	return (uint64_t)pid << 32 | (uint32_t)fd;
}

static void key_add(struct replaced *replaced, uint64_t key)
{
	/* Programs close the same ones over and over. */
	if (replaced->count && replaced->keys[replaced->count - 1] == key)
		return;
	if (array_grow(&replaced->keys, replaced->count, sizeof(*replaced->keys)))
		replaced->keys[replaced->count++] = key;
	else
		replaced->is_lacking = true;
}

void replaced_note(struct replaced *replaced, const struct call_record *record)
{
	if (record->abi >= NR_SYSCALL_ABI || record->nr < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(replacing); i++) {
		const struct replacing *row = &replacing[i];

		if (replaced->numbers[record->abi][i] != record->nr)
			continue;
		key_add(replaced,
			key_of(record->pid, row->argument < 0
						    ? row->what
						    : (int)record->arguments[row->argument]));
	}
}

void replaced_settle(struct replaced *replaced)
{
	if (replaced->count)
		qsort(replaced->keys, replaced->count, sizeof(*replaced->keys), compare_first_u64);
}

static bool key_is_there(const struct replaced *replaced, uint64_t key)
{
	size_t i = place_u64(replaced->keys, replaced->count, sizeof(*replaced->keys), key);

	return i < replaced->count && replaced->keys[i] == key;
}

bool replaced_has(const struct replaced *replaced, uint32_t pid, int fd)
{
	return replaced->is_lacking || key_is_there(replaced, key_of(pid, ALL_OF_PROCESS)) ||
	       key_is_there(replaced, key_of(pid, fd));
}
