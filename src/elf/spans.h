/* SPDX-License-Identifier: BSD-2-Clause */
/* Who owns an address when claims overlap. */
#ifndef BPFTRUSS_SPANS_H
#define BPFTRUSS_SPANS_H

#include <stddef.h>
#include <stdint.h>

struct claim {
	uint64_t start;
	uint64_t end; /* one past; above start */
};

struct span {
	uint64_t start;
	uint64_t end;
	size_t owner; /* index of the claim */
};

/*
 * Of the claims on an address the one last in the array wins. Spans ascend and do not overlap;
 * there are at most twice as many as claims. *ret is to be freed.
 * Returns 0 or -ENOMEM.
 */
int spans_make(const struct claim *claims, size_t nr, struct span **ret, size_t *nr_ret);

#endif
