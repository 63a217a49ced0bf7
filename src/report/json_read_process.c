/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns whose calls are read back: the processes that a document lists, or, of an older version,
 * those that its rows tell apart. Invariant: what a row says of its process is what the process is.
 */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "report/json_read.h"

/* --- names -------------------------------------------------------------------------------------- */

/* Takes the name, if there is one. The list has room for one a process. */
static void names_append(struct id_name *names, size_t *count, uint64_t id, char **name)
{
	if (*name)
		names[(*count)++] = (struct id_name){ id, steal_ptr(name) };
}

static int compare_names(const void *x, const void *y)
{
	const struct id_name *a = x, *b = y;
	int order = (a->id > b->id) - (a->id < b->id);

	return order ?: strcmp(a->name, b->name);
}

/* Sorts them and leaves each once. */
static int names_finish(const struct json_place *whole, const char *what, struct id_name *names,
			size_t *count)
{
	size_t kept = 0, all = *count;

	qsort(names, all, sizeof(*names), compare_names);
	for (size_t i = 0; i < all; i++) {
		bool again = kept && names[kept - 1].id == names[i].id;

		if (again && strcmp(names[kept - 1].name, names[i].name) != 0) {
			/* Those not looked at follow those kept: all are freed with the snapshot. */
			memmove(&names[kept], &names[i], (all - i) * sizeof(*names));
			*count = kept + all - i;
			return json_refuse(whole, "one %s has two names", what);
		}
		if (again)
			free(names[i].name);
		else
			names[kept++] = names[i];
	}
	*count = kept;
	return 0;
}

/* --- one process -------------------------------------------------------------------------------- */

static int read_comm(const struct json_place *place, struct process *process)
{
	char *comm __cleanup(freep) = NULL;
	int err = json_read_untrusted(place, "comm", FIELD_REQUIRED, &comm);
	size_t length;

	if (err)
		return err;
	length = strlen(comm);
	if (length > sizeof(process->comm))
		return json_refuse(place, "comm is longer than %zu bytes", sizeof(process->comm));
	memcpy(process->comm, comm, length);
	return 0;
}

static int read_user(struct json_reader *reader, const struct json_place *place,
		     struct process *process)
{
	struct snapshot *snapshot = reader->snapshot;
	char *user __cleanup(freep) = NULL;
	uint64_t uid = UID_NONE;
	int err = json_read_number_to(place, "uid", FIELD_NULL, UID_NONE - 1, &uid);

	err = err ?: json_read_untrusted(place, "user", FIELD_NULL, &user);
	if (err)
		return err;
	if (user && uid == UID_NONE)
		return json_refuse(place, "user without uid");
	process->uid = (uint32_t)uid;
	names_append(snapshot->users, &snapshot->nr_users, uid, &user);
	return 0;
}

static int read_cgroup(struct json_reader *reader, const struct json_place *place,
		       struct process *process)
{
	struct snapshot *snapshot = reader->snapshot;
	char *path __cleanup(freep) = NULL;
	const char *unit;
	int err = json_read_number(place, "cgroup_id", FIELD_SIGNED, &process->cgroup_id);

	err = err ?: json_read_untrusted(place, "cgroup", FIELD_NULL, &path);
	/* Follows from the path. */
	err = err ?: json_read_string(place, "unit", FIELD_NULL, &unit);
	if (!err)
		names_append(snapshot->cgroups, &snapshot->nr_cgroups, process->cgroup_id, &path);
	return err;
}

static int read_pid(const struct json_place *place, uint32_t *ret)
{
	uint64_t pid = 0;
	int err = json_read_number_to(place, "pid", FIELD_REQUIRED | FIELD_NULL, UINT32_MAX, &pid);

	if (!err)
		*ret = (uint32_t)pid;
	return err;
}

/* The first was there always; those that came later may be missing. */
static int read_counts(const struct json_place *place, struct process *process)
{
	int err = 0;

	for (size_t i = 0; i < NR_PROCESS_COUNTS && !err; i++) {
		const struct json_field field = { process_counts[i].name, process_counts[i].offset,
						  i ? 0 : FIELD_REQUIRED };

		err = json_read_numbers(place, &field, 1, process);
	}
	return err;
}

static int read_process(struct json_reader *reader, const struct json_place *place,
			struct process *process)
{
	static const struct json_field fields[] = {
		{ "start_ns", offsetof(struct process, boot_ns), FIELD_REQUIRED },
		{ "threads", offsetof(struct process, threads), 0 },
		{ "exited", offsetof(struct process, nr_folded), 0 },
		{ "ended_ns", offsetof(struct process, ended_ns), FIELD_NULL },
	};
	int err = read_pid(place, &process->pid);

	err = err ?: read_comm(place, process) ?: read_user(reader, place, process);
	err = err ?: read_cgroup(reader, place, process);
	err = err ?: json_read_numbers(place, fields, ARRAY_SIZE(fields), process);
	err = err ?: read_counts(place, process);
	return err ?: json_count_up(place, "user_cpu_ns", process->user_ns, &reader->user_ns);
}

int json_read_processes(struct json_reader *reader, const struct json_place *whole,
			const json_t *list)
{
	int err = 0;

	for (size_t i = 0; i < json_array_size(list) && !err; i++) {
		struct json_process *process = &reader->processes[reader->nr_processes++];
		struct json_place place;

		err = json_read_element(whole, list, i, "process", &place);
		if (err)
			return err;
		process->object = place.object;
		err = read_process(reader, &place, &process->process);
	}
	return err;
}

int json_add_processes(struct json_reader *reader, const struct json_place *whole)
{
	struct snapshot *snapshot = reader->snapshot;
	int err = 0;

	for (size_t i = 0; i < reader->nr_processes && !err; i++)
		err = builder_add_process(reader->builder, &reader->processes[i].process, false);
	if (!err && builder_processes(reader->builder) != reader->nr_processes)
		err = json_refuse(whole, "processes has one twice");
	err = err ?: names_finish(whole, "user", snapshot->users, &snapshot->nr_users);
	return err ?: names_finish(whole, "cgroup", snapshot->cgroups, &snapshot->nr_cgroups);
}

/* --- whose row it is ---------------------------------------------------------------------------- */

static const char *const owner_keys[] = { "comm", "uid", "user", "unit", "exited" };

/* Types only: these are those of the process, or mean nothing without one. */
static int check_owner(const struct json_place *place)
{
	const char *text;
	uint64_t number;

	return json_read_string(place, "comm", 0, &text)
		       ?: json_read_number(place, "uid", FIELD_NULL, &number)
		       ?: json_read_string(place, "user", FIELD_NULL, &text)
		       ?: json_read_string(place, "unit", FIELD_NULL, &text)
		       ?: json_read_number(place, "exited", 0, &number);
}

static bool is_same(const json_t *a, const json_t *b, const char *key)
{
	const json_t *x = json_object_get(a, key), *y = json_object_get(b, key);

	return (!x && !y) || json_equal(x, y);
}

static int row_set_process(const struct json_reader *reader, const struct json_place *place,
			   uint64_t index, struct row *row)
{
	const struct json_process *process;
	uint64_t exited, told;
	int err;

	if (index >= reader->nr_processes)
		return json_refuse(place, "process is beyond the list of processes");
	process = &reader->processes[index];
	exited = process->process.pid ? 0 : process->process.nr_folded;
	if (row->pid != process->process.pid)
		return json_refuse(place, "pid is not that of its process");
	for (size_t i = 0; i + 1 < ARRAY_SIZE(owner_keys); i++) {
		if (json_object_get(place->object, owner_keys[i]) &&
		    !is_same(place->object, process->object, owner_keys[i]))
			return json_refuse(place, "%s is not that of its process", owner_keys[i]);
	}
	told = exited;
	err = json_read_number(place, "exited", 0, &told);
	if (!err && told != exited)
		return json_refuse(place, "exited is not that of its process");
	row->boot_ns = process->process.boot_ns;
	return err;
}

/* --- documents of older versions ---------------------------------------------------------------- */

/* Calls that found no room: nobody's. */
static bool is_of_nobody(const struct json_place *place)
{
	const char *comm = json_string_value(json_object_get(place->object, "comm"));

	return json_is_null(json_object_get(place->object, "pid")) && comm &&
	       !strcmp(comm, "[overflow]") &&
	       !json_is_integer(json_object_get(place->object, "uid")) &&
	       !json_integer_value(json_object_get(place->object, "exited"));
}

/* Rows are sorted by process: one that differs, or comes before the last, is of another. */
static bool is_of_last(const struct json_reader *reader, const struct json_place *place,
		       const struct row *row)
{
	struct row identity = *row;

	if (!reader->nr_processes || !reader->last_row || reader->last.pid != row->pid)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(owner_keys); i++) {
		if (!is_same(place->object, reader->last_row, owner_keys[i]))
			return false;
	}
	identity.boot_ns = reader->last.boot_ns;
	return row_compare(&reader->last, &identity) < 0;
}

/* All that is known of its cgroup is the unit: the path is as short as one can be. */
static int read_unit(struct json_reader *reader, const struct json_place *place,
		     struct process *process)
{
	struct snapshot *snapshot = reader->snapshot;
	char *unit __cleanup(freep) = NULL, *path __cleanup(freep) = NULL;
	int err = json_read_untrusted(place, "unit", FIELD_NULL, &unit);

	if (err || !unit)
		return err;
	if (asprintf(&path, "/%s", strcmp(unit, "-") ? unit : "") < 0) {
		path = NULL;
		return -ENOMEM;
	}
	process->cgroup_id = reader->nr_processes;
	names_append(snapshot->cgroups, &snapshot->nr_cgroups, process->cgroup_id, &path);
	return 0;
}

/* Makes up a start where two processes could not be told apart without. */
static int process_of_row(struct json_reader *reader, const struct json_place *place,
			  const struct row *row)
{
	struct process *process = &reader->processes[reader->nr_processes].process;
	const struct process *before = NULL;

	if (reader->nr_processes)
		before = &reader->processes[reader->nr_processes - 1].process;
	process->pid = row->pid;
	process->boot_ns = row->pid ? 0 : 1;
	if (before && before->pid == row->pid)
		process->boot_ns = before->boot_ns + 1;
	reader->nr_processes++;
	return read_comm(place, process) ?: read_user(reader, place, process)
		       ?: read_unit(reader, place, process)
		       ?: json_read_number(place, "exited", 0, &process->nr_folded);
}

static int read_owner_of_old(struct json_reader *reader, const struct json_place *place,
			     struct row *row)
{
	int err = 0;

	if (is_of_nobody(place))
		return 0;
	if (!is_of_last(reader, place, row))
		err = process_of_row(reader, place, row);
	if (err)
		return err;
	row->boot_ns = reader->processes[reader->nr_processes - 1].process.boot_ns;
	reader->last = *row;
	reader->last_row = place->object;
	return 0;
}

int json_read_owner(struct json_reader *reader, const struct json_place *place, struct row *row)
{
	uint64_t process = UINT64_MAX;
	int err = read_pid(place, &row->pid);

	err = err ?: check_owner(place);
	if (!err && !reader->lists_processes)
		return read_owner_of_old(reader, place, row);
	err = err ?: json_read_number(place, "process", FIELD_REQUIRED | FIELD_NULL, &process);
	if (err)
		return err;
	if (process == UINT64_MAX)
		return json_read_number(place, "start_ns", 0, &row->boot_ns);
	return row_set_process(reader, place, process, row);
}
