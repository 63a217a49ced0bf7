/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the names of users: sorted, each uid once, also those that nobody is called by. */
#include "collect/user_names.h"

#include <grp.h>

#include "base/clock.h"
#include "base/text.h"

/* nscd keeps names as long; a user is hardly ever renamed. */
#define LIFETIME_NS (10 * 60 * NS_PER_SEC)

/* Above this, all are forgotten: user namespaces have as many users as anybody likes. */
#define MAX_USERS 4096

/* NULL: no memory. */
static struct user_name *name_place(struct user_names *names, uint32_t uid)
{
	size_t at = place_u64(names->list, names->count, sizeof(*names->list), uid);
	struct user_name *grown;

	if (at < names->count && names->list[at].uid == uid)
		return &names->list[at];
	if (names->count == MAX_USERS) {
		user_names_done(names);
		at = 0;
	}
	grown = reallocarray(names->list, names->count + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	names->list = grown;
	memmove(grown + at + 1, grown + at, (names->count++ - at) * sizeof(*grown));
	grown[at] = (struct user_name){ .uid = uid };
	return &grown[at];
}

const char *user_names_find(struct user_names *names, uint32_t uid, uint64_t now_ns)
{
	struct user_name *found = name_place(names, uid);
	const struct passwd *entry;

	if (!found)
		return NULL;
	if (now_ns < found->until_ns)
		return found->name;
	entry = names->ask ? names->ask(uid) : getpwuid(uid);
	free(found->name);
	found->name = entry ? strdup(entry->pw_name) : NULL;
	found->until_ns = now_ns + LIFETIME_NS;
	return found->name;
}

void user_names_done(struct user_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->list[i].name);
	free(names->list);
	names->list = NULL;
	names->count = 0;
}

bool group_name_exists(const char *name)
{
	return getgrnam(name) != NULL;
}

bool user_name_exists(const char *name)
{
	uint64_t uid;

	return getpwnam(name) || number_read(name, UINT32_MAX - 1, &uid);
}
