/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the way of a foreign sentence to a terminal. Of JSON it knows one string of one object;
 * what is not that is shown as it came. Either way only printable ASCII leaves.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/reply.h"

#define ESCAPED_BYTES 4 /* \xNN */

struct line {
	char *next, *end; /* end: room for the NUL */
};

/* False when there is no more room. */
static bool line_add(struct line *line, unsigned int c)
{
	const bool is_plain = c >= ' ' && c <= '~';

	if (line->end - line->next < (is_plain ? 1 : ESCAPED_BYTES))
		return false;
	if (is_plain)
		*line->next++ = (char)c;
	else if (c <= 0xff)
		line->next += sprintf(line->next, "\\x%02x", c);
	else
		*line->next++ = '?';
	*line->next = '\0';
	return true;
}

/* Four digits; -1 for anything else. */
static long code_parse(const char *text)
{
	char digits[5] = "";

	if (strspn(text, "0123456789abcdefABCDEF") < 4)
		return -1;
	memcpy(digits, text, 4);
	return strtol(digits, NULL, 16);
}

/* What stands behind a backslash; moves text on. -1 for what JSON does not have. */
static long escape_parse(const char **text)
{
	static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	const char c = *(*text)++;
	const char *letter = c ? strchr(letters, c) : NULL;
	long code;

	if (letter)
		return (unsigned char)meant[letter - letters];
	if (c != 'u')
		return -1;
	code = code_parse(*text);
	if (code >= 0)
		*text += 4;
	return code;
}

static const char *blanks_skip(const char *text)
{
	return text + strspn(text, " \t\r\n");
}

/* The text behind {"error": " or NULL. */
static const char *error_find(const char *text)
{
	static const char *const parts[] = { "{", "\"error\"", ":", "\"" };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		text = blanks_skip(text);
		if (strncmp(text, parts[i], strlen(parts[i])))
			return NULL;
		text += strlen(parts[i]);
	}
	return text;
}

/* False: it is not a string of JSON after all. */
static bool string_show(const char *text, struct line *line)
{
	while (*text && *text != '"') {
		long code = (unsigned char)*text++;

		if (code == '\\')
			code = escape_parse(&text);
		if (code < 0)
			return false;
		if (!line_add(line, (unsigned int)code))
			return true;
	}
	return *text == '"';
}

static void text_show(const char *text, struct line *line)
{
	size_t length;

	text = blanks_skip(text);
	length = strlen(text);
	while (length && strchr(" \t\r\n", text[length - 1]))
		length--;
	for (size_t i = 0; i < length; i++)
		if (!line_add(line, (unsigned char)text[i]))
			return;
}

void reply_sentence(const struct ipc_reply *reply, char *buf, size_t size)
{
	const char *error = error_find(reply->body);
	struct line line = { buf, buf + size - 1 };

	*buf = '\0';
	if (error && string_show(error, &line))
		return;
	line.next = buf;
	*buf = '\0';
	text_show(reply->body, &line);
}
