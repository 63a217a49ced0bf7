/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns what the users and cgroups of a snapshot are called. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "collect/collector_private.h"

const char *collector_cgroup(struct collector *c, uint64_t id)
{
	/* It was made before its first process was: what tells of it is in the ring by now. */
	if (!cgroup_names_know(&c->cgroups, id))
		ring_buffer__consume(c->events);
	return cgroup_names_find(&c->cgroups, id);
}

static int name_user(struct collector *c, struct snapshot *s, uint32_t uid)
{
	const char *name;

	if (id_names_find(s->users, s->nr_users, uid))
		return 0;
	name = user_names_find(&c->users, uid, clock_mono_ns());
	return name ? id_names_add(&s->users, &s->nr_users, uid, name) : 0;
}

int snapshot_name_ids(struct collector *c, struct snapshot *s)
{
	for (size_t i = 0; i < s->nr_processes; i++) {
		const struct process *process = &s->processes[i];
		const char *path;

		if (process->uid == UID_NONE)
			continue;
		if (name_user(c, s, process->uid))
			return -ENOMEM;
		if (id_names_find(s->cgroups, s->nr_cgroups, process->cgroup_id))
			continue;
		path = collector_cgroup(c, process->cgroup_id);
		/* One that nobody knows any more has no name. */
		if (path && !*path)
			continue;
		if (!path || id_names_add(&s->cgroups, &s->nr_cgroups, process->cgroup_id, path))
			return -ENOMEM;
	}
	return 0;
}
