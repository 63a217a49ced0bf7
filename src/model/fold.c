/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds or makes the group of each process that is folded, and the row of each of its calls. */
#include "model/builder.h"

#include "base/text.h"

/* The groups of one user, or the group of other kinds, and the memory of their rows. */
struct share {
	uint32_t uid;
	size_t groups, bytes;
};

struct group {
	struct process kind; /* without counts; boot_ns is its serial number */
	struct share *share;
};

/* Tells which row of a group it is. */
struct row_id {
	uint64_t serial, split_value;
	int64_t nr;
	enum syscall_abi abi;
	enum call_split split;
};

struct fold {
	const struct fold_options *options;
	struct builder *into;
	struct group *groups; /* neither array ever moves */
	struct share *shares;
	size_t nr_groups, max_groups, nr_shares;
	size_t bytes; /* of the rows of all groups but that of other kinds */
	void *kinds;  /* tree of struct group */
	void *ids;    /* tree of struct row_id */
};

static int compare_kinds(const void *x, const void *y)
{
	const struct process *a = &((const struct group *)x)->kind;
	const struct process *b = &((const struct group *)y)->kind;
	int order = memcmp(a->comm, b->comm, sizeof(a->comm)) ?: compare_u64(a->uid, b->uid);

	return order ?: compare_u64(a->cgroup_id, b->cgroup_id);
}

static int compare_ids(const void *x, const void *y)
{
	const struct row_id *a = x, *b = y;
	int order = compare_u64(a->serial, b->serial) ?: compare_u64(a->abi, b->abi);

	order = order ?: (a->nr > b->nr) - (a->nr < b->nr);
	return order ?: compare_u64(a->split, b->split)
			      ?: compare_u64(a->split_value, b->split_value);
}

/* --- groups ----------------------------------------------------------------------------------- */

static struct share *share_find(struct fold *fold, uint32_t uid)
{
	for (size_t i = 0; i < fold->nr_shares; i++) {
		if (fold->shares[i].uid == uid)
			return &fold->shares[i];
	}
	fold->shares[fold->nr_shares].uid = uid;
	return &fold->shares[fold->nr_shares++];
}

static bool share_has_spent(const struct fold *fold, const struct share *share, size_t max_bytes)
{
	return share->bytes >= max_bytes / 2 ||
	       (share->uid != UID_NONE && fold->bytes >= max_bytes);
}

static bool share_is_spent(const struct fold *fold, const struct share *share)
{
	return share_has_spent(fold, share, fold->options->max_bytes);
}

/* Rows that are split leave half of the room to those of whole calls. */
static bool share_is_spent_for_splits(const struct fold *fold, const struct share *share)
{
	return share_has_spent(fold, share, fold->options->max_bytes / 2);
}

/* A group that was there before, or a new one. A second one of its kind stands apart. */
static struct group *group_add(struct fold *fold, const struct process *kind, uint64_t serial)
{
	struct group *group = &fold->groups[fold->nr_groups++];

	group->kind = (struct process){ .uid = kind->uid,
					.cgroup_id = kind->cgroup_id,
					.boot_ns = serial };
	memcpy(group->kind.comm, kind->comm, sizeof(group->kind.comm));
	group->share = share_find(fold, kind->uid);
	group->share->groups++;
	return tsearch(group, &fold->kinds, compare_kinds) ? group : NULL;
}

static struct group *group_find(const struct fold *fold, const struct process *process)
{
	struct group key = { .kind = *process };
	struct group **found = tfind(&key, &fold->kinds, compare_kinds);

	return found ? *found : NULL;
}

static bool kind_has_room(struct fold *fold, const struct process *kind)
{
	const struct share *share;

	if (fold->nr_groups >= FOLD_MAX_KINDS)
		return false;
	share = share_find(fold, kind->uid);
	return share->groups < FOLD_MAX_KINDS / 2 && !share_is_spent(fold, share);
}

/* The group of a process, made when it is new; a retired group has no other. NULL: no memory. */
static struct group *group_of(struct fold *fold, const struct process *process)
{
	struct process kind = process->pid ? *process : process_of_other_kinds();
	struct group *found = group_find(fold, &kind);

	if (found)
		return found;
	if (!kind_has_room(fold, &kind)) {
		kind = process_of_other_kinds();
		found = group_find(fold, &kind);
	}
	return found ?: group_add(fold, &kind, (*fold->options->serial)++);
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Notes that a group has a row, and its memory. 0 or -ENOMEM. */
static int row_note(struct fold *fold, const struct row_id *id, const struct group *group,
		    const struct row *row)
{
	if (!tree_add(&fold->ids, id, sizeof(*id), compare_ids))
		return -ENOMEM;
	group->share->bytes += row_bytes(row);
	if (group->kind.uid != UID_NONE)
		fold->bytes += row_bytes(row);
	return 0;
}

static struct row_id row_id(const struct row *row)
{
	return (struct row_id){ .serial = row->boot_ns,
				.abi = row->abi,
				.nr = row->nr,
				.split = row->split,
				.split_value = row->split_value };
}

static bool row_is_known(const struct fold *fold, const struct row *row)
{
	const struct row_id id = row_id(row);

	return tfind(&id, &fold->ids, compare_ids);
}

/*
 * Makes a row one of a group: of its number and of what it is split by if the group has that, or there is
 * room; else of its number alone, or of no number.
 */
static int row_fold(struct fold *fold, const struct group *group, struct row *row)
{
	struct row_id id;

	row->pid = 0;
	row->boot_ns = group->kind.boot_ns;
	row->tid = 0;
	row->tid_ns = 0;
	if (row_is_known(fold, row))
		return 0;
	if (row->split != SPLIT_NONE && share_is_spent_for_splits(fold, group->share)) {
		row_forget_split(row);
		if (fold->options->unsplit)
			*fold->options->unsplit += row->calls;
		if (row_is_known(fold, row))
			return 0;
	}
	id = row_id(row);
	if (!share_is_spent(fold, group->share))
		return row_note(fold, &id, group, row);
	row_forget_number(row);
	return 0;
}

static int move_rows(struct fold *fold, const struct group *group, struct row **rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if ((group && (row_unshare(&rows[i]) || row_fold(fold, group, rows[i]))) ||
		    builder_adopt_row(fold->into, rows[i]))
			return -ENOMEM;
		rows[i] = NULL;
	}
	return 0;
}

static bool process_is_group(const struct process *process)
{
	return process->pid == 0 && process->boot_ns >= FOLDED_FIRST;
}

static bool process_folds(const struct fold *fold, const struct process *process)
{
	return (process->pid || process_is_group(process)) &&
	       fold->options->folds(process, fold->options->closure);
}

static int move_process(struct fold *fold, const struct process *process, struct row **rows,
			size_t nr_rows)
{
	struct process moved = *process;
	struct group *group = NULL;

	if (process_folds(fold, process)) {
		group = group_of(fold, process);
		if (!group)
			return -ENOMEM;
		moved = group->kind;
		process_add_counts(&moved, process);
		moved.ended_ns = process->ended_ns;
		moved.nr_folded += process->pid ? 1 : 0;
	}
	return move_rows(fold, group, rows, nr_rows)
		       ?: builder_add_process(fold->into, &moved, true);
}

/* --- the whole -------------------------------------------------------------------------------- */

/* Finds the groups that there are, and their rows. */
static int fold_prepare(struct fold *fold, const struct snapshot *all)
{
	size_t row = snapshot_rows_of(all, 0, NULL), count;

	for (size_t i = 0; i < all->nr_processes && all->processes[i].pid == 0; i++, row += count) {
		const struct process *process = &all->processes[i];
		struct group *group;

		count = snapshot_rows_of(all, row, process);
		if (!process_is_group(process) || process_folds(fold, process))
			continue;
		group = group_add(fold, process, process->boot_ns);
		for (size_t j = row; j < row + count && group; j++) {
			struct row_id id = row_id(all->rows[j]);

			if (row_note(fold, &id, group, all->rows[j]))
				return -ENOMEM;
		}
		if (!group)
			return -ENOMEM;
	}
	return 0;
}

static int fold_all(struct fold *fold, struct snapshot *all)
{
	size_t row = snapshot_rows_of(all, 0, NULL), count;
	int err = move_rows(fold, NULL, all->rows, row);

	for (size_t i = 0; i < all->nr_processes && !err; i++, row += count) {
		count = snapshot_rows_of(all, row, &all->processes[i]);
		err = move_process(fold, &all->processes[i], &all->rows[row], count);
	}
	return err;
}

static void keep_node(void *node)
{
	(void)node;
}

int snapshot_fold(struct snapshot *from, const struct fold_options *options, struct builder *into)
{
	struct fold fold = { .options = options, .into = into };
	size_t before = 0;
	int err = -ENOMEM;

	while (before < from->nr_processes && from->processes[before].pid == 0)
		before++;
	fold.max_groups = before + FOLD_MAX_KINDS + 1;
	fold.groups = calloc(fold.max_groups, sizeof(*fold.groups));
	fold.shares = calloc(fold.max_groups + from->nr_processes, sizeof(*fold.shares));
	if (fold.groups && fold.shares)
		err = fold_prepare(&fold, from) ?: fold_all(&fold, from);
	tdestroy(fold.kinds, keep_node);
	tdestroy(fold.ids, free);
	free(fold.groups);
	free(fold.shares);
	return err;
}

void snapshot_count_folded(const struct snapshot *snapshot, struct losses *losses)
{
	const struct process others = process_of_other_kinds();

	for (size_t i = 0; i < snapshot->nr_processes && !snapshot->processes[i].pid; i++) {
		if (process_same_kind(&snapshot->processes[i], &others))
			losses->count[LOSS_KIND_FOLDED] += snapshot->processes[i].nr_folded;
	}
	for (size_t i = 0; i < snapshot->nr_rows; i++) {
		const struct row *row = snapshot->rows[i];

		if (row->nr == ROW_NR_OTHER && row->boot_ns)
			losses->count[LOSS_NUMBER_FOLDED] += row->calls;
	}
}
