/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns what every column is called and shows. Invariant: a column has a key's text or a number. */
#include "report/columns.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "model/unit.h"
#include "report/label.h"
#include "syscalls/names.h"

static bool pid_text(const struct column_scope *scope, const struct group *group, char *buf)
{
	(void)scope;
	if (!group->process)
		return false;
	if (group->sum.pid)
		snprintf(buf, COLUMN_TEXT_MAX, "%" PRIu32, group->sum.pid);
	else
		snprintf(buf, COLUMN_TEXT_MAX, "exited");
	return true;
}

static bool pid_number(const struct column_scope *scope, const struct group *group, uint64_t *ret)
{
	(void)scope;
	*ret = group->sum.pid;
	return *ret != 0;
}

static bool tid_text(const struct column_scope *scope, const struct group *group, char *buf)
{
	(void)scope;
	snprintf(buf, COLUMN_TEXT_MAX, "%" PRIu32, group->sum.tid);
	return group->sum.tid != 0;
}

static bool tid_number(const struct column_scope *scope, const struct group *group, uint64_t *ret)
{
	(void)scope;
	*ret = group->sum.tid;
	return *ret != 0;
}

static bool comm_text(const struct column_scope *scope, const struct group *group, char *buf)
{
	(void)scope;
	if (group->process)
		process_label(group->process, buf);
	else
		snprintf(buf, COLUMN_TEXT_MAX, "[overflow]");
	return true;
}

static bool unit_text(const struct column_scope *scope, const struct group *group, char *buf)
{
	const char *path = NULL, *unit;
	size_t length;

	if (group->process)
		path = snapshot_cgroup(scope->snapshot, group->process->cgroup_id);
	if (!path)
		return false;
	length = cgroup_unit(path, &unit);
	if (TEXT_ESCAPED_MAX(length) > COLUMN_TEXT_MAX)
		length = (COLUMN_TEXT_MAX - 1) / 4;
	text_escape_name(unit, length, buf);
	return true;
}

static bool user_text(const struct column_scope *scope, const struct group *group, char *buf)
{
	const char *name;

	if (!group->process || group->process->uid == UID_NONE)
		return false;
	name = snapshot_user(scope->snapshot, group->process->uid);
	if (name)
		text_escape_visible(name, (COLUMN_TEXT_MAX - 1) / 4, buf);
	else
		snprintf(buf, COLUMN_TEXT_MAX, "%" PRIu32, group->process->uid);
	return true;
}

static bool abi_text(const struct column_scope *scope, const struct group *group, char *buf)
{
	(void)scope;
	snprintf(buf, COLUMN_TEXT_MAX, "%s", abi_name(group->sum.abi));
	return true;
}

static bool syscall_text(const struct column_scope *scope, const struct group *group, char *buf)
{
	(void)scope;
	row_label(&group->sum, buf, COLUMN_TEXT_MAX);
	return true;
}

static bool arg0_text(const struct column_scope *scope, const struct group *group, char *buf)
{
	(void)scope;
	snprintf(buf, COLUMN_TEXT_MAX, "0x%" PRIx64, group->sum.arg0);
	return group->sum.has_arg0;
}

static bool arg0_number(const struct column_scope *scope, const struct group *group, uint64_t *ret)
{
	(void)scope;
	*ret = group->sum.arg0;
	return group->sum.has_arg0;
}

static bool calls_number(const struct column_scope *scope, const struct group *group, uint64_t *ret)
{
	(void)scope;
	*ret = group->sum.calls;
	return true;
}

static bool errors_number(const struct column_scope *scope, const struct group *group,
			  uint64_t *ret)
{
	(void)scope;
	*ret = group->sum.errors;
	return true;
}

static bool interrupted_number(const struct column_scope *scope, const struct group *group,
			       uint64_t *ret)
{
	(void)scope;
	*ret = group->sum.interrupted;
	return true;
}

static bool untimed_number(const struct column_scope *scope, const struct group *group,
			   uint64_t *ret)
{
	(void)scope;
	*ret = group->sum.untimed;
	return true;
}

static bool no_return_number(const struct column_scope *scope, const struct group *group,
			     uint64_t *ret)
{
	(void)scope;
	*ret = group->sum.no_return;
	return true;
}

static bool in_flight_number(const struct column_scope *scope, const struct group *group,
			     uint64_t *ret)
{
	(void)scope;
	*ret = group->sum.in_flight;
	return true;
}

static bool bytes_number(const struct column_scope *scope, const struct group *group, uint64_t *ret)
{
	(void)scope;
	*ret = group->bytes;
	return group->moves_data;
}

static bool oldest_number(const struct column_scope *scope, const struct group *group,
			  uint64_t *ret)
{
	*ret = snapshot_oldest_ns(scope->snapshot, &group->sum);
	return group->sum.in_flight != 0;
}

static bool total_number(const struct column_scope *scope, const struct group *group, uint64_t *ret)
{
	(void)scope;
	*ret = group->sum.wall_ns;
	return row_timed(&group->sum) != 0;
}

static bool cpu_number(const struct column_scope *scope, const struct group *group, uint64_t *ret)
{
	(void)scope;
	*ret = row_cpu_ns(&group->sum);
	return row_timed(&group->sum) != 0;
}

static bool runq_number(const struct column_scope *scope, const struct group *group, uint64_t *ret)
{
	*ret = group->sum.runq_ns;
	return scope->snapshot->has_runq && row_timed(&group->sum) != 0;
}

static bool sleep_number(const struct column_scope *scope, const struct group *group, uint64_t *ret)
{
	*ret = row_sleep_ns(&group->sum);
	return scope->snapshot->has_runq && row_timed(&group->sum) != 0;
}

static bool min_number(const struct column_scope *scope, const struct group *group, uint64_t *ret)
{
	(void)scope;
	*ret = group->sum.min_ns;
	return row_timed(&group->sum) != 0;
}

static bool max_number(const struct column_scope *scope, const struct group *group, uint64_t *ret)
{
	(void)scope;
	*ret = group->sum.max_ns;
	return row_timed(&group->sum) != 0;
}

static bool avg_number(const struct column_scope *scope, const struct group *group, uint64_t *ret)
{
	uint64_t timed = row_timed(&group->sum);

	(void)scope;
	*ret = timed ? group->sum.wall_ns / timed : 0;
	return timed != 0;
}

static bool quantile(const struct group *group, double q, uint64_t *ret)
{
	const struct row *row = &group->sum;

	*ret = hist_quantile_ns(&row->hist, q, row->min_ns, row->max_ns);
	return row_timed(row) != 0;
}

static bool p50_number(const struct column_scope *scope, const struct group *group, uint64_t *ret)
{
	(void)scope;
	return quantile(group, 0.50, ret);
}

static bool p90_number(const struct column_scope *scope, const struct group *group, uint64_t *ret)
{
	(void)scope;
	return quantile(group, 0.90, ret);
}

static bool p99_number(const struct column_scope *scope, const struct group *group, uint64_t *ret)
{
	(void)scope;
	return quantile(group, 0.99, ret);
}

/* In hundredths of a percent. */
static bool share(uint64_t part, uint64_t whole, uint64_t *ret)
{
	if (!whole)
		return false;
	*ret = (uint64_t)((double)part / (double)whole * 10000 + 0.5);
	return true;
}

static bool error_share(const struct column_scope *scope, const struct group *group, uint64_t *ret)
{
	(void)scope;
	return share(group->sum.errors, group->sum.calls, ret);
}

static bool time_share(const struct column_scope *scope, const struct group *group, uint64_t *ret)
{
	return row_timed(&group->sum) && share(group->sum.wall_ns, scope->total_ns, ret);
}

#define KEY(name, kind, keys, more_keys, text, number) \
	{ name, name, kind, keys, (keys) | (more_keys), text, number }
#define NUMBER(name, field, kind, number) { name, field, kind, 0, 0, NULL, number }

static const struct column columns[] = {
	KEY("pid", COLUMN_ID, GROUP_PID, 0, pid_text, pid_number),
	KEY("tid", COLUMN_ID, GROUP_TID, 0, tid_text, tid_number),
	KEY("comm", COLUMN_TEXT, GROUP_COMM | GROUP_PID, 0, comm_text, NULL),
	KEY("unit", COLUMN_TEXT, GROUP_UNIT, GROUP_PID, unit_text, NULL),
	KEY("user", COLUMN_TEXT, GROUP_USER, GROUP_PID, user_text, NULL),
	KEY("abi", COLUMN_TEXT, GROUP_ABI, GROUP_SYSCALL, abi_text, NULL),
	KEY("syscall", COLUMN_TEXT, GROUP_SYSCALL, 0, syscall_text, NULL),
	KEY("arg0", COLUMN_ID, GROUP_ARG0, 0, arg0_text, arg0_number),
	NUMBER("calls", "calls", COLUMN_COUNT, calls_number),
	NUMBER("errors", "errors", COLUMN_COUNT, errors_number),
	NUMBER("err%", "errors_pct", COLUMN_PERCENT, error_share),
	NUMBER("interrupted", "interrupted", COLUMN_COUNT, interrupted_number),
	NUMBER("no_return", "no_return", COLUMN_COUNT, no_return_number),
	NUMBER("untimed", "untimed", COLUMN_COUNT, untimed_number),
	NUMBER("in_flight", "in_flight", COLUMN_COUNT, in_flight_number),
	NUMBER("oldest", "oldest_in_flight_ns", COLUMN_LATENCY, oldest_number),
	NUMBER("time%", "time_pct", COLUMN_PERCENT, time_share),
	NUMBER("total", "total_ns", COLUMN_SUM, total_number),
	NUMBER("cpu", "cpu_ns", COLUMN_SUM, cpu_number),
	NUMBER("runq", "runq_ns", COLUMN_SUM, runq_number),
	NUMBER("sleep", "sleep_ns", COLUMN_SUM, sleep_number),
	NUMBER("min", "min_ns", COLUMN_LATENCY, min_number),
	NUMBER("avg", "avg_ns", COLUMN_LATENCY, avg_number),
	NUMBER("p50", "p50_ns", COLUMN_LATENCY, p50_number),
	NUMBER("p90", "p90_ns", COLUMN_LATENCY, p90_number),
	NUMBER("p99", "p99_ns", COLUMN_LATENCY, p99_number),
	NUMBER("max", "max_ns", COLUMN_LATENCY, max_number),
	NUMBER("bytes", "bytes", COLUMN_BYTES, bytes_number),
};

_Static_assert(ARRAY_SIZE(columns) <= COLUMNS_MAX, "a list holds every column once");

const struct column *column_at(size_t index)
{
	return index < ARRAY_SIZE(columns) ? &columns[index] : NULL;
}

bool column_is_key(const struct column *column)
{
	return column->text != NULL;
}

bool column_is_known(const struct column *column, unsigned int keys)
{
	return !column_is_key(column) || keys & column->known_by;
}

bool column_text(const struct column *column, const struct column_scope *scope,
		 const struct group *group, char buf[COLUMN_TEXT_MAX])
{
	if (group->nr_merged || !column_is_known(column, scope->keys))
		return false;
	return column->text(scope, group, buf);
}

bool column_number(const struct column *column, const struct column_scope *scope,
		   const struct group *group, uint64_t *ret)
{
	if (!column_is_known(column, scope->keys) || (column_is_key(column) && group->nr_merged))
		return false;
	return column->number && column->number(scope, group, ret);
}

static int compare_numbers(const struct column *column, const struct column_scope *scope,
			   const struct group *a, const struct group *b)
{
	uint64_t x, y;
	bool known_x = column_number(column, scope, a, &x);
	bool known_y = column_number(column, scope, b, &y);
	int order;

	if (!known_x || !known_y)
		return known_y - known_x;
	order = (x > y) - (x < y);
	return column_is_key(column) ? order : -order;
}

int column_compare(const struct column *column, const struct column_scope *scope,
		   const struct group *a, const struct group *b)
{
	char x[COLUMN_TEXT_MAX], y[COLUMN_TEXT_MAX];
	bool known_x, known_y;

	if (column->number)
		return compare_numbers(column, scope, a, b);
	known_x = column_text(column, scope, a, x);
	known_y = column_text(column, scope, b, y);
	if (!known_x || !known_y)
		return known_y - known_x;
	return strcmp(x, y);
}
