/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns which processes of a snapshot a filter has. Invariant: selectors mean what they do when
 * counting, but names are those of the snapshot, which may be of another machine.
 */
#include "model/filter.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/glob.h"
#include "model/unit.h"

/* A selector ready to be compared; what cannot match anything is not valid. */
struct matcher {
	enum selector_kind kind;
	bool valid;
	uint32_t uid;
	const char *path;              /* of a cgroup, from the root of the hierarchy */
	char unit[SELECTOR_NAME_SIZE]; /* its complete name */
	struct selector glob;
};

/* --- from text to what is compared -------------------------------------------------------------- */

static bool prepare_all(struct matcher *matcher, const struct snapshot *snapshot, const char *text)
{
	(void)matcher, (void)snapshot, (void)text;
	return true;
}

static bool prepare_comm(struct matcher *matcher, const struct snapshot *snapshot, const char *text)
{
	(void)snapshot;
	return !glob_compile(text, &matcher->glob, NULL);
}

/* A path on the file system is meant, too, where that is always mounted. */
static bool prepare_cgroup(struct matcher *matcher, const struct snapshot *snapshot,
			   const char *text)
{
	static const char *const mounts[] = { "/sys/fs/cgroup/unified", "/sys/fs/cgroup" };

	(void)snapshot;
	matcher->path = text;
	for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
		size_t length = strlen(mounts[i]);

		if (!strncmp(text, mounts[i], length) && strchr("/", text[length])) {
			matcher->path = text + length;
			break;
		}
	}
	return true;
}

static bool prepare_unit(struct matcher *matcher, const struct snapshot *snapshot, const char *text)
{
	(void)snapshot;
	return !unit_complete_name(text, matcher->unit, sizeof(matcher->unit));
}

/* A name goes before a number, as there are users whose name is one. */
static bool prepare_user(struct matcher *matcher, const struct snapshot *snapshot, const char *text)
{
	unsigned long uid;
	char *end;

	for (size_t i = 0; i < snapshot->nr_users; i++) {
		if (!strcmp(snapshot->users[i].name, text)) {
			matcher->uid = (uint32_t)snapshot->users[i].id;
			return true;
		}
	}
	errno = 0;
	uid = strtoul(text, &end, 10);
	matcher->uid = (uint32_t)uid;
	return isdigit((unsigned char)*text) && !*end && !errno && uid < UID_NONE;
}

/* --- the comparison ----------------------------------------------------------------------------- */

static bool has_any(const struct matcher *matcher, const struct process *process,
		    const char *cgroup)
{
	(void)matcher, (void)process, (void)cgroup;
	return true;
}

static bool has_comm(const struct matcher *matcher, const struct process *process,
		     const char *cgroup)
{
	(void)cgroup;
	return glob_matches(&matcher->glob, process->comm, sizeof(process->comm));
}

static bool has_cgroup(const struct matcher *matcher, const struct process *process,
		       const char *cgroup)
{
	(void)process;
	return cgroup && cgroup_is_in(cgroup, matcher->path);
}

static bool has_unit(const struct matcher *matcher, const struct process *process,
		     const char *cgroup)
{
	(void)process;
	return cgroup && cgroup_is_in_unit(cgroup, matcher->unit);
}

static bool has_user(const struct matcher *matcher, const struct process *process,
		     const char *cgroup)
{
	(void)cgroup;
	return process->uid == matcher->uid;
}

static const struct {
	bool (*prepare)(struct matcher *matcher, const struct snapshot *snapshot, const char *text);
	bool (*has)(const struct matcher *matcher, const struct process *process,
		    const char *cgroup);
} kinds[] = {
	[SELECT_ALL] = { prepare_all, has_any },
	[SELECT_COMM] = { prepare_comm, has_comm },
	[SELECT_CGROUP] = { prepare_cgroup, has_cgroup },
	[SELECT_UNIT] = { prepare_unit, has_unit },
	[SELECT_USER] = { prepare_user, has_user },
};

static void matcher_prepare(struct matcher *matcher, const struct snapshot *snapshot,
			    const struct target_selector *selector)
{
	memset(matcher, 0, sizeof(*matcher));
	matcher->kind = selector->kind;
	matcher->valid = (size_t)selector->kind < ARRAY_SIZE(kinds) &&
			 kinds[selector->kind].prepare(matcher, snapshot, selector->text);
}

static bool matcher_has(const struct matcher *matcher, const struct snapshot *snapshot,
			const struct process *process)
{
	return matcher->valid &&
	       kinds[matcher->kind].has(matcher, process,
					snapshot_cgroup(snapshot, process->cgroup_id));
}

/* --- filters ------------------------------------------------------------------------------------ */

static bool filter_has_all(const struct process_filter *filter)
{
	for (size_t i = 0; i < filter->nr_selectors; i++) {
		if (filter->selectors[i].kind == SELECT_ALL)
			return true;
	}
	return !filter->nr_pids && !filter->nr_selectors;
}

static bool filter_has_pid(const struct process_filter *filter, uint32_t pid)
{
	for (size_t i = 0; i < filter->nr_pids; i++) {
		if (pid && (uint32_t)filter->pids[i] == pid)
			return true;
	}
	return false;
}

bool process_filter_has(const struct process_filter *filter, const struct snapshot *snapshot,
			const struct process *process)
{
	struct matcher matcher;

	if (filter_has_all(filter) || filter_has_pid(filter, process->pid))
		return true;
	for (size_t i = 0; i < filter->nr_selectors; i++) {
		matcher_prepare(&matcher, snapshot, &filter->selectors[i]);
		if (matcher_has(&matcher, snapshot, process))
			return true;
	}
	return false;
}

/* Both lists have room for all. */
static void filter_processes(const struct process_filter *filter, const struct snapshot *snapshot,
			     const struct matcher *matchers, struct snapshot *out)
{
	for (size_t i = 0; i < snapshot->nr_processes; i++) {
		const struct process *process = &snapshot->processes[i];
		bool has = filter_has_all(filter) || filter_has_pid(filter, process->pid);

		for (size_t j = 0; j < filter->nr_selectors && !has; j++)
			has = matcher_has(&matchers[j], snapshot, process);
		if (has)
			out->processes[out->nr_processes++] = *process;
	}
}

static void filter_rows(const struct process_filter *filter, const struct snapshot *snapshot,
			struct snapshot *out)
{
	for (size_t i = 0; i < snapshot->nr_rows; i++) {
		struct row *row = snapshot->rows[i];

		if (!filter_has_all(filter) && !filter_has_pid(filter, row->pid) &&
		    !snapshot_find_process(out, row->pid, row->boot_ns))
			continue;
		out->rows[out->nr_rows++] = row_ref(row);
	}
}

int snapshot_filter(const struct snapshot *snapshot, const struct process_filter *filter,
		    struct snapshot **ret)
{
	struct matcher *matchers __cleanup(freep) =
		calloc(filter->nr_selectors + 1, sizeof(*matchers));
	struct snapshot *out __cleanup(snapshot_freep) = NULL;

	if (!matchers || snapshot_new_like(snapshot, &out))
		return -ENOMEM;
	out->rows = calloc(snapshot->nr_rows + 1, sizeof(*out->rows));
	out->processes = calloc(snapshot->nr_processes + 1, sizeof(*out->processes));
	if (!out->rows || !out->processes)
		return -ENOMEM;
	for (size_t i = 0; i < filter->nr_selectors; i++)
		matcher_prepare(&matchers[i], snapshot, &filter->selectors[i]);
	filter_processes(filter, snapshot, matchers, out);
	filter_rows(filter, snapshot, out);
	*ret = steal_ptr(&out);
	return 0;
}
