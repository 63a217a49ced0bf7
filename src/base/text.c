/* SPDX-License-Identifier: BSD-2-Clause */
/* Spells times, bytes that somebody else chose, and errors for users. */
#include "base/text.h"

#include "base/diag.h"

/* --- times --- */

void format_age(uint64_t ns, char *buf, size_t size)
{
	/* Each limit is where the form below would round up into the next unit. */
	if (ns < 1000)
		snprintf(buf, size, "%u ns", (unsigned int)ns);
	else if (ns < 999950)
		snprintf(buf, size, "%.1f us", (double)ns / 1e3);
	else if (ns < 999995000)
		snprintf(buf, size, "%.2f ms", (double)ns / 1e6);
	else
		snprintf(buf, size, "%.3f s", (double)ns / 1e9);
}

void format_long_age(uint64_t ns, char *buf, size_t size)
{
	static const struct {
		const char *name;
		uint64_t seconds, below;
	} units[] = { { "min", 60, 3600 }, { "h", 3600, 86400 }, { "d", 86400, UINT64_MAX } };
	uint64_t seconds = ns / 1000000000, tenths;
	size_t i = 0;

	if (seconds < 60) {
		format_age(ns, buf, size);
		return;
	}
	while (seconds >= units[i].below)
		i++;
	tenths = seconds * 10 / units[i].seconds;
	snprintf(buf, size, "%" PRIu64 ".%" PRIu64 " %s", tenths / 10, tenths % 10, units[i].name);
}

struct scale_step {
	uint64_t below_ns; /* for largest values below this */
	struct time_scale scale;
};

static const struct time_scale *scale_find(const struct scale_step *step, uint64_t largest_ns)
{
	while (largest_ns >= step->below_ns && step->below_ns != UINT64_MAX)
		step++;
	return &step->scale;
}

const struct time_scale *scale_for_latencies(uint64_t largest_ns)
{
	static const struct scale_step steps[] = {
		{ 10000000, { "us", 1000, 3 } },
		{ 100000000, { "us", 1000, 1 } },
		{ 1000000000000, { "ms", 1000000, 3 } },
		{ UINT64_MAX, { "s", 1000000000, 3 } },
	};

	return scale_find(steps, largest_ns);
}

const struct time_scale *scale_for_sums(uint64_t largest_ns)
{
	static const struct scale_step steps[] = {
		{ 10000000, { "us", 1000, 1 } },
		{ 1000000000000, { "ms", 1000000, 3 } },
		{ UINT64_MAX, { "s", 1000000000, 3 } },
	};

	return scale_find(steps, largest_ns);
}

void scale_format(const struct time_scale *scale, uint64_t ns, char *buf, size_t size)
{
	uint64_t parts = 1, step, count;

	for (int i = 0; i < scale->decimals; i++)
		parts *= 10;
	step = scale->unit_ns / parts;
	count = ns / step + (ns % step >= (step + 1) / 2);
	if (ns && !count)
		snprintf(buf, size, "<0.%0*d", scale->decimals, 1);
	else
		snprintf(buf, size, "%" PRIu64 ".%0*" PRIu64, count / parts, scale->decimals,
			 count % parts);
}

bool number_read(const char *text, uint64_t most, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	/* strtoull() would accept blanks and signs, too. */
	return *text >= '0' && *text <= '9' && !*end && !errno && *ret <= most;
}

/* --- UTF-8 --- */

unsigned int text_code(const char *bytes, size_t size, size_t *length)
{
	static const unsigned int least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned char first = (unsigned char)*bytes;
	size_t count = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	unsigned int code = count == 1 ? first : first & (0x7fu >> count);

	*length = 0;
	if (first == 0x7f || (first >= 0x80 && first < 0xc0) || first >= 0xf8)
		return first;
	for (size_t i = 1; i < count; i++) {
		if (i >= size || (bytes[i] & 0xc0) != 0x80)
			return first;
		code = code << 6 | (bytes[i] & 0x3f);
	}
	/* Neither longer than it need be, nor half of a pair of UTF-16, nor beyond the last one. */
	if (code >= least[count] && code >> 11 != 0xd800 >> 11 && code <= 0x10ffff)
		*length = count;
	return code;
}

/*
 * Characters that act on a screen instead of standing on it, or cannot be seen: Unicode's
 * Default_Ignorable_Code_Point, too.
 */
static bool is_visible(unsigned int code)
{
	static const struct {
		unsigned int low, high;
	} hidden[] = {
		{ 0x00, 0x1f },       { 0x7f, 0x9f },       { 0xad, 0xad },
		{ 0x34f, 0x34f },     { 0x61c, 0x61c },     { 0x115f, 0x1160 },
		{ 0x17b4, 0x17b5 },   { 0x180b, 0x180f },   { 0x200b, 0x200f },
		{ 0x2028, 0x202e },   { 0x2060, 0x206f },   { 0x3164, 0x3164 },
		{ 0xfe00, 0xfe0f },   { 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 },
		{ 0xfff0, 0xfff8 },   { 0xfffe, 0xffff },   { 0x1bca0, 0x1bca3 },
		{ 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
	};

	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++) {
		if (code >= hidden[i].low && code <= hidden[i].high)
			return false;
	}
	return true;
}

/* --- escapes --- */

/* Length of \xNN. */
#define ESCAPE_LENGTH 4

static char *escape_byte(char byte, char *out)
{
	return out + sprintf(out, "\\x%02x", (unsigned char)byte);
}

void text_escape_visible(const char *bytes, size_t size, char *out)
{
	size_t left = strnlen(bytes, size), length;

	for (; left; bytes += length, left -= length) {
		unsigned int code = text_code(bytes, left, &length);

		if (length && is_visible(code)) {
			memcpy(out, bytes, length);
			out += length;
			continue;
		}
		length = length ?: 1;
		for (size_t i = 0; i < length; i++)
			out = escape_byte(bytes[i], out);
	}
	*out = 0;
}

char *text_visible(const char *text)
{
	size_t length = strlen(text);
	char *visible = malloc(TEXT_ESCAPED_MAX(length));

	if (visible)
		text_escape_visible(text, length, visible);
	return visible;
}

void text_escape_name(const char *bytes, size_t size, char *out)
{
	size_t left = strnlen(bytes, size);

	if (left &&
	    (*bytes == '[' || (*bytes == '(' && left > 1 && bytes[1] >= '0' && bytes[1] <= '9'))) {
		out = escape_byte(*bytes++, out);
		left--;
	}
	text_escape_visible(bytes, left, out);
}

void text_escape_ascii(const char *bytes, size_t length, char *buf, size_t size)
{
	char *end = buf + size - 1;

	for (size_t i = 0; i < length && bytes[i] && end - buf >= ESCAPE_LENGTH; i++) {
		if (bytes[i] < ' ' || bytes[i] > '~')
			buf = escape_byte(bytes[i], buf);
		else
			*buf++ = bytes[i];
	}
	*buf = 0;
}

/* The byte of an escape \xNN, or 0 when there is none. */
static unsigned char escaped_byte(const char *text)
{
	static const char digits[] = "0123456789abcdef";
	size_t length = strncmp(text, "\\x", 2) ? 0 : strspn(text + 2, digits);

	if (length < 2)
		return 0;
	return (unsigned char)((strchr(digits, text[2]) - digits) << 4 |
			       (strchr(digits, text[3]) - digits));
}

void text_unescape(char *text)
{
	char run[4], *out = text;

	while (*text) {
		size_t count = 0, length;

		/* Escapes that follow each other, as many as the longest sequence has bytes. */
		while (count < sizeof(run) &&
		       (run[count] = (char)escaped_byte(text + count * ESCAPE_LENGTH)))
			count++;
		if (!count || (unsigned char)run[0] < 0x7f) {
			*out++ = *text++;
			continue;
		}
		text_code(run, count, &length);
		/* Somebody wrote an escape that our writer does not make. */
		if (length) {
			memmove(out, text, ESCAPE_LENGTH);
			out += ESCAPE_LENGTH;
		} else {
			*out++ = run[0];
		}
		text += ESCAPE_LENGTH;
	}
	*out = 0;
}

/* --- widths --- */

size_t text_plain_length(const char *bytes, size_t size)
{
	size_t length = 0;

	while (length < size && bytes[length] >= ' ' && bytes[length] <= '~' &&
	       bytes[length] != '"' && bytes[length] != '\\')
		length++;
	return length;
}

size_t text_width(const char *text)
{
	size_t width = 0;

	/* All bytes but those that continue a sequence. */
	for (; *text; text++)
		width += (*text & 0xc0) != 0x80;
	return width;
}

void text_cut(char *text, size_t width)
{
	size_t at = 0;

	if (text_width(text) <= width)
		return;
	for (size_t seen = 0; text[at]; at++) {
		seen += (text[at] & 0xc0) != 0x80;
		if (seen > width - 2)
			break;
	}
	strcpy(text + at, "..");
}

void text_cut_fields(char *text, size_t width)
{
	size_t at = strlen(text);

	while (text_width(text) > width) {
		while (at && (text[at] != ' ' || text[at + 1] != ' '))
			at--;
		if (!at)
			return;
		text[at] = '\0';
	}
}

void text_cut_front(char *text, size_t width)
{
	size_t length = strlen(text), at = length;

	if (text_width(text) <= width)
		return;
	for (size_t seen = 0; at && seen < width - 2; at--)
		seen += (text[at - 1] & 0xc0) != 0x80;
	/* A column takes at least one byte, so there is room for the dots. */
	memmove(text + 2, text + at, length - at + 1);
	text[0] = text[1] = '.';
}

/* --- errors ----------------------------------------------------------------------------------- */

void text_plural(const char *text, uint64_t count, char *buf, size_t size)
{
	const bool is_many = count != 1;
	bool in_choice = false, is_second = false;
	size_t used = 0;

	for (; *text && used + 1 < size; text++) {
		if (*text == '{' || *text == '}')
			in_choice = *text == '{', is_second = false;
		else if (in_choice && *text == '|')
			is_second = true;
		else if (!in_choice || is_second == is_many)
			buf[used++] = *text;
	}
	buf[used] = 0;
}

int diag_set(struct diag *d, enum diag_kind kind, int err, const char *format, ...)
{
	va_list args;

	if (d) {
		d->kind = kind;
		va_start(args, format);
		vsnprintf(d->text, sizeof(d->text), format, args);
		va_end(args);
	}
	return -err;
}

int diag_oom(struct diag *d)
{
	return diag_set(d, DIAG_FAILED, ENOMEM, "out of memory");
}
