/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads snapshots back from what snapshot_json.c wrote. A snapshot comes out whole or not at all, and
 * shows the same in every report as the one that was written. What follows from other values, as
 * percentiles and sums do, is not looked at, but for what makes a report say that it is exact. What
 * would make a difference of two numbers wrap is refused.
 *
 * Other versions count other things: a counter or a loss that is absent is 0, and keys that are not
 * known are skipped.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "model/builder.h"
#include "report/frames.h"
#include "report/report.h"
#include "report/snapshot_json.h"
#include "syscalls/errnos.h"
#include "syscalls/names.h"

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

/* --- the whole ---------------------------------------------------------------------------------- */

static void read_head(struct snapshot *snapshot, const struct json_place *whole)
{
	const char *namespace = json_get_word(whole, "pid_namespace", 0);

	snapshot->host = json_get_text(whole, "host", 0);
	snapshot->boot_id = json_get_text(whole, "boot_id", 0);
	snapshot->kernel = json_get_text(whole, "kernel", 0);
	snapshot->start_ns = json_get_time(whole, "start");
	snapshot->end_ns = json_get_time(whole, "end");
	snapshot->elapsed_ns = json_get_number(whole, "elapsed_ns", 0, 0);
	snapshot->end_mono_ns = json_get_number(whole, "monotonic_ns", 0, 0);
	snapshot->slower_than_ns = json_get_number(whole, "slower_than_ns", JSON_OR_NULL, 0);
	snapshot->threads_unknown = json_get_number(whole, "threads_unknown", 0, 0);
	snapshot->has_runq = json_get_bool(whole, "has_runq", 0);
	snapshot->caller_pidns = namespace && !strcmp(namespace, "caller");
}

static void read_losses(struct snapshot *snapshot, const struct json_place *whole)
{
	const struct json_place losses = json_get_object(whole, "losses", 0);
	const struct json_place states = json_get_object(whole, "microstates", 0);

	for (int i = 0; i < NR_MODEL_LOSS; i++)
		snapshot->losses.count[i] =
			json_get_number(&losses, loss_texts[i].name, JSON_OR_ABSENT, 0);
	/* Locks are unknown where a report leaves out calls. */
	snapshot->selected =
		json_get_number(&states, "lock_ns", JSON_OR_NULL, UINT64_MAX) == UINT64_MAX;
}

static void read_targets(struct snapshot *snapshot, const struct json_place *whole)
{
	const json_t *list = json_get_list(whole, "targets");
	struct json_place at;

	snapshot->targets = calloc(json_array_size(list) + 1, sizeof(*snapshot->targets));
	if (!snapshot->targets)
		json_check(whole, -ENOMEM);
	for (size_t i = 0; json_get_element(whole, list, i, &at); i++) {
		struct process *target = &snapshot->targets[snapshot->nr_targets++];

		target->pid = (uint32_t)json_get_number(&at, "pid", JSON_32_BITS, 0);
		json_get_bytes(&at, "comm", target->comm, sizeof(target->comm));
	}
}

/* --- processes ---------------------------------------------------------------------------------- */

/* Reads the name of a user or a cgroup, unless it is null. */
static void read_name(const struct json_place *at, const char *key, uint64_t id,
		      struct id_name **names, size_t *count)
{
	char *name __cleanup(freep) = json_get_text(at, key, JSON_OR_NULL);

	if (name)
		json_check(at, id_names_add(names, count, id, name));
}

static void read_process(struct snapshot *snapshot, const struct json_place *at,
			 struct process *process)
{
	process->pid = (uint32_t)json_get_number(at, "pid", JSON_OR_NULL | JSON_32_BITS, 0);
	process->boot_ns = json_get_number(at, "start_ns", 0, 0);
	json_get_bytes(at, "comm", process->comm, sizeof(process->comm));
	process->uid = (uint32_t)json_get_number(at, "uid", JSON_OR_NULL | JSON_32_BITS, UID_NONE);
	process->cgroup_id = json_get_number(at, "cgroup_id", JSON_ANY_BITS, 0);
	process->threads = json_get_number(at, "threads", 0, 0);
	process->nr_folded = json_get_number(at, "exited", 0, 0);
	process->ended_ns = json_get_number(at, "ended_ns", JSON_OR_NULL, 0);
	for (size_t i = 0; i < NR_PROCESS_COUNTS; i++)
		*(uint64_t *)((char *)process + process_counts[i].offset) =
			json_get_number(at, process_counts[i].name, JSON_OR_ABSENT, 0);
	read_name(at, "user", process->uid, &snapshot->users, &snapshot->nr_users);
	read_name(at, "cgroup", process->cgroup_id, &snapshot->cgroups, &snapshot->nr_cgroups);
}

static void read_processes(struct reader *reader, const struct json_place *whole)
{
	const json_t *list = json_get_list(whole, "processes");
	struct json_place at;

	reader->processes = calloc(json_array_size(list) + 1, sizeof(*reader->processes));
	if (!reader->processes)
		json_check(whole, -ENOMEM);
	for (size_t i = 0; json_get_element(whole, list, i, &at); i++) {
		struct process *process = &reader->processes[reader->nr_processes++];

		read_process(reader->snapshot, &at, process);
		json_check(&at, builder_add_process(reader->builder, process, false));
	}
	if (builder_processes(reader->builder) != reader->nr_processes)
		json_refuse(whole, "processes has one twice");
}

/* --- stacks ------------------------------------------------------------------------------------- */

/* Returns a string of the table, or NULL. */
static const char *read_frame_name(struct reader *reader, const struct json_place *at,
				   const char *key)
{
	char *name __cleanup(freep) = json_get_text(at, key, JSON_OR_NULL);
	const char *own = NULL;

	if (name)
		json_check(at, stack_table_intern(reader->stacks, name, &own));
	return own;
}

static unsigned int read_end(const struct json_place *at)
{
	const char *told = json_get_word(at, "end", 0);
	char word[VIEW_END_WORD_MAX];

	for (unsigned int end = 0; told && end < NR_VIEW_END; end++) {
		view_end_word(end, word);
		if (!strcmp(word, told))
			return end;
	}
	json_refuse(at, "end is none that is known");
	return 0;
}

/* Adds a stack to the table unless it is that of calls without one. Returns its id. */
static uint64_t read_frames(struct reader *reader, const struct json_place *at)
{
	const json_t *list = json_get_list(at, "frames");
	struct stack_frame *frames __cleanup(freep) =
		calloc(json_array_size(list) + 1, sizeof(*frames));
	unsigned int end = read_end(at);
	struct stack stack = { .end = (enum stack_end)end, .frames = frames };
	struct json_place frame;

	if (!frames)
		json_check(at, -ENOMEM);
	for (; json_get_element(at, list, stack.nr_frames, &frame); stack.nr_frames++)
		frames[stack.nr_frames] = (struct stack_frame){
			.module = read_frame_name(reader, &frame, "module"),
			.symbol = read_frame_name(reader, &frame, "symbol"),
			.offset = json_get_number(&frame, "offset", JSON_ANY_BITS, 0),
			.inlined = json_get_bool(&frame, "inlined", 0),
			.kernel = json_get_bool(&frame, "kernel", JSON_OR_ABSENT),
		};
	if (end == VIEW_OTHERS || at->document->err)
		return STACK_OTHERS;
	stack.id = ++reader->nr_stack_ids;
	json_check(at, stack_table_add(reader->stacks, &stack));
	return stack.id;
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

static void read_stacks(struct reader *reader, const struct json_place *at, struct row *row)
{
	const json_t *list = reader->stacks ? json_get_list(at, "stacks") : NULL;
	struct json_place stack;

	for (size_t i = 0; json_get_element(at, list, i, &stack); i++) {
		struct stack_count count = { 0 };

		/* The remainder is computed again from the row. */
		if (json_get_bool(&stack, "remainder", JSON_OR_ABSENT))
			continue;
		count.calls = json_get_number(&stack, "calls", 0, 0);
		count.errors = json_get_number(&stack, "errors", 0, 0);
		read_times(&stack, &count);
		count.id = read_frames(reader, &stack);
		if (count.id == STACK_OTHERS && row->nr_stacks)
			json_refuse(&stack, "other_stacks is not the first of the row");
		json_check(&stack, row_add_stack(row, &count));
	}
}

/* --- rows --------------------------------------------------------------------------------------- */

static enum syscall_abi read_abi(const struct json_place *at)
{
	const char *name = json_get_word(at, "abi", 0);

	for (int abi = 0; name && abi < NR_SYSCALL_ABI; abi++) {
		if (!strcmp(abi_name((enum syscall_abi)abi), name))
			return (enum syscall_abi)abi;
	}
	json_refuse(at, "abi is none that is known");
	return 0;
}

/* Reads whose a row is: without a process only pid and start are known. */
static void read_identity(const struct reader *reader, const struct json_place *at, struct row *row)
{
	uint64_t index = json_get_number(at, "process", JSON_OR_NULL, UINT64_MAX);
	const json_t *arg0 = json_object_get(at->object, "arg0");

	if (index < reader->nr_processes) {
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
	row->abi = read_abi(at);
	row->nr = (int64_t)json_get_number(at, "nr", JSON_OR_NULL | JSON_ANY_BITS,
					   (uint64_t)ROW_NR_OTHER);
	row->has_arg0 = arg0 && !json_is_null(arg0);
	row->arg0 = json_get_number(at, "arg0", JSON_OR_NULL | JSON_ANY_BITS, 0);
	if (row->nr != ROW_NR_OTHER && row->nr != (int32_t)row->nr)
		json_refuse(at, "nr is not the number of a call");
}

static void read_counts(const struct reader *reader, const struct json_place *at, struct row *row)
{
	uint64_t now = reader->snapshot->end_mono_ns;
	uint64_t age = json_get_number(at, "oldest_in_flight_ns", JSON_OR_NULL, UINT64_MAX);

	for (size_t i = 0; i < NR_ROW_COUNTS; i++)
		*row_counter(row, i) = json_get_number(at, row_counters[i].name, JSON_OR_ABSENT, 0);
	/* None is above INT64_MAX: two can be added. */
	if (row->untimed + row->no_return > row->calls)
		json_refuse(at, "more untimed and no_return than calls");
	if (row->errors > row->calls ||
	    row->interrupted + row->no_return > row->calls - row->errors)
		json_refuse(at, "more errors, interrupted and no_return than calls");
	if (row->denied > row->untimed)
		json_refuse(at, "denied is more than untimed");
	if (age != UINT64_MAX && age > now)
		json_refuse(at, "oldest_in_flight_ns begins before the clock did");
	if (age != UINT64_MAX)
		row->oldest_start_ns = now - age;
	row->open_wall_ns =
		(int64_t)json_get_number(at, "open_wall_ns", JSON_OR_ABSENT | JSON_ANY_BITS, 0);
	row->open_off_ns =
		(int64_t)json_get_number(at, "open_off_ns", JSON_OR_ABSENT | JSON_ANY_BITS, 0);
}

static void read_row_times(const struct json_place *at, struct row *row)
{
	struct stack_count times = { 0 };

	read_times(at, &times);
	row->wall_ns = times.wall_ns;
	row->off_ns = times.off_ns;
	row->runq_ns = times.runq_ns;
	row->max_ns = times.max_ns;
	row->min_ns = json_get_number(at, "min_ns", JSON_OR_NULL, UINT64_MAX);
	if (row_timed(row) && row->min_ns > row->max_ns)
		json_refuse(at, "min_ns is more than max_ns");
}

static void read_histogram(const struct reader *reader, const struct json_place *at,
			   struct row *row)
{
	const json_t *list = json_get_list(at, "histogram"), *bucket;
	const struct losses *losses = &reader->snapshot->losses;
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
	/* Both are told: carries that were lost, and rows that were read while they changed. */
	if ((uint64_t)sum != row_timed(row) && !losses->count[LOSS_BUCKET_WRAPPED] &&
	    !losses->count[LOSS_TORN_READ])
		json_refuse(at, "histogram has %" PRId64 " calls, but %" PRIu64 " were timed",
			    (int64_t)sum, row_timed(row));
}

static int errno_of_label(const char *label)
{
	char again[ERRNO_LABEL_MAX];
	int err = errno_find(label);

	if (err < 0 && sscanf(label, "errno_%4d", &err) != 1)
		return -1;
	if (err <= 0 || err > MAX_ERRNO)
		return -1;
	errno_label(err, again, sizeof(again));
	return strcmp(again, label) ? -1 : err;
}

static void read_results(const struct reader *reader, const struct json_place *at, struct row *row)
{
	struct json_place errnos = json_get_object(at, "errnos", 0);
	/* The errnos of a row that was read while it changed may be of a later moment. */
	bool is_torn = reader->snapshot->losses.count[LOSS_TORN_READ];
	uint64_t left = is_torn ? UINT64_MAX : row->errors;
	const json_t *value;
	const char *label;

	/* Results may be addresses: their sum wraps. */
	row->result_sum = row_moves_data(row) ? json_get_number(at, "bytes", JSON_ANY_BITS, 0)
					      : json_get_number(at, "result_sum",
								JSON_OR_ABSENT | JSON_ANY_BITS, 0);
	json_object_foreach((json_t *)errnos.object, label, value)
	{
		uint64_t count = json_get_number(&errnos, label, 0, 0);
		int err = errno_of_label(label);

		if (err < 0 || !count)
			json_refuse(at, "errnos has a name or a count that is none");
		else if (count > left)
			json_refuse(at, "errnos has more errors than errors");
		else
			json_check(at, row_add_errno(row, err, count));
		left -= is_torn ? 0 : count;
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
		read_row_times(&at, &row);
		read_histogram(reader, &at, &row);
		read_results(reader, &at, &row);
		read_stacks(reader, &at, &row);
		json_check(&at, builder_move_row(reader->builder, &row));
	}
	json_check(whole, builder_finish(reader->builder, reader->snapshot));
	if (reader->snapshot->nr_rows != json_array_size(list))
		json_refuse(whole, "rows has one twice");
}

/* A loss that this version does not know still makes a report inexact. */
static void check_exact(const struct snapshot *snapshot, const struct json_place *whole)
{
	if (json_get_bool(whole, "exact", 0) != snapshot_is_exact(snapshot))
		json_refuse(whole, "exact does not fit the losses that this version knows");
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
	read_losses(snapshot, at);
	read_targets(snapshot, at);
	read_processes(&reader, at);
	read_rows(&reader, at);
	check_exact(snapshot, at);
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

	snapshot = json_get_snapshot(&whole, ret_stacks);
	if (snapshot)
		*ret = snapshot;
	return document.err;
}
