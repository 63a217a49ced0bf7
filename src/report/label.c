/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the spelling of rows, times and untrusted bytes. */
#include "report/label.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "syscalls/names.h"

#if defined(__aarch64__)
#define NATIVE_ABI ABI_ARM64
#else
#define NATIVE_ABI ABI_X86_64
#endif

void row_label(const struct row *row, char *buf, size_t size)
{
	char name[SYSCALL_NAME_MAX];

	if (row->nr == ROW_NR_OTHER)
		snprintf(name, sizeof(name), "[other]");
	else
		syscall_name(row->abi, (int)row->nr, name, sizeof(name));
	if (row->abi == NATIVE_ABI)
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

void text_escape(const char *bytes, size_t size, char *out)
{
	const unsigned char *in = (const unsigned char *)bytes;
	size_t left = strnlen(bytes, size), length;

	while (left) {
		length = utf8_length(in, left);
		if (length) {
			memcpy(out, in, length);
			out += length;
		} else {
			length = 1;
			out += sprintf(out, "\\x%02x", *in);
		}
		in += length;
		left -= length;
	}
	*out = 0;
}
