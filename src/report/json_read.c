/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns reading a JSON report back: what the document says as a whole, and the order in which its
 * parts are read. json.c writes what is read here. Invariant: a snapshot comes out whole or not at
 * all, and shows the same in every report as the one that was written.
 */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "report/json_read.h"
#include "report/json_values.h"
#include "report/report.h"

static void reader_done(struct json_reader *reader)
{
	builder_free(reader->builder);
	stack_table_free(reader->stacks);
	snapshot_free(reader->snapshot);
	free(reader->processes);
}

static int read_schema(const struct json_place *whole)
{
	uint64_t schema = 0;
	const char *version;
	int err = json_read_number(whole, "schema", FIELD_REQUIRED, &schema);

	if (!err && schema != JSON_SCHEMA)
		return json_refuse(whole, "schema is not %d: another version can read it",
				   JSON_SCHEMA);
	return err ?: json_read_string(whole, "version", 0, &version);
}

/* Unknown is empty. */
static int read_word(const struct json_place *whole, const char *key, char **ret)
{
	int err = json_read_untrusted(whole, key, 0, ret);

	if (!err && !*ret)
		*ret = strdup("");
	return err || *ret ? err : -ENOMEM;
}

/* Which machine and time this is of. */
static int read_head(struct json_reader *reader, const struct json_place *whole)
{
	static const struct json_field fields[] = {
		{ "elapsed_ns", offsetof(struct snapshot, elapsed_ns), FIELD_REQUIRED },
		{ "monotonic_ns", offsetof(struct snapshot, end_mono_ns), 0 },
		{ "slower_than_ns", offsetof(struct snapshot, slower_than_ns), FIELD_NULL },
		{ "threads_unknown", offsetof(struct snapshot, threads_unknown), 0 },
	};
	struct snapshot *snapshot = reader->snapshot;
	const char *namespace = "initial";
	int err = read_word(whole, "host", &snapshot->host);

	err = err ?: read_word(whole, "boot_id", &snapshot->boot_id);
	err = err ?: read_word(whole, "kernel", &snapshot->kernel);
	err = err ?: json_read_time(whole, "start", &snapshot->start_ns);
	err = err ?: json_read_time(whole, "end", &snapshot->end_ns);
	err = err ?: json_read_numbers(whole, fields, ARRAY_SIZE(fields), snapshot);
	err = err ?: json_read_string(whole, "pid_namespace", 0, &namespace);
	if (err)
		return err;
	snapshot->caller_pidns = !strcmp(namespace, "caller");
	if (!snapshot->caller_pidns && strcmp(namespace, "initial") != 0)
		return json_refuse(whole, "pid_namespace is neither initial nor caller");
	return 0;
}

static int read_losses(const struct json_place *whole, struct losses *losses)
{
	struct json_place place = { .outer = NULL, .d = whole->d };
	int err = json_read_part(whole, "losses", JSON_OBJECT, 0, &place.object);

	for (int i = 0; i < NR_MODEL_LOSS && place.object && !err; i++)
		err = json_read_number(&place, loss_texts[i].name, 0, &losses->count[i]);
	return err;
}

/* They follow from processes and rows, and only their form is looked at. */
static int read_microstates(const struct json_place *whole, struct snapshot *snapshot)
{
	static const char *const keys[] = { "threads_ns", "usr_ns",  "sys_ns",
					    "runq_ns",    "lock_ns", "sleep_ns" };
	struct json_place place = { .outer = NULL, .d = whole->d };
	int err = json_read_part(whole, "microstates", JSON_OBJECT, 0, &place.object);
	uint64_t value;

	for (size_t i = 0; i < ARRAY_SIZE(keys) && place.object && !err; i++)
		err = json_read_number(&place, keys[i], FIELD_NULL, &value);
	/* But what is not known of its locks is not in its rows. */
	snapshot->selected = json_is_null(json_object_get(place.object, "lock_ns"));
	return err;
}

static int read_target(const struct json_place *place, struct process *target)
{
	char *comm __cleanup(freep) = NULL;
	uint64_t pid = 0;
	int err = json_read_number_to(place, "pid", FIELD_REQUIRED, UINT32_MAX, &pid);

	err = err ?: json_read_untrusted(place, "comm", FIELD_REQUIRED, &comm);
	if (err)
		return err;
	if (strlen(comm) > sizeof(target->comm))
		return json_refuse(place, "comm is longer than %zu bytes", sizeof(target->comm));
	target->pid = (uint32_t)pid;
	memcpy(target->comm, comm, strlen(comm));
	return 0;
}

static int read_targets(struct json_reader *reader, const struct json_place *whole)
{
	struct snapshot *snapshot = reader->snapshot;
	const json_t *list = NULL;
	int err = json_read_part(whole, "targets", JSON_ARRAY, 0, &list);

	snapshot->targets = calloc(json_array_size(list) + 1, sizeof(*snapshot->targets));
	if (!snapshot->targets)
		return -ENOMEM;
	for (size_t i = 0; i < json_array_size(list) && !err; i++) {
		struct json_place place;

		err = json_read_element(whole, list, i, "target", &place);
		err = err ?: read_target(&place, &snapshot->targets[snapshot->nr_targets++]);
	}
	return err;
}

/* --- what older versions did not say ------------------------------------------------------------ */

/* Whether any row has a key that is not null. */
static bool rows_have(const json_t *rows, const char *key)
{
	const json_t *row;
	size_t i;

	json_array_foreach((json_t *)rows, i, row)
	{
		const json_t *value = json_object_get(row, key);

		if (value && !json_is_null(value))
			return true;
	}
	return false;
}

/* The clock at the end can be no earlier than the oldest call is old. */
static uint64_t rows_oldest(const json_t *rows)
{
	json_int_t oldest = 0;
	const json_t *row;
	size_t i;

	json_array_foreach((json_t *)rows, i, row)
	{
		json_int_t age = json_integer_value(json_object_get(row, "oldest_in_flight_ns"));

		oldest = age > oldest ? age : oldest;
	}
	return (uint64_t)oldest;
}

static int read_kind(struct json_reader *reader, const struct json_place *whole, const json_t *rows)
{
	struct snapshot *snapshot = reader->snapshot;
	bool has_stacks = rows_have(rows, "stacks");
	int err;

	/* Without a timed row there is nothing to say of run-queue times. */
	snapshot->has_runq = rows_have(rows, "runq_ns") || !rows_have(rows, "wall_ns");
	err = json_read_bool(whole, "has_runq", &snapshot->has_runq);
	err = err ?: json_read_bool(whole, "has_stacks", &has_stacks);
	if (!err && has_stacks)
		err = stack_table_new(&reader->stacks);
	if (!json_object_get(whole->object, "monotonic_ns"))
		snapshot->end_mono_ns = rows_oldest(rows);
	return err;
}

/* --- the whole ---------------------------------------------------------------------------------- */

static int read_rows(struct json_reader *reader, const struct json_place *whole, const json_t *rows)
{
	int err = 0;

	for (size_t i = 0; i < json_array_size(rows) && !err; i++) {
		struct json_place place;

		err = json_read_element(whole, rows, i, "row", &place);
		err = err ?: json_read_row(reader, &place);
	}
	return err;
}

/* Of older versions only the sum is known: it goes to a process that is none of those known. */
static int read_user_time(struct json_reader *reader, const struct json_place *whole)
{
	uint64_t user_ns = reader->user_ns;
	struct process *others = &reader->processes[reader->nr_processes].process;
	int err = json_read_number(whole, "user_cpu_ns", 0, &user_ns);

	if (err || user_ns == reader->user_ns)
		return err;
	if (reader->lists_processes)
		return json_refuse(whole, "user_cpu_ns is not the sum of those of processes");
	*others = process_of_other_kinds();
	others->boot_ns = INT64_MAX;
	others->user_ns = user_ns;
	reader->nr_processes++;
	return 0;
}

/* Room for every process that the document can have, and their names. */
static int reader_make(struct json_reader *reader, const json_t *processes, const json_t *rows)
{
	size_t limit = 1 + (processes ? json_array_size(processes) : json_array_size(rows));
	struct snapshot *snapshot = reader->snapshot;

	reader->lists_processes = processes != NULL;
	reader->processes = calloc(limit, sizeof(*reader->processes));
	snapshot->users = calloc(limit, sizeof(*snapshot->users));
	snapshot->cgroups = calloc(limit, sizeof(*snapshot->cgroups));
	if (!reader->processes || !snapshot->users || !snapshot->cgroups)
		return -ENOMEM;
	return builder_new(&reader->builder);
}

static int read_counted(struct json_reader *reader, const struct json_place *whole)
{
	const json_t *processes = NULL, *rows = NULL;
	int err = json_read_part(whole, "rows", JSON_ARRAY, FIELD_REQUIRED, &rows);

	err = err ?: json_read_part(whole, "processes", JSON_ARRAY, 0, &processes);
	err = err ?: reader_make(reader, processes, rows);
	err = err ?: read_kind(reader, whole, rows);
	err = err ?: json_read_processes(reader, whole, processes);
	err = err ?: read_rows(reader, whole, rows);
	err = err ?: read_user_time(reader, whole);
	err = err ?: json_add_processes(reader, whole);
	err = err ?: builder_finish(reader->builder, reader->snapshot);
	if (!err && reader->snapshot->nr_rows != json_array_size(rows))
		return json_refuse(whole, "rows has one twice");
	return err;
}

/* Rows of an interval may lack errnos that the losses of one before tell of. */
static int check_exact(const struct snapshot *snapshot, const struct json_place *whole)
{
	bool exact = snapshot_is_exact(snapshot), told = exact;
	int err = json_read_bool(whole, "exact", &told);

	if (!err && told != exact)
		return json_refuse(whole, "exact does not fit losses and errnos");
	return err;
}

static int read_whole(struct json_reader *reader, const struct json_place *whole)
{
	if (!json_is_object(whole->object))
		return json_refuse(whole, "not an object");
	return read_schema(whole) ?: read_head(reader, whole)
		       ?: read_losses(whole, &reader->snapshot->losses)
		       ?: read_microstates(whole, reader->snapshot) ?: read_targets(reader, whole) ?: read_counted(reader, whole)
		       ?: check_exact(reader->snapshot, whole);
}

static int parse(const char *text, size_t size, json_t **ret, struct diag *d)
{
	const struct json_place nowhere = { .d = d };
	json_error_t error;

	*ret = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
	if (*ret)
		return 0;
	if (json_error_code(&error) == json_error_out_of_memory)
		return -ENOMEM;
	return json_refuse(&nowhere, "line %d, column %d is not JSON", error.line, error.column);
}

int report_json_read(const char *text, size_t size, struct snapshot **ret,
		     struct stack_table **ret_stacks, struct diag *d)
{
	struct json_reader reader __cleanup(reader_done) = { .snapshot = NULL };
	json_t *json __cleanup(json_freep) = NULL;
	struct json_place whole = { .d = d };
	int err = parse(text, size, &json, d);

	whole.object = json;
	reader.snapshot = calloc(1, sizeof(*reader.snapshot));
	if (!reader.snapshot)
		err = -ENOMEM;
	err = err ?: read_whole(&reader, &whole);
	if (err == -ENOMEM)
		return diag_oom(d);
	if (err)
		return err;
	reader.snapshot->stacks = reader.stacks;
	*ret_stacks = steal_ptr(&reader.stacks);
	*ret = steal_ptr(&reader.snapshot);
	return 0;
}
