/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the two tables of columns. */
#include "tui/top_columns.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "report/label.h"

/* --- texts ------------------------------------------------------------------------------------ */

void column_safe_text(const char *bytes, size_t length, char *text, size_t size)
{
	char *end = text + size - 1;

	for (size_t i = 0; i < length && bytes[i]; i++) {
		unsigned char c = (unsigned char)bytes[i];

		if (end - text < 4)
			break;
		if (c < ' ' || c > '~')
			text += sprintf(text, "\\x%02x", c);
		else
			*text++ = (char)c;
	}
	*text = 0;
}

void column_name(const struct rate *line, char text[RATE_TEXT_MAX])
{
	char name[PROCESS_LABEL_MAX] = "[overflow]";

	if (line->process)
		process_label(line->process, name);
	column_safe_text(name, sizeof(name), text, RATE_TEXT_MAX);
}

void column_unit(const struct rate *line, char text[RATE_TEXT_MAX])
{
	char name[TEXT_ESCAPED_MAX(RATE_TEXT_MAX)] = "[overflow]";

	if (line->process)
		text_escape_name(line->unit,
				 line->unit_length < RATE_TEXT_MAX ? line->unit_length
								   : RATE_TEXT_MAX,
				 name);
	column_safe_text(name, sizeof(name), text, RATE_TEXT_MAX);
}

void column_user(const struct rate *line, char text[RATE_TEXT_MAX])
{
	column_safe_text(line->user ?: "-", SIZE_MAX, text, RATE_TEXT_MAX);
}

void top_column_title(const struct rates *rates, const struct rate *line, char *text, size_t size)
{
	char name[RATE_TEXT_MAX];

	if (rates->by == RATE_BY_UNIT)
		column_unit(line, name);
	else
		column_name(line, name);
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

static void text_count(uint64_t count, char *text)
{
	snprintf(text, RATE_TEXT_MAX, "%" PRIu64, count);
}

/* Calls a second: decimals only where they say something. */
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

/* At most six characters, for 100 days. */
static void text_time(uint64_t ns, char *text)
{
	double us = (double)ns / 1e3;
	uint64_t s = ns / NS_PER_SEC;

	if (ns < 1000)
		snprintf(text, RATE_TEXT_MAX, "%" PRIu64 "ns", ns);
	else if (us < 99.95)
		snprintf(text, RATE_TEXT_MAX, "%.1fus", us);
	else if (us < 999.5)
		snprintf(text, RATE_TEXT_MAX, "%.0fus", us);
	else if (us < 99950)
		snprintf(text, RATE_TEXT_MAX, "%.1fms", us / 1e3);
	else if (us < 999500)
		snprintf(text, RATE_TEXT_MAX, "%.0fms", us / 1e3);
	else if (us < 59.95e6)
		snprintf(text, RATE_TEXT_MAX, "%.1fs", us / 1e6);
	else if (s < 3600)
		snprintf(text, RATE_TEXT_MAX, "%um%02us", (unsigned int)(s / 60),
			 (unsigned int)(s % 60));
	else if (s < 86400)
		snprintf(text, RATE_TEXT_MAX, "%uh%02um", (unsigned int)(s / 3600),
			 (unsigned int)(s / 60 % 60));
	else
		snprintf(text, RATE_TEXT_MAX, "%" PRIu64 "d%02uh", s / 86400,
			 (unsigned int)(s / 3600 % 24));
}

static void text_time_if(bool known, uint64_t ns, char *text)
{
	if (known)
		text_time(ns, text);
	else
		snprintf(text, RATE_TEXT_MAX, "-");
}

/* An age; one that is a minimum has a mark. */
static void text_age(uint64_t in_flight, uint64_t ns, bool early, char *text)
{
	bool marked = in_flight && early;

	text[0] = '>';
	text_time_if(in_flight > 0, ns, text + marked);
}

/* --- processes -------------------------------------------------------------------------------- */

struct rate_column {
	const char *head;
	int width;
	bool left;
	int rank; /* those of low rank are there first */
	enum rate_key key;
	unsigned int by; /* bits of enum rate_by in which it makes sense */
	void (*text)(const struct rates *rates, const struct rate *line, char *text);
};

static void rate_pid(const struct rates *rates, const struct rate *line, char *text)
{
	(void)rates;
	if (line->pid)
		text_count(line->pid, text);
	else
		snprintf(text, RATE_TEXT_MAX, line->process ? "ended" : "-");
}

static void rate_processes(const struct rates *rates, const struct rate *line, char *text)
{
	(void)rates;
	text_count(line->nr_processes, text);
}

static void rate_name(const struct rates *rates, const struct rate *line, char *text)
{
	(void)rates;
	column_name(line, text);
}

static void rate_unit(const struct rates *rates, const struct rate *line, char *text)
{
	(void)rates;
	column_unit(line, text);
}

static void rate_user(const struct rates *rates, const struct rate *line, char *text)
{
	(void)rates;
	column_user(line, text);
}

static void rate_threads(const struct rates *rates, const struct rate *line, char *text)
{
	(void)rates;
	if (line->threads || !line->process)
		text_count(line->threads, text);
	else
		snprintf(text, RATE_TEXT_MAX, "end");
}

static void rate_calls(const struct rates *rates, const struct rate *line, char *text)
{
	text_rate(rates_per_second(rates, line->calls), text);
}

static void rate_errors(const struct rates *rates, const struct rate *line, char *text)
{
	text_rate(rates_per_second(rates, line->errors), text);
}

static void rate_cpu(const struct rates *rates, const struct rate *line, char *text)
{
	text_pct(rates_cpu_pct(rates, rate_cpu_ns(line)), text);
}

/* Writes a share of the time of the threads; those that were not read have none. */
static void text_share(const struct rate *line, uint64_t ns, bool known, char *text)
{
	if (known && microstates_total_ns(&line->states))
		text_pct(rate_share_pct(line, ns), text);
	else
		snprintf(text, RATE_TEXT_MAX, "-");
}

static void rate_usr(const struct rates *rates, const struct rate *line, char *text)
{
	(void)rates;
	text_share(line, line->states.user_ns, true, text);
}

static void rate_sys(const struct rates *rates, const struct rate *line, char *text)
{
	(void)rates;
	text_share(line, line->states.system_ns, true, text);
}

static void rate_runq(const struct rates *rates, const struct rate *line, char *text)
{
	text_share(line, line->states.runq_ns, rates->diff->has_runq, text);
}

static void rate_lock(const struct rates *rates, const struct rate *line, char *text)
{
	(void)rates;
	text_share(line, line->states.lock_ns, true, text);
}

static void rate_sleep(const struct rates *rates, const struct rate *line, char *text)
{
	(void)rates;
	text_share(line, line->states.sleep_ns, true, text);
}

static void rate_voluntary(const struct rates *rates, const struct rate *line, char *text)
{
	text_rate(rates_per_second(rates, line->usage.voluntary_switches), text);
}

static void rate_involuntary(const struct rates *rates, const struct rate *line, char *text)
{
	text_rate(rates_per_second(rates, line->usage.involuntary_switches), text);
}

static void rate_minor_faults(const struct rates *rates, const struct rate *line, char *text)
{
	text_rate(rates_per_second(rates, line->usage.minor_faults), text);
}

static void rate_major_faults(const struct rates *rates, const struct rate *line, char *text)
{
	text_rate(rates_per_second(rates, line->usage.major_faults), text);
}

static void rate_worst(const struct rates *rates, const struct rate *line, char *text)
{
	(void)rates;
	text_time_if(line->worst_ns > 0, line->worst_ns, text);
}

static void rate_oldest(const struct rates *rates, const struct rate *line, char *text)
{
	(void)rates;
	text_age(line->in_flight, line->oldest_ns, line->oldest_early, text);
}

static void rate_in_call(const struct rates *rates, const struct rate *line, char *text)
{
	struct row row = { .abi = line->oldest_abi, .nr = line->oldest_nr };

	(void)rates;
	if (line->in_flight)
		row_label(&row, text, ROW_LABEL_MAX);
	else
		text[0] = 0;
}

#define BY_ANY  (~0U)
#define BY_PID  (1U << RATE_BY_PID)
#define BY_COMM (1U << RATE_BY_COMM)
#define BY_UNIT (1U << RATE_BY_UNIT)

/* From left to right. Those up to OLDEST take 80 columns. */
static const struct rate_column rate_columns[] = {
	{ "PID", 7, false, 0, RATE_PID, BY_PID, rate_pid },
	{ "PROCS", 6, false, 0, NR_RATE_KEY, BY_COMM | BY_UNIT, rate_processes },
	{ "COMM", 15, true, 0, RATE_COMM, BY_PID | BY_COMM, rate_name },
	{ "UNIT", 24, true, 0, RATE_UNIT, BY_UNIT, rate_unit },
	{ "USER", 9, true, 13, RATE_USER, BY_ANY, rate_user },
	{ "THR", 4, false, 12, RATE_THREADS, BY_ANY, rate_threads },
	{ "CALLS/s", 7, false, 1, RATE_CALLS, BY_ANY, rate_calls },
	{ "ERR/s", 6, false, 4, RATE_ERRORS, BY_ANY, rate_errors },
	{ "%CPU", 5, false, 10, RATE_CPU, BY_ANY, rate_cpu },
	{ "%USR", 4, false, 5, RATE_USR, BY_ANY, rate_usr },
	{ "%SYS", 4, false, 2, RATE_SYS, BY_ANY, rate_sys },
	{ "%RUNQ", 5, false, 7, RATE_RUNQ, BY_ANY, rate_runq },
	{ "%LOCK", 5, false, 8, RATE_LOCK, BY_ANY, rate_lock },
	{ "%SLP", 4, false, 6, RATE_SLEEP, BY_ANY, rate_sleep },
	{ "MAX", 6, false, 3, RATE_WORST, BY_ANY, rate_worst },
	{ "OLDEST", 7, false, 9, RATE_OLDEST, BY_ANY, rate_oldest },
	{ "IN CALL", 15, true, 11, NR_RATE_KEY, BY_ANY, rate_in_call },
	{ "UNIT", 22, true, 14, RATE_UNIT, BY_PID, rate_unit },
	{ "VCSW/s", 7, false, 15, NR_RATE_KEY, BY_ANY, rate_voluntary },
	{ "ICSW/s", 7, false, 16, NR_RATE_KEY, BY_ANY, rate_involuntary },
	{ "MINFLT/s", 8, false, 17, NR_RATE_KEY, BY_ANY, rate_minor_faults },
	{ "MAJFLT/s", 8, false, 18, NR_RATE_KEY, BY_ANY, rate_major_faults },
};

/* --- calls of one process --------------------------------------------------------------------- */

struct call_column {
	const char *head;
	int width;
	bool left;
	int rank;
	void (*text)(const struct top *top, const struct row *row, char *text);
};

static void call_name(const struct top *top, const struct row *row, char *text)
{
	(void)top;
	row_label(row, text, ROW_LABEL_MAX);
}

static void call_calls(const struct top *top, const struct row *row, char *text)
{
	text_rate(rates_per_second(top->rates, row->calls), text);
}

static void call_errors(const struct top *top, const struct row *row, char *text)
{
	text_rate(rates_per_second(top->rates, row->errors), text);
}

static void call_sys(const struct top *top, const struct row *row, char *text)
{
	struct microstates states;

	row_microstates(top->rates->diff, row, &states);
	text_share(&top->line, states.system_ns, true, text);
}

static void call_sleep(const struct top *top, const struct row *row, char *text)
{
	struct microstates states;

	row_microstates(top->rates->diff, row, &states);
	text_share(&top->line, states.lock_ns + states.sleep_ns, true, text);
}

static uint64_t row_quantile(const struct row *row, double q)
{
	return hist_quantile_ns(&row->hist, q, row->min_ns, row->max_ns);
}

static void call_p50(const struct top *top, const struct row *row, char *text)
{
	(void)top;
	text_time_if(row_timed(row), row_quantile(row, 0.50), text);
}

static void call_p99(const struct top *top, const struct row *row, char *text)
{
	(void)top;
	text_time_if(row_timed(row), row_quantile(row, 0.99), text);
}

static void call_max(const struct top *top, const struct row *row, char *text)
{
	(void)top;
	text_time_if(row_timed(row), row->max_ns, text);
}

static void call_open(const struct top *top, const struct row *row, char *text)
{
	(void)top;
	text_count(row->in_flight, text);
}

static void call_oldest(const struct top *top, const struct row *row, char *text)
{
	text_age(row->in_flight, snapshot_oldest_ns(top->rates->diff, row), row->in_flight_early,
		 text);
}

static const struct call_column call_columns[NR_CALL_KEY] = {
	[CALL_NAME] = { "SYSCALL", 17, true, 0, call_name },
	[CALL_CALLS] = { "CALLS/s", 8, false, 1, call_calls },
	[CALL_ERRORS] = { "ERR/s", 6, false, 4, call_errors },
	[CALL_SYS] = { "%SYS", 4, false, 7, call_sys },
	[CALL_SLEEP] = { "%SLP", 4, false, 8, call_sleep },
	[CALL_P50] = { "P50", 6, false, 6, call_p50 },
	[CALL_P99] = { "P99", 6, false, 3, call_p99 },
	[CALL_MAX] = { "MAX", 6, false, 5, call_max },
	[CALL_OPEN] = { "OPEN", 4, false, 9, call_open },
	[CALL_OLDEST] = { "OLDEST", 7, false, 2, call_oldest },
};

/* Longest name, with an ABI behind it. */
#define CALL_NAME_MAX 31

/* What sorts a row, big ones first. */
static double call_number(const struct top *top, const struct row *row, enum call_key key)
{
	struct microstates states;

	row_microstates(top->rates->diff, row, &states);
	switch (key) {
	case CALL_CALLS:
		return (double)row->calls;
	case CALL_ERRORS:
		return (double)row->errors;
	case CALL_SYS:
		return (double)states.system_ns;
	case CALL_SLEEP:
		return (double)(states.lock_ns + states.sleep_ns);
	case CALL_P50:
		return row_timed(row) ? (double)row_quantile(row, 0.50) : 0;
	case CALL_P99:
		return row_timed(row) ? (double)row_quantile(row, 0.99) : 0;
	case CALL_MAX:
		return row_timed(row) ? (double)row->max_ns : 0;
	case CALL_OPEN:
		return (double)row->in_flight;
	case CALL_OLDEST:
		return (double)snapshot_oldest_ns(top->rates->diff, row);
	default:
		return 0;
	}
}

static int compare_calls(const void *x, const void *y, void *closure)
{
	const struct row *row = *(struct row *const *)x, *other = *(struct row *const *)y;
	const struct top *top = closure;
	double a = call_number(top, row, top->call_sort);
	double b = call_number(top, other, top->call_sort);
	char labels[2][ROW_LABEL_MAX];

	if (a != b)
		return a < b ? 1 : -1;
	row_label(row, labels[0], sizeof(labels[0]));
	row_label(other, labels[1], sizeof(labels[1]));
	return strcmp(labels[0], labels[1]);
}

void columns_sort_calls(struct top *top)
{
	if (top->opened && top->calls.nr_rows)
		qsort_r(top->calls.rows, top->calls.nr_rows, sizeof(*top->calls.rows),
			compare_calls, top);
}

/* --- both ------------------------------------------------------------------------------------- */

/* One of either table, as far as placing goes. */
static bool column_describe(const struct top *top, size_t i, struct column_place *place, int *rank)
{
	if (top->opened && i < NR_CALL_KEY) {
		const struct call_column *c = &call_columns[i];

		*place = (struct column_place){
			c->head, 0, c->width, c->left, top->call_sort == (enum call_key)i, (int)i
		};
		*rank = c->rank;
		return true;
	}
	if (!top->opened && i < ARRAY_SIZE(rate_columns)) {
		const struct rate_column *c = &rate_columns[i];

		*place = (struct column_place){ c->head, 0, c->width, c->left, top->sort == c->key,
						(int)i };
		*rank = c->by & (1U << top->by) ? c->rank : MAX_COLUMNS;
		return true;
	}
	return false;
}

/* The highest rank up to which all columns fit. */
static int columns_fit(const struct top *top)
{
	struct column_place place;
	int fits = 0, rank, width;

	for (int limit = 0; limit < MAX_COLUMNS; limit++) {
		width = -1;
		for (size_t i = 0; column_describe(top, i, &place, &rank); i++)
			width += rank <= limit ? place.width + 1 : 0;
		if (width > top->width)
			break;
		fits = limit;
	}
	return fits;
}

/* Names of calls get what is left, as far as they are that long. */
static void columns_stretch_name(const struct top *top, struct column_place *places, size_t count)
{
	const struct column_place *last = &places[count - 1];
	int left = top->width - last->x - last->width;
	int more = left < CALL_NAME_MAX - places[0].width ? left : CALL_NAME_MAX - places[0].width;

	if (more <= 0)
		return;
	places[0].width += more;
	for (size_t i = 1; i < count; i++)
		places[i].x += more;
}

size_t columns_place(const struct top *top, struct column_place places[MAX_COLUMNS])
{
	int limit = columns_fit(top), x = 0, rank;
	struct column_place place;
	size_t count = 0;

	for (size_t i = 0; column_describe(top, i, &place, &rank); i++) {
		if (rank > limit)
			continue;
		place.x = x;
		x += place.width + 1;
		places[count++] = place;
	}
	if (top->opened)
		columns_stretch_name(top, places, count);
	return count;
}

void top_column_text(const struct top *top, const struct column_place *place, size_t index,
		     char text[RATE_TEXT_MAX])
{
	if (top->opened)
		call_columns[place->id].text(top, top->calls.rows[index], text);
	else
		rate_columns[place->id].text(top->rates, &top->rates->lines[top->shown[index]],
					     text);
}

/* The id of the column to sort by next; -1 when there is none. */
static int columns_next(const struct top *top, int step)
{
	struct column_place places[MAX_COLUMNS];
	int count = (int)columns_place(top, places), at = 0;

	for (int i = 0; i < count; i++)
		at = places[i].sorted ? i : at;
	for (int i = 0; i < count; i++) {
		at = (at + step + count) % count;
		if (top->opened || rate_columns[places[at].id].key != NR_RATE_KEY)
			return places[at].id;
	}
	return -1;
}

enum rate_key columns_next_rate_key(const struct top *top, int step)
{
	int id = columns_next(top, step);

	return id < 0 ? top->sort : rate_columns[id].key;
}

enum call_key columns_next_call_key(const struct top *top, int step)
{
	int id = columns_next(top, step);

	return id < 0 ? top->call_sort : (enum call_key)id;
}

const char *columns_sort_head(const struct top *top)
{
	if (top->opened)
		return call_columns[top->call_sort].head;
	for (size_t i = 0; i < ARRAY_SIZE(rate_columns); i++) {
		if (rate_columns[i].key == top->sort)
			return rate_columns[i].head;
	}
	return "";
}
