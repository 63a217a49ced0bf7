/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes snapshots as JSON, schema 1: bpftruss-json(5) is the contract. Whatever a report shows of a
 * snapshot is in it: snapshot_read.c makes the same snapshot of it again.
 */
#include "report/snapshot_json.h"

#include "base/mem.h"
#include "model/microstates.h"
#include "model/unit.h"
#include "report/frames.h"
#include "report/report.h"
#include "syscalls/errnos.h"
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

static void put_errnos(struct json_writer *to, const struct row *row)
{
	char label[ERRNO_LABEL_MAX];

	json_put_object(to, "errnos");
	for (size_t i = 0; i < row->nr_errnos; i++) {
		errno_label(row->errnos[i].err, label, sizeof(label));
		json_put_number(to, label, row->errnos[i].count);
	}
	json_put_end(to);
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

static void put_identity(struct json_writer *to, const struct row *row,
			 const struct process *process)
{
	char name[SYSCALL_NAME_MAX];

	row_call_name(row, name, sizeof(name));
	json_put_number_if(to, "pid", row->pid != 0, row->pid);
	if (process)
		json_put_bytes(to, "comm", process->comm, PROCESS_COMM_SIZE);
	else
		json_put_word(to, "comm", "[overflow]");
	json_put_word(to, "abi", abi_name(row->abi));
	json_put_number_if(to, "nr", row->nr != ROW_NR_OTHER, (uint64_t)row->nr);
	json_put_word(to, "syscall", name);
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
	json_put_text(to, "user", process ? snapshot_user(snapshot, uid) : NULL);
}

/* Writes thread and argument of a row; null where they are not known, or were not asked for. */
static void put_owner(struct json_writer *to, const struct snapshot *snapshot,
		      const struct row *row, const struct process *process)
{
	json_put_number_if(to, "tid", row->tid != 0, row->tid);
	put_user(to, snapshot, process);
	put_unit(to, process ? snapshot_cgroup(snapshot, process->cgroup_id) : NULL);
	json_put_number(to, "exited", process && !process->pid ? process->nr_folded : 0);
	json_put_number_if(to, "arg0", row->has_arg0, row->arg0);
}

/* --- stacks ------------------------------------------------------------------------------------- */

static void put_frame(struct json_writer *to, const struct stack_frame *frame)
{
	json_put_object(to, NULL);
	json_put_text(to, "module", frame->module);
	json_put_text(to, "symbol", frame->symbol);
	json_put_number(to, "offset", frame->offset);
	json_put_bool(to, "inlined", frame->inlined);
	/* A file may be called [kernel], too. */
	if (frame->kernel)
		json_put_bool(to, "kernel", true);
	json_put_end(to);
}

static void put_stack(struct json_writer *to, const struct snapshot *snapshot,
		      const struct row *row, const struct stack_sample *sample, bool remainder)
{
	char end[VIEW_END_WORD_MAX];

	json_put_object(to, NULL);
	json_put_list(to, "frames");
	for (size_t i = 0; i < sample->view.nr_frames; i++)
		put_frame(to, &sample->view.frames[i]);
	json_put_end(to);
	view_end_word(sample->view.end, end);
	json_put_word(to, "end", end);
	json_put_number(to, "calls", sample->count.calls);
	json_put_number(to, "errors", sample->count.errors);
	put_times(to, snapshot, row, &sample->count);
	json_put_number_if(to, "max_ns", row_timed(row) > 0, sample->count.max_ns);
	if (remainder)
		json_put_bool(to, "remainder", true);
	json_put_end(to);
}

/* Nothing, not even an empty list, unless stacks were asked for. */
static void put_stacks(struct json_writer *to, const struct snapshot *snapshot,
		       const struct row *row)
{
	struct stack_sample sample;

	if (!snapshot->stacks)
		return;
	json_put_list(to, "stacks");
	for (size_t i = 0; stack_sample_at(snapshot, row, i, &sample); i++)
		put_stack(to, snapshot, row, &sample, i == row->nr_stacks);
	json_put_end(to);
}

/* --- rows --------------------------------------------------------------------------------------- */

/* Writes what only a reader of the whole needs, in the rows that have it. */
static void put_rest(struct json_writer *to, const struct row *row, const struct process *process,
		     bool moves_data)
{
	if (!process && row->boot_ns)
		json_put_number(to, "start_ns", row->boot_ns);
	if (row->tid_ns)
		json_put_number(to, "tid_start_ns", row->tid_ns);
	if (row->result_sum && !moves_data)
		json_put_number(to, "result_sum", row->result_sum);
	if (row->open_wall_ns || row->open_off_ns) {
		json_put_number(to, "open_wall_ns", (uint64_t)row->open_wall_ns);
		json_put_number(to, "open_off_ns", (uint64_t)row->open_off_ns);
	}
}

static void put_row(struct json_writer *to, const struct snapshot *snapshot, const struct row *row,
		    const struct process *process)
{
	bool moves_data = row_moves_data(row);
	size_t index = process ? (size_t)(process - snapshot->processes) : 0;

	json_put_object(to, NULL);
	put_identity(to, row, process);
	for (size_t i = 0; i < NR_ROW_COUNTS; i++)
		json_put_number(to, row_counters[i].name, row_count(row, i));
	json_put_number_if(to, "oldest_in_flight_ns", row->in_flight > 0,
			   snapshot_oldest_ns(snapshot, row));
	put_row_times(to, snapshot, row);
	json_put_number(to, "bytes", moves_data ? row->result_sum : 0);
	put_owner(to, snapshot, row, process);
	put_errnos(to, row);
	put_histogram(to, row);
	json_put_number_if(to, "process", process != NULL, index);
	put_rest(to, row, process, moves_data);
	put_stacks(to, snapshot, row);
	json_put_end(to);
}

static void put_rows(struct json_writer *to, const struct snapshot *snapshot)
{
	json_put_list(to, "rows");
	for (size_t i = 0; i < snapshot->nr_rows; i++) {
		const struct row *row = snapshot->rows[i];

		put_row(to, snapshot, row, snapshot_find_process(snapshot, row->pid, row->boot_ns));
	}
	json_put_end(to);
}

static void put_process(struct json_writer *to, const struct snapshot *snapshot,
			const struct process *process)
{
	const char *cgroup = snapshot_cgroup(snapshot, process->cgroup_id);

	json_put_object(to, NULL);
	json_put_number_if(to, "pid", process->pid != 0, process->pid);
	json_put_number(to, "start_ns", process->boot_ns);
	json_put_bytes(to, "comm", process->comm, PROCESS_COMM_SIZE);
	put_user(to, snapshot, process);
	json_put_text(to, "cgroup", cgroup);
	json_put_number(to, "cgroup_id", process->cgroup_id);
	put_unit(to, cgroup);
	json_put_number(to, "threads", process->threads);
	json_put_number(to, "exited", process->nr_folded);
	json_put_number_if(to, "ended_ns", process->ended_ns != 0, process->ended_ns);
	for (size_t i = 0; i < NR_PROCESS_COUNTS; i++)
		json_put_number(to, process_counts[i].name, process_count(process, i));
	json_put_end(to);
}

static void put_processes(struct json_writer *to, const struct snapshot *snapshot)
{
	json_put_list(to, "processes");
	for (size_t i = 0; i < snapshot->nr_processes; i++)
		put_process(to, snapshot, &snapshot->processes[i]);
	json_put_end(to);
}

/* --- the whole ---------------------------------------------------------------------------------- */

void json_put_origin(struct json_writer *to, const struct snapshot *snapshot)
{
	json_put_text(to, "host", snapshot->host ?: "");
	json_put_text(to, "boot_id", snapshot->boot_id ?: "");
	json_put_text(to, "kernel", snapshot->kernel ?: "");
	json_put_time(to, "start", snapshot->start_ns);
	json_put_time(to, "end", snapshot->end_ns);
	json_put_number(to, "elapsed_ns", snapshot->elapsed_ns);
}

static void put_targets(struct json_writer *to, const struct snapshot *snapshot)
{
	json_put_list(to, "targets");
	for (size_t i = 0; i < snapshot->nr_targets; i++) {
		const struct process *target = &snapshot->targets[i];

		json_put_object(to, NULL);
		json_put_number(to, "pid", target->pid);
		json_put_bytes(to, "comm", target->comm, PROCESS_COMM_SIZE);
		json_put_end(to);
	}
	json_put_end(to);
}

void json_put_losses(struct json_writer *to, const struct losses *losses)
{
	json_put_object(to, "losses");
	for (int i = 0; i < NR_MODEL_LOSS; i++)
		json_put_number(to, loss_texts[i].name, losses->count[i]);
	json_put_end(to);
}

/* The time of all threads; it follows from processes and rows. */
static void put_microstates(struct json_writer *to, const struct snapshot *snapshot)
{
	struct microstates states;
	bool lock = snapshot_microstates(snapshot, &states);

	json_put_object(to, "microstates");
	json_put_number(to, "threads_ns", microstates_total_ns(&states));
	json_put_number(to, "usr_ns", states.user_ns);
	json_put_number(to, "sys_ns", states.system_ns);
	json_put_number_if(to, "runq_ns", snapshot->has_runq, states.runq_ns);
	json_put_number_if(to, "lock_ns", lock, states.lock_ns);
	json_put_number(to, "sleep_ns", states.sleep_ns);
	json_put_end(to);
}

void json_put_snapshot(struct json_writer *to, const char *key, const struct snapshot *snapshot)
{
	json_put_object(to, key);
	json_put_version(to);
	json_put_origin(to, snapshot);
	put_targets(to, snapshot);
	json_put_word(to, "pid_namespace", snapshot->caller_pidns ? "caller" : "initial");
	json_put_bool(to, "exact", snapshot_is_exact(snapshot));
	json_put_losses(to, &snapshot->losses);
	json_put_number_if(to, "slower_than_ns", snapshot->slower_than_ns != 0,
			   snapshot->slower_than_ns);
	json_put_number(to, "threads_unknown", snapshot->threads_unknown);
	json_put_number(to, "user_cpu_ns", snapshot_user_ns(snapshot));
	put_microstates(to, snapshot);
	json_put_number(to, "monotonic_ns", snapshot->end_mono_ns);
	json_put_bool(to, "has_runq", snapshot->has_runq);
	json_put_bool(to, "has_stacks", snapshot->stacks != NULL);
	put_processes(to, snapshot);
	put_rows(to, snapshot);
	json_put_end(to);
}

int report_json(const struct snapshot *snapshot, FILE *out)
{
	struct json_writer to;

	json_begin(&to, out);
	json_put_snapshot(&to, NULL, snapshot);
	return json_end(&to);
}
