/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns compression. */
#include "report/gzip.h"

#include <errno.h>
#include <zlib.h>

#include "base/mem.h"

#define WINDOW_GZIP (15 + 16) /* the largest window, and zlib's way to ask for gzip's header */
#define MEMORY      8
#define IN_MAX      (1U << 30) /* zlib counts in 32 bits */
#define OUT_SIZE    65536

static void deflate_done(z_stream *stream)
{
	deflateEnd(stream);
}

/* Writes all that a piece of input gives. */
static int deflate_piece(z_stream *stream, int flush, unsigned char *buffer, FILE *out)
{
	do {
		size_t size;

		stream->next_out = buffer;
		stream->avail_out = OUT_SIZE;
		if (deflate(stream, flush) == Z_STREAM_ERROR)
			return -EIO;
		size = OUT_SIZE - stream->avail_out;
		if (fwrite(buffer, 1, size, out) != size)
			return -EIO;
	} while (!stream->avail_out);
	return 0;
}

int gzip_write(const void *bytes, size_t size, FILE *out)
{
	unsigned char *buffer __cleanup(freep) = malloc(OUT_SIZE);
	z_stream stream __cleanup(deflate_done) = { .zalloc = Z_NULL };
	int err = 0;

	if (!buffer || deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_GZIP, MEMORY,
				    Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	stream.next_in = (unsigned char *)bytes;
	do {
		stream.avail_in = size > IN_MAX ? IN_MAX : (uInt)size;
		size -= stream.avail_in;
		err = deflate_piece(&stream, size ? Z_NO_FLUSH : Z_FINISH, buffer, out);
	} while (size && !err);
	return err;
}
