/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks at one record. */
#include "calls/filter.h"

#include <fnmatch.h>

#include "calls/pieces.h"
#include "syscalls/arguments.h"

/* The programs compare only the beginning of a path. */
static bool path_matches(const struct call_record *record, const char *glob)
{
	const struct call_arguments *arguments = call_arguments(record->abi, record->nr);
	char path[MAX_FETCH + 1];
	struct call_pieces pieces;
	struct call_memory memory;

	call_pieces_read(record, &pieces);
	for (size_t i = 0; i < arguments->count; i++) {
		if (arguments->arguments[i].kind != ARG_PATH ||
		    !call_pieces_find(&pieces, i, PART_SELF, &memory) ||
		    memory.size >= sizeof(path))
			continue;
		memcpy(path, memory.bytes, memory.size);
		path[memory.size] = 0;
		if (!fnmatch(glob, path, 0))
			return true;
	}
	return false;
}

static bool has_fd(const struct call_record *record, int fd)
{
	const struct call_arguments *arguments = call_arguments(record->abi, record->nr);

	for (size_t i = 0; i < arguments->count; i++) {
		enum argument_kind kind = arguments->arguments[i].kind;

		if ((kind == ARG_FD || kind == ARG_DIRFD) && (int)record->arguments[i] == fd)
			return true;
	}
	return false;
}

bool call_conditions_hold(const struct call_conditions *conditions,
			  const struct call_record *record)
{
	uint64_t error = (uint64_t)-record->result;
	bool has_failed = error && error < 64 * ARRAY_SIZE(conditions->errnos);

	if (conditions->only_failed &&
	    !(has_failed && conditions->errnos[error / 64] >> error % 64 & 1))
		return false;
	if (conditions->only_succeeded && (has_failed || !(record->flags & CALL_RETURNED)))
		return false;
	return !conditions->only_fd || has_fd(record, conditions->fd);
}

bool call_filter_has_thread(const struct call_filter *filter, const struct call_record *record)
{
	char name[sizeof(record->comm) + 1] = "";

	for (size_t i = 0; i < filter->nr_pids; i++) {
		if ((uint32_t)filter->pids[i] == record->pid ||
		    (uint32_t)filter->pids[i] == record->tid)
			return true;
	}
	memcpy(name, record->comm, sizeof(record->comm));
	for (size_t i = 0; i < filter->nr_names; i++) {
		if (!fnmatch(filter->names[i], name, 0))
			return true;
	}
	return !filter->nr_pids && !filter->nr_names;
}

bool call_filter_passes(const struct call_filter *filter, const struct call_record *record)
{
	if (!syscall_set_has(filter->calls, record->abi, record->nr) ||
	    !call_filter_has_thread(filter, record))
		return false;
	if (filter->slower_ns &&
	    !(record->flags & CALL_TIMED && record->wall_ns >= filter->slower_ns))
		return false;
	if (filter->conditions && !call_conditions_hold(filter->conditions, record))
		return false;
	return !filter->path || path_matches(record, filter->path);
}
