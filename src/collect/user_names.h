/* SPDX-License-Identifier: BSD-2-Clause */
/* Remembers the names of users: a look-up may ask a slow server in the network. */
#pragma once

#include <pwd.h>

#include "base/mem.h"

struct user_name {
	uint64_t uid;
	char *name;        /* owned; NULL: nobody is called so */
	uint64_t until_ns; /* from then on it is asked for again */
};

/* All 0 at the start, but for ask, which tests replace. */
struct user_names {
	struct passwd *(*ask)(uid_t uid); /* NULL: getpwuid() */
	struct user_name *list;           /* owned, by uid */
	size_t count;
};

/*
 * The name of a user, as it was some minutes ago at most, on a clock that only grows; NULL when
 * there is none, or no memory. It is good until the next call.
 */
const char *user_names_find(struct user_names *names, uint32_t uid, uint64_t now_ns);

void user_names_done(struct user_names *names);

/* Whether there is a user of this name or number; nothing is remembered. */
bool user_name_exists(const char *name);

/* Whether there is a group of this name; nothing is remembered. libc's struct group is not ours. */
bool group_name_exists(const char *name);
