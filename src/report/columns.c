/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells what every column is called and shows: a key's text, or a number. */
#include "report/table.h"

#include <limits.h>

#include "base/nearest.h"
#include "model/match.h"
#include "model/label.h"
#include "syscalls/names.h"

/* --- texts: false when not known ---------------------------------------------------------------- */

static bool name_text(const char *name, size_t length, char *buf)
{
	if (TEXT_ESCAPED_MAX(length) > COLUMN_TEXT_MAX)
		length = (COLUMN_TEXT_MAX - 1) / 4;
	text_escape_name(name, length, buf);
	return true;
}

static bool host_text(const struct column_scope *scope, const struct group *group, char *buf)
{
	const char *host = snapshot_host(scope->snapshot, group->sum.host);

	text_escape_visible(host, (COLUMN_TEXT_MAX - 1) / 4, buf);
	return *host;
}

/* The path of a group's cgroup, or NULL. */
static const char *group_cgroup(const struct column_scope *scope, const struct group *group)
{
	return group->process ? snapshot_cgroup(scope->snapshot, group->process->cgroup_id) : NULL;
}

/* A path or a part of it. The ids of containers in it would fill a table. */
static bool path_part_text(const struct column_scope *scope, const char *part, size_t length,
			   char *buf)
{
	char shorter[PATH_MAX];

	if (!scope->has_whole_ids) {
		length = container_shorten(part, length, shorter, sizeof(shorter));
		part = shorter;
	}
	return name_text(part, length, buf);
}

static bool unit_text(const struct column_scope *scope, const struct group *group, char *buf)
{
	const char *path = group_cgroup(scope, group), *unit;
	size_t length = path ? cgroup_unit(path, &unit) : 0;

	return path && path_part_text(scope, unit, length, buf);
}

static bool container_text(const struct column_scope *scope, const struct group *group, char *buf)
{
	const char *path = group_cgroup(scope, group);
	char name[CONTAINER_NAME_MAX];
	struct container container;

	container_find(path ?: "", &container);
	container_write(&container, scope->has_whole_ids, name);
	return path && name_text(name, strlen(name), buf);
}

static bool pod_text(const struct column_scope *scope, const struct group *group, char *buf)
{
	const char *path = group_cgroup(scope, group);
	char name[CONTAINER_NAME_MAX];
	struct container container;

	container_find(path ?: "", &container);
	container_write_pod(&container, scope->has_whole_ids, name);
	return path && name_text(name, strlen(name), buf);
}

static bool cgroup_text(const struct column_scope *scope, const struct group *group, char *buf)
{
	const char *path = group_cgroup(scope, group);

	return path && path_part_text(scope, path, strlen(path), buf);
}

static bool user_text(const struct column_scope *scope, const struct group *group, char *buf)
{
	const struct process *process = group->process;
	const char *name;

	if (!process || process->uid == UID_NONE)
		return false;
	name = snapshot_user(scope->snapshot, process);
	if (name)
		text_escape_visible(name, (COLUMN_TEXT_MAX - 1) / 4, buf);
	else
		snprintf(buf, COLUMN_TEXT_MAX, "%" PRIu32, process->uid);
	return true;
}

static bool comm_text(const struct column_scope *scope, const struct group *group, char *buf)
{
	(void)scope;
	snprintf(buf, COLUMN_TEXT_MAX, "[overflow]");
	if (group->process)
		process_label(group->process, buf);
	return true;
}

static bool pid_text(const struct column_scope *scope, const struct group *group, char *buf)
{
	(void)scope;
	snprintf(buf, COLUMN_TEXT_MAX, "exited");
	if (group->sum.pid)
		snprintf(buf, COLUMN_TEXT_MAX, "%" PRIu32, group->sum.pid);
	return group->process;
}

static bool tid_text(const struct column_scope *scope, const struct group *group, char *buf)
{
	(void)scope;
	snprintf(buf, COLUMN_TEXT_MAX, "%" PRIu32, group->sum.tid);
	return group->sum.tid;
}

static bool thread_text(const struct column_scope *scope, const struct group *group, char *buf)
{
	(void)scope;
	if (group->thread)
		text_escape_name(group->thread->its.comm, PROCESS_COMM_SIZE, buf);
	return group->thread;
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

static bool argument_text(const struct column_scope *scope, const struct group *group, char *buf)
{
	(void)scope;
	/* Counts, sizes and descriptors are read in decimal; addresses and flags are larger, mostly. */
	snprintf(buf, COLUMN_TEXT_MAX, group->sum.split_value < 1 << 16 ? "%" PRIu64 : "0x%" PRIx64,
		 group->sum.split_value);
	return group->sum.split;
}

static bool cpu_text(const struct column_scope *scope, const struct group *group, char *buf)
{
	(void)scope;
	snprintf(buf, COLUMN_TEXT_MAX, "%" PRIu64, group->sum.split_value);
	return group->sum.split;
}

/* The path or file of a group; NULL: buf has what stands there instead, or "". */
static const char *group_argument(const struct column_scope *scope, const struct group *group,
				  enum call_split split, char *buf)
{
	enum argument_key why;
	const char *text = snapshot_argument(scope->snapshot, &group->sum, split, &why);

	snprintf(buf, COLUMN_TEXT_MAX, "%s", argument_unknown(split, why));
	return text;
}

static bool argument_write(const char *text, size_t length, char *buf)
{
	argument_label(text, length, buf);
	return true;
}

static bool path_text(const struct column_scope *scope, const struct group *group, char *buf)
{
	const char *path = group_argument(scope, group, SPLIT_PATH, buf);

	return path ? argument_write(path, SIZE_MAX, buf) : *buf;
}

static bool folder_text(const struct column_scope *scope, const struct group *group, char *buf)
{
	const char *path = group_argument(scope, group, SPLIT_PATH, buf);
	size_t length = path ? path_folder_length(path) : 0;

	if (!path)
		return *buf;
	return length ? argument_write(path, length, buf) : argument_write(".", 1, buf);
}

static bool file_text(const struct column_scope *scope, const struct group *group, char *buf)
{
	const char *file = group_argument(scope, group, SPLIT_FILE, buf);

	return file ? argument_write(file, SIZE_MAX, buf) : *buf;
}

/* Numbers that columns show. */
enum {
	NUMBER_NONE,
	NUMBER_PID,
	NUMBER_TID,
	NUMBER_SPLIT,
	NUMBER_NR,
	NUMBER_COUNT, /* a member of the row */
	NUMBER_TIME,  /* a member of the row, of timed calls */
	NUMBER_RUNQ,
	NUMBER_CPU,
	NUMBER_SLEEP,
	NUMBER_AVG,
	NUMBER_QUANTILE,
	NUMBER_OLDEST,
	NUMBER_BYTES,
	NUMBER_ERROR_SHARE,
	NUMBER_TIME_SHARE,
	NR_NUMBER,
};

#define KEY(name, kind, keys, more_keys, number, text) \
	{ name, name, kind, keys, (keys) | (more_keys), number, text, .offset = 0 }
#define SPLIT(name, index) \
	KEY(name, COLUMN_ID, GROUP_OF_SPLIT(SPLIT_ARG0 + (index)), 0, NUMBER_SPLIT, argument_text)
#define NUMBER(word, key, unit, what, ...) \
	{ .name = word, .field = key, .kind = unit, .number = what, __VA_ARGS__ }
#define MEMBER(word, key, unit, what, member) \
	NUMBER(word, key, unit, what, .offset = offsetof(struct row, member))
#define COUNT(member)     MEMBER(#member, #member, COLUMN_COUNT, NUMBER_COUNT, member)
#define QUANTILE(word, q) NUMBER(word, word "_ns", COLUMN_LATENCY, NUMBER_QUANTILE, .quantile = q)

static const struct column columns[] = {
	KEY("host", COLUMN_TEXT, GROUP_HOST, GROUP_PID, NUMBER_NONE, host_text),
	KEY("pid", COLUMN_ID, GROUP_PID, 0, NUMBER_PID, pid_text),
	KEY("tid", COLUMN_ID, GROUP_TID, 0, NUMBER_TID, tid_text),
	KEY("thread", COLUMN_TEXT, GROUP_THREAD | GROUP_TID, 0, NUMBER_NONE, thread_text),
	KEY("comm", COLUMN_TEXT, GROUP_COMM | GROUP_PID, 0, NUMBER_NONE, comm_text),
	KEY("pod", COLUMN_TEXT, GROUP_POD, GROUP_PID | GROUP_CGROUP | GROUP_CONTAINER, NUMBER_NONE,
	    pod_text),
	KEY("container", COLUMN_TEXT, GROUP_CONTAINER, GROUP_PID | GROUP_CGROUP, NUMBER_NONE,
	    container_text),
	KEY("unit", COLUMN_TEXT, GROUP_UNIT, GROUP_PID | GROUP_CGROUP, NUMBER_NONE, unit_text),
	KEY("cgroup", COLUMN_TEXT, GROUP_CGROUP, GROUP_PID, NUMBER_NONE, cgroup_text),
	KEY("user", COLUMN_TEXT, GROUP_USER, GROUP_PID, NUMBER_NONE, user_text),
	KEY("abi", COLUMN_TEXT, GROUP_ABI, GROUP_SYSCALL, NUMBER_NONE, abi_text),
	KEY("syscall", COLUMN_TEXT, GROUP_SYSCALL, 0, NUMBER_NONE, syscall_text),
	/* "cpu" is a time. */
	KEY("on_cpu", COLUMN_ID, GROUP_CPU, 0, NUMBER_SPLIT, cpu_text),
	SPLIT("arg0", 0),
	SPLIT("arg1", 1),
	SPLIT("arg2", 2),
	SPLIT("arg3", 3),
	SPLIT("arg4", 4),
	SPLIT("arg5", 5),
	KEY("dir", COLUMN_TEXT, GROUP_DIR, GROUP_PATH, NUMBER_NONE, folder_text),
	KEY("path", COLUMN_TEXT, GROUP_PATH, 0, NUMBER_NONE, path_text),
	KEY("file", COLUMN_TEXT, GROUP_FILE, 0, NUMBER_NONE, file_text),
	/* Solaris shows its calls in this order. */
	{ .name = "nr",
	  .field = "nr",
	  .kind = COLUMN_ID,
	  .known_by = GROUP_SYSCALL,
	  .number = NUMBER_NR },
	COUNT(calls),
	COUNT(errors),
	NUMBER("err%", "errors_pct", COLUMN_PERCENT, NUMBER_ERROR_SHARE),
	COUNT(interrupted),
	COUNT(no_return),
	COUNT(untimed),
	COUNT(in_flight),
	NUMBER("oldest", "oldest_in_flight_ns", COLUMN_LATENCY, NUMBER_OLDEST),
	NUMBER("time%", "time_pct", COLUMN_PERCENT, NUMBER_TIME_SHARE),
	MEMBER("total", "total_ns", COLUMN_SUM, NUMBER_TIME, wall_ns),
	NUMBER("cpu", "cpu_ns", COLUMN_SUM, NUMBER_CPU),
	NUMBER("runq", "runq_ns", COLUMN_SUM, NUMBER_RUNQ),
	NUMBER("sleep", "sleep_ns", COLUMN_SUM, NUMBER_SLEEP),
	MEMBER("min", "min_ns", COLUMN_LATENCY, NUMBER_TIME, min_ns),
	NUMBER("avg", "avg_ns", COLUMN_LATENCY, NUMBER_AVG),
	QUANTILE("p50", 0.50),
	QUANTILE("p90", 0.90),
	QUANTILE("p99", 0.99),
	MEMBER("max", "max_ns", COLUMN_LATENCY, NUMBER_TIME, max_ns),
	NUMBER("bytes", "bytes", COLUMN_BYTES, NUMBER_BYTES),
};

_Static_assert(ARRAY_SIZE(columns) <= COLUMNS_MAX, "a list holds every column once");

const struct column *column_at(size_t index)
{
	return index < ARRAY_SIZE(columns) ? &columns[index] : NULL;
}

bool column_is_key(const struct column *column)
{
	return column->shown_by != 0;
}

bool column_is_known(const struct column *column, unsigned int keys)
{
	return !column->known_by || keys & column->known_by;
}

bool column_text(const struct column *column, const struct column_scope *scope,
		 const struct group *group, char buf[COLUMN_TEXT_MAX])
{
	return !group->nr_merged && column_is_known(column, scope->keys) && column->text &&
	       column->text(scope, group, buf);
}

bool column_number(const struct column *column, const struct column_scope *scope,
		   const struct group *group, uint64_t *ret)
{
	const struct row *row = &group->sum;
	const uint64_t member =
		column->offset ? *(const uint64_t *)((const char *)row + column->offset) : 0;
	const uint64_t timed = row_timed(row);
	const bool has_runq = timed && scope->snapshot->has_runq;
	/* A number is a part of a whole. */
	const struct {
		bool is_known;
		uint64_t part, whole;
	} numbers[NR_NUMBER] = {
		[NUMBER_PID] = { row->pid != 0, row->pid, 1 },
		[NUMBER_TID] = { row->tid != 0, row->tid, 1 },
		[NUMBER_SPLIT] = { row->split != SPLIT_NONE, row->split_value, 1 },
		[NUMBER_NR] = { true, (uint64_t)row->abi << 32 | (uint32_t)row->nr, 1 },
		[NUMBER_COUNT] = { true, member, 1 },
		[NUMBER_TIME] = { timed != 0, member, 1 },
		[NUMBER_RUNQ] = { has_runq, row->runq_ns, 1 },
		[NUMBER_CPU] = { timed != 0, row_cpu_ns(row), 1 },
		[NUMBER_SLEEP] = { has_runq, row_sleep_ns(row), 1 },
		[NUMBER_AVG] = { timed != 0, row->wall_ns, timed },
		[NUMBER_QUANTILE] = { timed != 0, 0, 1 },
		[NUMBER_OLDEST] = { row->in_flight != 0, snapshot_oldest_ns(scope->snapshot, row), 1 },
		[NUMBER_BYTES] = { group->moves_data, group->bytes, 1 },
		[NUMBER_ERROR_SHARE] = { row->calls != 0, row->errors, row->calls },
		[NUMBER_TIME_SHARE] = { timed && scope->total_ns, row->wall_ns, scope->total_ns },
	}, *number = &numbers[column->number];

	if (!number->is_known || !column_is_known(column, scope->keys) ||
	    (column_is_key(column) && group->nr_merged))
		return false;
	if (column->kind == COLUMN_PERCENT)
		*ret = (uint64_t)((double)number->part / (double)number->whole * 10000 + 0.5);
	else if (column->number == NUMBER_QUANTILE)
		*ret = hist_quantile_ns(&row->hist, column->quantile, row->min_ns, row->max_ns);
	else
		*ret = number->part / number->whole;
	return true;
}

/* --- lists, as users type them and keys bring them ---------------------------------------------- */

/* The names that other tools have for some columns. */
static const struct {
	const char *name, *column;
} aliases[] = {
	{ "time", "total" },   { "total-time", "total" },   { "seconds", "cpu" },
	{ "name", "syscall" }, { "call", "syscall" },       { "count", "calls" },
	{ "mean", "avg" },     { "avg-time", "avg" },       { "min-time", "min" },
	{ "max-time", "max" }, { "time-percent", "time%" }, { "time-total", "total" },
	{ "time-avg", "avg" }, { "time-max", "max" },       { "time-min", "min" },
	{ "error", "errors" }, { "process", "comm" },
};

static const char *column_own_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(aliases); i++) {
		if (!strcmp(aliases[i].name, name))
			return aliases[i].column;
	}
	return name;
}

int column_find(const char *option, const char *name, const struct column **ret, struct diag *d)
{
	struct nearest near = nearest_to(name);
	char names[COLUMNS_MAX * 16] = "";
	size_t used = 0;

	name = column_own_name(name);
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		if (!strcmp(columns[i].name, name)) {
			*ret = &columns[i];
			return 0;
		}
		nearest_look(&near, columns[i].name);
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
					 used ? ", " : "", columns[i].name);
	}
	if (near.best)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"%s: no column \"%.32s\"; did you mean \"%s\"?", option, name,
				near.best);
	return diag_set(d, DIAG_USAGE, EINVAL, "%s: no column \"%.32s\"; the columns are %s",
			option, name, names);
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
	char *copy __cleanup(freep) = strdup(list), *at = copy;
	struct column_list parsed = { .count = 0 };
	const struct column *column;
	const char *name;

	if (!copy)
		return diag_oom(d);
	while ((name = strsep(&at, ","))) {
		if (column_find("--columns", name, &column, d))
			return -EINVAL;
		column_list_add(&parsed, column);
	}
	*ret = parsed;
	return 0;
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

static bool column_begins_low(const struct column *column)
{
	return column->kind == COLUMN_TEXT || column->kind == COLUMN_ID;
}

int sort_parse(const char *option, const char *list, struct sort_list *ret, struct diag *d)
{
	char *copy __cleanup(freep) = strdup(list), *at = copy;
	struct sort_list parsed = { .count = 0 };
	const struct column *column;
	const char *name;
	char sign;

	if (!copy)
		return diag_oom(d);
	while ((name = strsep(&at, ","))) {
		sign = *name == '+' || *name == '-' ? *name++ : 0;
		if (column_find(option, name, &column, d))
			return -EINVAL;
		if (parsed.count == SORT_MAX)
			return diag_set(d, DIAG_USAGE, EINVAL, "%s: %d columns at most", option,
					SORT_MAX);
		parsed.by[parsed.count].column = column;
		parsed.by[parsed.count++].is_reversed =
			sign == (column_begins_low(column) ? '-' : '+');
	}
	*ret = parsed;
	return 0;
}

bool sort_has(const struct sort_list *sort, const struct column *column)
{
	for (size_t i = 0; i < sort->count; i++) {
		if (sort->by[i].column == column)
			return true;
	}
	return false;
}

int column_compare(const struct column *column, bool is_reversed, const struct column_scope *scope,
		   const struct group *a, const struct group *b)
{
	char text_a[COLUMN_TEXT_MAX], text_b[COLUMN_TEXT_MAX];
	bool is_number = column->number, known_a, known_b;
	uint64_t x = 0, y = 0;
	int order;

	known_a = is_number ? column_number(column, scope, a, &x)
			    : column_text(column, scope, a, text_a);
	known_b = is_number ? column_number(column, scope, b, &y)
			    : column_text(column, scope, b, text_b);
	if (!known_a || !known_b)
		return known_b - known_a;
	order = is_number ? compare_u64(x, y) : strcmp(text_a, text_b);
	return is_reversed == column_begins_low(column) ? -order : order;
}
