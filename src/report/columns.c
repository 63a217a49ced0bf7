/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells what every column is called and shows: it has a key's text, or a number. */
#include "report/columns.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "model/match.h"
#include "report/label.h"
#include "syscalls/names.h"

static bool pid_text(const struct column_cell *cell, char *buf)
{
	if (!cell->group->process)
		return false;
	if (cell->group->sum.pid)
		snprintf(buf, COLUMN_TEXT_MAX, "%" PRIu32, cell->group->sum.pid);
	else
		snprintf(buf, COLUMN_TEXT_MAX, "exited");
	return true;
}

static bool pid_number(const struct column_cell *cell, uint64_t *ret)
{
	*ret = cell->group->sum.pid;
	return *ret != 0;
}

static bool tid_text(const struct column_cell *cell, char *buf)
{
	snprintf(buf, COLUMN_TEXT_MAX, "%" PRIu32, cell->group->sum.tid);
	return cell->group->sum.tid != 0;
}

static bool tid_number(const struct column_cell *cell, uint64_t *ret)
{
	*ret = cell->group->sum.tid;
	return *ret != 0;
}

static bool comm_text(const struct column_cell *cell, char *buf)
{
	if (cell->group->process)
		process_label(cell->group->process, buf);
	else
		snprintf(buf, COLUMN_TEXT_MAX, "[overflow]");
	return true;
}

static bool unit_text(const struct column_cell *cell, char *buf)
{
	const char *path = NULL, *unit;
	size_t length;

	if (cell->group->process)
		path = snapshot_cgroup(cell->scope->snapshot, cell->group->process->cgroup_id);
	if (!path)
		return false;
	length = cgroup_unit(path, &unit);
	if (TEXT_ESCAPED_MAX(length) > COLUMN_TEXT_MAX)
		length = (COLUMN_TEXT_MAX - 1) / 4;
	text_escape_name(unit, length, buf);
	return true;
}

static bool user_text(const struct column_cell *cell, char *buf)
{
	const char *name;

	if (!cell->group->process || cell->group->process->uid == UID_NONE)
		return false;
	name = snapshot_user(cell->scope->snapshot, cell->group->process->uid);
	if (name)
		text_escape_visible(name, (COLUMN_TEXT_MAX - 1) / 4, buf);
	else
		snprintf(buf, COLUMN_TEXT_MAX, "%" PRIu32, cell->group->process->uid);
	return true;
}

static bool abi_text(const struct column_cell *cell, char *buf)
{
	snprintf(buf, COLUMN_TEXT_MAX, "%s", abi_name(cell->group->sum.abi));
	return true;
}

static bool syscall_text(const struct column_cell *cell, char *buf)
{
	row_label(&cell->group->sum, buf, COLUMN_TEXT_MAX);
	return true;
}

static bool arg0_text(const struct column_cell *cell, char *buf)
{
	snprintf(buf, COLUMN_TEXT_MAX, "0x%" PRIx64, cell->group->sum.arg0);
	return cell->group->sum.has_arg0;
}

static bool arg0_number(const struct column_cell *cell, uint64_t *ret)
{
	*ret = cell->group->sum.arg0;
	return cell->group->sum.has_arg0;
}

/* A number of the row, as it is. */
static bool count_number(const struct column_cell *cell, uint64_t *ret)
{
	*ret = *(const uint64_t *)((const char *)&cell->group->sum + cell->column->offset);
	return true;
}

static bool time_number(const struct column_cell *cell, uint64_t *ret)
{
	return count_number(cell, ret) && row_timed(&cell->group->sum) != 0;
}

static bool bytes_number(const struct column_cell *cell, uint64_t *ret)
{
	*ret = cell->group->bytes;
	return cell->group->moves_data;
}

static bool oldest_number(const struct column_cell *cell, uint64_t *ret)
{
	*ret = snapshot_oldest_ns(cell->scope->snapshot, &cell->group->sum);
	return cell->group->sum.in_flight != 0;
}

static bool cpu_number(const struct column_cell *cell, uint64_t *ret)
{
	*ret = row_cpu_ns(&cell->group->sum);
	return row_timed(&cell->group->sum) != 0;
}

static bool runq_number(const struct column_cell *cell, uint64_t *ret)
{
	return cell->scope->snapshot->has_runq && time_number(cell, ret);
}

static bool sleep_number(const struct column_cell *cell, uint64_t *ret)
{
	*ret = row_sleep_ns(&cell->group->sum);
	return cell->scope->snapshot->has_runq && row_timed(&cell->group->sum) != 0;
}

static bool avg_number(const struct column_cell *cell, uint64_t *ret)
{
	uint64_t timed = row_timed(&cell->group->sum);

	*ret = timed ? cell->group->sum.wall_ns / timed : 0;
	return timed != 0;
}

static bool quantile_number(const struct column_cell *cell, uint64_t *ret)
{
	const struct row *row = &cell->group->sum;

	*ret = hist_quantile_ns(&row->hist, cell->column->quantile, row->min_ns, row->max_ns);
	return row_timed(row) != 0;
}

/* In hundredths of a percent. */
static bool share(uint64_t part, uint64_t whole, uint64_t *ret)
{
	if (!whole)
		return false;
	*ret = (uint64_t)((double)part / (double)whole * 10000 + 0.5);
	return true;
}

static bool error_share(const struct column_cell *cell, uint64_t *ret)
{
	return share(cell->group->sum.errors, cell->group->sum.calls, ret);
}

static bool time_share(const struct column_cell *cell, uint64_t *ret)
{
	return row_timed(&cell->group->sum) &&
	       share(cell->group->sum.wall_ns, cell->scope->total_ns, ret);
}

#define KEY(name, kind, keys, more_keys, text, number) \
	{ name, name, kind, keys, (keys) | (more_keys), text, number, .offset = 0 }
#define NUMBER(word, key, unit, fn, ...) \
	{ .name = word, .field = key, .kind = unit, .number = fn, __VA_ARGS__ }
#define MEMBER(word, key, unit, fn, member) \
	NUMBER(word, key, unit, fn, .offset = offsetof(struct row, member))
#define COUNT(member)     MEMBER(#member, #member, COLUMN_COUNT, count_number, member)
#define QUANTILE(word, q) NUMBER(word, word "_ns", COLUMN_LATENCY, quantile_number, .quantile = q)

static const struct column columns[] = {
	KEY("pid", COLUMN_ID, GROUP_PID, 0, pid_text, pid_number),
	KEY("tid", COLUMN_ID, GROUP_TID, 0, tid_text, tid_number),
	KEY("comm", COLUMN_TEXT, GROUP_COMM | GROUP_PID, 0, comm_text, NULL),
	KEY("unit", COLUMN_TEXT, GROUP_UNIT, GROUP_PID, unit_text, NULL),
	KEY("user", COLUMN_TEXT, GROUP_USER, GROUP_PID, user_text, NULL),
	KEY("abi", COLUMN_TEXT, GROUP_ABI, GROUP_SYSCALL, abi_text, NULL),
	KEY("syscall", COLUMN_TEXT, GROUP_SYSCALL, 0, syscall_text, NULL),
	KEY("arg0", COLUMN_ID, GROUP_ARG0, 0, arg0_text, arg0_number),
	COUNT(calls),
	COUNT(errors),
	NUMBER("err%", "errors_pct", COLUMN_PERCENT, error_share),
	COUNT(interrupted),
	COUNT(no_return),
	COUNT(untimed),
	COUNT(in_flight),
	NUMBER("oldest", "oldest_in_flight_ns", COLUMN_LATENCY, oldest_number),
	NUMBER("time%", "time_pct", COLUMN_PERCENT, time_share),
	MEMBER("total", "total_ns", COLUMN_SUM, time_number, wall_ns),
	NUMBER("cpu", "cpu_ns", COLUMN_SUM, cpu_number),
	MEMBER("runq", "runq_ns", COLUMN_SUM, runq_number, runq_ns),
	NUMBER("sleep", "sleep_ns", COLUMN_SUM, sleep_number),
	MEMBER("min", "min_ns", COLUMN_LATENCY, time_number, min_ns),
	NUMBER("avg", "avg_ns", COLUMN_LATENCY, avg_number),
	QUANTILE("p50", 0.50),
	QUANTILE("p90", 0.90),
	QUANTILE("p99", 0.99),
	MEMBER("max", "max_ns", COLUMN_LATENCY, time_number, max_ns),
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
	return column->text(&(struct column_cell){ column, scope, group }, buf);
}

bool column_number(const struct column *column, const struct column_scope *scope,
		   const struct group *group, uint64_t *ret)
{
	if (!column_is_known(column, scope->keys) || (column_is_key(column) && group->nr_merged))
		return false;
	return column->number && column->number(&(struct column_cell){ column, scope, group }, ret);
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

/* --- lists, as users type them and keys bring them ---------------------------------------------- */

static const struct column *find(const char *name, size_t length)
{
	const struct column *column;

	for (size_t i = 0; (column = column_at(i)); i++) {
		if (strlen(column->name) == length && !strncmp(column->name, name, length))
			break;
	}
	return column;
}

static int no_column(const char *option, const char *name, size_t length, struct diag *d)
{
	char names[320] = "";

	for (size_t i = 0; column_at(i); i++) {
		size_t used = strlen(names);

		snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
			 column_at(i)->name);
	}
	return diag_set(d, DIAG_USAGE, EINVAL, "%s: no column \"%.*s\"; the columns are %s", option,
			(int)(length < 32 ? length : 32), name, names);
}

int column_find(const char *option, const char *name, const struct column **ret, struct diag *d)
{
	const struct column *column = find(name, strlen(name));

	if (!column)
		return no_column(option, name, strlen(name), d);
	*ret = column;
	return 0;
}

bool column_list_has(const struct column_list *list, const struct column *column)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->columns[i] == column)
			return true;
	}
	return false;
}

void column_list_add(struct column_list *list, const struct column *column)
{
	if (!column_list_has(list, column))
		list->columns[list->count++] = column;
}

int columns_parse(const char *list, struct column_list *ret, struct diag *d)
{
	struct column_list parsed = { .count = 0 };
	const struct column *column;
	size_t length;

	for (const char *at = list;; at += length + 1) {
		length = strcspn(at, ",");
		column = find(at, length);
		if (!column)
			return no_column("--columns", at, length, d);
		column_list_add(&parsed, column);
		if (!at[length])
			break;
	}
	*ret = parsed;
	return 0;
}

void columns_format(const struct column_list *list, char buf[COLUMNS_TEXT_MAX])
{
	size_t used = 0;

	*buf = '\0';
	for (size_t i = 0; i < list->count; i++)
		used += (size_t)snprintf(buf + used, COLUMNS_TEXT_MAX - used, "%s%s",
					 used ? "," : "", list->columns[i]->name);
}

void columns_of_keys(unsigned int keys, struct column_list *ret)
{
	const struct column *column;

	ret->count = 0;
	for (size_t i = 0; (column = column_at(i)); i++) {
		if (keys & column->shown_by)
			column_list_add(ret, column);
	}
}
