/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the JSON contract (schema 1): names, units and order of the keys. Numbers are integers in
 * the unit their key names; what the kernel cannot tell is null, never 0.
 */
#include <errno.h>

#include "base/mem.h"
#include "report/json_values.h"
#include "model/unit.h"
#include "report/frames.h"
#include "report/label.h"
#include "report/report.h"
#include "syscalls/classes.h"
#include "syscalls/errnos.h"
#include "syscalls/names.h"

/* All setters take ownership of the value; a failed allocation shows up in the return value. */
static int add_times(json_t *to, const struct snapshot *snapshot, const struct row *row)
{
	bool timed = row_timed(row) > 0;
	bool runq = timed && snapshot->has_runq;
	int err = 0;

	err |= json_object_set_new(to, "wall_ns", json_number_if(timed, row->wall_ns));
	err |= json_object_set_new(to, "cpu_ns", json_number_if(timed, row_cpu_ns(row)));
	err |= json_object_set_new(to, "runq_ns", json_number_if(runq, row->runq_ns));
	err |= json_object_set_new(to, "sleep_ns", json_number_if(runq, row_sleep_ns(row)));
	err |= json_object_set_new(to, "min_ns", json_number_if(timed, row->min_ns));
	err |= json_object_set_new(to, "max_ns", json_number_if(timed, row->max_ns));
	return err;
}

static int add_percentiles(json_t *to, const struct row *row)
{
	static const struct {
		const char *key;
		double q;
	} percentiles[] = { { "p50_ns", 0.50 }, { "p90_ns", 0.90 }, { "p99_ns", 0.99 } };
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(percentiles); i++) {
		uint64_t ns =
			hist_quantile_ns(&row->hist, percentiles[i].q, row->min_ns, row->max_ns);

		err |= json_object_set_new(to, percentiles[i].key,
					   json_number_if(row_timed(row) > 0, ns));
	}
	return err;
}

static json_t *errnos_json(const struct row *row)
{
	json_t *errnos = json_object();
	char label[ERRNO_LABEL_MAX];
	int err = 0;

	for (size_t i = 0; i < row->nr_errnos; i++) {
		errno_label(row->errnos[i].err, label, sizeof(label));
		err |= json_object_set_new(errnos, label, json_number(row->errnos[i].count));
	}
	return json_unless(err, errnos);
}

static json_t *bucket_json(const struct row *row, unsigned int i)
{
	json_t *bucket = json_array();
	int err = 0;

	err |= json_array_append_new(bucket, json_number(hist_bucket_low(i)));
	/* The last has no upper bound. */
	err |= json_array_append_new(bucket,
				     json_number_if(i + 1 < HIST_BUCKETS, hist_bucket_low(i + 1)));
	err |= json_array_append_new(bucket, json_number(hist_count(&row->hist, i)));
	return json_unless(err, bucket);
}

static json_t *histogram_json(const struct row *row)
{
	json_t *buckets = json_array();
	int err = 0;

	for (unsigned int i = 0; i < HIST_BUCKETS; i++) {
		if (hist_count(&row->hist, i))
			err |= json_array_append_new(buckets, bucket_json(row, i));
	}
	return json_unless(err, buckets);
}

static int add_counts(json_t *to, const struct snapshot *snapshot, const struct row *row)
{
	bool flying = row->in_flight > 0;
	int err = 0;

	err |= json_object_set_new(to, "calls", json_number(row->calls));
	err |= json_object_set_new(to, "errors", json_number(row->errors));
	err |= json_object_set_new(to, "interrupted", json_number(row->interrupted));
	err |= json_object_set_new(to, "no_return", json_number(row->no_return));
	err |= json_object_set_new(to, "untimed", json_number(row->untimed));
	err |= json_object_set_new(to, "denied", json_number(row->denied));
	err |= json_object_set_new(to, "in_flight", json_number(row->in_flight));
	err |= json_object_set_new(to, "in_flight_early", json_number(row->in_flight_early));
	err |= json_object_set_new(to, "oldest_in_flight_ns",
				   json_number_if(flying, snapshot_oldest_ns(snapshot, row)));
	return err;
}

static int add_identity(json_t *to, const struct snapshot *snapshot, const struct row *row)
{
	const struct process *process = snapshot_find_process(snapshot, row->pid, row->boot_ns);
	bool other = row->nr == ROW_NR_OTHER;
	char name[SYSCALL_NAME_MAX] = "[other]";
	int err = 0;

	if (!other)
		syscall_name(row->abi, (int)row->nr, name, sizeof(name));
	err |= json_object_set_new(to, "pid", json_number_if(row->pid != 0, row->pid));
	err |= json_object_set_new(to, "comm",
				   process ? json_untrusted(process->comm, PROCESS_COMM_SIZE)
					   : json_string("[overflow]"));
	err |= json_object_set_new(to, "abi", json_string(abi_name(row->abi)));
	err |= json_object_set_new(to, "nr", other ? json_null() : json_integer(row->nr));
	err |= json_object_set_new(to, "syscall", json_string(name));
	return err;
}

static json_t *unit_json(const struct snapshot *snapshot, const struct process *process)
{
	const char *path = process ? snapshot_cgroup(snapshot, process->cgroup_id) : NULL;
	const char *unit;
	size_t length;

	if (!path)
		return json_null();
	length = cgroup_unit(path, &unit);
	return json_untrusted(unit, length);
}

/* What else is known of whose calls these are; null what is not, or was not asked for. */
static int add_owner(json_t *to, const struct snapshot *snapshot, const struct row *row)
{
	const struct process *process = snapshot_find_process(snapshot, row->pid, row->boot_ns);
	const char *user = process ? snapshot_user(snapshot, process->uid) : NULL;
	uint64_t exited = process && !process->pid ? process->nr_folded : 0;
	bool has_uid = process && process->uid != UID_NONE;
	int err = 0;

	err |= json_object_set_new(to, "tid", json_number_if(row->tid != 0, row->tid));
	err |= json_object_set_new(to, "uid", json_number_if(has_uid, has_uid ? process->uid : 0));
	err |= json_object_set_new(to, "user", user ? json_untrusted_text(user) : json_null());
	err |= json_object_set_new(to, "unit", unit_json(snapshot, process));
	err |= json_object_set_new(to, "exited", json_number(exited));
	err |= json_object_set_new(to, "arg0", json_number_if(row->has_arg0, row->arg0));
	return err;
}

static json_t *frame_json(const struct stack_frame *frame)
{
	json_t *to = json_object();
	int err = 0;

	err |= json_object_set_new(
		to, "module", frame->module ? json_untrusted_text(frame->module) : json_null());
	err |= json_object_set_new(
		to, "symbol", frame->symbol ? json_untrusted_text(frame->symbol) : json_null());
	err |= json_object_set_new(to, "offset", json_number(frame->offset));
	err |= json_object_set_new(to, "inlined", json_boolean(frame->inlined));
	return json_unless(err, to);
}

static json_t *frames_json(const struct stack_view *view)
{
	json_t *frames = json_array();
	int err = 0;

	for (size_t i = 0; i < view->nr_frames; i++)
		err |= json_array_append_new(frames, frame_json(&view->frames[i]));
	return json_unless(err, frames);
}

static json_t *stack_json(const struct snapshot *snapshot, const struct row *row,
			  const struct stack_sample *sample)
{
	const struct stack_count *count = &sample->count;
	bool timed = row_timed(row) > 0;
	bool runq = timed && snapshot->has_runq;
	uint64_t sleep_ns = count->off_ns - count->runq_ns;
	char end[VIEW_END_WORD_MAX];
	json_t *to = json_object();
	int err = 0;

	view_end_word(sample->view.end, end);
	err |= json_object_set_new(to, "frames", frames_json(&sample->view));
	err |= json_object_set_new(to, "end", json_string(end));
	err |= json_object_set_new(to, "calls", json_number(count->calls));
	err |= json_object_set_new(to, "errors", json_number(count->errors));
	err |= json_object_set_new(to, "wall_ns", json_number_if(timed, count->wall_ns));
	err |= json_object_set_new(to, "cpu_ns",
				   json_number_if(timed, count->wall_ns - count->off_ns));
	err |= json_object_set_new(to, "runq_ns", json_number_if(runq, count->runq_ns));
	err |= json_object_set_new(to, "sleep_ns", json_number_if(runq, sleep_ns));
	err |= json_object_set_new(to, "max_ns", json_number_if(timed, count->max_ns));
	return json_unless(err, to);
}

/* Nothing, not even an empty list, unless stacks were asked for. */
static int add_stacks(json_t *to, const struct snapshot *snapshot, const struct row *row)
{
	json_t *stacks __cleanup(json_freep) = snapshot->stacks ? json_array() : NULL;
	struct stack_sample sample;
	int err = snapshot->stacks && !stacks;

	for (size_t i = 0; stacks && stack_sample_at(snapshot, row, i, &sample); i++)
		err |= json_array_append_new(stacks, stack_json(snapshot, row, &sample));
	if (err || !stacks)
		return err;
	return json_object_set(to, "stacks", stacks);
}

static json_t *row_json(const struct snapshot *snapshot, const struct row *row)
{
	bool moves_data = row->nr != ROW_NR_OTHER &&
			  syscall_has_trait(row->abi, (int)row->nr, TRAIT_MOVES_DATA);
	json_t *to = json_object();
	int err = 0;

	err |= add_identity(to, snapshot, row);
	err |= add_counts(to, snapshot, row);
	err |= add_times(to, snapshot, row);
	err |= add_percentiles(to, row);
	err |= json_object_set_new(to, "bytes", json_number(moves_data ? row->result_sum : 0));
	err |= add_owner(to, snapshot, row);
	err |= json_object_set_new(to, "errnos", errnos_json(row));
	err |= json_object_set_new(to, "histogram", histogram_json(row));
	err |= add_stacks(to, snapshot, row);
	return json_unless(err, to);
}

static json_t *rows_json(const struct snapshot *snapshot)
{
	json_t *rows = json_array();
	int err = 0;

	for (size_t i = 0; i < snapshot->nr_rows && !err; i++)
		err = json_array_append_new(rows, row_json(snapshot, &snapshot->rows[i]));
	return json_unless(err, rows);
}

static json_t *target_json(const struct process *process)
{
	json_t *target = json_object();
	int err = json_object_set_new(target, "pid", json_number(process->pid));

	err |= json_object_set_new(target, "comm",
				   json_untrusted(process->comm, PROCESS_COMM_SIZE));
	return json_unless(err, target);
}

static json_t *targets_json(const struct snapshot *snapshot)
{
	json_t *targets = json_array();
	int err = 0;

	for (size_t i = 0; i < snapshot->nr_targets; i++)
		err |= json_array_append_new(targets, target_json(&snapshot->targets[i]));
	return json_unless(err, targets);
}

static json_t *snapshot_json(const struct snapshot *snapshot)
{
	json_t *to = json_object();
	int err = json_add_head(to, snapshot);

	err |= json_object_set_new(to, "targets", targets_json(snapshot));
	err |= json_object_set_new(to, "pid_namespace",
				   json_string(snapshot->caller_pidns ? "caller" : "initial"));
	err |= json_object_set_new(to, "exact", json_boolean(losses_none(&snapshot->losses)));
	err |= json_object_set_new(to, "losses", json_losses(&snapshot->losses));
	err |= json_object_set_new(
		to, "slower_than_ns",
		json_number_if(snapshot->slower_than_ns != 0, snapshot->slower_than_ns));
	err |= json_object_set_new(to, "threads_unknown", json_number(snapshot->threads_unknown));
	err |= json_object_set_new(to, "user_cpu_ns", json_number(snapshot_user_ns(snapshot)));
	err |= json_object_set_new(to, "rows", rows_json(snapshot));
	return json_unless(err, to);
}

int report_json(const struct snapshot *snapshot, FILE *out)
{
	json_t *json __cleanup(json_freep) = snapshot_json(snapshot);

	if (!json)
		return -ENOMEM;
	return json_write_line(json, out);
}
