/* SPDX-License-Identifier: BSD-2-Clause */
/* Text and numbers as people read them, and the small arithmetic that many places need. */
#pragma once

#include "base/mem.h"

/* --- numbers --- */

/* Orders numbers, as qsort() wants it. */
static inline int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* The same of items that begin with one. */
static inline int compare_first_u64(const void *a, const void *b)
{
	return compare_u64(*(const uint64_t *)a, *(const uint64_t *)b);
}

static inline int compare_first_u32(const void *a, const void *b)
{
	return compare_u64(*(const uint32_t *)a, *(const uint32_t *)b);
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Returns the index of the first item whose first member is not below a number. */
static inline size_t place_u64(const void *items, size_t count, size_t size, uint64_t number)
{
	size_t low = 0;

	while (low < count) {
		size_t middle = (low + count) / 2;

		if (*(const uint64_t *)((const char *)items + middle * size) < number)
			low = middle + 1;
		else
			count = middle;
	}
	return low;
}

/* How much more the whole is than the part: 0 if it is less. */
static inline uint64_t above(uint64_t whole, uint64_t part)
{
	return whole > part ? whole - part : 0;
}

/* The sum of two counts, but no more than a reader of JSON can hold: it never becomes small again. */
static inline uint64_t add_bounded(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) || sum > INT64_MAX ? INT64_MAX : sum;
}

/* The end of a noun that stands behind its number. */
static inline const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* Writes a text in which {one|many} depends on a count: "call{|s} without {its|their} time". */
void text_plural(const char *text, uint64_t count, char *buf, size_t size);

#define AGE_MAX 32

/* Writes a duration for people: 850 ns, 12.3 us, 4.56 ms, 12.345 s. */
void format_age(uint64_t ns, char *buf, size_t size);

/* The same, but from a minute on in the unit that fits, rounded down: 12.3 min, 3.2 h, 4.1 d. */
void format_long_age(uint64_t ns, char *buf, size_t size);

/* Gives a whole column of times one unit: chosen from its largest value, named in its title. */
struct time_scale {
	const char *unit; /* "us" */
	uint64_t unit_ns;
	int decimals;
};

/*
 * For latencies of single calls, where small ones matter beside large ones, and for sums. A column
 * is at most ten characters wide up to eleven days.
 */
const struct time_scale *scale_for_latencies(uint64_t largest_ns);
const struct time_scale *scale_for_sums(uint64_t largest_ns);

#define SCALED_MAX 32

/* Writes 1234.567, rounded; what is not 0 but too little to be seen is "<0.001". */
void scale_format(const struct time_scale *scale, uint64_t ns, char *buf, size_t size);

/* Reads a decimal number that is the whole text. False: it is none, or more than most. */
bool number_read(const char *text, uint64_t most, uint64_t *ret);

/* --- text --- */

/* Longest result of text_escape_visible() of n bytes, with its NUL. */
#define TEXT_ESCAPED_MAX(n) ((n) * 4 + 1)

/*
 * Writes untrusted bytes, up to the first NUL or size bytes, as UTF-8 that can be shown as it is: a
 * byte that is not part of valid UTF-8, control characters (DEL, C0 and C1), those that reorder or
 * break lines or take no room, and noncharacters U+FFFE and U+FFFF become \xNN.
 */
void text_escape_visible(const char *bytes, size_t size, char *out);

/* The same of a whole string; to be freed. NULL: no memory. */
char *text_visible(const char *text);

/*
 * Works as text_escape_visible() for a name that stands beside rows of our own, as "[overflow]" or
 * "(3 others)": it begins like none of them.
 */
void text_escape_name(const char *bytes, size_t size, char *out);

/*
 * Writes bytes, up to a NUL or length, as printable ASCII: each other byte becomes \xNN. Bytes that
 * do not fit are left out.
 */
void text_escape_ascii(const char *bytes, size_t length, char *buf, size_t size);

/*
 * Undoes in place the escapes that JSON has for bytes that are no UTF-8. An \xNN that was written
 * as such cannot be told from those and becomes a byte, too, unless that would be escaped
 * differently: so JSON always has the result as the same text again.
 */
void text_unescape(char *text);

/* Length of the printable ASCII that bytes begin with, up to ", a backslash, a NUL or size. */
size_t text_plain_length(const char *bytes, size_t size);

/*
 * Code point of the character that bytes begin with; *length is that of its bytes, 0 if they begin
 * with no valid UTF-8 (RFC 3629) or with DEL.
 */
unsigned int text_code(const char *bytes, size_t size, size_t *length);

/* Columns on a screen that valid UTF-8 without control characters takes, as far as we know. */
size_t text_width(const char *text);

/* Cuts such a text to so many columns, 2 at least; its end then is "..". */
void text_cut(char *text, size_t width);

/* Cuts it to as many whole fields, parted by two blanks, as so many columns have; the first stays. */
void text_cut_fields(char *text, size_t width);

/* Works like text_cut(), but its beginning goes, and is ".." then. */
void text_cut_front(char *text, size_t width);
