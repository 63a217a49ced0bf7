/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the columns of cells. */
#include "store/cell.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "store/checksum.h"
#include "store/db.h"

/* Stands for ROW_NR_OTHER, which has no room for an ABI: no number of 32 bits is as small. */
#define CALL_NR_OTHER ((int64_t)INT32_MIN - 1)

#define CALL_ABIS 8

/* The numbers of a row in the order of their columns. */
static const size_t number_offsets[NR_CELL_NUMBER] = {
	offsetof(struct row, calls),       offsetof(struct row, errors),
	offsetof(struct row, interrupted), offsetof(struct row, untimed),
	offsetof(struct row, denied),      offsetof(struct row, no_return),
	offsetof(struct row, result_sum),  offsetof(struct row, wall_ns),
	offsetof(struct row, off_ns),      offsetof(struct row, runq_ns),
	offsetof(struct row, max_ns),
};

void cell_buffers_done(struct cell_buffers *buffers)
{
	blob_done(&buffers->histogram);
	blob_done(&buffers->errnos);
}

int64_t cell_call(enum syscall_abi abi, int64_t nr)
{
	return (nr == ROW_NR_OTHER ? CALL_NR_OTHER : nr) * CALL_ABIS + abi;
}

int cell_from_row(struct cell *cell, int64_t kind, const struct row *row,
		  struct cell_buffers *buffers)
{
	int err;

	if (row->nr != ROW_NR_OTHER && (row->nr < INT32_MIN || row->nr > UINT32_MAX))
		return -ERANGE;
	err = blob_from_hist(&buffers->histogram, &row->hist);
	err = err ?: blob_from_errnos(&buffers->errnos, row->errnos, row->nr_errnos);
	if (err)
		return err;
	*cell = (struct cell){
		.kind = kind,
		.call = cell_call(row->abi, row->nr),
		.min_ns = row->min_ns,
		.histogram = buffers->histogram.bytes,
		.histogram_size = buffers->histogram.size,
		.errnos = buffers->errnos.bytes,
		.errnos_size = buffers->errnos.size,
	};
	for (size_t i = 0; i < NR_CELL_NUMBER; i++)
		memcpy(&cell->numbers[i], (const char *)row + number_offsets[i],
		       sizeof(cell->numbers[i]));
	return 0;
}

int cell_to_row(const struct cell *cell, struct row *row)
{
	int err;

	/* The remainder of a negative number is not the ABI. */
	if ((cell->call & (CALL_ABIS - 1)) >= NR_SYSCALL_ABI)
		return -EBADMSG;
	row_init(row);
	row->abi = (enum syscall_abi)(cell->call & (CALL_ABIS - 1));
	row->nr = (cell->call - (int64_t)row->abi) / CALL_ABIS;
	if (row->nr == CALL_NR_OTHER)
		row->nr = ROW_NR_OTHER;
	for (size_t i = 0; i < NR_CELL_NUMBER; i++)
		memcpy((char *)row + number_offsets[i], &cell->numbers[i],
		       sizeof(cell->numbers[i]));
	row->min_ns = cell->min_ns;
	err = blob_to_hist(cell->histogram, cell->histogram_size, &row->hist);
	err = err ?: blob_to_errnos(cell->errnos, cell->errnos_size, row);
	if (err)
		row_done(row);
	return err;
}

uint32_t cell_checksum(uint32_t sum, const struct cell *cell)
{
	sum = checksum_number(sum, (uint64_t)cell->kind);
	sum = checksum_number(sum, (uint64_t)cell->call);
	for (size_t i = 0; i < NR_CELL_NUMBER; i++)
		sum = checksum_number(sum, cell->numbers[i]);
	sum = checksum_number(sum, cell->min_ns);
	sum = checksum_bytes(sum, cell->histogram, cell->histogram_size);
	return checksum_bytes(sum, cell->errnos, cell->errnos_size);
}

/* Nothing is NULL, which takes no room. */
static int bind_blob(sqlite3_stmt *insert, int index, const void *bytes, size_t size)
{
	if (!size)
		return 0;
	return db_errno(sqlite3_bind_blob(insert, index, bytes, (int)size, SQLITE_STATIC));
}

int cell_bind(sqlite3_stmt *insert, int64_t owner, const struct cell *cell)
{
	int64_t numbers[3 + NR_CELL_NUMBER] = { owner, cell->kind, cell->call };
	int index = ARRAY_SIZE(numbers);
	int err;

	for (size_t i = 0; i < NR_CELL_NUMBER; i++)
		numbers[3 + i] = (int64_t)cell->numbers[i];
	err = db_bind(insert, numbers, ARRAY_SIZE(numbers));
	index++;
	if (!err && cell->min_ns != UINT64_MAX)
		err = db_errno(sqlite3_bind_int64(insert, index, (int64_t)cell->min_ns));
	err = err ?: bind_blob(insert, index + 1, cell->histogram, cell->histogram_size);
	return err ?: bind_blob(insert, index + 2, cell->errnos, cell->errnos_size);
}

void cell_from_columns(sqlite3_stmt *row, struct cell *cell)
{
	int column = 0;

	cell->kind = sqlite3_column_int64(row, column++);
	cell->call = sqlite3_column_int64(row, column++);
	for (size_t i = 0; i < NR_CELL_NUMBER; i++)
		cell->numbers[i] = (uint64_t)sqlite3_column_int64(row, column++);
	cell->min_ns = sqlite3_column_type(row, column) == SQLITE_NULL
			       ? UINT64_MAX
			       : (uint64_t)sqlite3_column_int64(row, column);
	column++;
	cell->histogram = sqlite3_column_blob(row, column);
	cell->histogram_size = (size_t)sqlite3_column_bytes(row, column++);
	cell->errnos = sqlite3_column_blob(row, column);
	cell->errnos_size = (size_t)sqlite3_column_bytes(row, column);
	if (!cell->histogram)
		cell->histogram_size = 0;
	if (!cell->errnos)
		cell->errnos_size = 0;
}
