/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes snapshots as JSON, schema 1: bpftruss-json(5) is the contract. The JSON has all that a
 * report shows of a snapshot, so that the same snapshot can be made of it again: whole or not at
 * all. Values that follow from others, as percentiles and sums do, are not looked at, but for those
 * that make a report say that it is exact. Numbers whose difference would wrap are refused.
 *
 * Other versions count other things: a counter or a loss that is absent is 0, and keys that are not
 * known are skipped.
 */
#include "json/documents.h"

#include "json/exemplars.h"
#include "json/json.h"
#include "json/stack.h"
#include "model/builder.h"
#include "model/label.h"
#include "model/match.h"
#include "syscalls/names.h"

/* Writes the times of a row or of one of its stacks: null where they are not known. */
static void put_times(struct json_writer *to, const struct snapshot *snapshot,
		      const struct row *row, const struct stack_count *count)
{
	bool timed = row_timed(row) > 0, runq = timed && snapshot->has_runq;

	json_put_number_if(to, "wall_ns", timed, count->wall_ns);
	json_put_number_if(to, "cpu_ns", timed, count->wall_ns - count->off_ns);
	json_put_number_if(to, "runq_ns", runq, count->runq_ns);
	json_put_number_if(to, "sleep_ns", runq, count->off_ns - count->runq_ns);
}

static void put_row_times(struct json_writer *to, const struct snapshot *snapshot,
			  const struct row *row)
{
	static const struct {
		const char *key;
		double q;
	} percentiles[] = { { "p50_ns", 0.50 }, { "p90_ns", 0.90 }, { "p99_ns", 0.99 } };
	const struct stack_count all = { .wall_ns = row->wall_ns,
					 .off_ns = row->off_ns,
					 .runq_ns = row->runq_ns };
	bool timed = row_timed(row) > 0;

	put_times(to, snapshot, row, &all);
	json_put_number_if(to, "min_ns", timed, row->min_ns);
	json_put_number_if(to, "max_ns", timed, row->max_ns);
	for (size_t i = 0; i < ARRAY_SIZE(percentiles); i++) {
		uint64_t ns = timed ? hist_quantile_ns(&row->hist, percentiles[i].q, row->min_ns,
						       row->max_ns)
				    : 0;

		json_put_number_if(to, percentiles[i].key, timed, ns);
	}
}

static void put_histogram(struct json_writer *to, const struct row *row)
{
	unsigned int first, end;

	hist_range(&row->hist, &first, &end);
	json_put_list(to, "histogram");
	for (unsigned int i = first; i < end; i++) {
		uint64_t count = hist_count(&row->hist, i);

		if (!count)
			continue;
		json_put_list(to, NULL);
		json_put_number(to, NULL, hist_bucket_low(i));
		/* The last has no upper bound. */
		json_put_number_if(to, NULL, i + 1 < HIST_BUCKETS, hist_bucket_low(i + 1));
		json_put_number(to, NULL, count);
		json_put_end(to);
	}
	json_put_end(to);
}

static void put_unit(struct json_writer *to, const char *cgroup)
{
	const char *unit;
	size_t length;

	if (!cgroup) {
		json_put_null(to, "unit");
		return;
	}
	length = cgroup_unit(cgroup, &unit);
	json_put_bytes(to, "unit", unit, length);
}

static void put_user(struct json_writer *to, const struct snapshot *snapshot,
		     const struct process *process)
{
	uint32_t uid = process ? process->uid : UID_NONE;

	json_put_number_if(to, "uid", uid != UID_NONE, uid);
	json_put_text(to, "user", process ? snapshot_user(snapshot, process) : NULL);
}

/* --- stacks ------------------------------------------------------------------------------------- */

static void put_stack(struct json_writer *to, const struct snapshot *snapshot,
		      const struct row *row, const struct stack_sample *sample, bool remainder)
{
	json_put_object(to, NULL);
	json_put_stack(to, &sample->view);
	json_put_number(to, "calls", sample->count.calls);
	json_put_number(to, "errors", sample->count.errors);
	put_times(to, snapshot, row, &sample->count);
	json_put_number_if(to, "max_ns", row_timed(row) > 0, sample->count.max_ns);
	if (remainder)
		json_put_bool(to, "remainder", true);
	json_put_end(to);
}

/* --- rows --------------------------------------------------------------------------------------- */

/* Writes what only a reader of the whole needs, in rows that have it; stacks only if asked for. */
static void put_rest(struct json_writer *to, const struct snapshot *snapshot, const struct row *row,
		     const struct process *process)
{
	struct stack_sample sample;

	if (process)
		json_put_number(to, "process", (uint64_t)(process - snapshot->processes));
	else
		json_put_null(to, "process");
	if (!process && row->boot_ns)
		json_put_number(to, "start_ns", row->boot_ns);
	if (row->tid_ns)
		json_put_number(to, "tid_start_ns", row->tid_ns);
	if (row->result_sum && !row_moves_data(row))
		json_put_number(to, "result_sum", row->result_sum);
	if (row->open_wall_ns || row->open_off_ns) {
		json_put_number(to, "open_wall_ns", (uint64_t)row->open_wall_ns);
		json_put_number(to, "open_off_ns", (uint64_t)row->open_off_ns);
	}
	if (!snapshot->stacks)
		return;
	json_put_list(to, "stacks");
	for (size_t i = 0; stack_sample_at(snapshot, row, i, &sample); i++)
		put_stack(to, snapshot, row, &sample, i == row->nr_stacks);
	json_put_end(to);
}

/* arg0 is there in any case. */
static void put_split(struct json_writer *to, const struct snapshot *snapshot,
		      const struct row *row)
{
	json_put_number_if(to, "arg0", row->split == SPLIT_ARG0, row->split_value);
	if (row->split >= SPLIT_PATH)
		json_put_argument(to, snapshot, row);
	else if (row->split > SPLIT_ARG0)
		json_put_number(to, row_split_names[row->split], row->split_value);
}

static void put_row(struct json_writer *to, const struct snapshot *snapshot, const struct row *row)
{
	const struct process *process = snapshot_process_of(snapshot, row);
	char name[SYSCALL_NAME_MAX], label[ERRNO_LABEL_MAX];

	row_call_name(row, name, sizeof(name));
	json_put_object(to, NULL);
	json_put_part(to, snapshot, row->host);
	json_put_number_if(to, "pid", row->pid != 0, row->pid);
	if (process)
		json_put_bytes(to, "comm", process->comm, PROCESS_COMM_SIZE);
	else
		json_put_word(to, "comm", "[overflow]");
	json_put_word(to, "abi", abi_name(row->abi));
	json_put_number_if(to, "nr", row->nr != ROW_NR_OTHER, (uint64_t)row->nr);
	json_put_word(to, "syscall", name);
	for (size_t i = 0; i < NR_ROW_COUNTS; i++)
		json_put_number(to, row_counters[i].name, row_count(row, i));
	json_put_number_if(to, "oldest_in_flight_ns", row->in_flight > 0,
			   snapshot_oldest_ns(snapshot, row));
	put_row_times(to, snapshot, row);
	json_put_slowest(to, snapshot, row);
	json_put_number(to, "bytes", row_moves_data(row) ? row->result_sum : 0);
	/* Writes whose calls these are; a value that is unknown, or was not asked for, is null. */
	json_put_number_if(to, "tid", row->tid != 0, row->tid);
	put_user(to, snapshot, process);
	put_unit(to, process ? snapshot_cgroup(snapshot, process->cgroup_id) : NULL);
	json_put_number(to, "exited", process && !process->pid ? process->nr_folded : 0);
	put_split(to, snapshot, row);
	json_put_object(to, "errnos");
	for (size_t i = 0; i < row->nr_errnos; i++) {
		errno_label(row->errnos[i].err, label, sizeof(label));
		json_put_number(to, label, row->errnos[i].count);
	}
	json_put_end(to);
	put_histogram(to, row);
	if (snapshot->exemplars)
		json_put_exemplars(to, snapshot, &row, 1);
	put_rest(to, snapshot, row, process);
	json_put_end(to);
}

static void put_process(struct json_writer *to, const struct snapshot *snapshot,
			const struct process *process)
{
	const char *cgroup = snapshot_cgroup(snapshot, process->cgroup_id);
	struct container container;

	json_put_object(to, NULL);
	json_put_part(to, snapshot, process->host);
	json_put_number_if(to, "pid", process->pid != 0, process->pid);
	json_put_number(to, "start_ns", process->boot_ns);
	json_put_bytes(to, "comm", process->comm, PROCESS_COMM_SIZE);
	put_user(to, snapshot, process);
	if (process->any_user)
		json_put_bool(to, "any_user", true);
	json_put_text(to, "cgroup", cgroup);
	json_put_number(to, "cgroup_id", process->cgroup_id);
	put_unit(to, cgroup);
	container_find(cgroup ?: "", &container);
	json_put_container(to, cgroup ? &container : NULL);
	json_put_pod(to, cgroup ? &container : NULL);
	json_put_number(to, "threads", process->threads);
	json_put_number(to, "exited", process->nr_folded);
	json_put_number_if(to, "ended_ns", process->ended_ns != 0, process->ended_ns);
	for (size_t i = 0; i < NR_PROCESS_COUNTS; i++)
		json_put_number(to, process_counts[i].name, process_count(process, i));
	json_put_end(to);
}

/* --- the whole ---------------------------------------------------------------------------------- */

void json_put_losses(struct json_writer *to, const struct losses *losses)
{
	json_put_object(to, "losses");
	for (int i = 0; i < NR_MODEL_LOSS; i++)
		json_put_number(to, loss_texts[i].name, losses->count[i]);
	json_put_end(to);
}

void json_put_microstates(struct json_writer *to, const struct microstates *states, bool has_runq,
			  bool has_lock)
{
	json_put_number(to, "threads_ns", microstates_total_ns(states));
	json_put_number(to, "usr_ns", states->user_ns);
	json_put_number(to, "sys_ns", states->system_ns);
	json_put_number_if(to, "runq_ns", has_runq, states->runq_ns);
	json_put_number_if(to, "lock_ns", has_lock, states->lock_ns);
	json_put_number(to, "sleep_ns", states->sleep_ns);
}

void json_put_snapshot(struct json_writer *to, const char *key, const struct snapshot *snapshot)
{
	struct microstates states;
	bool has_lock = snapshot_microstates(snapshot, &states);

	json_put_document(to, key);
	json_put_origin(to, snapshot);
	json_put_parts(to, snapshot);
	json_put_list(to, "targets");
	for (size_t i = 0; i < snapshot->nr_targets; i++) {
		const struct process *target = &snapshot->targets[i];

		json_put_object(to, NULL);
		json_put_number(to, "pid", target->pid);
		json_put_bytes(to, "comm", target->comm, PROCESS_COMM_SIZE);
		json_put_end(to);
	}
	json_put_end(to);
	json_put_word(to, "pid_namespace", snapshot->caller_pidns ? "caller" : "initial");
	json_put_bool(to, "exact", snapshot_is_exact(snapshot));
	json_put_losses(to, &snapshot->losses);
	json_put_number_if(to, "slower_than_ns", snapshot->slower_than_ns != 0,
			   snapshot->slower_than_ns);
	json_put_bool(to, "user_includes_calls", snapshot->user_includes_calls);
	json_put_number(to, "threads_unknown", snapshot->threads_unknown);
	json_put_number(to, "user_cpu_ns", snapshot_user_ns(snapshot));
	/* The time of all threads; it follows from processes and rows. */
	json_put_object(to, "microstates");
	json_put_microstates(to, &states, snapshot->has_runq, has_lock);
	json_put_end(to);
	json_put_number(to, "monotonic_ns", snapshot->end_mono_ns);
	if (snapshot->paused_ns)
		json_put_number(to, "paused_ns", snapshot->paused_ns);
	json_put_bool(to, "has_runq", snapshot->has_runq);
	json_put_bool(to, "has_stacks", snapshot->stacks != NULL);
	json_put_exemplar_counts(to, snapshot);
	json_put_list(to, "processes");
	for (size_t i = 0; i < snapshot->nr_processes; i++)
		put_process(to, snapshot, &snapshot->processes[i]);
	json_put_end(to);
	json_put_threads(to, snapshot);
	json_put_list(to, "rows");
	for (size_t i = 0; i < snapshot->nr_rows; i++)
		put_row(to, snapshot, snapshot->rows[i]);
	json_put_end(to);
	json_put_end(to);
}

int report_json(const struct snapshot *snapshot, FILE *out)
{
	struct json_writer to;

	json_begin(&to, out);
	json_put_snapshot(&to, NULL, snapshot);
	return json_end(&to);
}

/* --- reading ------------------------------------------------------------------------------------ */

#define MAX_ERRNO 4095

/* A snapshot on its way. */
struct reader {
	struct snapshot *snapshot;  /* owned, as all of these */
	struct stack_table *stacks; /* NULL: none were taken */
	struct builder *builder;
	struct process *processes; /* in the order of the document */
	size_t nr_processes;
	uint64_t nr_stack_ids;
};

static void reader_done(struct reader *reader)
{
	builder_free(reader->builder);
	stack_table_free(reader->stacks);
	snapshot_free(reader->snapshot);
	free(reader->processes);
}

static void read_head(struct snapshot *snapshot, const struct json_place *whole)
{
	const char *namespace = json_get_word(whole, "pid_namespace", 0);
	const struct json_place losses = json_get_object(whole, "losses", 0);
	const struct json_place states = json_get_object(whole, "microstates", 0);
	const json_t *targets = json_get_list(whole, "targets");
	struct json_place at;

	snapshot->host = json_get_text(whole, "host", 0);
	snapshot->boot_id = json_get_text(whole, "boot_id", 0);
	snapshot->kernel = json_get_text(whole, "kernel", 0);
	json_get_parts(whole, snapshot);
	snapshot->start_ns = json_get_time(whole, "start");
	snapshot->end_ns = json_get_time(whole, "end");
	snapshot->elapsed_ns = json_get_number(whole, "elapsed_ns", 0, 0);
	snapshot->paused_ns = json_get_number(whole, "paused_ns", JSON_OR_ABSENT, 0);
	snapshot->end_mono_ns = json_get_number(whole, "monotonic_ns", 0, 0);
	snapshot->slower_than_ns = json_get_number(whole, "slower_than_ns", JSON_OR_NULL, 0);
	snapshot->user_includes_calls = json_get_bool(whole, "user_includes_calls", 0);
	snapshot->threads_unknown = json_get_number(whole, "threads_unknown", 0, 0);
	snapshot->has_runq = json_get_bool(whole, "has_runq", 0);
	snapshot->caller_pidns = namespace && !strcmp(namespace, "caller");
	for (int i = 0; i < NR_MODEL_LOSS; i++)
		snapshot->losses.count[i] =
			json_get_number(&losses, loss_texts[i].name, JSON_OR_ABSENT, 0);
	/* Locks are unknown where a report leaves out calls. */
	snapshot->selected =
		json_get_number(&states, "lock_ns", JSON_OR_NULL, UINT64_MAX) == UINT64_MAX;
	snapshot->targets = calloc(json_array_size(targets) + 1, sizeof(*snapshot->targets));
	if (!snapshot->targets)
		json_check(whole, -ENOMEM);
	for (size_t i = 0; json_get_element(whole, targets, i, &at); i++) {
		struct process *target = &snapshot->targets[snapshot->nr_targets++];

		target->pid = (uint32_t)json_get_number(&at, "pid", JSON_32_BITS, 0);
		json_get_bytes(&at, "comm", target->comm, sizeof(target->comm));
	}
}

/* Reads the name of a user or a cgroup, unless it is null. */
static void read_name(const struct json_place *at, const char *key, uint64_t id,
		      struct id_name **names, size_t *count)
{
	char *name __cleanup(freep) = json_get_text(at, key, JSON_OR_NULL);

	if (name)
		json_check(at, id_names_add(names, count, id, name));
}

static void read_processes(struct reader *reader, const struct json_place *whole)
{
	const json_t *list = json_get_list(whole, "processes");
	struct snapshot *snapshot = reader->snapshot;
	struct json_place at;

	reader->processes = calloc(json_array_size(list) + 1, sizeof(*reader->processes));
	if (!reader->processes)
		json_check(whole, -ENOMEM);
	for (size_t i = 0; json_get_element(whole, list, i, &at); i++) {
		struct process *process = &reader->processes[reader->nr_processes++];

		process->host = json_get_part(&at, snapshot);
		process->pid =
			(uint32_t)json_get_number(&at, "pid", JSON_OR_NULL | JSON_32_BITS, 0);
		process->boot_ns = json_get_number(&at, "start_ns", 0, 0);
		json_get_bytes(&at, "comm", process->comm, sizeof(process->comm));
		process->uid = (uint32_t)json_get_number(&at, "uid", JSON_OR_NULL | JSON_32_BITS,
							 UID_NONE);
		process->any_user = json_get_bool(&at, "any_user", JSON_OR_ABSENT);
		process->cgroup_id = json_get_number(&at, "cgroup_id", JSON_ANY_BITS, 0);
		process->threads = json_get_number(&at, "threads", 0, 0);
		process->nr_folded = json_get_number(&at, "exited", 0, 0);
		process->ended_ns = json_get_number(&at, "ended_ns", JSON_OR_NULL, 0);
		for (size_t i = 0; i < NR_PROCESS_COUNTS; i++)
			*(uint64_t *)((char *)process + process_counts[i].offset) =
				json_get_number(&at, process_counts[i].name, JSON_OR_ABSENT, 0);
		read_name(&at, "user", process_user_id(process), &snapshot->users,
			  &snapshot->nr_users);
		read_name(&at, "cgroup", process->cgroup_id, &snapshot->cgroups,
			  &snapshot->nr_cgroups);
		json_check(&at, builder_add_process(reader->builder, process, false));
	}
	if (builder_processes(reader->builder) != reader->nr_processes)
		json_refuse(whole, "processes has one twice");
}

/* Returns a string of the table, or NULL. */
static const char *read_frame_name(struct reader *reader, const struct json_place *at,
				   const char *key)
{
	char *name __cleanup(freep) = json_get_text(at, key, JSON_OR_NULL);
	const char *own = NULL;

	json_check(at, stack_table_intern(reader->stacks, name, &own));
	return own;
}

/* The times of a row's calls or of those of one stack; null, of calls without a time, is 0. */
static void read_times(const struct json_place *at, struct stack_count *count)
{
	uint64_t cpu_ns = json_get_number(at, "cpu_ns", JSON_OR_NULL, 0);

	count->wall_ns = json_get_number(at, "wall_ns", JSON_OR_NULL, 0);
	count->runq_ns = json_get_number(at, "runq_ns", JSON_OR_NULL, 0);
	count->max_ns = json_get_number(at, "max_ns", JSON_OR_NULL, 0);
	count->off_ns = count->wall_ns - cpu_ns;
	if (cpu_ns > count->wall_ns)
		json_refuse(at, "cpu_ns is more than wall_ns");
	else if (count->runq_ns > count->off_ns)
		json_refuse(at, "cpu_ns and runq_ns are more than wall_ns");
}

/* Returns the end of a stack. */
static unsigned int read_end(const struct json_place *at)
{
	const char *told = json_get_word(at, "end", 0) ?: "";
	char word[VIEW_END_WORD_MAX];

	for (unsigned int end = 0; end < NR_VIEW_END; end++) {
		view_end_word(end, word);
		if (!strcmp(word, told))
			return end;
	}
	json_refuse(at, "end is none that is known");
	return 0;
}

static void read_stacks(struct reader *reader, const struct json_place *at, struct row *row)
{
	const json_t *list = reader->stacks ? json_get_list(at, "stacks") : NULL;
	struct json_place place, frame;

	for (size_t i = 0; json_get_element(at, list, i, &place); i++) {
		const json_t *frames = json_get_list(&place, "frames");
		struct stack_frame *named __cleanup(freep) =
			calloc(json_array_size(frames) + 1, sizeof(*named));
		struct stack stack = { .end = (enum stack_end)read_end(&place), .frames = named };
		struct stack_count count = { 0 };

		/* The remainder is computed again from the row. */
		if (json_get_bool(&place, "remainder", JSON_OR_ABSENT))
			continue;
		if (!named)
			json_check(&place, -ENOMEM);
		count.calls = json_get_number(&place, "calls", 0, 0);
		count.errors = json_get_number(&place, "errors", 0, 0);
		read_times(&place, &count);
		for (; json_get_element(&place, frames, stack.nr_frames, &frame); stack.nr_frames++)
			named[stack.nr_frames] = (struct stack_frame){
				.module = read_frame_name(reader, &frame, "module"),
				.symbol = read_frame_name(reader, &frame, "symbol"),
				.offset = json_get_number(&frame, "offset", JSON_ANY_BITS, 0),
				.inlined = json_get_bool(&frame, "inlined", 0),
				.kernel = json_get_bool(&frame, "kernel", JSON_OR_ABSENT),
			};
		/* Calls that have no stack are in none of the table. */
		if ((unsigned int)stack.end != VIEW_OTHERS && !place.document->err) {
			count.id = stack.id = ++reader->nr_stack_ids;
			json_check(&place, stack_table_put(reader->stacks, &stack));
		}
		json_check(&place, row_add_stack(row, &count));
	}
}

static void read_split(const struct reader *reader, const struct json_place *at, struct row *row)
{
	for (enum call_split split = SPLIT_ARG0; split < NR_CALL_SPLIT; split++) {
		const json_t *value = json_object_get(at->object, row_split_names[split]);

		if (!value || (json_is_null(value) && split < SPLIT_PATH))
			continue;
		if (row->split >= SPLIT_PATH)
			json_refuse(at, "a row has a path and a file");
		row->split = split;
		if (split >= SPLIT_PATH)
			json_get_argument(at, reader->snapshot->arguments, row);
		else
			row->split_value =
				json_get_number(at, row_split_names[split], JSON_ANY_BITS, 0);
	}
}

/* Reads whose a row is: without a process only pid and start are known. */
static void read_identity(const struct reader *reader, const struct json_place *at, struct row *row)
{
	uint64_t index = json_get_number(at, "process", JSON_OR_NULL, UINT64_MAX);
	const char *abi = json_get_word(at, "abi", 0) ?: "";

	row->host = json_get_part(at, reader->snapshot);
	if (index < reader->nr_processes) {
		row->host = reader->processes[index].host;
		row->pid = reader->processes[index].pid;
		row->boot_ns = reader->processes[index].boot_ns;
	} else if (index == UINT64_MAX) {
		row->pid = (uint32_t)json_get_number(at, "pid", JSON_OR_NULL | JSON_32_BITS, 0);
		row->boot_ns = json_get_number(at, "start_ns", JSON_OR_ABSENT, 0);
	} else {
		json_refuse(at, "process is beyond the list of processes");
	}
	row->tid = (uint32_t)json_get_number(at, "tid", JSON_OR_NULL | JSON_32_BITS, 0);
	row->tid_ns = json_get_number(at, "tid_start_ns", JSON_OR_ABSENT, 0);
	while (row->abi < NR_SYSCALL_ABI && strcmp(abi_name(row->abi), abi) != 0)
		row->abi++;
	if (row->abi == NR_SYSCALL_ABI) {
		json_refuse(at, "abi is none that is known");
		row->abi = 0;
	}
	row->nr = (int64_t)json_get_number(at, "nr", JSON_OR_NULL | JSON_ANY_BITS,
					   (uint64_t)ROW_NR_OTHER);
	read_split(reader, at, row);
	if (row->nr != ROW_NR_OTHER && row->nr != (int32_t)row->nr)
		json_refuse(at, "nr is not the number of a call");
}

static void read_counts(const struct reader *reader, const struct json_place *at, struct row *row)
{
	uint64_t now = reader->snapshot->end_mono_ns;
	uint64_t age = json_get_number(at, "oldest_in_flight_ns", JSON_OR_NULL, UINT64_MAX);

	struct stack_count times = { 0 };

	for (size_t i = 0; i < NR_ROW_COUNTS; i++)
		*row_counter(row, i) = json_get_number(at, row_counters[i].name, JSON_OR_ABSENT, 0);
	/* No number is above INT64_MAX: two can be added. */
	if (row->untimed + row->no_return > row->calls)
		json_refuse(at, "more untimed and no_return than calls");
	if (row->errors > row->calls ||
	    row->interrupted + row->no_return > row->calls - row->errors)
		json_refuse(at, "more errors, interrupted and no_return than calls");
	if (age != UINT64_MAX && age > now)
		json_refuse(at, "oldest_in_flight_ns begins before the clock did");
	if (age != UINT64_MAX)
		row->oldest_start_ns = now - age;
	row->open_wall_ns =
		(int64_t)json_get_number(at, "open_wall_ns", JSON_OR_ABSENT | JSON_ANY_BITS, 0);
	row->open_off_ns =
		(int64_t)json_get_number(at, "open_off_ns", JSON_OR_ABSENT | JSON_ANY_BITS, 0);
	read_times(at, &times);
	row->wall_ns = times.wall_ns;
	row->off_ns = times.off_ns;
	row->runq_ns = times.runq_ns;
	row->max_ns = times.max_ns;
	row->min_ns = json_get_number(at, "min_ns", JSON_OR_NULL, UINT64_MAX);
	json_get_slowest(at, reader->snapshot, row);
	json_get_exemplars(at, row);
	if (row_timed(row) && row->min_ns > row->max_ns)
		json_refuse(at, "min_ns is more than max_ns");
}

static void read_histogram(const struct json_place *at, struct row *row)
{
	const json_t *list = json_get_list(at, "histogram"), *bucket;
	json_int_t sum = 0;
	size_t i;

	json_array_foreach((json_t *)list, i, bucket)
	{
		const json_t *low = json_array_get(bucket, 0), *count = json_array_get(bucket, 2);
		unsigned int index = hist_bucket((uint64_t)json_integer_value(low));

		if (!json_is_integer(low) || !json_is_integer(count) ||
		    json_integer_value(count) <= 0 || hist_count(&row->hist, index) ||
		    __builtin_add_overflow(sum, json_integer_value(count), &sum) ||
		    hist_bucket_low(index) != (uint64_t)json_integer_value(low)) {
			json_refuse(at, "histogram has more than buckets: low, high and count");
			return;
		}
		json_check(at, hist_add(&row->hist, index, (uint64_t)json_integer_value(count)));
	}
}

static void read_results(const struct json_place *at, struct row *row)
{
	struct json_place errnos = json_get_object(at, "errnos", 0);
	const json_t *value;
	const char *label;

	/* Results may be addresses: their sum wraps. */
	row->result_sum = row_moves_data(row) ? json_get_number(at, "bytes", JSON_ANY_BITS, 0)
					      : json_get_number(at, "result_sum",
								JSON_OR_ABSENT | JSON_ANY_BITS, 0);
	json_object_foreach((json_t *)errnos.object, label, value)
	{
		uint64_t count = json_get_number(&errnos, label, 0, 0);
		char again[ERRNO_LABEL_MAX] = "";
		int err = errno_find(label);

		if (err < 0)
			sscanf(label, "errno_%4d", &err);
		if (err > 0 && err <= MAX_ERRNO)
			errno_label(err, again, sizeof(again));
		if (strcmp(again, label) != 0 || !count)
			json_refuse(at, "errnos has a name or a count that is none");
		else
			json_check(at, row_add_errno(row, err, count));
	}
}

static void read_rows(struct reader *reader, const struct json_place *whole)
{
	const json_t *list = json_get_list(whole, "rows");
	struct json_place at;

	for (size_t i = 0; json_get_element(whole, list, i, &at); i++) {
		struct row row __cleanup(row_done);

		row_init(&row);
		read_identity(reader, &at, &row);
		read_counts(reader, &at, &row);
		read_histogram(&at, &row);
		read_results(&at, &row);
		read_stacks(reader, &at, &row);
		json_check(&at, builder_move_row(reader->builder, &row));
	}
	json_check(whole, builder_finish(reader->builder, reader->snapshot));
	/* Files of one name are one here, as in every report. */
	if (reader->snapshot->nr_rows != json_array_size(list) && !reader->snapshot->arguments)
		json_refuse(whole, "rows has one twice");
}

struct snapshot *json_get_snapshot(const struct json_place *at, struct stack_table **ret_stacks)
{
	struct reader reader __cleanup(reader_done) = { 0 };
	struct snapshot *snapshot = reader.snapshot = calloc(1, sizeof(*snapshot));

	if (!snapshot || builder_new(&reader.builder)) {
		json_check(at, -ENOMEM);
		return NULL;
	}
	if (json_get_bool(at, "has_stacks", 0))
		json_check(at, stack_table_new(&reader.stacks));
	read_head(snapshot, at);
	read_processes(&reader, at);
	json_get_threads(at, snapshot);
	json_get_arguments(at, &snapshot->arguments);
	read_rows(&reader, at);
	/* A loss that this version does not know still makes a report inexact. */
	if (json_get_bool(at, "exact", 0) != snapshot_is_exact(snapshot))
		json_refuse(at, "exact does not fit the losses that this version knows");
	if (at->document->err)
		return NULL;
	snapshot->stacks = reader.stacks;
	*ret_stacks = steal_ptr(&reader.stacks);
	return steal_ptr(&reader.snapshot);
}

int report_json_read(const char *text, size_t size, struct snapshot **ret,
		     struct stack_table **ret_stacks, struct diag *d)
{
	struct json_document document __cleanup(json_close);
	const struct json_place whole = json_open(&document, text, size, d);
	struct snapshot *snapshot;

	if (!document.err && json_object_get(whole.object, "table") &&
	    !json_object_get(whole.object, "rows"))
		return diag_set(d, DIAG_FAILED, EINVAL,
				"it has only a table of groups, which --json writes with --by or "
				"--top: save it without these options, and give them to bpftruss "
				"report");
	snapshot = json_get_snapshot(&whole, ret_stacks);
	if (snapshot)
		*ret = snapshot;
	return document.err;
}
