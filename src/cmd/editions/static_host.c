/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stands in for what the C library and elfutils would load from the host at run time. Such modules are made
 * for the host's C library, and beside the other one in a static file they crash. So users and groups are
 * those in /etc/passwd and /etc/group, and no module is found.
 */
#include <dlfcn.h>
#include <grp.h>
#include <pwd.h>

#include "base/mem.h"

static struct passwd *find_user(const char *name, uid_t uid)
{
	FILE *file __cleanup(fclosep) = fopen("/etc/passwd", "re");
	struct passwd *entry = NULL;

	while (file && (entry = fgetpwent(file))) {
		if (name ? !strcmp(entry->pw_name, name) : entry->pw_uid == uid)
			break;
	}
	return entry;
}

struct passwd *getpwnam(const char *name)
{
	return find_user(name, 0);
}

struct passwd *getpwuid(uid_t uid)
{
	return find_user(NULL, uid);
}

struct group *getgrnam(const char *name)
{
	FILE *file __cleanup(fclosep) = fopen("/etc/group", "re");
	struct group *entry = NULL;

	while (file && (entry = fgetgrent(file))) {
		if (!strcmp(entry->gr_name, name))
			break;
	}
	return entry;
}

static bool has_member(const struct group *group, const char *name)
{
	for (char **member = group->gr_mem; *member; member++) {
		if (!strcmp(*member, name))
			return true;
	}
	return false;
}

/* A user in more groups than this gets only the first of them. */
#define MAX_GROUPS 1024

int initgroups(const char *name, gid_t first)
{
	FILE *file __cleanup(fclosep) = fopen("/etc/group", "re");
	gid_t groups[MAX_GROUPS] = { first };
	const struct group *entry;
	size_t count = 1;

	while (file && count < MAX_GROUPS && (entry = fgetgrent(file))) {
		if (entry->gr_gid != first && has_member(entry, name))
			groups[count++] = entry->gr_gid;
	}
	return setgroups(count, groups);
}

/* elfutils looks for its client of debuginfod before main() begins; we have our own. */
void *dlopen(const char *path __attribute__((unused)), int mode __attribute__((unused)))
{
	return NULL;
}
