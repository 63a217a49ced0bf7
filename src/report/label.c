/* SPDX-License-Identifier: BSD-2-Clause */
/* Spells rows, times, histograms and untrusted bytes. */
#include "report/label.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Of \xNN. */
#define ESCAPE_LENGTH 4

void row_name(const struct row *row, char buf[SYSCALL_NAME_MAX])
{
	if (row->nr == ROW_NR_OTHER)
		strcpy(buf, "[other]");
	else
		syscall_name(row->abi, (int)row->nr, buf, SYSCALL_NAME_MAX);
}

void row_label(const struct row *row, char *buf, size_t size)
{
	char name[SYSCALL_NAME_MAX];

	row_name(row, name);
	if (row->abi == LABEL_NATIVE_ABI)
		snprintf(buf, size, "%s", name);
	else
		snprintf(buf, size, "%s/%s", name, abi_name(row->abi));
}

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

struct scale_step {
	uint64_t below_ns; /* for largest values below this; the last step has no limit */
	struct time_scale scale;
};

static const struct scale_step latency_steps[] = {
	{ 10000000, { "us", 1000, 3 } },
	{ 10000000000, { "us", 1000, 1 } },
	{ 1000000000000, { "ms", 1000000, 3 } },
	{ UINT64_MAX, { "s", 1000000000, 3 } },
};

static const struct scale_step sum_steps[] = {
	{ 10000000, { "us", 1000, 1 } },
	{ 10000000000, { "ms", 1000000, 3 } },
	{ UINT64_MAX, { "s", 1000000000, 3 } },
};

static const struct time_scale *scale_find(const struct scale_step *step, uint64_t largest_ns)
{
	while (largest_ns >= step->below_ns && step->below_ns != UINT64_MAX)
		step++;
	return &step->scale;
}

const struct time_scale *scale_for_latencies(uint64_t largest_ns)
{
	return scale_find(latency_steps, largest_ns);
}

const struct time_scale *scale_for_sums(uint64_t largest_ns)
{
	return scale_find(sum_steps, largest_ns);
}

void scale_format(const struct time_scale *scale, uint64_t ns, char *buf, size_t size)
{
	uint64_t parts = 1, step, count;

	for (int i = 0; i < scale->decimals; i++)
		parts *= 10;
	step = scale->unit_ns / parts;
	count = ns / step + (ns % step >= (step + 1) / 2);
	if (ns && !count)
		snprintf(buf, size, "<%d.%0*d", 0, scale->decimals, 1);
	else
		snprintf(buf, size, "%" PRIu64 ".%0*" PRIu64, count / parts, scale->decimals,
			 count % parts);
}

#define BAR_WIDTH 40
#define GAP_MAX   2 /* empty buckets in a row that are still drawn */

static uint64_t largest(const struct hist *hist)
{
	uint64_t most = 0;

	for (unsigned int i = 0; i < HIST_BUCKETS; i++)
		most = hist_count(hist, i) > most ? hist_count(hist, i) : most;
	return most;
}

static void print_bucket(const struct hist *hist, unsigned int i, uint64_t most, FILE *out)
{
	uint64_t count = hist_count(hist, i);
	/* The least count is still seen. */
	int length = count ? (int)((double)count / (double)most * (BAR_WIDTH - 1)) + 1 : 0;
	char low[AGE_MAX], high[AGE_MAX] = "more";

	format_age(hist_bucket_low(i), low, sizeof(low));
	if (i + 1 < HIST_BUCKETS)
		format_age(hist_bucket_low(i + 1), high, sizeof(high));
	fprintf(out, "%11s .. %11s %9" PRIu64 " |", low, high, count);
	for (int j = 0; j < length; j++)
		fputc('#', out);
	fputc('\n', out);
}

void bars_print(const struct hist *hist, FILE *out)
{
	uint64_t most = largest(hist);
	unsigned int at = 0, next;

	while (most && !hist_count(hist, at))
		at++;
	for (; most && at < HIST_BUCKETS; at = next) {
		print_bucket(hist, at, most, out);
		next = at + 1;
		while (next < HIST_BUCKETS && !hist_count(hist, next))
			next++;
		if (next == HIST_BUCKETS)
			break;
		if (next - at - 1 > GAP_MAX)
			fprintf(out, "%11s\n", "...");
		else
			next = at + 1;
	}
}

/* Length of the valid UTF-8 sequence at the start, 0 when there is none (RFC 3629) or for DEL. */
static size_t utf8_length(const unsigned char *s, size_t left)
{
	static const struct {
		unsigned char first_low, first_high, second_low, second_high, length;
	} forms[] = {
		{ 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
		{ 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 },
		{ 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
		{ 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};

	if (s[0] < 0x80)
		return s[0] != 0x7f;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		size_t length = forms[i].length, at = 2;

		if (s[0] < forms[i].first_low || s[0] > forms[i].first_high || left < length ||
		    s[1] < forms[i].second_low || s[1] > forms[i].second_high)
			continue;
		while (at < length && s[at] >= 0x80 && s[at] <= 0xbf)
			at++;
		return at == length ? length : 0;
	}
	return 0;
}

/* Code point of a valid sequence. */
static unsigned int utf8_decode(const unsigned char *s, size_t length)
{
	unsigned int code = length == 1 ? s[0] : s[0] & (0x7fu >> length);

	for (size_t i = 1; i < length; i++)
		code = code << 6 | (s[i] & 0x3f);
	return code;
}

/*
 * Characters that act on a screen instead of standing on it, or cannot be seen: Unicode's
 * Default_Ignorable_Code_Point, too.
 */
static bool is_visible(const unsigned char *s, size_t length)
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
	unsigned int code = utf8_decode(s, length);

	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
		if (code >= hidden[i].low && code <= hidden[i].high)
			return false;
	}
	return true;
}

void text_escape_visible(const char *bytes, size_t size, char *out)
{
	const unsigned char *in = (const unsigned char *)bytes;
	size_t left = strnlen(bytes, size), length;

	while (left) {
		length = utf8_length(in, left);
		if (length && is_visible(in, length)) {
			memcpy(out, in, length);
			out += length;
		} else {
			length = length ?: 1;
			for (size_t i = 0; i < length; i++)
				out += sprintf(out, "\\x%02x", in[i]);
		}
		in += length;
		left -= length;
	}
	*out = 0;
}

void text_escape_name(const char *bytes, size_t size, char *out)
{
	size_t left = strnlen(bytes, size);

	if (left &&
	    (*bytes == '[' || (*bytes == '(' && left > 1 && bytes[1] >= '0' && bytes[1] <= '9'))) {
		out += sprintf(out, "\\x%02x", (unsigned char)*bytes++);
		left--;
	}
	text_escape_visible(bytes, left, out);
}

void process_label(const struct process *process, char buf[PROCESS_LABEL_MAX])
{
	/* Only groups of all further ones have no user. */
	if (process->uid == UID_NONE)
		text_escape_visible(process->comm, PROCESS_COMM_SIZE, buf);
	else
		text_escape_name(process->comm, PROCESS_COMM_SIZE, buf);
}

size_t text_plain_length(const char *bytes, size_t size)
{
	size_t length = 0;

	while (length < size && bytes[length] >= ' ' && bytes[length] <= '~' &&
	       bytes[length] != '"' && bytes[length] != '\\')
		length++;
	return length;
}

unsigned int text_code(const char *bytes, size_t size, size_t *length)
{
	const unsigned char *s = (const unsigned char *)bytes;

	*length = utf8_length(s, size);
	return utf8_decode(s, *length);
}

/* The byte of an escape \xNN, or 0 when there is none. */
static unsigned char escaped_byte(const char *text)
{
	static const char digits[] = "0123456789abcdef";
	const char *high, *low;

	if (text[0] != '\\' || text[1] != 'x' || !text[2] || !text[3])
		return 0;
	high = strchr(digits, text[2]);
	low = strchr(digits, text[3]);
	if (!high || !low)
		return 0;
	return (unsigned char)((high - digits) << 4 | (low - digits));
}

/* Bytes of escapes that follow each other, as many as the longest sequence has. */
static size_t escaped_run(const char *text, unsigned char run[4])
{
	size_t count = 0;

	while (count < 4 && (run[count] = escaped_byte(text + count * ESCAPE_LENGTH)))
		count++;
	return count;
}

void text_unescape(char *text)
{
	unsigned char run[4];
	char *out = text;

	while (*text) {
		size_t count = escaped_run(text, run);

		if (!count || run[0] < 0x7f) {
			*out++ = *text++;
		} else if (utf8_length(run, count)) {
			/* Would not have been escaped: somebody wrote it like that. */
			memmove(out, text, ESCAPE_LENGTH);
			out += ESCAPE_LENGTH;
			text += ESCAPE_LENGTH;
		} else {
			*out++ = (char)run[0];
			text += ESCAPE_LENGTH;
		}
	}
	*out = 0;
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
