/* SPDX-License-Identifier: BSD-2-Clause */
/* Names the owners of series. Every name is valid UTF-8 without control characters. */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "model/match.h"
#include "metrics/state.h"

/* As in the tables: nobody knows, or there is none. */
#define NO_NAME "-"

/* The text that a name is made of: not yet escaped, not NUL-terminated. */
struct raw_name {
	const char *bytes;
	size_t size;
};

const struct metrics_grouping metrics_groupings[NR_METRICS_GROUP] = {
	[METRICS_BY_UNIT] = { "unit",
			      METRICS_NAME_UNIT,
			      { { "cgroup", METRICS_NAME_UNIT_CGROUP } } },
	[METRICS_BY_CGROUP] = { "cgroup", METRICS_NAME_CGROUP, { { "unit", METRICS_NAME_UNIT } } },
	[METRICS_BY_COMM] = { "comm", METRICS_NAME_COMM, { { NULL, METRICS_NAME_NONE } } },
	[METRICS_BY_PID] = { "pid",
			     METRICS_NAME_PID,
			     { { "comm", METRICS_NAME_COMM }, { "unit", METRICS_NAME_UNIT } } },
};

/* A label named total would hide in sums, an empty one is none at all. */
static const char *const reserved[] = { "", "total", METRICS_OTHER, METRICS_UNATTRIBUTED };

bool metrics_name_is_reserved(const char *label)
{
	for (size_t i = 0; i < ARRAY_SIZE(reserved); i++) {
		if (!strcmp(reserved[i], label))
			return true;
	}
	return false;
}

static struct raw_name raw_name(enum metrics_name name, const char *path,
				const struct process *process)
{
	struct raw_name unit;

	if (name == METRICS_NAME_COMM)
		return (struct raw_name){ process->comm, sizeof(process->comm) };
	unit.size = cgroup_unit(path, &unit.bytes);
	if (name == METRICS_NAME_UNIT)
		return unit;
	/* Without a unit this is no part of the path. */
	if (name == METRICS_NAME_CGROUP || (unit.size == 1 && *unit.bytes == '-'))
		return (struct raw_name){ path, strlen(path) };
	return (struct raw_name){ path, (size_t)(unit.bytes - path) + unit.size };
}

/* The group of all further kinds has no name, unit or pid; the other folded ones have no pid. */
static bool process_is_nameless(const struct process *process, enum metrics_name name)
{
	return !process->pid && (name == METRICS_NAME_PID || process->uid == UID_NONE);
}

bool metrics_process_name(const struct snapshot *snapshot, const struct process *process,
			  enum metrics_name name, char out[METRICS_NAME_MAX])
{
	const char *path = snapshot_cgroup(snapshot, process->cgroup_id);
	struct raw_name raw;

	if (process_is_nameless(process, name))
		return false;
	if (name == METRICS_NAME_PID) {
		snprintf(out, METRICS_NAME_MAX, "%" PRIu32, process->pid);
		return true;
	}
	raw = raw_name(name, path && *path ? path : NO_NAME, process);
	if (raw.size > METRICS_NAME_BYTES)
		raw.size = METRICS_NAME_BYTES;
	text_escape_visible(raw.bytes, raw.size, out);
	return true;
}
