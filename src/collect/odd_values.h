/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The numbers and errnos without a name that rows may have. A program can call any number, and a
 * filter can answer with any errno: only the first ones seen are kept, and the choice is for good, so
 * that no row of a later reading lacks what an earlier one had. No user has more than are left.
 */
#ifndef BPFTRUSS_ODD_VALUES_H
#define BPFTRUSS_ODD_VALUES_H

#include "model/row.h"

#define MAX_ODD_VALUES 128

struct odd_values {
	struct {
		enum syscall_abi abi;
		int64_t nr;
	} calls[MAX_ODD_VALUES];
	int errnos[MAX_ODD_VALUES];
	uint32_t callers[MAX_ODD_VALUES],
		failers[MAX_ODD_VALUES]; /* the users who had them first */
	size_t nr_calls, nr_errnos;
};

/*
 * Forgets the number of a user's row, which is then ROW_NR_OTHER, and those of its errnos, unless they
 * have a name or are kept.
 */
void odd_values_apply(struct odd_values *odd, uint32_t uid, struct row *row);

#endif
