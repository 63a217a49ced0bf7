/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the format of /proc/PID/maps. */
#include "stacks/process_maps.h"

#include <limits.h>
#include <string.h>

#include "base/mem.h"

static bool line_parse(const char *line, struct code_mapping *ret)
{
	unsigned int major, minor;
	char write, exec;

	if (sscanf(line, "%lx-%lx %*c%c%c%*c %lx %x:%x %lu", &ret->start, &ret->end, &write, &exec,
		   &ret->offset, &major, &minor, &ret->ino) != 8)
		return false;
	ret->dev = major << 20 | minor;
	ret->exec = exec == 'x';
	ret->write = write == 'w';
	return true;
}

/* Without what the kernel adds to the path of a file that is gone. */
static void name_parse(char *line, struct code_mapping_name *ret)
{
	static const char gone[] = " (deleted)";
	const char *slash = strrchr(line, '/');
	size_t length = slash ? strcspn(slash + 1, "\n") : 0;

	if (length > strlen(gone) &&
	    !strncmp(slash + 1 + length - strlen(gone), gone, strlen(gone)))
		length -= strlen(gone);
	if (length >= sizeof(ret->text))
		length = 0;
	if (length)
		memcpy(ret->text, slash + 1, length);
	ret->text[length] = 0;
}

/* A path full of newlines, which are escaped, is longer than a buffer; its end is no line. */
static void line_end(FILE *maps, const char *line)
{
	int byte = strchr(line, '\n') ? '\n' : 0;

	while (byte != '\n' && byte != EOF)
		byte = getc(maps);
}

bool process_maps_next(FILE *maps, struct code_mapping *ret, struct code_mapping_name *name)
{
	char line[PATH_MAX + 128];

	while (fgets(line, sizeof(line), maps)) {
		line_end(maps, line);
		if (!line_parse(line, ret))
			continue;
		if (name)
			name_parse(line, name);
		return true;
	}
	return false;
}

bool process_maps_find_own(uint64_t start, struct code_mapping *ret)
{
	FILE *maps __cleanup(fclosep) = fopen("/proc/self/maps", "re");

	while (maps && process_maps_next(maps, ret, NULL)) {
		if (ret->start == start)
			return true;
	}
	return false;
}
