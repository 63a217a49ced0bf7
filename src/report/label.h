/* SPDX-License-Identifier: BSD-2-Clause */
/* How rows, names, times and histograms are written in every report. */
#ifndef BPFTRUSS_LABEL_H
#define BPFTRUSS_LABEL_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "model/row.h"
#include "model/snapshot.h"
#include "syscalls/names.h"

/* The ABI of this machine, whose calls reports do not mark. */
#if defined(__aarch64__)
#define LABEL_NATIVE_ABI ABI_ARM64
#else
#define LABEL_NATIVE_ABI ABI_X86_64
#endif

/* The call of a row in any ABI: read, [other]. */
void row_name(const struct row *row, char buf[SYSCALL_NAME_MAX]);

#define ROW_LABEL_MAX 48

/* The call of a row: read, read/i386 when not of the machine's own ABI, [other]. */
void row_label(const struct row *row, char *buf, size_t size);

#define AGE_MAX 32

/* A duration for people: 850 ns, 12.3 us, 4.56 ms, 12.345 s. */
void format_age(uint64_t ns, char *buf, size_t size);

/* One unit for a whole column of times: chosen from its largest value, named in its title. */
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

/* 1234.567: rounded; what is not 0 but too little to be seen is "<0.001". */
void scale_format(const struct time_scale *scale, uint64_t ns, char *buf, size_t size);

/* A line a bucket, from the first to the last that is not empty; longer gaps become "...". */
void bars_print(const struct hist *hist, FILE *out);

/* Longest result of text_escape_visible() of n bytes, with its NUL. */
#define TEXT_ESCAPED_MAX(n) ((n) * 4 + 1)

/*
 * Writes untrusted bytes, up to the first NUL or size bytes, as UTF-8 that can be shown as it is: a
 * byte that is not part of valid UTF-8, control characters (DEL, C0 and C1), those that reorder or
 * break lines or take no room, and noncharacters U+FFFE and U+FFFF become \xNN.
 */
void text_escape_visible(const char *bytes, size_t size, char *out);

/*
 * Works as text_escape_visible() for a name that stands beside rows of our own, as "[overflow]" or
 * "(3 others)": it begins like none of them.
 */
void text_escape_name(const char *bytes, size_t size, char *out);

/* Writes the name of a process so; a group of processes of ours has its name in brackets. */
#define PROCESS_LABEL_MAX TEXT_ESCAPED_MAX(PROCESS_COMM_SIZE)
void process_label(const struct process *process, char buf[PROCESS_LABEL_MAX]);

/*
 * Undoes in place the escapes that JSON has for bytes that are no UTF-8. What somebody wrote as \xNN
 * himself cannot be told from those and becomes a byte, too, unless that would be escaped
 * differently: so JSON always has the result as the same text again.
 */
void text_unescape(char *text);

/* Length of the printable ASCII that bytes begin with, up to a quote, a backslash, a NUL or size. */
size_t text_plain_length(const char *bytes, size_t size);

/*
 * Code point of the character that bytes begin with; *length is that of its bytes, 0 if they begin
 * with no valid UTF-8 or with DEL.
 */
unsigned int text_code(const char *bytes, size_t size, size_t *length);

/* Columns on a screen that valid UTF-8 without control characters takes, as far as we know. */
size_t text_width(const char *text);

/* Cuts such a text to so many columns, 2 at least; its end then is "..". */
void text_cut(char *text, size_t width);

#endif
