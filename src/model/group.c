/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns grouping: rows are sorted by the keys asked for, then neighbours that are equal are merged. */
#include "model/group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/unit.h"

/* A row with what its keys may ask for. */
struct member {
	const struct row *row;
	const struct process *process;
	const char *unit; /* not NUL-terminated */
	size_t unit_length;
};

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_pid(const struct member *a, const struct member *b)
{
	int order = compare_u64(a->row->pid, b->row->pid);

	return order ?: compare_u64(a->row->boot_ns, b->row->boot_ns);
}

static int compare_tid(const struct member *a, const struct member *b)
{
	return compare_u64(a->row->tid, b->row->tid);
}

static int compare_comm(const struct member *a, const struct member *b)
{
	if (!a->process || !b->process)
		return (a->process != NULL) - (b->process != NULL);
	/* Not all bytes: what follows a NUL is left from an earlier name. */
	return strncmp(a->process->comm, b->process->comm, PROCESS_COMM_SIZE);
}

static int compare_unit(const struct member *a, const struct member *b)
{
	size_t shorter = a->unit_length < b->unit_length ? a->unit_length : b->unit_length;
	int order = memcmp(a->unit, b->unit, shorter);

	return order ?: compare_u64(a->unit_length, b->unit_length);
}

static int compare_user(const struct member *a, const struct member *b)
{
	if (!a->process || !b->process)
		return (a->process != NULL) - (b->process != NULL);
	return compare_u64(a->process->uid, b->process->uid);
}

static int compare_abi(const struct member *a, const struct member *b)
{
	return (int)a->row->abi - (int)b->row->abi;
}

static int compare_syscall(const struct member *a, const struct member *b)
{
	int order = compare_abi(a, b);

	return order ?: (a->row->nr > b->row->nr) - (a->row->nr < b->row->nr);
}

static int compare_arg0(const struct member *a, const struct member *b)
{
	int order = (int)a->row->has_arg0 - (int)b->row->has_arg0;

	return order ?: compare_u64(a->row->arg0, b->row->arg0);
}

static const struct {
	const char *name;
	unsigned int keys; /* what the word asks for */
	unsigned int key;  /* what compare looks at */
	int (*compare)(const struct member *a, const struct member *b);
} key_defs[] = {
	{ "unit", GROUP_UNIT, GROUP_UNIT, compare_unit },
	{ "user", GROUP_USER, GROUP_USER, compare_user },
	{ "comm", GROUP_COMM, GROUP_COMM, compare_comm },
	{ "pid", GROUP_PID, GROUP_PID, compare_pid },
	{ "tid", GROUP_PID | GROUP_TID, GROUP_TID, compare_tid },
	{ "abi", GROUP_ABI, GROUP_ABI, compare_abi },
	{ "syscall", GROUP_SYSCALL, GROUP_SYSCALL, compare_syscall },
	{ "arg0", GROUP_SYSCALL | GROUP_ARG0, GROUP_ARG0, compare_arg0 },
};

static int group_key_find(const char *word, size_t length, unsigned int *keys)
{
	for (size_t i = 0; i < ARRAY_SIZE(key_defs); i++) {
		if (strlen(key_defs[i].name) == length &&
		    !strncmp(key_defs[i].name, word, length)) {
			*keys |= key_defs[i].keys;
			return 0;
		}
	}
	return -EINVAL;
}

int group_keys_parse(const char *option, const char *list, unsigned int *ret, struct diag *d)
{
	unsigned int keys = 0;
	size_t length;

	for (const char *at = list;; at += length + 1) {
		length = strcspn(at, ",");
		if (group_key_find(at, length, &keys))
			return diag_set(d, DIAG_USAGE, EINVAL,
					"%s: no key \"%.*s\"; the keys are pid, tid, comm, unit, "
					"user, syscall, abi, arg0",
					option, (int)(length < 64 ? length : 64), at);
		if (!at[length])
			break;
	}
	*ret = keys;
	return 0;
}

void group_keys_format(unsigned int keys, char buf[GROUP_KEYS_MAX])
{
	size_t used = 0;

	*buf = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(key_defs); i++) {
		if (keys & key_defs[i].key)
			used += (size_t)snprintf(buf + used, GROUP_KEYS_MAX - used, "%s%s",
						 used ? "," : "", key_defs[i].name);
	}
}

static int compare_members(const void *x, const void *y, void *closure)
{
	unsigned int keys = *(const unsigned int *)closure;
	int order = 0;

	for (size_t i = 0; i < ARRAY_SIZE(key_defs) && !order; i++) {
		if (keys & key_defs[i].key)
			order = key_defs[i].compare(x, y);
	}
	return order;
}

static void member_fill(const struct snapshot *snapshot, const struct row *row,
			struct member *member)
{
	const char *path;

	member->row = row;
	member->process = snapshot_find_process(snapshot, row->pid, row->boot_ns);
	path = member->process ? snapshot_cgroup(snapshot, member->process->cgroup_id) : NULL;
	member->unit_length = cgroup_unit(path ? path : "", &member->unit);
}

void group_list_done(struct group_list *list)
{
	for (size_t i = 0; i < list->nr_groups; i++)
		row_done(&list->groups[i].sum);
	free(list->groups);
	list->groups = NULL;
	list->nr_groups = 0;
}

int group_merge(struct group *into, const struct group *from)
{
	into->moves_data |= from->moves_data;
	into->bytes += from->bytes;
	into->user_ns += from->user_ns;
	return row_merge(&into->sum, &from->sum);
}

int group_list_sum(const struct group_list *list, struct group *ret)
{
	struct group sum = { 0 };

	row_init(&sum.sum);
	for (size_t i = 0; i < list->nr_groups; i++) {
		if (group_merge(&sum, &list->groups[i])) {
			row_done(&sum.sum);
			return -ENOMEM;
		}
	}
	*ret = sum;
	return 0;
}

/* A group of one member that borrows the row's errnos. */
static struct group member_group(const struct member *member)
{
	const struct row *row = member->row;
	bool moves_data = row_moves_data(row);

	return (struct group){
		.sum = *row,
		.moves_data = moves_data,
		.bytes = moves_data ? row->result_sum : 0,
		.process = member->process,
	};
}

static int groups_merge(struct member *members, size_t count, unsigned int keys,
			struct group_list *list)
{
	for (size_t i = 0; i < count; i++) {
		struct group *last = &list->groups[list->nr_groups];
		struct group one = member_group(&members[i]);

		if (i && !compare_members(&members[i - 1], &members[i], &keys)) {
			if (group_merge(&last[-1], &one))
				return -ENOMEM;
			continue;
		}
		if (row_copy(&one.sum, members[i].row))
			return -ENOMEM;
		*last = one;
		list->nr_groups++;
	}
	return 0;
}

int snapshot_group_some(const struct snapshot *snapshot, unsigned int keys,
			const struct row_test *test, struct group_list *ret)
{
	struct member *members __cleanup(freep) = calloc(snapshot->nr_rows + 1, sizeof(*members));
	struct group_list list = { .keys = keys };
	size_t count = 0;

	list.groups = calloc(snapshot->nr_rows + 1, sizeof(*list.groups));
	if (!members || !list.groups) {
		group_list_done(&list);
		return -ENOMEM;
	}
	for (size_t i = 0; i < snapshot->nr_rows; i++) {
		if (!test || test->has(snapshot->rows[i], test->closure))
			member_fill(snapshot, snapshot->rows[i], &members[count++]);
	}
	qsort_r(members, count, sizeof(*members), compare_members, &keys);
	if (groups_merge(members, count, keys, &list)) {
		group_list_done(&list);
		return -ENOMEM;
	}
	*ret = list;
	return 0;
}

int snapshot_group(const struct snapshot *snapshot, unsigned int keys, struct group_list *ret)
{
	return snapshot_group_some(snapshot, keys, NULL, ret);
}
