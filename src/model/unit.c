/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the rule by which a cgroup path names a unit. */
#include "model/unit.h"

#include <stdbool.h>
#include <string.h>

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
