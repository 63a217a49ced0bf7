/* SPDX-License-Identifier: BSD-2-Clause */
/* A row of cell or baseline_cell, between a row of the model and columns of SQL. */
#ifndef BPFTRUSS_STORE_CELL_H
#define BPFTRUSS_STORE_CELL_H

#include <stdbool.h>
#include <stdint.h>

#include "model/row.h"
#include "store/blob.h"

struct sqlite3_stmt;

#define NR_CELL_NUMBER 11

/* The values of the columns; blobs are borrowed. */
struct cell {
	int64_t kind, call;
	uint64_t numbers[NR_CELL_NUMBER];
	uint64_t min_ns; /* UINT64_MAX is NULL */
	const void *histogram, *errnos;
	size_t histogram_size, errnos_size;
};

/* What encoding needs; it may be used again and again. */
struct cell_buffers {
	struct blob histogram, errnos;
};

void cell_buffers_done(struct cell_buffers *buffers);

/* A system call as one number: nr * 8 + abi; with it calls of no number come before all others. */
int64_t cell_call(enum syscall_abi abi, int64_t nr);

/* 0, -ENOMEM, or -ERANGE for counts that no calls can have. */
int cell_from_row(struct cell *cell, int64_t kind, const struct row *row,
		  struct cell_buffers *buffers);

/* Makes a row of pid 0, to be freed with row_done(). 0, -ENOMEM, or -EBADMSG. */
int cell_to_row(const struct cell *cell, struct row *row);

uint32_t cell_checksum(uint32_t sum, const struct cell *cell);

/* Parameter 1 is the owner, the columns follow in order. See db.h for the errors. */
int cell_bind(struct sqlite3_stmt *insert, int64_t owner, const struct cell *cell);

/* Borrows from the statement until its next row. */
void cell_from_columns(struct sqlite3_stmt *row, struct cell *cell);

#endif
