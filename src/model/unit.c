/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells which unit a cgroup path names, and whether it lies in another. */
#include "model/unit.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

static bool ends_with(const char *text, size_t length, const char *end)
{
	size_t end_length = strlen(end);

	return length > end_length && !strncmp(text + length - end_length, end, end_length);
}

size_t cgroup_unit(const char *path, const char **ret)
{
	size_t length;

	for (; *path; path += length) {
		path += strspn(path, "/");
		length = strcspn(path, "/");
		if (!length || ends_with(path, length, ".slice"))
			continue;
		*ret = path;
		return length;
	}
	*ret = "-";
	return 1;
}

int unit_compare(const char *a, size_t a_length, const char *b, size_t b_length)
{
	return memcmp(a, b, min_u64(a_length, b_length)) ?: compare_u64(a_length, b_length);
}

/* The types of unit that have processes. */
static bool unit_has_type(const char *name)
{
	static const char *const types[] = { ".service", ".scope", ".slice",
					     ".socket",  ".mount", ".swap" };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (ends_with(name, strlen(name), types[i]))
			return true;
	}
	return false;
}

int unit_complete_name(const char *text, char *buf, size_t size)
{
	if (!*text || strlen(text) + strlen(".service") >= size || strchr(text, '/'))
		return -EINVAL;
	memset(buf, 0, size);
	strcpy(buf, text);
	if (!unit_has_type(text))
		strcat(buf, ".service");
	return 0;
}

/* The next component; its length is 0 at the end. */
static size_t next_component(const char **path)
{
	*path += strspn(*path, "/");
	return strcspn(*path, "/");
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
