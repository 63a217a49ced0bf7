/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Draws the elements of pictures, and a chart: one SVG without scripts or anything from outside. Rows are
 * groups; left their calls on a linear axis, right the times of a call and of all of them on a
 * logarithmic one. Marks differ in shape as well as in colour, so that they survive a printer.
 */
#include <math.h>

#include "base/clock.h"
#include "report/picture.h"

void svg_escape(const char *text, FILE *out)
{
	static const char reserved[] = "&<>\"";
	static const char *const entities[] = { "&amp;", "&lt;", "&gt;", "&quot;" };

	for (; *text; text++) {
		const char *found = strchr(reserved, *text);

		if (found)
			fputs(entities[found - reserved], out);
		else
			fputc(*text, out);
	}
}

void svg_head(FILE *out, int x, int y, const char *title, const struct snapshot *snapshot,
	      const char *remark)
{
	char text[512], start[CLOCK_RFC3339_SIZE], age[AGE_MAX], host[HOST_LABEL_MAX];

	clock_rfc3339(snapshot->start_ns, start, sizeof(start));
	format_age(snapshot->elapsed_ns, age, sizeof(age));
	snapshot_host_label(snapshot, host);
	snprintf(text, sizeof(text), "%s, from %.19sZ for %s; %s%s%s", host, start, age, remark,
		 *remark ? "; " : "",
		 snapshot_is_exact(snapshot) ? "exact: no call is missing"
					     : "not exact: the text report says why");
	svg_text(out, x, y, "title", title);
	svg_text(out, x, y + 20, "note", text);
}

void svg_text(FILE *out, int x, int y, const char *class, const char *text)
{
	fprintf(out, "<text x=\"%d\" y=\"%d\" class=\"%s\">", x, y, class);
	svg_escape(text, out);
	fputs("</text>\n", out);
}

static void svg_line(FILE *out, int x1, int y1, int x2, int y2, const char *class)
{
	fprintf(out, "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" class=\"%s\"/>\n", x1, y1, x2,
		y2, class);
}

void svg_rect(FILE *out, int x, int y, int width, int height, const char *class)
{
	fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" class=\"%s\"/>\n", x, y,
		width, height, class);
}

#define ROWS_MAX     20
#define WIDTH        1040
#define ROW_HEIGHT   24
#define TOP          118 /* of the first row: below title, legend and names of the axes */
#define BOTTOM       66  /* below the last row: axes and the last line */
#define MARGIN       24
#define LABEL_CHARS  44 /* longer ones are cut */
#define CHAR_WIDTH   7  /* of a label, at most, on average */
#define COUNTS_WIDTH 190
#define NUMBER_WIDTH 90 /* room for the number at the end of the longest bar */
#define TOTAL_WIDTH  84 /* of the column of totals */
#define KEY_WIDTH    82 /* of a mark and its name */

struct chart {
	struct table_part part;
	const struct group *rows[ROWS_MAX]; /* those that wait for work come last */
	size_t nr_rows, nr_waiting, nr_others;
	int label_width, counts_x, times_x, times_width, bottom;
	uint64_t calls_end;            /* of the axis */
	int first_decade, last_decade; /* of the axis, as powers of ten of ns */
	FILE *out;
};

/* --- scales --- */

/* The least of 1, 2, 5, 10, 20, ... that divides the axis into at most four. */
static uint64_t tick_step(uint64_t most)
{
	static const uint64_t factors[] = { 1, 2, 5 };

	for (uint64_t power = 1;; power *= 10) {
		for (size_t i = 0; i < ARRAY_SIZE(factors); i++) {
			if (most / 4 < power * factors[i] || power > UINT64_MAX / 100)
				return power * factors[i];
		}
	}
}

static int count_x(const struct chart *chart, uint64_t calls)
{
	return chart->counts_x +
	       (int)((double)calls / (double)chart->calls_end * COUNTS_WIDTH + 0.5);
}

static int time_x(const struct chart *chart, uint64_t ns)
{
	double decades = log10(ns ? (double)ns : 1) - chart->first_decade;

	return chart->times_x +
	       (int)(decades * chart->times_width / (chart->last_decade - chart->first_decade) +
		     0.5);
}

/* --- what is drawn --- */

static void row_title(const struct chart *chart, const struct group *group, char *buf)
{
	size_t at = 0;

	table_group_title(&chart->part, group, buf);
	if (text_width(buf) <= LABEL_CHARS)
		return;
	for (size_t seen = 0; buf[at] && seen < LABEL_CHARS; at++)
		seen += (buf[at + 1] & 0xc0) != 0x80;
	snprintf(buf + at, COLUMN_TEXT_MAX - at, "\u2026");
}

static void chart_measure(struct chart *chart)
{
	uint64_t calls = 1, min_ns = UINT64_MAX, max_ns = 0, step;
	char title[COLUMN_TEXT_MAX];
	size_t width = 17; /* of TABLE_WAITING_TITLE in its smaller letters */

	for (size_t i = 0; i < chart->nr_rows; i++) {
		const struct row *row = &chart->rows[i]->sum;

		row_title(chart, chart->rows[i], title);
		width = max_u64(width, text_width(title));
		calls = max_u64(calls, row->calls);
		min_ns = min_u64(min_ns, row->min_ns);
		max_ns = max_u64(max_ns, max_u64(row->max_ns, row->wall_ns));
	}
	step = tick_step(calls);
	chart->calls_end = calls / step * step + (calls % step ? step : 0);
	min_ns = min_ns == UINT64_MAX ? 1000 : min_ns ?: 1;
	max_ns = max_u64(min_ns, max_ns);
	chart->first_decade = (int)floor(log10((double)min_ns));
	chart->last_decade = (int)ceil(log10((double)max_ns));
	if (chart->last_decade < chart->first_decade + 2)
		chart->last_decade = chart->first_decade + 2;
	chart->label_width = (int)width * CHAR_WIDTH;
	chart->counts_x = MARGIN + chart->label_width + 12;
	chart->times_x = chart->counts_x + COUNTS_WIDTH + NUMBER_WIDTH;
	chart->times_width = WIDTH - MARGIN - TOTAL_WIDTH - chart->times_x;
	chart->bottom = TOP + (int)chart->nr_rows * ROW_HEIGHT;
	if (chart->nr_waiting)
		chart->bottom += ROW_HEIGHT;
}

/* --- drawing --- */

/* Blue, orange, yellow and vermilion after Okabe and Ito: everybody tells them apart. */
static const char style[] =
	"svg{max-width:100%;height:auto;color-scheme:light dark;background:#fff}.paper{fill:#fff}"
	"text{font:12px 'DejaVu Sans',Verdana,Arial,sans-serif;fill:#222}"
	".title{font-size:18px;font-weight:bold}.note{font-size:11px;fill:#555}"
	".label{text-anchor:end}.waiting{text-anchor:end;fill:#666;font-style:italic}"
	".axis{font-size:11px;text-anchor:middle;fill:#444}.name{font-weight:bold}"
	".number{font-size:11px}.sum{text-anchor:end}.band{fill:#f4f6f8}.bar{fill:#8fb4d4}"
	".errors{fill:#c44601}.grid{stroke:#d4d9de}.base{stroke:#444}"
	".range{stroke:#8a8f95;stroke-width:2}.min{fill:none;stroke:#222;stroke-width:1.5}"
	".avg{fill:#0b5a9c}.p99{fill:#fad230;stroke:#6b4e00}.max{stroke:#d55e00;stroke-width:3}"
	".total{fill:#222}"
	"@media screen and "
	"(prefers-color-scheme:dark){svg{background:#16191d}.paper{fill:#16191d}text{fill:#e8eaed}"
	".note,.waiting,.axis{fill:#aab2bb}.band{fill:#1f2429}.bar{fill:#3d6f9e}"
	".errors{fill:#f28e3c}.grid{stroke:#353c43}.base{stroke:#aab2bb}.min{stroke:#e8eaed}"
	".avg{fill:#56b4e9}.total{fill:#e8eaed}}"
	"@media screen and (max-width:840px){svg{max-width:none}}"
	"@media print{svg{print-color-adjust:exact;-webkit-print-color-adjust:exact}}";

enum mark {
	MARK_MIN,
	MARK_AVG,
	MARK_P99,
	MARK_MAX,
	MARK_TOTAL,
	NR_MARK,
};

/* Paths around the place they mark; where all meet, each can still be seen. */
static const struct {
	const char *name, *class, *path;
} marks[NR_MARK] = {
	[MARK_MIN] = { "min", "min", "m-6 0a6 6 0 1 0 12 0a6 6 0 1 0 -12 0z" },
	[MARK_AVG] = { "average", "avg", "m0 -5l5 5l-5 5l-5 -5z" },
	[MARK_P99] = { "p99", "p99", "m-4 -4h8v8h-8z" },
	[MARK_MAX] = { "max", "max", "m0 -9v18" },
	[MARK_TOTAL] = { "total", "total", "m-4 -6l9 6l-9 6z" },
};

static void chart_mark(const struct chart *chart, enum mark mark, int x, int y)
{
	fprintf(chart->out, "<path class=\"%s\" d=\"M%d %d%s\"/>\n", marks[mark].class, x, y,
		marks[mark].path);
}

#define TITLE_CHARS 92 /* there is no room for more */

/* Says whose calls they are, by name if all processes have the same, and what a row is. */
static void chart_title(const struct chart *chart, const struct snapshot *snapshot, char *buf,
			size_t size)
{
	const struct process *first = snapshot->processes;
	char name[PROCESS_LABEL_MAX];
	struct column_list keys;
	uint64_t count = 0;
	bool is_one = snapshot->nr_processes;
	size_t used;

	for (size_t i = 0; i < snapshot->nr_processes; i++) {
		const struct process *process = &snapshot->processes[i];

		count += process->pid ? 1 : process->nr_folded;
		is_one = is_one && !strncmp(process->comm, first->comm, PROCESS_COMM_SIZE);
	}
	if (is_one)
		process_label(first, name);
	used = (size_t)snprintf(buf, size, "System calls of %s%s%" PRIu64 " process%s%s by",
				is_one ? name : "", is_one ? " (" : "", count,
				count == 1 ? "" : "es", is_one ? ")" : "");
	columns_of_keys(chart->part.scope.keys, &keys);
	for (size_t i = 0; i < keys.count && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s %s", i ? "," : "",
					 keys.columns[i]->name);
	if (used < size)
		snprintf(buf + used, size - used, ": how many, and how long they take");
	text_cut(buf, TITLE_CHARS);
}

static void chart_head(const struct chart *chart, const struct snapshot *snapshot)
{
	int x = chart->times_x;
	char title[512];

	chart_title(chart, snapshot, title, sizeof(title));
	svg_head(chart->out, MARGIN, 34, title, snapshot, "");
	svg_text(chart->out, chart->counts_x, TOP - 14, "name", "number of calls");
	svg_text(chart->out, x, TOP - 14, "name", "time of one call and in total, log scale");
	svg_text(chart->out, WIDTH - MARGIN, TOP - 14, "name sum", "total");
	svg_rect(chart->out, chart->counts_x, 70, 14, 12, "bar");
	svg_text(chart->out, chart->counts_x + 20, 80, "number", "calls");
	svg_rect(chart->out, chart->counts_x + 70, 70, 14, 12, "errors");
	svg_text(chart->out, chart->counts_x + 90, 80, "number", "of these, errors");
	for (enum mark i = 0; i < NR_MARK; i++) {
		chart_mark(chart, i, x + 8 + (int)i * KEY_WIDTH, 76);
		svg_text(chart->out, x + 20 + (int)i * KEY_WIDTH, 80, "number", marks[i].name);
	}
}

static void chart_axes(const struct chart *chart)
{
	uint64_t step = tick_step(chart->calls_end);
	int decades = chart->last_decade - chart->first_decade;
	static const char *const units[] = { "ns", "us", "ms", "s" };
	static const char *const tens[] = { "1", "10", "100" };
	char text[32];

	for (uint64_t calls = 0; calls <= chart->calls_end; calls += step) {
		const char *prefix = "\0kMGTPE";
		uint64_t count = calls;
		int x = count_x(chart, calls);

		svg_line(chart->out, x, TOP - 4, x, chart->bottom, calls ? "grid" : "base");
		/* 3, 250k, 2M */
		for (; count && count % 1000 == 0; count /= 1000)
			prefix++;
		snprintf(text, sizeof(text), "%" PRIu64 "%.1s", count, prefix);
		svg_text(chart->out, x, chart->bottom + 18, "axis", text);
	}
	for (int decade = 0; decade <= decades; decade++) {
		int x = chart->times_x + decade * chart->times_width / decades;
		int power = chart->first_decade + decade, unit = power / 3 < 3 ? power / 3 : 3;

		svg_line(chart->out, x, TOP - 4, x, chart->bottom, "grid");
		/* No room for all. */
		if (decades > 8 && decade % 2)
			continue;
		snprintf(text, sizeof(text), "%s%.*s %s", tens[power % 3], (power / 3 - unit) * 3,
			 "000000000", units[unit]);
		svg_text(chart->out, x, chart->bottom + 18, "axis", text);
	}
	svg_line(chart->out, chart->times_x, chart->bottom, chart->times_x + chart->times_width,
		 chart->bottom, "base");
}

/* The numbers, for the pointer of a mouse. */
static void chart_tooltip(const struct chart *chart, const struct group *group, uint64_t p99_ns)
{
	const struct row *row = &group->sum;
	char title[COLUMN_TEXT_MAX], total[AGE_MAX], p99[AGE_MAX], max[AGE_MAX];

	table_group_title(&chart->part, group, title);
	fputs("<title>", chart->out);
	svg_escape(title, chart->out);
	fprintf(chart->out, ": %" PRIu64 " calls, %" PRIu64 " errors", row->calls, row->errors);
	if (row_timed(row)) {
		format_age(row->wall_ns, total, sizeof(total));
		format_age(p99_ns, p99, sizeof(p99));
		format_age(row->max_ns, max, sizeof(max));
		fprintf(chart->out, ", total %s, p99 %s, max %s", total, p99, max);
	}
	fputs("</title>\n", chart->out);
}

/* The marks of a row, and its total in digits. */
static void chart_times(const struct chart *chart, const struct row *row, uint64_t p99_ns,
			int middle)
{
	const uint64_t ns[NR_MARK] = { [MARK_MIN] = row->min_ns,
				       [MARK_AVG] = row->wall_ns / row_timed(row),
				       [MARK_P99] = p99_ns,
				       [MARK_MAX] = row->max_ns,
				       [MARK_TOTAL] = row->wall_ns };
	char total[AGE_MAX];

	svg_line(chart->out, time_x(chart, row->min_ns), middle, time_x(chart, row->max_ns), middle,
		 "range");
	for (int i = NR_MARK; i-- > 0;)
		chart_mark(chart, (enum mark)i, time_x(chart, ns[i]), middle);
	format_age(row->wall_ns, total, sizeof(total));
	svg_text(chart->out, WIDTH - MARGIN, middle + 4, "number sum", total);
}

static void chart_row(const struct chart *chart, size_t index, int y)
{
	const struct group *group = chart->rows[index];
	const struct row *row = &group->sum;
	bool waiting = index >= chart->nr_rows - chart->nr_waiting;
	int middle = y + ROW_HEIGHT / 2, end = count_x(chart, row->calls);
	uint64_t p99_ns = hist_quantile_ns(&row->hist, 0.99, row->min_ns, row->max_ns);
	char text[COLUMN_TEXT_MAX];

	fputs("<g>", chart->out);
	chart_tooltip(chart, group, p99_ns);
	row_title(chart, group, text);
	svg_text(chart->out, MARGIN + chart->label_width, middle + 4, waiting ? "waiting" : "label",
		 text);
	svg_rect(chart->out, chart->counts_x, middle - 7, end - chart->counts_x, 14, "bar");
	svg_rect(chart->out, chart->counts_x, middle - 7,
		 count_x(chart, row->errors) - chart->counts_x, 14, "errors");
	snprintf(text, sizeof(text), "%" PRIu64, row->calls);
	svg_text(chart->out, end + 5, middle + 4, "number", text);
	if (row_timed(row))
		chart_times(chart, row, p99_ns, middle);
	else
		svg_text(chart->out, chart->times_x + 8, middle + 4, "note", "not timed");
	fputs("</g>\n", chart->out);
}

static void chart_draw(const struct chart *chart, const struct snapshot *snapshot)
{
	int height = chart->bottom + BOTTOM, y = TOP;
	char text[128] = "By total time, longest first.";

	fprintf(chart->out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		"viewBox=\"0 0 %d %d\" role=\"img\">\n<title>System calls</title>\n"
		"<style>%s</style>\n<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n",
		WIDTH, height, WIDTH, height, style, WIDTH, height);
	chart_head(chart, snapshot);
	/* Every other row is shaded, so that the eye keeps to it. */
	for (int at = TOP + ROW_HEIGHT; at + ROW_HEIGHT <= chart->bottom; at += 2 * ROW_HEIGHT)
		svg_rect(chart->out, MARGIN, at, WIDTH - 2 * MARGIN, ROW_HEIGHT, "band");
	chart_axes(chart);
	for (size_t i = 0; i < chart->nr_rows; i++, y += ROW_HEIGHT) {
		if (chart->nr_waiting && i == chart->nr_rows - chart->nr_waiting) {
			svg_text(chart->out, MARGIN, y + ROW_HEIGHT - 7, "note",
				 TABLE_WAITING_TITLE);
			y += ROW_HEIGHT;
		}
		chart_row(chart, i, y);
	}
	if (!chart->nr_rows)
		snprintf(text, sizeof(text), "No system call was counted.");
	else if (chart->nr_others)
		snprintf(text, sizeof(text), "By total time, longest first; %zu others not shown.",
			 chart->nr_others);
	svg_text(chart->out, MARGIN, chart->bottom + BOTTOM - 18, "note", text);
	fputs("</svg>\n", chart->out);
}

int report_chart(const struct snapshot *snapshot, const struct table_options *options, FILE *out)
{
	struct chart chart = { .out = out };
	struct table_options limited = *options;
	bool by_call;

	limited.sort.count = 0;
	if (!limited.top || limited.top > ROWS_MAX)
		limited.top = ROWS_MAX;
	if (table_part_make(snapshot, &limited, NULL, &chart.part))
		return -ENOMEM;
	by_call = chart.part.scope.keys & GROUP_SYSCALL;
	for (int waiting = 0; waiting < 2; waiting++) {
		for (size_t i = 0; i < chart.part.list.nr_groups; i++) {
			const struct group *group = &chart.part.list.groups[i];

			if (group->nr_merged) {
				chart.nr_others = group->nr_merged;
			} else if ((by_call && row_is_waiting(&group->sum, options)) == waiting) {
				chart.rows[chart.nr_rows++] = group;
				chart.nr_waiting += (size_t)waiting;
			}
		}
	}
	chart_measure(&chart);
	chart_draw(&chart, snapshot);
	table_part_done(&chart.part);
	return ferror(out) ? -EIO : 0;
}
