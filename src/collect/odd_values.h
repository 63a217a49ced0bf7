/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the numbers and errnos without a name that rows may have. A program can call any number,
 * and a filter can answer with any errno: only the first ones of a user are kept, and a decision is
 * final, so that no row of a later reading lacks what an earlier one had. No user gets more than
 * are left.
 */
#pragma once

#include "model/row.h"

#define MAX_ODD_VALUES 128

struct odd_list {
	struct odd_value {
		uint32_t share; /* whose it is */
		uint32_t abi;
		int64_t value;
	} values[MAX_ODD_VALUES];
	size_t nr;
};

struct odd_values {
	struct odd_list calls, errnos;
};

/*
 * Forgets the number of a row, which is then ROW_NR_OTHER, and those of its errnos, unless they have a
 * name or are kept for the share of its record (own_share, which never changes).
 */
void odd_values_apply(struct odd_values *odd, uint32_t share, struct row *row);
