/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the cells of both tables of `bpftruss top`, and chooses the columns that fit. */
#include "tui/top.h"

#include <math.h>

#include "base/clock.h"
#include "model/label.h"

/* --- numbers ---------------------------------------------------------------------------------- */

/* Writes calls a second: decimals only where they say something. */
static void text_rate(double rate, char *text)
{
	if (rate >= 9999999.5)
		snprintf(text, RATE_TEXT_MAX, "%.1fM", rate / 1e6);
	else if (rate >= 99.95 || rate == 0)
		snprintf(text, RATE_TEXT_MAX, "%.0f", rate);
	else
		snprintf(text, RATE_TEXT_MAX, "%.1f", rate);
}

static void text_pct(double pct, char *text)
{
	snprintf(text, RATE_TEXT_MAX, pct >= 99.95 ? "%.0f" : "%.1f", pct);
}

void columns_time(uint64_t ns, char text[RATE_TEXT_MAX])
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	const uint64_t s = ns / NS_PER_SEC;
	double value = (double)ns;
	size_t unit = 0;

	for (; value >= 999.5 && unit + 1 < ARRAY_SIZE(units); unit++)
		value /= 1000;
	if (ns < 59950 * NS_PER_MS)
		snprintf(text, RATE_TEXT_MAX, unit && value < 99.95 ? "%.1f%s" : "%.0f%s", value,
			 units[unit]);
	else if (s < 3600)
		snprintf(text, RATE_TEXT_MAX, "%" PRIu64 "m%02" PRIu64 "s", s / 60, s % 60);
	else if (s < 86400)
		snprintf(text, RATE_TEXT_MAX, "%" PRIu64 "h%02" PRIu64 "m", s / 3600,
			 s % 3600 / 60);
	else
		snprintf(text, RATE_TEXT_MAX, "%" PRIu64 "d%02" PRIu64 "h", s / 86400,
			 s % 86400 / 3600);
}

/* --- cells ------------------------------------------------------------------------------------ */

#define UNUSED __attribute__((unused))
#define CELL_WRITER(name)                                                                      \
	static void name(UNUSED const struct top *top, UNUSED const struct top_column *column, \
			 const struct rate *line, char text[RATE_TEXT_MAX])

static uint64_t number(const struct top_column *column, const struct rate *line)
{
	return *(const uint64_t *)((const char *)line + column->offset);
}

CELL_WRITER(write_count)
{
	snprintf(text, RATE_TEXT_MAX, "%" PRIu64, number(column, line));
}

CELL_WRITER(write_rate)
{
	text_rate(rates_per_second(top->rates, number(column, line)), text);
}

CELL_WRITER(write_cpu)
{
	text_pct(rates_cpu_pct(top->rates, rate_cpu_ns(line)), text);
}

/* A share of the time of the threads; those that were not read have none. */
CELL_WRITER(write_share)
{
	const struct rate *whole = top->opened ? &top->line
				   : top->by == RATE_BY_SYSCALL || rate_has_argument(line)
					   ? &top->rates->total
					   : line;

	if (microstates_total_ns(&whole->states))
		text_pct(rate_share_pct(whole, number(column, line)), text);
	else
		strcpy(text, "-");
}

/*
 * Each letter stands for the same share; the largest remainders decide who gets those that are left.
 */
void write_states(const struct microstates *states, int width, char *text)
{
	static const char letters[] = "usrl.";
	const uint64_t parts[] = { states->user_ns, states->system_ns, states->runq_ns,
				   states->lock_ns, states->sleep_ns };
	double whole = (double)microstates_total_ns(states), rest[ARRAY_SIZE(parts)];
	int counts[ARRAY_SIZE(parts)], left = width;

	*text = 0;
	if (whole == 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		double share = (double)parts[i] / whole * width;

		counts[i] = (int)share;
		rest[i] = share - counts[i];
		left -= counts[i];
	}
	for (; left > 0; left--) {
		size_t most = 0;

		for (size_t i = 1; i < ARRAY_SIZE(parts); i++)
			most = rest[i] > rest[most] ? i : most;
		counts[most]++;
		rest[most] = -1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		memset(text, letters[i], (size_t)counts[i]);
		text += counts[i];
	}
	*text = 0;
}

enum cell_style state_style(char letter)
{
	switch (letter) {
	case 'u':
		return STYLE_USER;
	case 's':
		return STYLE_SYSTEM;
	case 'r':
		return STYLE_RUNQ;
	case 'l':
		return STYLE_LOCK;
	default:
		return STYLE_SLEEP;
	}
}

CELL_WRITER(write_bar)
{
	write_states(&line->states, column->width, text);
}

CELL_WRITER(write_history)
{
	const float *rates = sparks_find(&top->sparks, top->rates, line);
	unsigned char levels[SPARK_INTERVALS];

	*text = 0;
	if (!rates)
		return;
	spark_levels(rates, levels);
	for (int i = 0; i < SPARK_INTERVALS; i++)
		text[i] = levels[i] ? (char)levels[i] : ' ';
	text[SPARK_INTERVALS] = 0;
}

CELL_WRITER(write_runq)
{
	if (top->rates->diff->has_runq)
		write_share(top, column, line, text);
	else
		strcpy(text, "-");
}

CELL_WRITER(write_time)
{
	if (number(column, line))
		columns_time(number(column, line), text);
	else
		strcpy(text, "-");
}

/* An age; one that is a minimum has a mark. */
CELL_WRITER(write_oldest)
{
	strcpy(text, line->in_flight ? ">" : "-");
	if (line->in_flight && !line->oldest_early && line->oldest_ns < 1000)
		strcpy(text, "<1us");
	else if (line->in_flight)
		columns_time(line->oldest_ns, text + line->oldest_early);
}

CELL_WRITER(write_pid)
{
	if (line->pid)
		snprintf(text, RATE_TEXT_MAX, "%u", line->pid);
	else
		strcpy(text, line->process ? "ended" : "-");
}

CELL_WRITER(write_threads)
{
	if (line->threads || !line->process)
		write_count(top, column, line, text);
	else
		strcpy(text, "end");
}

CELL_WRITER(write_tid)
{
	if (line->tid)
		snprintf(text, RATE_TEXT_MAX, "%u", line->tid);
	else
		strcpy(text, "ended");
}

/*
 * Names have printable ASCII only: any other byte stands there as \xNN, so that no program can
 * write to the terminal.
 */
static void text_name(const struct process *named, int depth, char *text)
{
	char name[PROCESS_LABEL_MAX] = "[overflow]";
	int indent = 0;

	if (named)
		process_label(named, name);
	/* Deeper than this there is no room for the name. */
	depth = depth < 6 ? depth : 6;
	if (depth)
		indent = sprintf(text, "%*s`-", 2 * depth - 2, "");
	text_escape_ascii(name, sizeof(name), text + indent, RATE_TEXT_MAX - (size_t)indent);
}

CELL_WRITER(write_name)
{
	bool is_leaf = top && top->depths && !top->opened;

	text_name(line->process, is_leaf ? top->depths[line - top->rates->lines] : 0, text);
}

/* The thread's own name; of those that have ended, that of the process. */
CELL_WRITER(write_thread)
{
	text_name(line->thread ? &line->thread->its : line->process, 0, text);
}

/* A name that is not a process's own; nobody's line has none. */
static void text_of_name(const struct rate *line, const char name[CONTAINER_NAME_MAX],
			 char text[RATE_TEXT_MAX])
{
	char escaped[TEXT_ESCAPED_MAX(CONTAINER_NAME_MAX)] = "[overflow]";

	if (line->process)
		text_escape_name(name, strlen(name), escaped);
	text_escape_ascii(escaped, sizeof(escaped), text, RATE_TEXT_MAX);
}

CELL_WRITER(write_container)
{
	char name[CONTAINER_NAME_MAX];

	container_write(&line->container, false, name);
	text_of_name(line, name, text);
}

CELL_WRITER(write_pod)
{
	char name[CONTAINER_NAME_MAX];

	container_write_pod(&line->container, false, name);
	text_of_name(line, name, text);
}

/* The words with which the process was started, as /proc has them now. */
CELL_WRITER(write_command)
{
	char path[40], words[256], safe[TEXT_ESCAPED_MAX(sizeof(words))];
	FILE *file;
	size_t size;

	*text = 0;
	snprintf(path, sizeof(path), "/proc/%u/cmdline", line->pid);
	file = line->pid && line->threads ? fopen(path, "re") : NULL;
	if (!file)
		return;
	size = fread(words, 1, sizeof(words), file);
	fclose(file);
	while (size && !words[size - 1])
		size--;
	for (size_t i = 0; i < size; i++)
		words[i] = words[i] ?: ' ';
	text_escape_visible(words, size, safe);
	text_escape_ascii(safe, sizeof(safe), text, RATE_TEXT_MAX);
}

/* The ids of containers in it would fill the screen. */
CELL_WRITER(write_unit)
{
	char name[CONTAINER_NAME_MAX];

	container_shorten(line->unit, line->unit_length, name, sizeof(name));
	text_of_name(line, name, text);
}

CELL_WRITER(write_user)
{
	text_escape_ascii(line->user ?: "-", SIZE_MAX, text, RATE_TEXT_MAX);
}

static void call_label(const struct rate *line, char label[ROW_LABEL_MAX])
{
	struct row row = { .abi = line->oldest_abi, .nr = line->oldest_nr };

	row_label(&row, label, ROW_LABEL_MAX);
}

void text_fit_end(char *text, size_t width)
{
	size_t length = strlen(text);

	if (length <= width || width < 3)
		return;
	memmove(text + 2, text + length - (width - 2), width - 1);
	text[0] = text[1] = '.';
}

/* The path, directory or file of a line of such. */
static void text_argument(const struct rate *line, enum rate_by by, char text[RATE_TEXT_MAX])
{
	char label[ARGUMENT_LABEL_MAX];

	if (line->argument)
		argument_label(line->argument, line->argument_length, label);
	else
		snprintf(label, sizeof(label), "%s",
			 argument_unknown(rate_by_split(by), line->argument_key));
	text_escape_ascii(label, sizeof(label), text, RATE_TEXT_MAX);
}

CELL_WRITER(write_argument)
{
	text_argument(line, top->by, text);
}

/* What a line without processes is called. */
static void own_label(const struct rate *line, char text[RATE_TEXT_MAX])
{
	if (rate_has_argument(line))
		text_argument(line, RATE_BY_PATH, text);
	else
		call_label(line, text);
}

bool columns_contain(const struct rate *line, const char *part)
{
	char texts[8][RATE_TEXT_MAX] = { "" };
	bool found = false;

	if (!*part)
		return true;
	if (!line->process) {
		own_label(line, texts[0]);
		return strcasestr(texts[0], part);
	}

	write_name(NULL, NULL, line, texts[0]);
	write_unit(NULL, NULL, line, texts[1]);
	write_user(NULL, NULL, line, texts[2]);
	write_thread(NULL, NULL, line, texts[3]);
	write_container(NULL, NULL, line, texts[4]);
	write_pod(NULL, NULL, line, texts[7]);
	if (line->pid)
		snprintf(texts[5], sizeof(texts[5]), "%u", line->pid);
	if (line->tid)
		snprintf(texts[6], sizeof(texts[6]), "%u", line->tid);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		found |= strcasestr(texts[i], part) != NULL;
	return found;
}

void columns_title(const struct rates *rates, const struct rate *line, char *text, size_t size)
{
	static const struct {
		const char *format;
		void (*write)(const struct top *top, const struct top_column *column,
			      const struct rate *line, char text[RATE_TEXT_MAX]);
		const char *none; /* of a line of those that have none */
	} groups[NR_RATE_BY] = {
		[RATE_BY_COMM] = { "processes named %.47s", write_name, NULL },
		[RATE_BY_UNIT] = { "unit %.56s", write_unit, "processes of no unit" },
		[RATE_BY_USER] = { "user %.56s", write_user, "processes of unknown users" },
		[RATE_BY_CONTAINER] = { "container %.51s", write_container,
					"processes in no container" },
		[RATE_BY_POD] = { "pod %.57s", write_pod, "processes in no pod" },
	};
	char name[RATE_TEXT_MAX];

	(rates->by == RATE_BY_TID ? write_thread : write_name)(NULL, NULL, line, name);
	if (rate_has_argument(line)) {
		text_argument(line, rates->by, name);
		text_fit_end(name, size - 1);
		snprintf(text, size, "%s", name);
	} else if (rates->by == RATE_BY_SYSCALL) {
		call_label(line, name);
		snprintf(text, size, "%.60s", name);
	} else if (!line->process) {
		snprintf(text, size, "calls that found no room");
	} else if (groups[rates->by].write) {
		groups[rates->by].write(NULL, NULL, line, name);
		if (strcmp(name, "-") || !groups[rates->by].none)
			snprintf(text, size, groups[rates->by].format, name);
		else
			snprintf(text, size, "%s", groups[rates->by].none);
	} else if (!line->pid) {
		snprintf(text, size, "ended processes %.47s", name);
	} else if (rates->by == RATE_BY_TID && !line->tid) {
		snprintf(text, size, "ended threads of %u (%.30s)", line->pid, name);
	} else if (line->tid) {
		snprintf(text, size, "thread %u (%.16s) of %u", line->tid, name, line->pid);
	} else {
		snprintf(text, size, "process %u (%.40s)", line->pid, name);
	}
}

/* The call of the line, or the one that the line has been in for longest. */
CELL_WRITER(write_call)
{
	text[0] = 0;
	if (top->opened || line->in_flight || top->by == RATE_BY_SYSCALL)
		call_label(line, text);
}

#define BY(key)    (1U << RATE_BY_##key)
#define BY_GROUPS  (BY(COMM) | BY(UNIT) | BY(USER) | BY(CONTAINER) | BY(POD))
#define BY_ONE     (BY(PID) | BY(TID))
#define BY_ANY     (BY_GROUPS | BY_ONE)
#define BY_NAMES   (BY(PATH) | BY(DIR) | BY(FILE))
#define OF_CALLS   (1U << NR_RATE_BY | BY(SYSCALL))
#define OF_NAMES   (OF_CALLS | BY_NAMES)
#define AT(member) .offset = offsetof(struct rate, member)
#define GROWS(n)   .most = n
#define LOOKS(s)   .style = STYLE_##s
#define KEEPS_END  .keeps_end = true

/* Longest name of a call, with an ABI behind it. */
#define CALL_NAME_MAX 31

/* From left to right. Processes have those up to the rank of OLDEST on a screen of 80 columns. */
#define COLUMN(title, cells, is_left, importance, sorts, where, writer, ...) \
	{ .head = title,                                                     \
	  .width = cells,                                                    \
	  .left = is_left,                                                   \
	  .rank = importance,                                                \
	  .key = sorts,                                                      \
	  .tables = where,                                                   \
	  .write = writer,                                                   \
	  __VA_ARGS__ }

static const struct top_column columns[] = {
	COLUMN("PID", 7, false, 0, RATE_PID, BY_ONE, write_pid),
	COLUMN("TID", 7, false, 0, NR_LINE_KEY, BY(TID), write_tid),
	COLUMN("PROCS", 6, false, 0, NR_LINE_KEY, BY_GROUPS, write_count, AT(nr_processes)),
	COLUMN("COMM", 15, true, 0, RATE_COMM, BY(PID) | BY(COMM), write_name),
	COLUMN("THREAD", 15, true, 0, RATE_COMM, BY(TID), write_thread),
	COLUMN("UNIT", 24, true, 0, RATE_UNIT, BY(UNIT), write_unit, GROWS(64)),
	COLUMN("CONTAINER", 24, true, 0, RATE_CONTAINER, BY(CONTAINER), write_container, GROWS(64)),
	COLUMN("POD", 36, true, 0, RATE_POD, BY(POD), write_pod),
	COLUMN("USER", 16, true, 0, RATE_USER, BY(USER), write_user, GROWS(32)),
	COLUMN("USER", 9, true, 12, RATE_USER, BY_ANY & ~BY(USER), write_user, GROWS(16)),
	COLUMN("THR", 4, false, 11, RATE_THREADS, BY_ANY & ~BY(TID), write_threads, AT(threads)),
	COLUMN("CALLS/s", 7, false, 1, RATE_CALLS, BY_ANY, write_rate, AT(calls)),
	COLUMN("ERR/s", 6, false, 4, RATE_ERRORS, BY_ANY, write_rate, AT(errors), LOOKS(BAD)),
	COLUMN("HISTORY", SPARK_INTERVALS, true, 13, NR_LINE_KEY, BY_ANY, write_history),
	COLUMN("%CPU", 5, false, 3, RATE_CPU, BY_ANY, write_cpu),
	COLUMN("%USR", 4, false, 5, RATE_USR, BY_ANY, write_share, AT(states.user_ns), LOOKS(USER)),
	COLUMN("%SYS", 4, false, 2, RATE_SYS, BY_ANY, write_share, AT(states.system_ns),
	       LOOKS(SYSTEM)),
	COLUMN("%RUNQ", 5, false, 7, RATE_RUNQ, BY_ANY, write_runq, AT(states.runq_ns),
	       LOOKS(RUNQ)),
	COLUMN("%LOCK", 5, false, 8, RATE_LOCK, BY_ANY, write_share, AT(states.lock_ns),
	       LOOKS(LOCK)),
	COLUMN("%SLP", 4, false, 6, RATE_SLEEP, BY_ANY, write_share, AT(states.sleep_ns),
	       LOOKS(SLEEP)),
	COLUMN("STATES", 16, true, 14, NR_LINE_KEY, BY_ANY, write_bar, LOOKS(STRONG)),
	COLUMN("MAX", 6, false, 10, RATE_WORST, BY_ANY, write_time, AT(worst_ns)),
	COLUMN("OLDEST", 7, false, 9, RATE_OLDEST, BY_ANY, write_oldest),
	COLUMN("IN CALL", 15, true, 15, NR_LINE_KEY, BY_ANY, write_call),
	COLUMN("UNIT", 22, true, 16, RATE_UNIT, BY_ONE, write_unit, GROWS(40)),
	COLUMN("COMMAND", 20, true, 17, NR_LINE_KEY, BY(PID), write_command, GROWS(250)),
	COLUMN("VCSW/s", 7, false, 18, NR_LINE_KEY, BY_ANY, write_rate,
	       AT(usage.voluntary_switches)),
	COLUMN("ICSW/s", 7, false, 19, NR_LINE_KEY, BY_ANY, write_rate,
	       AT(usage.involuntary_switches)),
	COLUMN("MINFLT/s", 8, false, 20, NR_LINE_KEY, BY_ANY, write_rate, AT(usage.minor_faults)),
	COLUMN("MAJFLT/s", 8, false, 21, NR_LINE_KEY, BY_ANY, write_rate, AT(usage.major_faults)),

	COLUMN("SYSCALL", 17, true, 0, RATE_CALL, OF_CALLS, write_call, GROWS(CALL_NAME_MAX)),
	COLUMN("CALLS/s", 8, false, 1, RATE_CALLS, OF_NAMES, write_rate, AT(calls)),
	COLUMN("ERR/s", 6, false, 4, RATE_ERRORS, OF_NAMES, write_rate, AT(errors), LOOKS(BAD)),
	COLUMN("BYTES/s", 9, false, 5, NR_LINE_KEY, BY(FILE), write_rate, AT(bytes)),
	/* Beside the sleep of all threads of the host, the CPU time of one call would be nothing. */
	COLUMN("%CPU", 5, false, 7, RATE_CPU, BY(SYSCALL) | BY_NAMES, write_cpu, LOOKS(SYSTEM)),
	COLUMN("%SYS", 4, false, 7, RATE_SYS, 1U << NR_RATE_BY, write_share, AT(states.system_ns),
	       LOOKS(SYSTEM)),
	COLUMN("%SLP", 4, false, 8, RATE_SLEEP, OF_CALLS, write_share, AT(states.sleep_ns),
	       LOOKS(SLEEP)),
	COLUMN("P50", 6, false, 6, RATE_P50, OF_NAMES, write_time, AT(p50_ns)),
	COLUMN("P99", 6, false, 3, RATE_P99, OF_NAMES, write_time, AT(p99_ns)),
	COLUMN("MAX", 6, false, 5, RATE_WORST, OF_NAMES, write_time, AT(worst_ns)),
	COLUMN("OPEN", 4, false, 9, RATE_OPEN, OF_NAMES, write_count, AT(in_flight)),
	COLUMN("OLDEST", 7, false, 2, RATE_OLDEST, OF_CALLS, write_oldest),
	COLUMN("OLDEST", 7, false, 10, RATE_OLDEST, BY_NAMES, write_oldest),
	COLUMN("PATH", 36, true, 0, RATE_CALL, BY(PATH), write_argument, GROWS(250), KEEPS_END),
	COLUMN("DIRECTORY", 36, true, 0, RATE_CALL, BY(DIR), write_argument, GROWS(250), KEEPS_END),
	COLUMN("FILE", 36, true, 0, RATE_CALL, BY(FILE), write_argument, GROWS(250), KEEPS_END),
};

static bool column_is_in(const struct top_column *column, const struct top *top)
{
	/* One frame has no history. */
	if (column->write == write_history && !top->height)
		return false;
	return column->tables & 1U << (top->opened ? (unsigned int)NR_RATE_BY : top->by);
}

bool columns_have(const struct top *top, enum rate_key key)
{
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		if (columns[i].key == key && column_is_in(&columns[i], top))
			return true;
	}
	return false;
}

/* --- tables ----------------------------------------------------------------------------------- */

static int compare_calls(const void *x, const void *y, void *closure)
{
	const struct top_place *place = closure;
	int order = rate_compare(x, y, place->sort);
	char labels[2][RATE_TEXT_MAX];

	if (order && place->sort != RATE_CALL)
		return place->reversed ? -order : order;
	own_label(x, labels[0]);
	own_label(y, labels[1]);
	if (!order || place->sort == RATE_CALL)
		order = strcmp(labels[0], labels[1]);
	return place->reversed ? -order : order;
}

void columns_sort_calls(struct rate *calls, size_t count, const struct top_place *place)
{
	qsort_r(calls, count, sizeof(*calls), compare_calls, (void *)place);
}

/* Names in a tree are indented: they have so much more room. */
#define TREE_ROOM 8

static int column_width(const struct top *top, const struct top_column *column)
{
	bool is_indented = top->depths && !top->opened && column->write == write_name;

	return column->width + (is_indented ? TREE_ROOM : 0);
}

/* The highest rank up to which all columns fit. */
static int columns_fit(const struct top *top)
{
	int fits = 0;

	for (int limit = 0; limit < MAX_COLUMNS; limit++) {
		int width = -1;

		for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
			if (column_is_in(&columns[i], top) && columns[i].rank <= limit)
				width += column_width(top, &columns[i]) + 1;
		}
		if (width > top->width)
			break;
		fits = limit;
	}
	return fits;
}

/* Columns that may grow get what is left of the width, from left to right. */
static void columns_grow(struct column_place *places, size_t count, int left)
{
	int shift = 0;

	for (size_t i = 0; i < count; i++) {
		int more = places[i].column->most - places[i].width;

		places[i].x += shift;
		more = more < left ? more : left;
		if (more <= 0)
			continue;
		places[i].width += more;
		shift += more;
		left -= more;
	}
}

size_t columns_place(const struct top *top, struct column_place places[MAX_COLUMNS])
{
	int limit = columns_fit(top), x = 0;
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		const struct top_column *column = &columns[i];

		if (!column_is_in(column, top) || column->rank > limit)
			continue;
		places[count] = (struct column_place){ column, x, column_width(top, column) };
		x += places[count++].width + 1;
	}
	columns_grow(places, count, top->width - (x - 1));
	return count;
}

enum rate_key columns_next_key(const struct top *top, int step)
{
	struct column_place places[MAX_COLUMNS];
	int count = (int)columns_place(top, places), at = 0;

	for (int i = 0; i < count; i++)
		at = places[i].column->key == top->places[top->opened].sort ? i : at;
	for (int i = 0; i < count; i++) {
		at = (at + step + count) % count;
		if (places[at].column->key != NR_LINE_KEY)
			return places[at].column->key;
	}
	return top->places[top->opened].sort;
}

const char *columns_sort_head(const struct top *top)
{
	const enum rate_key key = top->places[top->opened].sort;
	const char *head = "";

	for (size_t i = ARRAY_SIZE(columns); i-- > 0;) {
		/* One whose column has no room, or is of other tables, is an order all the same. */
		if (columns[i].key == key && (!*head || column_is_in(&columns[i], top)))
			head = columns[i].head;
	}
	return head;
}
