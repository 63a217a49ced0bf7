/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looks for processes that have the other ends of pipes and sockets open. All are looked for at once, and
 * no longer than a second: then who has not been found is not named.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/text.h"
#include "collect/call_facts.h"

#define SEARCH_NS     NS_PER_SEC
#define HOLDERS_NAMED 3

/* Whether an open file can be read or written, as its link tells. */
static bool link_has_mode(int folder, const char *name, int mode)
{
	struct stat st;

	if (mode < 0)
		return true;
	return !fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) &&
	       st.st_mode & (mode == O_RDONLY ? S_IRUSR : S_IWUSR);
}

static void end_found(struct wanted_end *end, uint32_t pid)
{
	size_t used = strlen(end->text);
	char who[64];

	/* It may have it open more than once. */
	if (end->pid == pid && end->found)
		return;
	end->pid = pid;
	if (end->found++ >= HOLDERS_NAMED)
		return;
	process_describe(pid, who, sizeof(who));
	snprintf(end->text + used, sizeof(end->text) - used, "%s%s", used ? ", " : "", who);
}

static void process_search(struct wanted_ends *ends, uint32_t pid, int folder)
{
	int copy = dup(folder);
	DIR *files = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;
	char link[256];

	if (!files && copy >= 0)
		close(copy);
	while (files && (entry = readdir(files))) {
		ssize_t length = readlinkat(folder, entry->d_name, link, sizeof(link) - 1);

		link[length > 0 ? length : 0] = 0;
		for (size_t i = 0; length > 0 && i < ends->count; i++) {
			struct wanted_end *end = &ends->items[i];

			if (!strcmp(link, end->link) &&
			    link_has_mode(folder, entry->d_name, end->mode))
				end_found(end, pid);
		}
	}
	if (files)
		closedir(files);
}

void wanted_ends_find(struct wanted_ends *ends)
{
	uint64_t until_ns = clock_mono_ns() + SEARCH_NS, pid;
	DIR *proc = ends->count ? opendir("/proc") : NULL;
	struct dirent *entry;
	char path[300];

	while (proc && (entry = readdir(proc)) && clock_mono_ns() < until_ns) {
		int folder __cleanup(closep) = -1;

		if (!number_read(entry->d_name, INT32_MAX, &pid))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/fd", entry->d_name);
		folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (folder >= 0)
			process_search(ends, (uint32_t)pid, folder);
	}
	if (proc)
		closedir(proc);
	for (size_t i = 0; i < ends->count; i++) {
		struct wanted_end *end = &ends->items[i];
		struct flight_fact *fact = &end->flight->facts[end->fact];
		char more[32] = "", *text = NULL;

		if (!end->found)
			continue;
		if (end->found > HOLDERS_NAMED)
			snprintf(more, sizeof(more), " and %u more", end->found - HOLDERS_NAMED);
		if (asprintf(&text, "%s%s", end->text, more) > 0) {
			free(fact->value);
			fact->value = text;
		}
	}
}
