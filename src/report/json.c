/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the JSON contract (schema 1): names, units and order of the keys. Numbers are integers in
 * the unit their key names; what the kernel cannot tell is null, never 0.
 */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "report/label.h"
#include "report/report.h"
#include "syscalls/classes.h"
#include "syscalls/errnos.h"
#include "syscalls/names.h"

#define SCHEMA 1

static void json_freep(json_t **json)
{
	json_decref(*json);
}

static json_t *number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *number_if(bool known, uint64_t value)
{
	return known ? number(value) : json_null();
}

/* Bytes that somebody else chose, up to a NUL or size; NULL when out of memory. */
static json_t *untrusted(const char *bytes, size_t size)
{
	size_t length = strnlen(bytes, size);
	char *text __cleanup(freep) = malloc(TEXT_ESCAPED_MAX(length));

	if (!text)
		return NULL;
	text_escape(bytes, length, text);
	return json_string(text);
}

static json_t *untrusted_text(const char *text)
{
	return untrusted(text ? text : "", SIZE_MAX);
}

/* Hands over what was built, unless some part of it failed. */
static json_t *unless(int err, json_t *json)
{
	if (!err)
		return json;
	json_decref(json);
	return NULL;
}

static json_t *time_text(int64_t real_ns)
{
	char text[CLOCK_RFC3339_SIZE];

	clock_rfc3339(real_ns, text, sizeof(text));
	return json_string(text);
}

/* All setters take ownership of the value; a failed allocation shows up in the return value. */
static int add_times(json_t *to, const struct snapshot *snapshot, const struct row *row)
{
	bool timed = row_timed(row) > 0;
	bool runq = timed && snapshot->has_runq;
	int err = 0;

	err |= json_object_set_new(to, "wall_ns", number_if(timed, row->wall_ns));
	err |= json_object_set_new(to, "cpu_ns", number_if(timed, row_cpu_ns(row)));
	err |= json_object_set_new(to, "runq_ns", number_if(runq, row->runq_ns));
	err |= json_object_set_new(to, "sleep_ns", number_if(runq, row_sleep_ns(row)));
	err |= json_object_set_new(to, "min_ns", number_if(timed, row->min_ns));
	err |= json_object_set_new(to, "max_ns", number_if(timed, row->max_ns));
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
					   number_if(row_timed(row) > 0, ns));
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
		err |= json_object_set_new(errnos, label, number(row->errnos[i].count));
	}
	return unless(err, errnos);
}

static json_t *bucket_json(const struct row *row, unsigned int i)
{
	json_t *bucket = json_array();
	int err = 0;

	err |= json_array_append_new(bucket, number(hist_bucket_low(i)));
	/* The last has no upper bound. */
	err |= json_array_append_new(bucket,
				     number_if(i + 1 < HIST_BUCKETS, hist_bucket_low(i + 1)));
	err |= json_array_append_new(bucket, number(row->hist.buckets[i]));
	return unless(err, bucket);
}

static json_t *histogram_json(const struct row *row)
{
	json_t *buckets = json_array();
	int err = 0;

	for (unsigned int i = 0; i < HIST_BUCKETS; i++) {
		if (row->hist.buckets[i])
			err |= json_array_append_new(buckets, bucket_json(row, i));
	}
	return unless(err, buckets);
}

static int add_counts(json_t *to, const struct snapshot *snapshot, const struct row *row)
{
	bool flying = row->in_flight > 0;
	int err = 0;

	err |= json_object_set_new(to, "calls", number(row->calls));
	err |= json_object_set_new(to, "errors", number(row->errors));
	err |= json_object_set_new(to, "interrupted", number(row->interrupted));
	err |= json_object_set_new(to, "no_return", number(row->no_return));
	err |= json_object_set_new(to, "untimed", number(row->untimed));
	err |= json_object_set_new(to, "denied", number(row->denied));
	err |= json_object_set_new(to, "in_flight", number(row->in_flight));
	err |= json_object_set_new(to, "in_flight_early", number(row->in_flight_early));
	err |= json_object_set_new(to, "oldest_in_flight_ns",
				   number_if(flying, snapshot_oldest_ns(snapshot, row)));
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
	err |= json_object_set_new(to, "pid", number_if(row->pid != 0, row->pid));
	err |= json_object_set_new(to, "comm",
				   process ? untrusted(process->comm, PROCESS_COMM_SIZE)
					   : json_string("[overflow]"));
	err |= json_object_set_new(to, "abi", json_string(abi_name(row->abi)));
	err |= json_object_set_new(to, "nr", other ? json_null() : json_integer(row->nr));
	err |= json_object_set_new(to, "syscall", json_string(name));
	return err;
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
	err |= json_object_set_new(to, "bytes", number(moves_data ? row->result_sum : 0));
	err |= json_object_set_new(to, "errnos", errnos_json(row));
	err |= json_object_set_new(to, "histogram", histogram_json(row));
	return unless(err, to);
}

static json_t *rows_json(const struct snapshot *snapshot)
{
	json_t *rows = json_array();
	int err = 0;

	for (size_t i = 0; i < snapshot->nr_rows && !err; i++)
		err = json_array_append_new(rows, row_json(snapshot, &snapshot->rows[i]));
	return unless(err, rows);
}

static json_t *target_json(const struct process *process)
{
	json_t *target = json_object();
	int err = json_object_set_new(target, "pid", number(process->pid));

	err |= json_object_set_new(target, "comm", untrusted(process->comm, PROCESS_COMM_SIZE));
	return unless(err, target);
}

static json_t *targets_json(const struct snapshot *snapshot)
{
	json_t *targets = json_array();
	int err = 0;

	for (size_t i = 0; i < snapshot->nr_targets; i++)
		err |= json_array_append_new(targets, target_json(&snapshot->targets[i]));
	return unless(err, targets);
}

static json_t *losses_json(const struct snapshot *snapshot)
{
	json_t *losses = json_object();
	int err = 0;

	for (int i = 0; i < NR_MODEL_LOSS; i++)
		err |= json_object_set_new(losses, loss_texts[i].name,
					   number(snapshot->losses.count[i]));
	return unless(err, losses);
}

static json_t *snapshot_json(const struct snapshot *snapshot)
{
	json_t *to = json_object();
	int err = 0;

	err |= json_object_set_new(to, "schema", json_integer(SCHEMA));
	err |= json_object_set_new(to, "version", json_string(BPFTRUSS_VERSION));
	err |= json_object_set_new(to, "host", untrusted_text(snapshot->host));
	err |= json_object_set_new(to, "boot_id", untrusted_text(snapshot->boot_id));
	err |= json_object_set_new(to, "kernel", untrusted_text(snapshot->kernel));
	err |= json_object_set_new(to, "start", time_text(snapshot->start_ns));
	err |= json_object_set_new(to, "end", time_text(snapshot->end_ns));
	err |= json_object_set_new(to, "elapsed_ns", number(snapshot->elapsed_ns));
	err |= json_object_set_new(to, "targets", targets_json(snapshot));
	err |= json_object_set_new(to, "exact", json_boolean(losses_none(&snapshot->losses)));
	err |= json_object_set_new(to, "losses", losses_json(snapshot));
	err |= json_object_set_new(to, "user_cpu_ns", number(snapshot_user_ns(snapshot)));
	err |= json_object_set_new(to, "rows", rows_json(snapshot));
	return unless(err, to);
}

int report_json(const struct snapshot *snapshot, FILE *out)
{
	json_t *json __cleanup(json_freep) = snapshot_json(snapshot);

	if (!json)
		return -ENOMEM;
	/* ASCII only: a terminal acts on some characters beyond it, such as U+009B. */
	if (json_dumpf(json, out, JSON_COMPACT | JSON_ENSURE_ASCII) || fputc('\n', out) == EOF)
		return -EIO;
	return 0;
}
