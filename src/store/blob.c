/* SPDX-License-Identifier: BSD-2-Clause */
/* Encodes and decodes blobs. Decoding believes nothing of what it reads. */
#include "store/blob.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

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
