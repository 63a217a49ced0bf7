/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the rows of kind and baseline_kind, and which processes are of one kind. */
#include "store/kind.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/checksum.h"
#include "store/db.h"

/* Intervals after which a kind's row is written again; removal waits as many longer. */
#define SEEN_SLACK 1440

/* No kind has an id as great, but by damage. */
#define ID_MAX INT32_MAX

static int compare_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) : !!a - !!b;
}

/* By all but id and seen. */
static int compare_kind(const void *a, const void *b)
{
	const struct kind *x = a, *y = b;
	int order = (int)x->sort - (int)y->sort;

	order = order ?: memcmp(x->comm, y->comm, sizeof(x->comm));
	order = order ?: (x->uid > y->uid) - (x->uid < y->uid);
	order = order ?: compare_text(x->user, y->user);
	return order ?: compare_text(x->cgroup, y->cgroup);
}

static void kind_free(struct kind *kind)
{
	if (!kind)
		return;
	free(kind->user);
	free(kind->cgroup);
	free(kind);
}

static void keep_node(void *node)
{
	(void)node;
}

void kinds_done(struct kinds *kinds)
{
	tdestroy(kinds->by_value, keep_node);
	for (size_t i = 0; i < kinds->count; i++)
		kind_free(kinds->items[i]);
	free(kinds->items);
	*kinds = (struct kinds){ 0 };
}

/* The first whose id is no less. */
static size_t kinds_place(const struct kinds *kinds, int64_t id)
{
	size_t low = 0, high = kinds->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (kinds->items[middle]->id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct kind *kinds_find(const struct kinds *kinds, int64_t id)
{
	size_t at = kinds_place(kinds, id);

	return at < kinds->count && kinds->items[at]->id == id ? kinds->items[at] : NULL;
}

bool kinds_want(const struct kinds *kinds, const bool *wanted, int64_t id)
{
	size_t at = wanted ? kinds_place(kinds, id) : 0;

	return !wanted || (at < kinds->count && wanted[at]);
}

static struct kind *kind_copy(const struct kind *value)
{
	struct kind *copy = malloc(sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *value;
	copy->user = value->user ? strdup(value->user) : NULL;
	copy->cgroup = value->cgroup ? strdup(value->cgroup) : NULL;
	if (!copy->user == !value->user && !copy->cgroup == !value->cgroup)
		return copy;
	kind_free(copy);
	return NULL;
}

/* Takes the kind over, which is the one of the greatest id. Of equal ones the first is found. */
static int kinds_add(struct kinds *kinds, struct kind *kind)
{
	struct kind **grown = reallocarray(kinds->items, kinds->count + 1, sizeof(*grown));

	if (grown)
		kinds->items = grown;
	if (!grown || !tsearch(kind, &kinds->by_value, compare_kind)) {
		kind_free(kind);
		return -ENOMEM;
	}
	grown[kinds->count++] = kind;
	kinds->last_id = kind->id;
	return 0;
}

struct kind *kinds_lookup(const struct kinds *kinds, const struct kind *value)
{
	struct kind **found = tfind(value, &kinds->by_value, compare_kind);

	return found ? *found : NULL;
}

int kinds_take(struct kinds *kinds, const struct kind *value, struct kind **ret, bool *ret_new)
{
	struct kind *found = kinds_lookup(kinds, value), *copy;

	*ret_new = !found;
	if (found) {
		*ret = found;
		return 0;
	}
	copy = kind_copy(value);
	if (!copy)
		return -ENOMEM;
	copy->id = kinds->last_id + 1;
	if (kinds_add(kinds, copy))
		return -ENOMEM;
	*ret = copy;
	return 0;
}

int kinds_take_bounded(struct kinds *kinds, const struct kind *value, struct kind **ret,
		       bool *ret_new)
{
	struct process process = process_of_other_kinds();
	struct kind others = { .sort = KIND_OTHERS, .uid = UID_NONE };

	memcpy(others.comm, process.comm, sizeof(others.comm));
	if (kinds->count >= KINDS_MAX && value->sort == KIND_PROCESSES &&
	    !kinds_lookup(kinds, value))
		value = &others;
	return kinds_take(kinds, value, ret, ret_new);
}

void kinds_rewind(struct kinds *kinds, size_t count, int64_t last_id)
{
	while (kinds->count > count) {
		struct kind *kind = kinds->items[--kinds->count];

		tdelete(kind, &kinds->by_value, compare_kind);
		kind_free(kind);
	}
	kinds->last_id = last_id;
}

struct kind kind_of(const struct snapshot *snapshot, const struct process *process)
{
	struct process others = process_of_other_kinds();
	struct kind kind = { .sort = KIND_NOBODY, .uid = UID_NONE };

	if (!process || (!process->pid && !process->boot_ns))
		return kind;
	kind.sort =
		!process->pid && process_same_kind(process, &others) ? KIND_OTHERS : KIND_PROCESSES;
	memcpy(kind.comm, process->comm, strnlen(process->comm, sizeof(kind.comm)));
	kind.uid = process->uid;
	kind.user = (char *)snapshot_user(snapshot, process->uid);
	kind.cgroup = (char *)snapshot_cgroup(snapshot, process->cgroup_id);
	return kind;
}

struct process kind_process(const struct kind *kind)
{
	struct process process = { .uid = kind->uid, .boot_ns = KIND_FIRST + (uint64_t)kind->id };

	if (kind->sort == KIND_NOBODY)
		process.boot_ns = 0;
	if (kind->cgroup)
		process.cgroup_id = KIND_FIRST + (uint64_t)kind->id;
	memcpy(process.comm, kind->comm, sizeof(process.comm));
	return process;
}

int kind_name(const struct kind *kind, struct snapshot *snapshot)
{
	struct process process = kind_process(kind);

	if (kind->user &&
	    id_names_add(&snapshot->users, &snapshot->nr_users, kind->uid, kind->user))
		return -ENOMEM;
	return kind->cgroup ? id_names_add(&snapshot->cgroups, &snapshot->nr_cgroups,
					   process.cgroup_id, kind->cgroup)
			    : 0;
}

static uint32_t kind_checksum(const struct kind *kind)
{
	const int64_t numbers[] = { kind->id, kind->sort, kind->uid, kind->seen };
	uint32_t sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		sum = checksum_number(sum, (uint64_t)numbers[i]);
	sum = checksum_bytes(sum, kind->comm, strnlen(kind->comm, sizeof(kind->comm)));
	sum = checksum_text(sum, kind->user);
	return checksum_text(sum, kind->cgroup);
}

/* Columns: id, sort, uid, seen, comm, user, cgroup, checksum. */
static int kind_read(sqlite3_stmt *row, struct kind *kind)
{
	const void *comm = sqlite3_column_blob(row, 4);
	size_t size = (size_t)sqlite3_column_bytes(row, 4);
	int64_t sort = sqlite3_column_int64(row, 1);
	int err;

	kind->id = sqlite3_column_int64(row, 0);
	kind->sort = (enum kind_sort)sort;
	kind->uid = (uint32_t)sqlite3_column_int64(row, 2);
	kind->seen = sqlite3_column_int64(row, 3);
	if (sort < 0 || sort >= NR_KIND_SORT || size > sizeof(kind->comm) || (size && !comm))
		return -EBADMSG;
	if (size)
		memcpy(kind->comm, comm, size);
	err = db_column_text(row, 5, &kind->user);
	err = err ?: db_column_text(row, 6, &kind->cgroup);
	if (!err && (uint64_t)sqlite3_column_int64(row, 7) != kind_checksum(kind))
		err = -EBADMSG;
	return err;
}

static int kinds_read_all(sqlite3_stmt *row, struct kinds *kinds)
{
	int err, more;

	while ((more = db_next(row)) == 1) {
		struct kind *kind = calloc(1, sizeof(*kind));

		err = kind ? kind_read(row, kind) : -ENOMEM;
		if (err) {
			if (kind && kind->id > kinds->last_id && kind->id < ID_MAX)
				kinds->last_id = kind->id;
			kind_free(kind);
			if (err == -EBADMSG)
				continue;
			break;
		}
		err = kinds_add(kinds, kind);
		if (err)
			break;
	}
	if (more == 1)
		sqlite3_reset(row);
	kinds->loaded = more == 0;
	return more == 1 ? -ENOMEM : more;
}

int kinds_load(struct db *db)
{
	sqlite3_stmt *row;
	const int64_t after = INT64_MIN;
	int err = db_statement(db, KIND_READ, &row);

	err = err ?: db_bind(row, &after, 1);
	return err ?: kinds_read_all(row, &db->kinds);
}

void kinds_salvage(struct db *db)
{
	int64_t after = 0;
	sqlite3_stmt *row;
	int tries = 0, err;

	do {
		err = db_statement(db, KIND_READ, &row);
		err = err ?: db_bind(row, &after, 1);
		err = err ?: kinds_read_all(row, &db->kinds);
		after = db->kinds.last_id > after ? db->kinds.last_id : after + 1;
	} while (err && ++tries < SALVAGE_TRIES);
	db->kinds.loaded = true;
}

int kinds_load_baseline(struct db *db, int64_t baseline, struct kinds *ret)
{
	sqlite3_stmt *row;
	int err = db_statement(db, BASELINE_KIND_READ, &row);

	err = err ?: db_bind(row, &baseline, 1);
	return err ?: kinds_read_all(row, ret);
}

static int kind_insert(struct db *db, enum statement which, int64_t owner, const struct kind *kind)
{
	const int64_t numbers[] = { kind->id, kind->sort, kind->uid, kind->seen };
	sqlite3_stmt *insert;
	int err = db_statement(db, which, &insert);

	err = err ?: db_bind(insert, numbers, ARRAY_SIZE(numbers));
	err = err ?: db_bind_bytes(insert, 5, kind->comm, strnlen(kind->comm, sizeof(kind->comm)));
	err = err ?: db_bind_text(insert, 6, kind->user);
	err = err ?: db_bind_text(insert, 7, kind->cgroup);
	err = err ?: db_errno(sqlite3_bind_int64(insert, 8, kind_checksum(kind)));
	if (!err && which == BASELINE_KIND_WRITE)
		err = db_errno(sqlite3_bind_int64(insert, 9, owner));
	return err ?: db_run(insert);
}

int kind_write(struct db *db, const struct kind *kind)
{
	return kind_insert(db, KIND_WRITE, 0, kind);
}

int kind_write_baseline(struct db *db, int64_t baseline, const struct kind *kind)
{
	return kind_insert(db, BASELINE_KIND_WRITE, baseline, kind);
}

int kind_take(struct db *db, const struct kind *value, int64_t interval, struct kind **ret)
{
	bool is_new;
	int err = kinds_take_bounded(&db->kinds, value, ret, &is_new);

	if (err || !is_new)
		return err ?: kind_touch(db, *ret, interval);
	(*ret)->seen = interval;
	return kind_write(db, *ret);
}

int kind_touch(struct db *db, struct kind *kind, int64_t interval)
{
	if (interval - kind->seen < SEEN_SLACK)
		return 0;
	kind->seen = interval;
	return kind_write(db, kind);
}

int kinds_retire(struct db *db, int64_t oldest)
{
	int64_t limit = oldest - SEEN_SLACK;
	sqlite3_stmt *remove;
	bool any = false;
	int err;

	for (size_t i = 0; i < db->kinds.count && !any; i++)
		any = db->kinds.items[i]->seen < limit;
	if (!any)
		return 0;
	err = db_statement(db, KIND_RETIRE, &remove);
	err = err ?: db_bind(remove, &limit, 1);
	err = err ?: db_run(remove);
	kinds_done(&db->kinds);
	return err ?: kinds_load(db);
}
