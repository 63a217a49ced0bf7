/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups rows: sorts them by the keys asked for, then merges neighbours that are equal. */
#include "model/group.h"

#include "base/nearest.h"
#include "base/text.h"
#include "model/match.h"

static int compare_host(const struct group_member *a, const struct group_member *b)
{
	return strcmp(a->host, b->host);
}

static int compare_pid(const struct group_member *a, const struct group_member *b)
{
	return compare_u64(a->row->host, b->row->host)
		       ?: compare_u64(a->row->pid, b->row->pid)
		       ?: compare_u64(a->row->boot_ns, b->row->boot_ns);
}

static int compare_tid(const struct group_member *a, const struct group_member *b)
{
	return compare_u64(a->row->tid, b->row->tid);
}

static int compare_comm(const struct group_member *a, const struct group_member *b)
{
	if (!a->process || !b->process)
		return (a->process != NULL) - (b->process != NULL);
	/* Bytes after a NUL do not count: they are left from an earlier name. */
	return strncmp(a->process->comm, b->process->comm, PROCESS_COMM_SIZE)
		       ?: (int)process_is_any_name(a->process) -
				  (int)process_is_any_name(b->process);
}

static int compare_thread(const struct group_member *a, const struct group_member *b)
{
	if (!a->thread || !b->thread)
		return (a->thread != NULL) - (b->thread != NULL);
	return strncmp(a->thread->its.comm, b->thread->its.comm, PROCESS_COMM_SIZE);
}

static int compare_comm_and_pid(const struct group_member *a, const struct group_member *b)
{
	return compare_comm(a, b) ?: compare_u64(a->row->pid, b->row->pid);
}

static int compare_unit(const struct group_member *a, const struct group_member *b)
{
	return unit_compare(a->unit, a->unit_length, b->unit, b->unit_length);
}

static int compare_container(const struct group_member *a, const struct group_member *b)
{
	return container_compare(&a->container, &b->container);
}

static int compare_pod(const struct group_member *a, const struct group_member *b)
{
	return container_compare_pods(&a->container, &b->container);
}

static int compare_cgroup(const struct group_member *a, const struct group_member *b)
{
	return strcmp(a->cgroup ?: "", b->cgroup ?: "");
}

static int compare_user(const struct group_member *a, const struct group_member *b)
{
	if (!a->process || !b->process)
		return (a->process != NULL) - (b->process != NULL);
	return compare_u64(a->process->uid, b->process->uid);
}

static int compare_user_name(const struct group_member *a, const struct group_member *b)
{
	if (a->user && b->user)
		return strcmp(a->user, b->user);
	return (a->user != NULL) - (b->user != NULL) ?: compare_user(a, b);
}

static int compare_abi(const struct group_member *a, const struct group_member *b)
{
	return (int)a->row->abi - (int)b->row->abi;
}

static int compare_syscall(const struct group_member *a, const struct group_member *b)
{
	return compare_abi(a, b) ?: (a->row->nr > b->row->nr) - (a->row->nr < b->row->nr);
}

/* Rows have one split at most. */
static int compare_split(const struct group_member *a, const struct group_member *b)
{
	return (int)a->row->split - (int)b->row->split
		       ?: compare_u64(a->row->split_value, b->row->split_value);
}

/* Unknown arguments come last. */
static int compare_argument(const struct group_member *a, const struct group_member *b)
{
	if (a->argument && b->argument)
		return strcmp(a->argument, b->argument);
	return (a->argument == NULL) - (b->argument == NULL)
		       ?: (int)a->argument_key - (int)b->argument_key;
}

static int compare_folder(const struct group_member *a, const struct group_member *b)
{
	size_t length_a, length_b;

	if (!a->argument || !b->argument)
		return compare_argument(a, b);
	length_a = path_folder_length(a->argument);
	length_b = path_folder_length(b->argument);
	return memcmp(a->argument, b->argument, min_u64(length_a, length_b))
		       ?: compare_u64(length_a, length_b);
}

typedef int member_compare(const struct group_member *a, const struct group_member *b);

#define SPLIT_KEY(name, split, more)                                                  \
	{ name, GROUP_OF_SPLIT(split) | (more), GROUP_OF_SPLIT(split), compare_split, \
	  compare_split }

/* The keys of groups, in the order in which rows are sorted. */
static const struct {
	const char *name;
	unsigned int keys; /* what the word asks for */
	unsigned int key;  /* what is compared */
	member_compare *compare, *compare_names;
} key_defs[] = {
	{ "host", GROUP_HOST, GROUP_HOST, compare_host, compare_host },
	{ "pod", GROUP_POD, GROUP_POD, compare_pod, compare_pod },
	{ "container", GROUP_CONTAINER, GROUP_CONTAINER, compare_container, compare_container },
	{ "unit", GROUP_UNIT, GROUP_UNIT, compare_unit, compare_unit },
	{ "cgroup", GROUP_CGROUP, GROUP_CGROUP, compare_cgroup, compare_cgroup },
	{ "user", GROUP_USER, GROUP_USER, compare_user, compare_user_name },
	{ "comm", GROUP_COMM, GROUP_COMM, compare_comm, compare_comm },
	{ "pid", GROUP_PID, GROUP_PID, compare_pid, compare_comm_and_pid },
	{ "tid", GROUP_PID | GROUP_TID, GROUP_TID, compare_tid, compare_tid },
	{ "thread", GROUP_THREAD, GROUP_THREAD, compare_thread, compare_thread },
	SPLIT_KEY("cpu", SPLIT_CPU, 0),
	{ "abi", GROUP_ABI, GROUP_ABI, compare_abi, compare_abi },
	{ "syscall", GROUP_SYSCALL, GROUP_SYSCALL, compare_syscall, compare_syscall },
	SPLIT_KEY("arg0", SPLIT_ARG0, GROUP_SYSCALL),
	SPLIT_KEY("arg1", SPLIT_ARG0 + 1, GROUP_SYSCALL),
	SPLIT_KEY("arg2", SPLIT_ARG0 + 2, GROUP_SYSCALL),
	SPLIT_KEY("arg3", SPLIT_ARG0 + 3, GROUP_SYSCALL),
	SPLIT_KEY("arg4", SPLIT_ARG0 + 4, GROUP_SYSCALL),
	SPLIT_KEY("arg5", SPLIT_ARG5, GROUP_SYSCALL),
	{ "dir", GROUP_DIR, GROUP_DIR, compare_folder, compare_folder },
	{ "path", GROUP_PATH, GROUP_PATH, compare_argument, compare_argument },
	{ "file", GROUP_FILE, GROUP_FILE, compare_argument, compare_argument },
};

const char *group_key_for(unsigned int keys)
{
	size_t i = 0;

	while (i + 1 < ARRAY_SIZE(key_defs) && !(key_defs[i].key & keys))
		i++;
	return key_defs[i].name;
}

static int unknown_key_error(const char *option, const char *key, struct diag *d)
{
	struct nearest near = nearest_to(key);
	char names[176] = "";
	size_t used = 0;

	for (size_t i = 0; i < ARRAY_SIZE(key_defs); i++) {
		nearest_look(&near, key_defs[i].name);
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
					 key_defs[i].name);
	}
	if (near.best)
		return diag_set(d, DIAG_USAGE, EINVAL, "%s: no key \"%.32s\"; did you mean \"%s\"?",
				option, key, near.best);
	return diag_set(d, DIAG_USAGE, EINVAL, "%s: no key \"%.32s\"; the keys are %s", option, key,
			names);
}

/* The keys that a word asks for; 0: none is called so. */
static unsigned int keys_of_word(const char *word)
{
	/* The names that other tools have for them. */
	static const struct {
		const char *word, *name;
	} aliases[] = { { "process", "pid" },  { "command", "comm" }, { "name", "comm" },
			{ "call", "syscall" }, { "service", "unit" }, { "directory", "dir" } };

	for (size_t i = 0; i < ARRAY_SIZE(aliases); i++) {
		if (!strcmp(word, aliases[i].word))
			word = aliases[i].name;
	}
	for (size_t i = 0; i < ARRAY_SIZE(key_defs); i++) {
		if (!strcmp(word, key_defs[i].name))
			return key_defs[i].keys;
	}
	return 0;
}

int group_keys_parse(const char *option, const char *list, unsigned int *ret, struct diag *d)
{
	char *copy __cleanup(freep) = strdup(list), *at = copy;
	unsigned int keys = 0, of_word, splits;
	const char *word;

	if (!copy)
		return diag_oom(d);
	while ((word = strsep(&at, ","))) {
		of_word = keys_of_word(word);
		if (!of_word)
			return unknown_key_error(option, word, d);
		keys |= of_word;
	}
	/* Rows by folder are split by path. */
	splits = (keys & GROUP_DIR ? keys | GROUP_PATH : keys) & GROUP_SPLITS & ~GROUP_DIR;
	if (splits & (splits - 1))
		return diag_set(d, DIAG_USAGE, EINVAL,
				"%s: rows are split by one argument, by path, file or cpu: give "
				"one of these",
				option);
	*ret = keys;
	return 0;
}

enum call_split group_split(unsigned int keys)
{
	for (enum call_split split = SPLIT_ARG0; split < NR_CALL_SPLIT; split++) {
		if (keys & GROUP_OF_SPLIT(split))
			return split;
	}
	return keys & GROUP_DIR ? SPLIT_PATH : SPLIT_NONE;
}

static int compare_members(const void *x, const void *y, void *closure)
{
	const struct group_members *members = closure;
	int order = 0;
	bool by_name;

	for (size_t i = 0; i < ARRAY_SIZE(key_defs) && !order; i++) {
		by_name = members->by_name || (members->has_hosts && key_defs[i].key == GROUP_USER);
		if (members->keys & key_defs[i].key)
			order = (by_name ? key_defs[i].compare_names : key_defs[i].compare)(x, y);
	}
	return order;
}

bool group_member_is_first(const struct group_members *members, size_t at)
{
	return !at ||
	       compare_members(&members->items[at - 1], &members->items[at], (void *)members);
}

static void members_add(struct group_members *members, const struct snapshot *snapshot, bool in_b,
			const struct row_test *test)
{
	const enum call_split split = group_split(members->keys);

	for (size_t i = 0; i < snapshot->nr_rows; i++) {
		struct group_member *member = &members->items[members->count];
		const struct row *row = snapshot->rows[i];
		const char *path;

		if ((members->by_name && !row->calls) || (test && !test->has(row, test->closure)))
			continue;
		*member = (struct group_member){ .row = row, .in_b = in_b };
		member->host = snapshot_host(snapshot, row->host);
		member->process = snapshot_process_of(snapshot, row);
		if (member->process) {
			member->cgroup = snapshot_cgroup(snapshot, member->process->cgroup_id);
			member->user = snapshot_user(snapshot, member->process);
		}
		if (row->tid)
			member->thread = snapshot_find_thread(snapshot, row);
		if (split >= SPLIT_PATH)
			member->argument =
				snapshot_argument(snapshot, row, split, &member->argument_key);
		path = member->cgroup ?: "";
		member->unit_length = cgroup_unit(path, &member->unit);
		if (members->keys & (GROUP_CONTAINER | GROUP_POD))
			container_find(path, &member->container);
		members->count++;
	}
}

int group_members_make(const struct snapshot *a, const struct snapshot *b, unsigned int keys,
		       const struct row_test *test, struct group_members *ret)
{
	size_t most = a->nr_rows + (b ? b->nr_rows : 0);

	*ret = (struct group_members){ .keys = keys, .has_hosts = a->origins, .by_name = b };
	ret->items = calloc(most + 1, sizeof(*ret->items));
	if (!ret->items)
		return -ENOMEM;
	members_add(ret, a, false, test);
	if (b)
		members_add(ret, b, true, test);
	qsort_r(ret->items, ret->count, sizeof(*ret->items), compare_members, ret);
	return 0;
}

void group_members_done(struct group_members *members)
{
	free(members->items);
}

void group_list_done(struct group_list *list)
{
	for (size_t i = 0; i < list->nr_groups; i++)
		row_done(&list->groups[i].sum);
	free(list->groups);
	list->groups = NULL;
	list->nr_groups = 0;
}

void group_init(struct group *group, const struct group_member *member)
{
	*group = (struct group){ 0 };
	if (member) {
		group->process = member->process;
		group->thread = member->thread;
	}
	row_init(&group->sum);
	if (member)
		row_copy_identity(&group->sum, member->row);
}

/* Notes a row if it is among those with the slowest calls. */
static void group_note_slowest(struct group *group, const struct row *row)
{
	for (size_t i = 0; i < GROUP_SLOWEST && row; i++) {
		const struct row *other = group->slowest[i];

		if (other && other->max_ns >= row->max_ns)
			continue;
		group->slowest[i] = row;
		row = other;
	}
}

int group_merge(struct group *into, const struct group *from)
{
	for (size_t i = 0; i < GROUP_SLOWEST; i++)
		group_note_slowest(into, from->slowest[i]);
	into->moves_data |= from->moves_data;
	into->bytes += from->bytes;
	return row_merge(&into->sum, &from->sum);
}

int group_add_member(struct group *group, const struct group_member *member)
{
	const struct row *row = member->row;

	group_note_slowest(group, row);
	if (row_moves_data(row)) {
		group->moves_data = true;
		group->bytes += row->result_sum;
	}
	return row_merge(&group->sum, row);
}

int snapshot_group(const struct snapshot *snapshot, unsigned int keys, const struct row_test *test,
		   struct group_list *ret)
{
	struct group_members members __cleanup(group_members_done) = { 0 };
	struct group_list list __cleanup(group_list_done) = { .keys = keys };

	if (group_members_make(snapshot, NULL, keys, test, &members))
		return -ENOMEM;
	for (size_t i = 0; i < members.count; i++) {
		if (group_member_is_first(&members, i)) {
			if (!array_grow(&list.groups, list.nr_groups, sizeof(*list.groups)))
				return -ENOMEM;
			group_init(&list.groups[list.nr_groups], &members.items[i]);
			list.groups[list.nr_groups].place = list.nr_groups;
			list.nr_groups++;
		}
		if (group_add_member(&list.groups[list.nr_groups - 1], &members.items[i]))
			return -ENOMEM;
	}
	*ret = list;
	list = (struct group_list){ 0 };
	return 0;
}

/* --- what a report shows ---------------------------------------------------------------------- */

static bool group_is_empty(const struct group_cut *filter, const struct group *group)
{
	return !group->sum.calls && (filter->ended_only || !group->sum.in_flight);
}

static bool filter_has(const struct group_cut *filter, const struct group *group)
{
	return !group_is_empty(filter, group) && group->sum.calls >= filter->min_calls &&
	       (!filter->errors_only || group->sum.errors) &&
	       (!filter->successes_only || row_successes(&group->sum));
}

/* Groups that the filter has come first. */
static int compare_groups(const void *x, const void *y, void *closure)
{
	const struct group_cut *filter = closure;
	const struct group *a = x, *b = y;
	int order = (int)filter_has(filter, b) - (int)filter_has(filter, a);

	if (filter->compare)
		order = order ?: filter->compare(a, b, filter->closure);
	return order ?: compare_u64(a->place, b->place);
}

int group_list_sum(const struct group_list *list, size_t first, struct group *ret)
{
	struct group sum;

	group_init(&sum, NULL);
	for (size_t i = first; i < list->nr_groups; i++) {
		if (group_merge(&sum, &list->groups[i])) {
			row_done(&sum.sum);
			return -ENOMEM;
		}
	}
	*ret = sum;
	return 0;
}

static void groups_drop_empty(struct group_list *list, const struct group_cut *filter, size_t first)
{
	size_t kept = first;

	for (size_t i = first; i < list->nr_groups; i++) {
		if (group_is_empty(filter, &list->groups[i]))
			row_done(&list->groups[i].sum);
		else
			list->groups[kept++] = list->groups[i];
	}
	list->nr_groups = kept;
}

int group_list_select(struct group_list *list, const struct group_cut *filter)
{
	struct group others, *groups = list->groups;
	size_t kept = 0;

	if (!list->nr_groups)
		return 0;
	qsort_r(groups, list->nr_groups, sizeof(*groups), compare_groups, (void *)filter);
	while (kept < list->nr_groups && filter_has(filter, &groups[kept]) &&
	       (!filter->top || kept < filter->top))
		kept++;
	groups_drop_empty(list, filter, kept);
	if (group_list_sum(list, kept, &others))
		return -ENOMEM;
	others.nr_merged = list->nr_groups - kept;
	while (list->nr_groups > kept)
		row_done(&groups[--list->nr_groups].sum);
	/* The others take the place of one that was left out. */
	if (others.nr_merged)
		groups[list->nr_groups++] = others;
	else
		row_done(&others.sum);
	return 0;
}
