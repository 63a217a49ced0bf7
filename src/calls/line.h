/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Builds text piece by piece, above all the lines of calls. It keeps its memory, so that the next
 * line costs no allocation. Without memory, the rest is left out and `failed` is set.
 */
#pragma once

#include "base/mem.h"

struct line {
	char *bytes; /* owned; not ended by a NUL */
	size_t used, size;
	bool failed;
	bool has_late; /* some line had a value marked as late: its reader needs LINE_LATE_LEGEND */
};

/* Explains line_mark_late(), behind all lines. */
#define LINE_LATE_LEGEND \
	"\"?\" after a value: it was read when the call had ended, and may have changed meanwhile"

void line_done(struct line *line);

/* Makes room; false: no memory. */
bool line_grow(struct line *line, size_t count);

/* Begins anew; has_late stays. */
static inline void line_clear(struct line *line)
{
	line->used = 0;
	line->failed = false;
}

/* Makes room for bytes that the caller writes and adds to used. NULL: no memory. */
static inline char *line_room(struct line *line, size_t count)
{
	if (line->size - line->used < count && !line_grow(line, count))
		return NULL;
	return line->bytes + line->used;
}

static inline void line_put(struct line *line, const char *bytes, size_t count)
{
	char *room = line_room(line, count);

	if (room && count) {
		memcpy(room, bytes, count);
		line->used += count;
	}
}

static inline void line_put_word(struct line *line, const char *word)
{
	line_put(line, word, strlen(word));
}

static inline void line_put_char(struct line *line, char c)
{
	char *room = line_room(line, 1);

	if (room) {
		*room = c;
		line->used++;
	}
}

/* Marks the value before as read only when the call had ended. */
static inline void line_mark_late(struct line *line)
{
	line_put_char(line, '?');
	line->has_late = true;
}

void line_put_natural(struct line *line, uint64_t value);
void line_put_number(struct line *line, int64_t value);

/* Writes at least so many digits. */
void line_put_digits(struct line *line, uint64_t value, unsigned int digits);

/* 0x1f; 0 is 0 if is_plain_zero, else 0x0. */
void line_put_hex(struct line *line, uint64_t value, bool is_plain_zero);

/* Writes a leading 0 and at least so many digits. */
void line_put_octal(struct line *line, uint64_t value, unsigned int digits);

/* Seconds with six decimals, rounded down. */
void line_put_seconds(struct line *line, uint64_t ns);

/*
 * Bytes in printable ASCII as C has it: \n, \", and shortest octal numbers; characters of `more` become
 * numbers, too.
 */
void line_put_escaped(struct line *line, const void *bytes, size_t count, const char *more);

/* Blanks up to a column, counted from `start`; `least` at least. */
void line_pad(struct line *line, size_t start, size_t column, size_t least);
