/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Matches names of processes with globs and paths of cgroups with units. State i of a glob's automaton:
 * the first i tokens have matched.
 */
#include "model/match.h"

#include <fnmatch.h>

#include "base/text.h"

#define MAX_TOKENS      31
#define MAX_NAME_LENGTH 15

static void match_byte(struct selector *s, unsigned int token, unsigned char c)
{
	s->match[c] |= 1u << token;
}

/* The bytes between brackets; returns what follows the closing one, or NULL. */
static const unsigned char *compile_bracket(const unsigned char *at, struct selector *s,
					    unsigned int token)
{
	bool set[256] = { false }, inverted = *at == '!' || *at == '^';
	const unsigned char *first;

	at += inverted;
	first = at;
	while (*at && (*at != ']' || at == first)) {
		unsigned int low = *at, high = low;

		if (at[1] == '-' && at[2] && at[2] != ']') {
			high = at[2];
			at += 2;
		}
		for (unsigned int c = low; c <= high; c++)
			set[c] = true;
		at++;
	}
	if (*at != ']')
		return NULL;
	for (unsigned int c = 1; c < 256; c++) {
		if (set[c] != inverted)
			match_byte(s, token, (unsigned char)c);
	}
	return at + 1;
}

/* Compiles one token; returns what follows it, or NULL. */
static const unsigned char *compile_token(const unsigned char *at, struct selector *s,
					  unsigned int token)
{
	if (*at == '[')
		return compile_bracket(at + 1, s, token);
	if (*at == '?') {
		for (unsigned int c = 1; c < 256; c++)
			match_byte(s, token, (unsigned char)c);
		return at + 1;
	}
	if (*at == '\\' && at[1])
		at++;
	match_byte(s, token, *at);
	return at + 1;
}

int glob_compile(const char *glob, struct selector *s, struct diag *d)
{
	const unsigned char *at = (const unsigned char *)glob;
	unsigned int token = 0;

	if (!*glob)
		return diag_set(d, DIAG_USAGE, EINVAL, "-n: give the name of a process");
	memset(s->match, 0, sizeof(s->match));
	s->loops = 0;
	while (*at) {
		if (*at == '*') {
			s->loops |= 1u << token;
			at++;
			continue;
		}
		if (!s->loops && token == MAX_NAME_LENGTH)
			break;
		if (token == MAX_TOKENS)
			return diag_set(d, DIAG_USAGE, EINVAL,
					"-n: \"%.100s\" is too long; names have at most 15 bytes",
					glob);
		at = compile_token(at, s, token++);
		if (!at)
			return diag_set(d, DIAG_USAGE, EINVAL, "-n: \"%.100s\" lacks a closing ]",
					glob);
	}
	s->final = 1u << token;
	return 0;
}

bool glob_matches(const struct selector *s, const char *name, size_t size)
{
	unsigned int states = 1;

	for (size_t i = 0; i < size && name[i]; i++) {
		unsigned char c = (unsigned char)name[i];

		states = ((states & s->match[c]) << 1) | (states & s->loops);
	}
	return states & s->final;
}

/* --- units ------------------------------------------------------------------------------------ */

/* The next component; its length is 0 at the end. */
static size_t next_component(const char **path)
{
	*path += strspn(*path, "/");
	return strcspn(*path, "/");
}

size_t cgroup_unit(const char *path, const char **ret)
{
	static const char slice[] = ".slice";
	size_t length, end = strlen(slice);

	for (; (length = next_component(&path)); path += length) {
		if (length <= end || strncmp(path + length - end, slice, end) != 0) {
			*ret = path;
			return length;
		}
	}
	*ret = "-";
	return 1;
}

int unit_compare(const char *a, size_t a_length, const char *b, size_t b_length)
{
	return memcmp(a, b, min_u64(a_length, b_length)) ?: compare_u64(a_length, b_length);
}

int unit_complete_name(const char *text, char *buf, size_t size)
{
	if (!*text || strlen(text) + strlen(".service") >= size || strchr(text, '/'))
		return -EINVAL;
	memset(buf, 0, size);
	strcpy(buf, text);
	/* The types of unit that have processes. */
	if (fnmatch("?*.@(service|scope|slice|socket|mount|swap)", text, FNM_EXTMATCH))
		strcat(buf, ".service");
	return 0;
}

bool cgroup_is_in_unit(const char *path, const char *unit)
{
	size_t length;

	for (; (length = next_component(&path)); path += length) {
		if (strlen(unit) == length && !strncmp(path, unit, length))
			return true;
	}
	return false;
}

bool cgroup_is_in(const char *path, const char *other)
{
	size_t length;

	for (; (length = next_component(&other)); other += length) {
		if (next_component(&path) != length || strncmp(path, other, length) != 0)
			return false;
		path += length;
	}
	return true;
}
