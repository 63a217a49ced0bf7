/* SPDX-License-Identifier: BSD-2-Clause */
/* Serves the tests of pictures: is it well-formed? */
#pragma once

#include "fixture.h"

/* The end of a tag at "<", after checking it against the stack of open elements. */
static inline const char *tag_check(const char *at, char stack[][32], size_t *depth)
{
	const char *end = strpbrk(at + 1, "<>");
	bool closes = at[1] == '/';
	size_t length = strcspn(at + 1 + closes, " />");

	assert_true(end && *end == '>' && length && length < sizeof(stack[0]));
	if (closes) {
		assert_true(*depth > 0);
		--*depth;
		assert_int_equal(strlen(stack[*depth]), length);
		assert_memory_equal(stack[*depth], at + 2, length);
	} else if (end[-1] != '/') {
		assert_true(*depth < 8);
		snprintf(stack[(*depth)++], sizeof(stack[0]), "%.*s", (int)length, at + 1);
	}
	return end;
}

/* Elements nest, "&" only starts an entity we use, and no control character is in it. */
static inline void xml_check(const char *text)
{
	static const char *const entities[] = { "&amp;", "&lt;", "&gt;", "&quot;" };
	char stack[8][32];
	size_t depth = 0;

	for (const char *at = text; *at; at++) {
		bool known = *at != '&';

		assert_true((unsigned char)*at >= ' ' || *at == '\n');
		for (size_t i = 0; i < ARRAY_SIZE(entities); i++)
			known = known || !strncmp(at, entities[i], strlen(entities[i]));
		assert_true(known);
		assert_int_not_equal(*at, '>');
		if (*at == '<')
			at = tag_check(at, stack, &depth);
	}
	assert_int_equal(depth, 0);
}

static inline size_t count_of(const char *text, const char *what)
{
	size_t count = 0;

	for (const char *at = text; (at = strstr(at, what)); at++)
		count++;
	return count;
}
