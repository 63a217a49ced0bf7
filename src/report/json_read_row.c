/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the numbers of a row that is read back. Invariant: a row gets into the snapshot only when its
 * numbers fit each other as those of a real count do.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "report/json_read.h"
#include "syscalls/classes.h"
#include "syscalls/errnos.h"
#include "syscalls/names.h"

/* null: no number of a document is so large. */
#define UNKNOWN UINT64_MAX

#define MAX_ERRNO 4095

/* What calls in flight can have taken, so that sums of it never wrap: 73 years. */
#define MAX_OPEN_NS (INT64_MAX / 4)

struct times {
	uint64_t wall_ns, cpu_ns, runq_ns, sleep_ns, min_ns, max_ns;
};

int json_count_up(const struct json_place *place, const char *key, uint64_t value, uint64_t *sum)
{
	if (__builtin_add_overflow(*sum, value, sum))
		return json_refuse(place, "the sum of all %s is too large", key);
	return 0;
}

static int read_abi(const struct json_place *place, enum syscall_abi *ret)
{
	const char *name = NULL;
	int err = json_read_string(place, "abi", FIELD_REQUIRED, &name);

	if (err)
		return err;
	for (int abi = 0; abi < NR_SYSCALL_ABI; abi++) {
		if (!strcmp(abi_name((enum syscall_abi)abi), name)) {
			*ret = (enum syscall_abi)abi;
			return 0;
		}
	}
	return json_refuse(place, "abi is none that is known");
}

static int read_call(const struct json_place *place, struct row *row)
{
	uint64_t nr = (uint64_t)ROW_NR_OTHER, tid = 0, arg0 = 0;
	int err = read_abi(place, &row->abi);

	err = err ?: json_read_number(place, "nr", FIELD_REQUIRED | FIELD_NULL | FIELD_SIGNED, &nr);
	err = err ?: json_read_number_to(place, "tid", FIELD_NULL, UINT32_MAX, &tid);
	err = err ?: json_read_number(place, "tid_start_ns", 0, &row->tid_ns);
	err = err ?: json_read_number(place, "arg0", FIELD_NULL | FIELD_SIGNED, &arg0);
	if (err)
		return err;
	row->nr = (int64_t)nr;
	row->tid = (uint32_t)tid;
	row->arg0 = arg0;
	row->has_arg0 = json_is_integer(json_object_get(place->object, "arg0"));
	if (row->nr != ROW_NR_OTHER && row->nr != (int32_t)row->nr)
		return json_refuse(place, "nr is not the number of a call");
	return 0;
}

static int read_counts(struct json_reader *reader, const struct json_place *place, struct row *row)
{
	static const struct json_field fields[] = {
		{ "calls", offsetof(struct row, calls), FIELD_REQUIRED },
		{ "errors", offsetof(struct row, errors), FIELD_REQUIRED },
		{ "interrupted", offsetof(struct row, interrupted), 0 },
		{ "no_return", offsetof(struct row, no_return), 0 },
		{ "untimed", offsetof(struct row, untimed), 0 },
		{ "denied", offsetof(struct row, denied), 0 },
		{ "in_flight", offsetof(struct row, in_flight), 0 },
		{ "in_flight_early", offsetof(struct row, in_flight_early), 0 },
	};
	int err = json_read_numbers(place, fields, ARRAY_SIZE(fields), row);

	if (err)
		return err;
	/* None is above INT64_MAX: two can be added. */
	if (row->errors > row->calls || row->interrupted > row->calls - row->errors ||
	    row->no_return > row->calls - row->errors - row->interrupted)
		return json_refuse(place, "more errors, interrupted and no_return than calls");
	if (row->untimed + row->no_return > row->calls)
		return json_refuse(place, "more untimed and no_return than calls");
	if (row->denied > row->untimed)
		return json_refuse(place, "denied is more than untimed");
	if (row->in_flight_early > row->in_flight)
		return json_refuse(place, "in_flight_early is more than in_flight");
	return json_count_up(place, "calls", row->calls, &reader->calls)
		       ?: json_count_up(place, "in_flight", row->in_flight, &reader->in_flight);
}

static int read_open(struct json_reader *reader, const struct json_place *place, struct row *row)
{
	uint64_t wall = 0, off = 0, age = UNKNOWN, now = reader->snapshot->end_mono_ns;
	int err = json_read_number(place, "oldest_in_flight_ns", FIELD_NULL, &age);

	err = err ?: json_read_number(place, "open_wall_ns", FIELD_SIGNED, &wall);
	err = err ?: json_read_number(place, "open_off_ns", FIELD_SIGNED, &off);
	if (err)
		return err;
	if ((row->in_flight > 0) != (age != UNKNOWN))
		return json_refuse(place, "oldest_in_flight_ns does not fit in_flight");
	if (age != UNKNOWN && age > now)
		return json_refuse(place, "oldest_in_flight_ns begins before the clock did");
	row->open_wall_ns = (int64_t)wall;
	row->open_off_ns = (int64_t)off;
	if (row->open_wall_ns > MAX_OPEN_NS || row->open_wall_ns < -MAX_OPEN_NS ||
	    row->open_off_ns > MAX_OPEN_NS || row->open_off_ns < -MAX_OPEN_NS)
		return json_refuse(place, "open_wall_ns or open_off_ns is too large");
	reader->open_ns += (uint64_t)llabs(row->open_wall_ns) + (uint64_t)llabs(row->open_off_ns);
	if (reader->open_ns > MAX_OPEN_NS)
		return json_refuse(place, "the sum of all open_wall_ns is too large");
	if (age != UNKNOWN)
		row->oldest_start_ns = now - age;
	return 0;
}

/* --- times -------------------------------------------------------------------------------------- */

/* The rest follows from these: off the CPU is what is not on it. */
static int row_set_times(const struct json_reader *reader, const struct json_place *place,
			 const struct times *times, struct row *row)
{
	bool runq = reader->snapshot->has_runq;

	if (times->wall_ns == UNKNOWN || times->cpu_ns == UNKNOWN || times->min_ns == UNKNOWN ||
	    times->max_ns == UNKNOWN)
		return json_refuse(place, "calls were timed, but not all times are there");
	if (times->cpu_ns > times->wall_ns)
		return json_refuse(place, "cpu_ns is more than wall_ns");
	if (times->min_ns > times->max_ns)
		return json_refuse(place, "min_ns is more than max_ns");
	if ((times->runq_ns != UNKNOWN) != runq || (times->sleep_ns != UNKNOWN) != runq)
		return json_refuse(place, "runq_ns and sleep_ns do not fit has_runq");
	row->wall_ns = times->wall_ns;
	row->off_ns = times->wall_ns - times->cpu_ns;
	row->min_ns = times->min_ns;
	row->max_ns = times->max_ns;
	if (runq && times->runq_ns + times->sleep_ns != row->off_ns)
		return json_refuse(place, "cpu_ns, runq_ns and sleep_ns do not add up to wall_ns");
	row->runq_ns = runq ? times->runq_ns : 0;
	return 0;
}

static int read_times(struct json_reader *reader, const struct json_place *place, struct row *row)
{
	static const struct json_field fields[] = {
		{ "wall_ns", offsetof(struct times, wall_ns), FIELD_NULL },
		{ "cpu_ns", offsetof(struct times, cpu_ns), FIELD_NULL },
		{ "runq_ns", offsetof(struct times, runq_ns), FIELD_NULL },
		{ "sleep_ns", offsetof(struct times, sleep_ns), FIELD_NULL },
		{ "min_ns", offsetof(struct times, min_ns), FIELD_NULL },
		{ "max_ns", offsetof(struct times, max_ns), FIELD_NULL },
	};
	struct times times = { UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN };
	int err = json_read_numbers(place, fields, ARRAY_SIZE(fields), &times);

	if (err)
		return err;
	for (size_t i = 0; i < ARRAY_SIZE(fields) && !row_timed(row); i++) {
		if (*(uint64_t *)((char *)&times + fields[i].offset) != UNKNOWN)
			return json_refuse(place, "%s of no timed call", fields[i].key);
	}
	if (!row_timed(row))
		return 0;
	return row_set_times(reader, place, &times, row)
		       ?: json_count_up(place, "wall_ns", row->wall_ns, &reader->wall_ns);
}

static int read_bucket(const struct json_place *place, const json_t *bucket, struct row *row)
{
	const json_t *low = json_array_get(bucket, 0), *high = json_array_get(bucket, 1);
	const json_t *count = json_array_get(bucket, 2);
	unsigned int index;
	bool last;

	if (json_array_size(bucket) != 3 || !json_is_integer(low) || !json_is_integer(count) ||
	    !(json_is_integer(high) || json_is_null(high)) || json_integer_value(low) < 0)
		return json_refuse(place, "histogram has more than lists of low, high and count");
	index = hist_bucket((uint64_t)json_integer_value(low));
	last = index == HIST_BUCKETS - 1;
	if (hist_bucket_low(index) != (uint64_t)json_integer_value(low) ||
	    json_is_null(high) != last ||
	    (!last && hist_bucket_low(index + 1) != (uint64_t)json_integer_value(high)))
		return json_refuse(place, "histogram has bounds that are none");
	if (json_integer_value(count) <= 0 || hist_count(&row->hist, index))
		return json_refuse(place, "histogram has an empty bucket, or one twice");
	return hist_add(&row->hist, index, (uint64_t)json_integer_value(count));
}

static int read_histogram(const struct json_reader *reader, const struct json_place *place,
			  struct row *row)
{
	const struct losses *losses = &reader->snapshot->losses;
	uint64_t sum = 0, timed = row_timed(row);
	const json_t *list = NULL, *bucket;
	int err = json_read_part(place, "histogram", JSON_ARRAY, FIELD_REQUIRED, &list);
	size_t i;

	if (err)
		return err;
	json_array_foreach((json_t *)list, i, bucket)
	{
		err = read_bucket(place, bucket, row);
		if (err)
			return err;
		sum += (uint64_t)json_integer_value(json_array_get(bucket, 2));
		if (sum > INT64_MAX)
			return json_refuse(place, "histogram has too many calls");
	}
	/* Both are told: carries that were lost, and rows that were read while they changed. */
	if (sum != timed && !losses->count[LOSS_BUCKET_WRAPPED] && !losses->count[LOSS_TORN_READ])
		return json_refuse(place,
				   "histogram has %" PRIu64 " calls, but %" PRIu64 " were timed",
				   sum, timed);
	return 0;
}

/* --- results ------------------------------------------------------------------------------------ */

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

static int read_errnos(const struct json_reader *reader, const struct json_place *place,
		       struct row *row)
{
	/* Those of a row that was read while it changed may be of a later moment. */
	bool torn = reader->snapshot->losses.count[LOSS_TORN_READ];
	const json_t *object = NULL, *value;
	int err = json_read_part(place, "errnos", JSON_OBJECT, 0, &object);
	const char *label;
	uint64_t sum = 0;

	if (err || !object)
		return err;
	json_object_foreach((json_t *)object, label, value)
	{
		int number = errno_of_label(label);

		if (number < 0)
			return json_refuse(place, "errnos has a name that is none");
		if (!json_is_integer(value) || json_integer_value(value) <= 0)
			return json_refuse(place, "errnos: %s is not a number above 0", label);
		sum += (uint64_t)json_integer_value(value);
		if (sum > (torn ? INT64_MAX : row->errors))
			return json_refuse(place, "errnos has more errors than errors");
		if (row_add_errno(row, number, (uint64_t)json_integer_value(value)))
			return -ENOMEM;
	}
	return 0;
}

static int read_results(const struct json_reader *reader, const struct json_place *place,
			struct row *row)
{
	bool moves_data = row->nr != ROW_NR_OTHER &&
			  syscall_has_trait(row->abi, (int)row->nr, TRAIT_MOVES_DATA);
	uint64_t bytes = 0, sum = 0;
	int err = json_read_number(place, "bytes", FIELD_SIGNED, &bytes);

	/* Results may be addresses: their sum wraps. */
	err = err ?: json_read_number(place, "result_sum", FIELD_SIGNED, &sum);
	if (err)
		return err;
	if (moves_data ? sum : bytes)
		return json_refuse(place, "%s of a call that has none",
				   moves_data ? "result_sum" : "bytes");
	row->result_sum = moves_data ? bytes : sum;
	return read_errnos(reader, place, row);
}

/* What follows from the rest, or from the process: nothing but its type is looked at. */
static int check_derived(const struct json_place *place)
{
	const char *name;
	uint64_t ns;

	return json_read_string(place, "syscall", 0, &name)
		       ?: json_read_number(place, "p50_ns", FIELD_NULL, &ns)
		       ?: json_read_number(place, "p90_ns", FIELD_NULL, &ns)
		       ?: json_read_number(place, "p99_ns", FIELD_NULL, &ns);
}

static int read_row(struct json_reader *reader, const struct json_place *place, struct row *row)
{
	return read_call(place, row) ?: json_read_owner(reader, place, row)
		       ?: read_counts(reader, place, row) ?: read_open(reader, place, row)
		       ?: read_times(reader, place, row) ?: read_histogram(reader, place, row)
		       ?: read_results(reader, place, row) ?: check_derived(place)
		       ?: json_read_stacks(reader, place, row);
}

int json_read_row(struct json_reader *reader, const struct json_place *place)
{
	struct row row __cleanup(row_done);
	int err;

	row_init(&row);
	err = read_row(reader, place, &row);
	return err ?: builder_add_row(reader->builder, &row);
}
