/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads and writes the rows of cell, share, loss and call. Decoding believes nothing of what it reads. */
#include <limits.h>

#include "store/sum.h"
#include "syscalls/names.h"

#define VARINT_MAX 10
#define COUNT_MAX  (UINT64_MAX >> 2)
#define SKIP_MORE  3

void blob_done(struct blob *blob)
{
	free(blob->bytes);
	*blob = (struct blob){ 0 };
}

static int blob_put(struct blob *blob, uint64_t number)
{
	uint8_t *grown = blob->bytes;

	if (blob->room < blob->size + VARINT_MAX) {
		grown = realloc(blob->bytes, 2 * blob->room + 2 * VARINT_MAX);
		if (!grown)
			return -ENOMEM;
		blob->bytes = grown;
		blob->room = 2 * blob->room + 2 * VARINT_MAX;
	}
	for (; number >= 0x80; number >>= 7)
		grown[blob->size++] = (uint8_t)(number | 0x80);
	grown[blob->size++] = (uint8_t)number;
	return 0;
}

int blob_from_hist(struct blob *blob, const struct hist *hist)
{
	unsigned int skipped = 0;
	int err = 0;

	blob->size = 0;
	for (unsigned int i = 0; i < HIST_BUCKETS && !err; i++) {
		uint64_t count = hist_count(hist, i);

		if (!count) {
			skipped++;
			continue;
		}
		if (count > COUNT_MAX)
			return -ERANGE;
		err = blob_put(blob, count << 2 | (skipped < SKIP_MORE ? skipped : SKIP_MORE));
		if (!err && skipped >= SKIP_MORE)
			err = blob_put(blob, skipped - SKIP_MORE);
		skipped = 0;
	}
	return err;
}

int blob_from_errnos(struct blob *blob, const struct errno_count *errnos, size_t count)
{
	int last = 0, err = 0;

	blob->size = 0;
	for (size_t i = 0; i < count && !err; i++) {
		if (errnos[i].err < last)
			return -ERANGE;
		err = blob_put(blob, (uint64_t)(errnos[i].err - last));
		err = err ?: blob_put(blob, errnos[i].count);
		last = errnos[i].err;
	}
	return err;
}

struct cursor {
	const uint8_t *bytes;
	size_t at, size;
};

static int cursor_take(struct cursor *cursor, uint64_t *ret)
{
	uint64_t number = 0;

	for (unsigned int shift = 0; shift < 64 && cursor->at < cursor->size; shift += 7) {
		uint8_t byte = cursor->bytes[cursor->at++];

		if (shift == 63 && byte > 1)
			return -EUCLEAN;
		number |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret = number;
			return 0;
		}
	}
	return -EUCLEAN;
}

int blob_to_hist(const void *bytes, size_t size, struct hist *hist)
{
	struct cursor cursor = { bytes, 0, bytes ? size : 0 };
	uint64_t bucket = 0, number, more;
	int err;

	while (cursor.at < cursor.size) {
		if (cursor_take(&cursor, &number))
			return -EUCLEAN;
		bucket += number & SKIP_MORE;
		if ((number & SKIP_MORE) == SKIP_MORE) {
			if (cursor_take(&cursor, &more) || more > HIST_BUCKETS)
				return -EUCLEAN;
			bucket += more;
		}
		if (bucket >= HIST_BUCKETS || number >> 2 == 0)
			return -EUCLEAN;
		err = hist_add(hist, (unsigned int)bucket++, number >> 2);
		if (err)
			return err;
	}
	return 0;
}

int blob_to_errnos(const void *bytes, size_t size, struct row *row)
{
	struct cursor cursor = { bytes, 0, bytes ? size : 0 };
	uint64_t last = 0, step, count;
	int err;

	while (cursor.at < cursor.size) {
		if (cursor_take(&cursor, &step) || cursor_take(&cursor, &count) || step > INT_MAX ||
		    last + step > INT_MAX || !count)
			return -EUCLEAN;
		last += step;
		err = row_add_errno(row, (int)last, count);
		if (err)
			return err;
	}
	return 0;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Stands for ROW_NR_OTHER, which has no room for an ABI: no number of 32 bits is as small. */
#define CALL_NR_OTHER ((int64_t)INT32_MIN - 1)

#define CALL_ABIS 8

/* The numbers of a row in the order of their columns, which follow those of its identity. */
static const size_t number_offsets[] = {
	offsetof(struct row, calls),       offsetof(struct row, errors),
	offsetof(struct row, interrupted), offsetof(struct row, untimed),
	offsetof(struct row, denied),      offsetof(struct row, no_return),
	offsetof(struct row, result_sum),  offsetof(struct row, wall_ns),
	offsetof(struct row, off_ns),      offsetof(struct row, runq_ns),
	offsetof(struct row, max_ns),
};

#define NR_NUMBER ARRAY_SIZE(number_offsets)

#define CELL_COLUMNS                                                                       \
	"kind, call, calls, errors, interrupted, untimed, denied, no_return, result_sum, " \
	"wall_ns, off_ns, runq_ns, max_ns, min_ns, histogram, errnos"

/* Columns of these statements. */
enum cell_column {
	COLUMN_KIND,
	COLUMN_CALL,
	COLUMN_NUMBERS,
	COLUMN_MIN = COLUMN_NUMBERS + NR_NUMBER,
	COLUMN_HISTOGRAM,
	COLUMN_ERRNOS,
};

/* A system call as one number: nr * 8 + abi; with it calls of no number come before all others. */
static int64_t call_of(const struct row *row)
{
	return (row->nr == ROW_NR_OTHER ? CALL_NR_OTHER : row->nr) * CALL_ABIS + row->abi;
}

/* Names a call for people. Calls without a name have no row: there may be 2^32. */
static int call_write(struct db *db, const struct row *row)
{
	bool has_number = row->nr >= 0 && row->nr <= INT32_MAX;
	bool moves_data = has_number && syscall_has_trait(row->abi, (int)row->nr, TRAIT_MOVES_DATA);
	const char *name = has_number ? syscall_find_name(row->abi, (int)row->nr) : NULL;
	sqlite3_stmt *insert;

	if (row->nr == ROW_NR_OTHER)
		name = "[other]";
	if (!name)
		return 0;
	return db_query(db,
			"INSERT OR IGNORE INTO call (id, nr, moves_data, abi, name) "
			"VALUES (?, ?, ?, ?, ?)",
			DB_NUMBERS(call_of(row), row->nr, moves_data), &insert)
		       ?: db_bind_text(insert, 4, abi_name(row->abi))
		       ?: db_bind_text(insert, 5, name)
		       ?: db_run(insert);
}

/* The memory of the blobs is used again and again. */
static int cell_write(struct db *db, int64_t interval, const struct row *row,
		      struct blob *histogram, struct blob *errnos)
{
	int64_t numbers[1 + COLUMN_NUMBERS + NR_NUMBER] = { interval, sum_kind(row->boot_ns),
							    call_of(row) };
	sqlite3_stmt *insert;
	int err;

	if (row->nr != ROW_NR_OTHER && (row->nr < INT32_MIN || row->nr > UINT32_MAX))
		return -ERANGE;
	for (size_t i = 0; i < NR_NUMBER; i++)
		memcpy(&numbers[1 + COLUMN_NUMBERS + i], (const char *)row + number_offsets[i],
		       sizeof(*numbers));
	err = blob_from_hist(histogram, &row->hist)
		      ?: blob_from_errnos(errnos, row->errnos, row->nr_errnos)
		      ?: call_write(db, row);
	if (err)
		return err;
	err = db_query(db,
		       "INSERT INTO cell (interval, " CELL_COLUMNS
		       ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		       numbers, ARRAY_SIZE(numbers), &insert);
	/* Parameters begin with 1, and the first one is the interval. */
	if (!err && row->min_ns != UINT64_MAX)
		err = db_errno(sqlite3_bind_int64(insert, 2 + COLUMN_MIN, (int64_t)row->min_ns));
	return err
		       ?: db_bind_blob(insert, 2 + COLUMN_HISTOGRAM, histogram->bytes,
				       histogram->size)
		       ?: db_bind_blob(insert, 2 + COLUMN_ERRNOS, errnos->bytes, errnos->size)
		       ?: db_run(insert);
}

static int write_shares(struct db *db, int64_t interval, const struct snapshot *kinds)
{
	int err = 0;

	for (size_t i = 0; i < kinds->nr_processes && !err; i++) {
		const struct process *kind = &kinds->processes[i];

		err = db_change(db,
				"INSERT INTO share (interval, kind, processes, user_ns) "
				"VALUES (?, ?, ?, ?)",
				DB_NUMBERS(interval, sum_kind(kind->boot_ns),
					   (int64_t)kind->nr_folded, (int64_t)kind->user_ns));
	}
	return err;
}

/* Writes what is added up by kind: cells and shares. */
static int write_kinds(struct db *db, int64_t interval, struct builder *builder)
{
	struct snapshot *kinds __cleanup(snapshot_freep) = calloc(1, sizeof(*kinds));
	struct blob histogram __cleanup(blob_done) = { 0 }, errnos __cleanup(blob_done) = { 0 };
	int err = 0;

	if (!kinds || builder_finish(builder, kinds))
		return -ENOMEM;
	for (size_t i = 0; i < kinds->nr_rows && !err; i++)
		err = cell_write(db, interval, kinds->rows[i], &histogram, &errnos);
	return err ?: write_shares(db, interval, kinds);
}

static int write_losses(struct db *db, int64_t interval, const struct losses *losses)
{
	sqlite3_stmt *insert;
	int err = 0;

	for (int i = 0; i < NR_MODEL_LOSS && !err; i++) {
		if (!losses->count[i])
			continue;
		err = db_query(db, "INSERT INTO loss (interval, count, name) VALUES (?, ?, ?)",
			       DB_NUMBERS(interval, (int64_t)losses->count[i]), &insert)
			      ?: db_bind_text(insert, 3, loss_texts[i].name)
			      ?: db_run(insert);
	}
	return err;
}

int content_write(struct db *db, int64_t interval, struct sum *sum)
{
	return (sum->builder ? write_kinds(db, interval, sum->builder) : 0)
		       ?: write_losses(db, interval, &sum->losses)
		       ?: kinds_touch(db, interval);
}

/* A row of pid 0, to be freed with row_done(). 0, -ENOMEM, or -EUCLEAN. */
static int cell_to_row(sqlite3_stmt *columns, struct row *row)
{
	int64_t call = sqlite3_column_int64(columns, COLUMN_CALL);

	row_init(row);
	/* The remainder of a negative number is not the ABI. */
	if ((call & (CALL_ABIS - 1)) >= NR_SYSCALL_ABI)
		return -EUCLEAN;
	row->abi = (enum syscall_abi)(call & (CALL_ABIS - 1));
	row->nr = (call - (int64_t)row->abi) / CALL_ABIS;
	if (row->nr == CALL_NR_OTHER)
		row->nr = ROW_NR_OTHER;
	for (size_t i = 0; i < NR_NUMBER; i++) {
		int64_t number = sqlite3_column_int64(columns, COLUMN_NUMBERS + (int)i);

		memcpy((char *)row + number_offsets[i], &number, sizeof(number));
	}
	if (sqlite3_column_type(columns, COLUMN_MIN) != SQLITE_NULL)
		row->min_ns = (uint64_t)sqlite3_column_int64(columns, COLUMN_MIN);
	return blob_to_hist(sqlite3_column_blob(columns, COLUMN_HISTOGRAM),
			    (size_t)sqlite3_column_bytes(columns, COLUMN_HISTOGRAM), &row->hist)
		       ?: blob_to_errnos(sqlite3_column_blob(columns, COLUMN_ERRNOS),
					 (size_t)sqlite3_column_bytes(columns, COLUMN_ERRNOS), row);
}

static int read_cell(sqlite3_stmt *columns, struct sum *sum)
{
	int64_t kind = kind_set_find(sum->kinds, sqlite3_column_int64(columns, COLUMN_KIND));
	struct row row;
	int err;

	if (kind == KIND_NONE)
		return 0;
	err = cell_to_row(columns, &row) ?: sum_add_row(sum, kind, &row);
	row_done(&row);
	return err;
}

static int read_share(sqlite3_stmt *columns, struct sum *sum)
{
	int64_t kind = kind_set_find(sum->kinds, sqlite3_column_int64(columns, 0));

	if (kind == KIND_NONE)
		return 0;
	return sum_add_share(sum, kind, (uint64_t)sqlite3_column_int64(columns, 1),
			     (uint64_t)sqlite3_column_int64(columns, 2));
}

static int read_loss(sqlite3_stmt *columns, struct sum *sum)
{
	__cleanup(freep) char *name = NULL;
	int err = db_column_text(columns, 0, &name);

	for (int i = 0; i < NR_MODEL_LOSS && !err; i++) {
		if (name && !strcmp(loss_texts[i].name, name))
			sum->losses.count[i] += (uint64_t)sqlite3_column_int64(columns, 1);
	}
	return err;
}

int content_add(struct db *db, int64_t interval, struct sum *sum)
{
	static const struct {
		const char *sql;
		int (*read)(sqlite3_stmt *columns, struct sum *sum);
	} tables[] = {
		{ "SELECT " CELL_COLUMNS " FROM cell WHERE interval = ?", read_cell },
		{ "SELECT kind, processes, user_ns FROM share WHERE interval = ?", read_share },
		{ "SELECT name, count FROM loss WHERE interval = ?", read_loss },
	};
	int err = 0, more;

	for (size_t i = 0; i < ARRAY_SIZE(tables) && !err; i++) {
		sqlite3_stmt *columns __cleanup(db_resetp) = NULL;

		err = db_query(db, tables[i].sql, DB_NUMBERS(interval), &columns);
		if (err)
			return err;
		while (!err && (more = db_next(columns)) == 1)
			err = tables[i].read(columns, sum);
		err = err ?: more;
	}
	return err;
}
