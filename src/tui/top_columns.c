/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the cells of both tables of `bpftruss top`, and chooses the columns that fit. */
#include "tui/top.h"

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

/* Writes at most six characters, for 100 days. */
static void text_time(uint64_t ns, char *text)
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
	const struct rate *whole = top->opened ? &top->line : line;

	if (microstates_total_ns(&whole->states))
		text_pct(rate_share_pct(whole, number(column, line)), text);
	else
		strcpy(text, "-");
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
		text_time(number(column, line), text);
	else
		strcpy(text, "-");
}

/* An age; one that is a minimum has a mark. */
CELL_WRITER(write_oldest)
{
	strcpy(text, line->in_flight ? ">" : "-");
	if (line->in_flight)
		text_time(line->oldest_ns, text + line->oldest_early);
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

/*
 * Names have printable ASCII only: any other byte stands there as \xNN, so that no program can
 * write to the terminal.
 */
CELL_WRITER(write_name)
{
	char name[PROCESS_LABEL_MAX] = "[overflow]";

	if (line->process)
		process_label(line->process, name);
	text_escape_ascii(name, sizeof(name), text, RATE_TEXT_MAX);
}

CELL_WRITER(write_unit)
{
	char name[TEXT_ESCAPED_MAX(RATE_TEXT_MAX)] = "[overflow]";

	if (line->process)
		text_escape_name(line->unit, min_u64(line->unit_length, RATE_TEXT_MAX), name);
	text_escape_ascii(name, sizeof(name), text, RATE_TEXT_MAX);
}

CELL_WRITER(write_user)
{
	text_escape_ascii(line->user ?: "-", SIZE_MAX, text, RATE_TEXT_MAX);
}

bool columns_contain(const struct rate *line, const char *part)
{
	char texts[4][RATE_TEXT_MAX];
	bool found = false;

	write_name(NULL, NULL, line, texts[0]);
	write_unit(NULL, NULL, line, texts[1]);
	write_user(NULL, NULL, line, texts[2]);
	snprintf(texts[3], sizeof(texts[3]), "%u", line->pid);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		found |= strcasestr(texts[i], part) != NULL;
	return found;
}

void columns_title(const struct rates *rates, const struct rate *line, char *text, size_t size)
{
	char name[RATE_TEXT_MAX];

	(rates->by == RATE_BY_UNIT ? write_unit : write_name)(NULL, NULL, line, name);
	if (!line->process)
		snprintf(text, size, "calls that found no room");
	else if (rates->by == RATE_BY_UNIT)
		snprintf(text, size, "unit %.56s", name);
	else if (rates->by == RATE_BY_COMM)
		snprintf(text, size, "all %.59s", name);
	else if (!line->pid)
		snprintf(text, size, "ended processes %.47s", name);
	else
		snprintf(text, size, "process %u (%.40s)", line->pid, name);
}

static void call_label(const struct rate *line, char label[ROW_LABEL_MAX])
{
	struct row row = { .abi = line->oldest_abi, .nr = line->oldest_nr };

	row_label(&row, label, ROW_LABEL_MAX);
}

/* The call of the line, or the one that the line has been in for longest. */
CELL_WRITER(write_call)
{
	text[0] = 0;
	if (top->opened || line->in_flight)
		call_label(line, text);
}

#define BY_PID     (1U << RATE_BY_PID)
#define BY_COMM    (1U << RATE_BY_COMM)
#define BY_UNIT    (1U << RATE_BY_UNIT)
#define BY_ANY     (BY_PID | BY_COMM | BY_UNIT)
#define OF_CALLS   (1U << NR_RATE_BY)
#define AT(member) offsetof(struct rate, member)

/* From left to right. Processes have those up to the rank of OLDEST on a screen of 80 columns. */
static const struct top_column columns[] = {
	{ "PID", 7, false, 0, RATE_PID, BY_PID, write_pid, 0 },
	{ "PROCS", 6, false, 0, NR_LINE_KEY, BY_COMM | BY_UNIT, write_count, AT(nr_processes) },
	{ "COMM", 15, true, 0, RATE_COMM, BY_PID | BY_COMM, write_name, 0 },
	{ "UNIT", 24, true, 0, RATE_UNIT, BY_UNIT, write_unit, 0 },
	{ "USER", 9, true, 13, RATE_USER, BY_ANY, write_user, 0 },
	{ "THR", 4, false, 12, RATE_THREADS, BY_ANY, write_threads, AT(threads) },
	{ "CALLS/s", 7, false, 1, RATE_CALLS, BY_ANY, write_rate, AT(calls) },
	{ "ERR/s", 6, false, 4, RATE_ERRORS, BY_ANY, write_rate, AT(errors) },
	{ "%CPU", 5, false, 10, RATE_CPU, BY_ANY, write_cpu, 0 },
	{ "%USR", 4, false, 5, RATE_USR, BY_ANY, write_share, AT(states.user_ns) },
	{ "%SYS", 4, false, 2, RATE_SYS, BY_ANY, write_share, AT(states.system_ns) },
	{ "%RUNQ", 5, false, 7, RATE_RUNQ, BY_ANY, write_runq, AT(states.runq_ns) },
	{ "%LOCK", 5, false, 8, RATE_LOCK, BY_ANY, write_share, AT(states.lock_ns) },
	{ "%SLP", 4, false, 6, RATE_SLEEP, BY_ANY, write_share, AT(states.sleep_ns) },
	{ "MAX", 6, false, 3, RATE_WORST, BY_ANY, write_time, AT(worst_ns) },
	{ "OLDEST", 7, false, 9, RATE_OLDEST, BY_ANY, write_oldest, 0 },
	{ "IN CALL", 15, true, 11, NR_LINE_KEY, BY_ANY, write_call, 0 },
	{ "UNIT", 22, true, 14, RATE_UNIT, BY_PID, write_unit, 0 },
	{ "VCSW/s", 7, false, 15, NR_LINE_KEY, BY_ANY, write_rate, AT(usage.voluntary_switches) },
	{ "ICSW/s", 7, false, 16, NR_LINE_KEY, BY_ANY, write_rate, AT(usage.involuntary_switches) },
	{ "MINFLT/s", 8, false, 17, NR_LINE_KEY, BY_ANY, write_rate, AT(usage.minor_faults) },
	{ "MAJFLT/s", 8, false, 18, NR_LINE_KEY, BY_ANY, write_rate, AT(usage.major_faults) },

	{ "SYSCALL", 17, true, 0, RATE_CALL, OF_CALLS, write_call, 0 },
	{ "CALLS/s", 8, false, 1, RATE_CALLS, OF_CALLS, write_rate, AT(calls) },
	{ "ERR/s", 6, false, 4, RATE_ERRORS, OF_CALLS, write_rate, AT(errors) },
	{ "%SYS", 4, false, 7, RATE_SYS, OF_CALLS, write_share, AT(states.system_ns) },
	{ "%SLP", 4, false, 8, RATE_SLEEP, OF_CALLS, write_share, AT(states.sleep_ns) },
	{ "P50", 6, false, 6, RATE_P50, OF_CALLS, write_time, AT(p50_ns) },
	{ "P99", 6, false, 3, RATE_P99, OF_CALLS, write_time, AT(p99_ns) },
	{ "MAX", 6, false, 5, RATE_WORST, OF_CALLS, write_time, AT(worst_ns) },
	{ "OPEN", 4, false, 9, RATE_OPEN, OF_CALLS, write_count, AT(in_flight) },
	{ "OLDEST", 7, false, 2, RATE_OLDEST, OF_CALLS, write_oldest, 0 },
};

static bool column_is_in(const struct top_column *column, const struct top *top)
{
	return column->tables & (top->opened ? OF_CALLS : 1U << top->by);
}

/* --- tables ----------------------------------------------------------------------------------- */

static int compare_calls(const void *x, const void *y, void *closure)
{
	int order = rate_compare(x, y, *(const enum rate_key *)closure);
	char labels[2][ROW_LABEL_MAX];

	if (order)
		return order;
	call_label(x, labels[0]);
	call_label(y, labels[1]);
	return strcmp(labels[0], labels[1]);
}

void columns_sort_calls(struct rate *calls, size_t count, enum rate_key key)
{
	qsort_r(calls, count, sizeof(*calls), compare_calls, &key);
}

/* The highest rank up to which all columns fit. */
static int columns_fit(const struct top *top)
{
	int fits = 0;

	for (int limit = 0; limit < MAX_COLUMNS; limit++) {
		int width = -1;

		for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
			if (column_is_in(&columns[i], top) && columns[i].rank <= limit)
				width += columns[i].width + 1;
		}
		if (width > top->width)
			break;
		fits = limit;
	}
	return fits;
}

/* Longest name of a call, with an ABI behind it. */
#define CALL_NAME_MAX 31

size_t columns_place(const struct top *top, struct column_place places[MAX_COLUMNS])
{
	int limit = columns_fit(top), x = 0, more;
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		const struct top_column *column = &columns[i];

		if (!column_is_in(column, top) || column->rank > limit)
			continue;
		places[count++] = (struct column_place){ column, x, column->width };
		x += column->width + 1;
	}
	/* Names of calls get what is left, as far as they are that long. */
	more = top->width - (x - 1);
	more = more < CALL_NAME_MAX - places[0].width ? more : CALL_NAME_MAX - places[0].width;
	if (!top->opened || more <= 0)
		return count;
	places[0].width += more;
	for (size_t i = 1; i < count; i++)
		places[i].x += more;
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

const char *columns_sort_head(enum rate_key key)
{
	size_t i = 0;

	while (columns[i].key != key)
		i++;
	return columns[i].head;
}
