/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Histograms and errnos of a cell as bytes. Numbers are varints: 7 bits a byte, the least
 * significant first, all but the last byte with its top bit set; they have 64 bits.
 *
 * histogram: for each bucket with calls, in ascending order, (count << 2 | skipped), where skipped
 * is the number of buckets without between it and the one before it; or 3, and then a varint of
 * that number less 3 follows. Counts are below 2^62.
 *
 * errnos: for each errno, in ascending order, its distance from the one before it, then the count.
 */
#ifndef BPFTRUSS_STORE_BLOB_H
#define BPFTRUSS_STORE_BLOB_H

#include <stddef.h>
#include <stdint.h>

#include "hist/hist.h"
#include "model/row.h"

struct blob {
	uint8_t *bytes; /* owned; the memory is used again */
	size_t size, room;
};

void blob_done(struct blob *blob);

/* Replace what the blob has. Return 0, -ENOMEM, or -ERANGE for a count that is too large. */
int blob_from_hist(struct blob *blob, const struct hist *hist);
int blob_from_errnos(struct blob *blob, const struct errno_count *errnos, size_t count);

/* Add to what the row has. Return 0, -ENOMEM, or -EUCLEAN for bytes that were not made above. */
int blob_to_hist(const void *bytes, size_t size, struct hist *hist);
int blob_to_errnos(const void *bytes, size_t size, struct row *row);

#endif
