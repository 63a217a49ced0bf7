/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns baselines: copies in tables of their own, which neither roll-ups nor retention touch. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/moment.h"
#include "store/checksum.h"
#include "store/content.h"
#include "store/history_private.h"

/* The columns of a row of baseline, in their order: numbers, then texts. */
struct baseline_row {
	int64_t id;
	int64_t saved_ns, start_ns, end_ns, covered_ns, end_mono_ns;
	int64_t flags, threads_unknown;
	struct content_check content; /* nr_cells, nr_shares, nr_losses, content */
	int64_t nr_kinds;
	char *texts[4]; /* owned: name, host, boot_id, kernel */
};

#define NR_NUMBER (offsetof(struct baseline_row, texts) / sizeof(int64_t))
#define NR_TEXT   ARRAY_SIZE(((struct baseline_row *)NULL)->texts)

struct baseline_rows {
	struct baseline_row *items; /* owned */
	size_t count;
};

static void row_free(struct baseline_row *row)
{
	for (size_t i = 0; i < NR_TEXT; i++)
		free(row->texts[i]);
}

static void rows_done(struct baseline_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		row_free(&rows->items[i]);
	free(rows->items);
	*rows = (struct baseline_rows){ 0 };
}

/* Older versions took some that are no names any more: those can still be read. */
static bool name_is_plain(const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < length; i++) {
		if (!isascii((unsigned char)name[i]) ||
		    (!isalnum((unsigned char)name[i]) && !strchr(".-_", name[i])))
			return false;
	}
	return length > 0 && length < sizeof(((struct baseline *)NULL)->name);
}

static uint32_t row_checksum(const struct baseline_row *row)
{
	const int64_t *numbers = (const int64_t *)row;
	uint32_t sum = 0;

	for (size_t i = 0; i < NR_NUMBER; i++)
		sum = checksum_number(sum, (uint64_t)numbers[i]);
	for (size_t i = 0; i < NR_TEXT; i++)
		sum = checksum_text(sum, row->texts[i]);
	return sum;
}

static int row_read(sqlite3_stmt *columns, struct baseline_row *row)
{
	int64_t *numbers = (int64_t *)row;
	int err = 0;

	for (size_t i = 0; i < NR_NUMBER; i++)
		numbers[i] = sqlite3_column_int64(columns, (int)i);
	for (size_t i = 0; i < NR_TEXT && !err; i++) {
		err = db_column_text(columns, (int)(NR_NUMBER + i), &row->texts[i]);
		if (!err && !row->texts[i])
			err = -EBADMSG;
	}
	if (!err &&
	    ((uint64_t)sqlite3_column_int64(columns, NR_NUMBER + NR_TEXT) != row_checksum(row) ||
	     !name_is_plain(row->texts[0])))
		err = -EBADMSG;
	if (err)
		row_free(row);
	return err;
}

/* All rows; damaged ones are left out. */
static int rows_read(struct db *db, struct baseline_rows *rows)
{
	sqlite3_stmt *columns;
	int err = db_statement(db, BASELINE_READ, &columns), more = 0;

	while (!err && (more = db_next(columns)) == 1) {
		struct baseline_row row = { 0 };
		struct baseline_row *grown;

		err = row_read(columns, &row);
		if (err == -EBADMSG) {
			err = 0;
			continue;
		}
		grown = err ? NULL : reallocarray(rows->items, rows->count + 1, sizeof(*grown));
		if (!grown) {
			row_free(&row);
			err = -ENOMEM;
			sqlite3_reset(columns);
			break;
		}
		rows->items = grown;
		grown[rows->count++] = row;
	}
	return err ?: more;
}

static const struct baseline_row *rows_find(const struct baseline_rows *rows, const char *name)
{
	for (size_t i = 0; i < rows->count; i++) {
		if (!strcmp(rows->items[i].texts[0], name))
			return &rows->items[i];
	}
	return NULL;
}

static int row_write(struct db *db, const struct baseline_row *row)
{
	sqlite3_stmt *insert;
	int index = NR_NUMBER;
	int err = db_statement(db, BASELINE_WRITE, &insert);

	err = err ?: db_bind(insert, (const int64_t *)row, NR_NUMBER);
	for (size_t i = 0; i < NR_TEXT && !err; i++)
		err = db_bind_text(insert, ++index, row->texts[i]);
	err = err ?: db_errno(sqlite3_bind_int64(insert, ++index, row_checksum(row)));
	return err ?: db_run(insert);
}

static int row_remove(struct db *db, int64_t id)
{
	static const enum statement removals[] = { BASELINE_KIND_REMOVE, BASELINE_REMOVE };
	sqlite3_stmt *remove;
	int err = content_remove(db, CONTENT_BASELINE, id);

	for (size_t i = 0; i < ARRAY_SIZE(removals) && !err; i++) {
		err = db_statement(db, removals[i], &remove);
		err = err ?: db_bind(remove, &id, 1);
		err = err ?: db_run(remove);
	}
	return err;
}

/* Writes the row and all that belongs to it, and notes its checksum. */
static int row_write_all(struct db *db, struct baseline_row *row, const struct kinds *kinds,
			 struct sum *sum)
{
	int err = content_write(db, CONTENT_BASELINE, row->id, sum, &row->content);

	for (size_t i = 0; i < kinds->count && !err; i++)
		err = kind_write_baseline(db, row->id, kinds->items[i]);
	row->nr_kinds = (int64_t)kinds->count;
	return err ?: row_write(db, row);
}

/* Reads what belongs to a row: -EUCLEAN when it is not what was written. */
static int row_read_all(struct db *db, const struct baseline_row *row, struct kinds *kinds,
			struct sum *sum)
{
	int err = kinds_load_baseline(db, row->id, kinds);

	if (!err && (int64_t)kinds->count != row->nr_kinds)
		err = -EUCLEAN;
	err = err ?: content_verify(db, CONTENT_BASELINE, row->id, kinds, &row->content);
	return err ?: content_add(db, CONTENT_BASELINE, row->id, kinds, NULL, sum);
}

struct save {
	const char *name;
	const struct timeline_step *step;
	bool replace;
	bool exists; /* told: it does, and must not be replaced */
};

static int64_t next_id(const struct baseline_rows *rows)
{
	int64_t last = 0;

	for (size_t i = 0; i < rows->count; i++)
		last = rows->items[i].id > last ? rows->items[i].id : last;
	return last + 1;
}

static int save_step(struct db *db, const struct save *save, int64_t id)
{
	const struct snapshot *snapshot = save->step->sum;
	struct baseline_row row = {
		.id = id,
		.saved_ns = clock_real_ns(),
		.start_ns = save->step->start_ns,
		.end_ns = save->step->end_ns,
		.covered_ns = (int64_t)save->step->covered_ns,
		.end_mono_ns = (int64_t)snapshot->end_mono_ns,
		.flags = (snapshot->has_runq ? INTERVAL_HAS_RUNQ : 0) |
			 (snapshot->caller_pidns ? INTERVAL_CALLER_PIDNS : 0),
		.threads_unknown = (int64_t)snapshot->threads_unknown,
		.texts = { (char *)save->name, snapshot->host ?: "", snapshot->boot_id ?: "",
			   snapshot->kernel ?: "" },
	};
	struct kinds kinds __cleanup(kinds_done) = { 0 };
	struct sum sum __cleanup(sum_done) = { 0 };
	const struct kind_source source = { .kinds = &kinds };
	/* Whatever a damaged row has left of this id goes. */
	int err = row_remove(db, id);

	err = err ?: sum_add_snapshot(&sum, &source, snapshot);
	return err ?: row_write_all(db, &row, &kinds, &sum);
}

static int change_save(struct history *history, void *closure)
{
	struct baseline_rows rows __cleanup(rows_done) = { 0 };
	struct save *save = closure;
	const struct baseline_row *same;
	int err = rows_read(history->db, &rows);

	if (err)
		return err;
	same = rows_find(&rows, save->name);
	save->exists = same && !save->replace;
	if (save->exists)
		return 0;
	if (same)
		err = row_remove(history->db, same->id);
	return err ?: save_step(history->db, save, next_id(&rows));
}

static bool step_has_calls(const struct timeline_step *step)
{
	for (size_t i = 0; step->sum && i < step->sum->nr_rows; i++) {
		if (step->sum->rows[i]->calls)
			return true;
	}
	return false;
}

bool baseline_name_is_valid(const char *name)
{
	return name_is_plain(name) && *name != '.';
}

int baseline_check_name(const char *name, struct diag *d)
{
	uint64_t span_ns;

	if (!strcmp(name, "now") || span_is(name) || !duration_parse("", name, &span_ns, NULL))
		return diag_set(d, DIAG_USAGE, EINVAL,
				"\"%.100s\" is no name for a baseline: it means a time to compare",
				name);
	if (baseline_name_is_valid(name))
		return 0;
	return diag_set(d, DIAG_USAGE, EINVAL,
			"\"%.100s\" is no name for a baseline: up to 64 letters, digits, '.', '-' "
			"and '_', and no '.' in front",
			name);
}

int baseline_save(struct history *history, const char *name, const struct timeline_step *step,
		  bool replace, struct diag *d)
{
	struct save save = { name, step, replace, false };
	int err = baseline_check_name(name, d);

	if (err)
		return err;
	if (history->options.read_only)
		return diag_set(d, DIAG_FAILED, EROFS,
				"history: %.250s was opened for reading only", history->path);
	if (!step_has_calls(step))
		return diag_set(d, DIAG_FAILED, ENODATA,
				"no call was counted in that time: choose another span");
	err = history_change(history, change_save, &save, "save a baseline in", d);
	if (!err && save.exists)
		return diag_set(d, DIAG_FAILED, EEXIST,
				"a baseline \"%s\" exists: replace it with --replace, or choose "
				"another name",
				name);
	return err;
}

struct listing {
	struct baseline *items; /* owned */
	size_t count;
};

static int compare_saved(const void *a, const void *b)
{
	const struct baseline *x = a, *y = b;

	return (x->saved_ns > y->saved_ns) - (x->saved_ns < y->saved_ns);
}

static int read_list(struct history *history, void *closure)
{
	struct baseline_rows rows __cleanup(rows_done) = { 0 };
	struct listing *listing = closure;
	int err = rows_read(history->db, &rows);

	if (err)
		return err;
	listing->items = calloc(rows.count + 1, sizeof(*listing->items));
	if (!listing->items)
		return -ENOMEM;
	for (; listing->count < rows.count; listing->count++) {
		const struct baseline_row *row = &rows.items[listing->count];
		struct baseline *item = &listing->items[listing->count];

		*item = (struct baseline){
			.saved_ns = row->saved_ns,
			.start_ns = row->start_ns,
			.end_ns = row->end_ns,
			.covered_ns = (uint64_t)row->covered_ns,
		};
		memcpy(item->name, row->texts[0], strlen(row->texts[0]) + 1);
	}
	qsort(listing->items, listing->count, sizeof(*listing->items), compare_saved);
	return 0;
}

int baseline_list(struct history *history, struct baseline **ret, size_t *ret_count, struct diag *d)
{
	struct listing listing = { 0 };
	int err = history_read(history, read_list, &listing, "list the baselines of", d);

	if (err)
		return err;
	*ret = listing.items;
	*ret_count = listing.count;
	return 0;
}

struct load {
	const char *name;
	bool absent, damaged;
	struct snapshot *snapshot; /* owned */
};

static int row_to_snapshot(struct db *db, const struct baseline_row *row, struct load *load)
{
	struct kinds kinds __cleanup(kinds_done) = { 0 };
	struct sum sum __cleanup(sum_done) = { 0 };
	const struct run run = { .host = row->texts[1],
				 .boot_id = row->texts[2],
				 .kernel = row->texts[3] };
	int err = row_read_all(db, row, &kinds, &sum);

	if (err)
		return err;
	sum.first.flags = row->flags;
	sum.last.end_mono_ns = row->end_mono_ns;
	sum.last.threads_unknown = row->threads_unknown;
	sum.start_ns = row->start_ns;
	sum.end_ns = row->end_ns;
	sum.covered_ns = (uint64_t)row->covered_ns;
	return sum_finish(&sum, &kinds, &run, &load->snapshot);
}

/* All rows, and the one that is meant; NULL: there is none. */
static int rows_read_named(struct db *db, struct load *load, struct baseline_rows *rows,
			   const struct baseline_row **ret)
{
	int err = rows_read(db, rows);

	if (err)
		return err;
	*ret = rows_find(rows, load->name);
	load->absent = !*ret;
	return 0;
}

static int read_load(struct history *history, void *closure)
{
	struct baseline_rows rows __cleanup(rows_done) = { 0 };
	const struct baseline_row *row;
	struct load *load = closure;
	int err = rows_read_named(history->db, load, &rows, &row);

	if (err || !row)
		return err;
	err = row_to_snapshot(history->db, row, load);
	/* The rest of the file may be in order. */
	load->damaged = err == -EUCLEAN;
	return load->damaged ? 0 : err;
}

static int no_baseline(const char *name, struct diag *d)
{
	return diag_set(d, DIAG_FAILED, ENOENT,
			"no baseline is called \"%.64s\": the verb baseline lists those there are",
			name);
}

int baseline_load(struct history *history, const char *name, struct snapshot **ret, struct diag *d)
{
	struct load load = { .name = name };
	int err = history_read(history, read_load, &load, "read a baseline of", d);

	if (err)
		return err;
	if (load.absent)
		return no_baseline(name, d);
	if (load.damaged)
		return diag_set(d, DIAG_FAILED, EBADMSG,
				"the baseline \"%.64s\" is damaged: save it again", name);
	*ret = load.snapshot;
	return 0;
}

static int change_remove(struct history *history, void *closure)
{
	struct baseline_rows rows __cleanup(rows_done) = { 0 };
	const struct baseline_row *row;
	struct load *load = closure;
	int err = rows_read_named(history->db, load, &rows, &row);

	return err || !row ? err : row_remove(history->db, row->id);
}

int baseline_remove(struct history *history, const char *name, struct diag *d)
{
	struct load load = { .name = name };
	int err;

	if (history->options.read_only)
		return diag_set(d, DIAG_FAILED, EROFS,
				"history: %.250s was opened for reading only", history->path);
	err = history_change(history, change_remove, &load, "remove a baseline from", d);
	return err ?: load.absent ? no_baseline(name, d) : 0;
}

int baselines_copy(struct db *from, struct db *to)
{
	struct baseline_rows rows __cleanup(rows_done) = { 0 };
	int err = 0;

	/* Those before what cannot be read are there all the same. */
	if (rows_read(from, &rows) == -ENOMEM)
		return -ENOMEM;
	for (size_t i = 0; i < rows.count && !err; i++) {
		struct kinds kinds __cleanup(kinds_done) = { 0 };
		struct sum sum __cleanup(sum_done) = { 0 };
		int unread = row_read_all(from, &rows.items[i], &kinds, &sum);

		if (unread == -ENOMEM)
			return unread;
		if (!unread)
			err = row_write_all(to, &rows.items[i], &kinds, &sum);
	}
	return err;
}
