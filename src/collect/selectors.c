/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the resolving of selectors; one function a kind. */
#include "collect/selectors.h"

#include <ctype.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "collect/cgroups.h"
#include "model/match.h"

static int resolve_all(const char *text, bool wait, struct selector *s, struct diag *d)
{
	(void)text, (void)wait, (void)s, (void)d;
	return 0;
}

static int resolve_comm(const char *text, bool wait, struct selector *s, struct diag *d)
{
	(void)wait;
	return glob_compile(text, s, d);
}

static int resolve_cgroup(const char *text, bool wait, struct selector *s, struct diag *d)
{
	uint64_t id;
	int err = cgroup_find_path(text, &id);

	(void)wait;
	if (err == -ENOTSUP)
		return diag_set(d, DIAG_FAILED, ENOTSUP,
				"-g: no cgroup version 2 file system is mounted here");
	if (err == -EXDEV)
		return diag_set(d, DIAG_FAILED, EXDEV,
				"-g: %.200s is not in the cgroup version 2 file system", text);
	if (err)
		return diag_set(d, DIAG_FAILED, -err, "-g: no cgroup %.200s: %s", text,
				strerror(-err));
	s->cgroup_id = id;
	return 0;
}

static int resolve_unit(const char *text, bool wait, struct selector *s, struct diag *d)
{
	char name[SELECTOR_NAME_SIZE] = "";

	if (unit_complete_name(text, name, sizeof(name)))
		return diag_set(d, DIAG_USAGE, EINVAL, "-u: \"%.100s\" is not the name of a unit",
				text);
	if (!wait && !cgroup_name_exists(name))
		return diag_set(d, DIAG_FAILED, ENOENT,
				"-u: no unit %s is running (systemctl lists those that are)", name);
	memcpy(s->name, name, sizeof(name));
	return 0;
}

static int resolve_user(const char *text, bool wait, struct selector *s, struct diag *d)
{
	struct passwd *entry = getpwnam(text);
	char *end;
	unsigned long uid;

	(void)wait;
	if (entry) {
		s->uid = entry->pw_uid;
		return 0;
	}
	errno = 0;
	uid = strtoul(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || errno || uid >= UINT32_MAX)
		return diag_set(d, DIAG_FAILED, ENOENT, "-U: no user is called \"%.100s\"", text);
	s->uid = (uint32_t)uid;
	return 0;
}

static int (*const resolvers[])(const char *text, bool wait, struct selector *s, struct diag *d) = {
	[SELECT_ALL] = resolve_all,       [SELECT_COMM] = resolve_comm,
	[SELECT_CGROUP] = resolve_cgroup, [SELECT_UNIT] = resolve_unit,
	[SELECT_USER] = resolve_user,
};

int selector_resolve(const struct target_selector *chosen, bool wait, struct selector *ret,
		     struct diag *d)
{
	memset(ret, 0, sizeof(*ret));
	ret->kind = chosen->kind;
	return resolvers[chosen->kind](chosen->text, wait, ret, d);
}
