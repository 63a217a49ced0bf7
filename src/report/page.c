/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a report as one page of HTML. Its script makes the tables and histograms from the data in it; what can be
 * read without a script is written here: how exact it is, the first rows, pictures. Invariant: a page loads
 * nothing and runs nothing but the style sheets and scripts whose hashes are in its policy.
 */
#include "report/page.h"

#include "base/clock.h"
#include "report/over_time.h"

/* Rows of the table that needs no script. */
#define STATIC_ROWS 20

struct page_text {
	const char *text, *hash;
};

/* A picture that has a style sheet or a script of its own adds them here. */
static const struct {
	struct page_text style, script;
	enum page_part part;
} parts[] = {
	{ .style = {
#include "flame.css.inc"
		,
#include "flame.css.hash.inc"
	  }, .script = {
#include "flame.js.inc"
		,
#include "flame.js.hash.inc"
	  }, .part = PAGE_FLAME },
	{ .style = {
#include "over_time.css.inc"
		,
#include "over_time.css.hash.inc"
	  }, .part = PAGE_OVER_TIME },
	{ .style = {
#include "page.css.inc"
		,
#include "page.css.hash.inc"
	  }, .script = {
#include "page.js.inc"
		,
#include "page.js.hash.inc"
	  }, .part = PAGE_ALWAYS },
};

void html_text(const char *text, FILE *out)
{
	char *visible __cleanup(freep) = text_visible(text);

	svg_escape(visible ?: "", out);
}

/* --- the frame ---------------------------------------------------------------------------------- */

static bool frame_has(const struct page_frame *frame, size_t index)
{
	return frame->parts & parts[index].part;
}

static void write_policy(const struct page_frame *frame, FILE *out)
{
	fputs("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "script-src",
	      out);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (frame_has(frame, i) && parts[i].script.hash)
			fprintf(out, " '%s'", parts[i].script.hash);
	}
	fputs("; style-src", out);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (frame_has(frame, i))
			fprintf(out, " '%s'", parts[i].style.hash);
	}
	fputs("; base-uri 'none'; form-action 'none'\">\n", out);
}

void page_begin(const struct page_frame *frame, FILE *out)
{
	fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n", out);
	write_policy(frame, out);
	fputs("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"generator\" content=\"bpftruss " BPFTRUSS_VERSION "\">\n<title>",
	      out);
	html_text(frame->title, out);
	fputs("</title>\n", out);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (frame_has(frame, i))
			fprintf(out, "<style>%s</style>\n", parts[i].style.text);
	}
	fputs("</head>\n<body>\n<header>\n<h1>", out);
	html_text(frame->title, out);
	fputs("</h1>\n", out);
}

void page_end(const struct page_frame *frame, FILE *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (frame_has(frame, i) && parts[i].script.text)
			fprintf(out, "<script>%s</script>\n", parts[i].script.text);
	}
	fputs("</body>\n</html>\n", out);
}

void page_fact(const char *name, const char *value, FILE *out)
{
	if (!value || !*value)
		return;
	fprintf(out, "<div><dt>%s</dt><dd>", name);
	html_text(value, out);
	fputs("</dd></div>\n", out);
}

void page_trust(const struct snapshot *snapshot, const char *side, FILE *out)
{
	const bool is_exact = snapshot_is_exact(snapshot);
	const uint64_t unnamed = snapshot_errors_unnamed(snapshot);
	char what[LOSS_WHAT_MAX];

	fprintf(out, "<div class=\"trust%s\"><p>%s%s</p>\n", is_exact ? "" : " inexact", side,
		is_exact ? "exact: no call is missing" : "not exact:");
	if (!is_exact)
		fputs("<ul>\n", out);
	for (int i = 0; i < NR_MODEL_LOSS && !is_exact; i++) {
		const uint64_t count = snapshot->losses.count[i];

		if (!count)
			continue;
		text_plural(loss_texts[i].what, count, what, sizeof(what));
		fprintf(out, "<li>%" PRIu64 " ", count);
		html_text(what, out);
		fputs(" (", out);
		html_text(loss_texts[i].why, out);
		fputs(")</li>\n", out);
	}
	if (losses_none(&snapshot->losses) && !is_exact)
		fprintf(out, "<li>%" PRIu64 " errors counted without their errno</li>\n", unnamed);
	fputs(is_exact ? "</div>\n" : "</ul></div>\n", out);
}

void page_notes(char *text, FILE *out)
{
	bool is_open = false;

	fputs("<div class=\"notes\">\n", out);
	for (char *line; (line = strsep(&text, "\n"));) {
		/* The top of the page says how exact it is. */
		if (!*line || !strncmp(line, "exact:", 6) || strstr(line, "not exact:"))
			continue;
		/* A line that is indented goes on with the one before. */
		if (*line != ' ' || !is_open)
			fprintf(out, "%s<p>", is_open ? "</p>\n" : "");
		is_open = true;
		html_text(line + (*line == ' '), out);
	}
	fprintf(out, "%s</div>\n", is_open ? "</p>\n" : "");
}

void page_section_begin(const char *id, const char *title, FILE *out)
{
	fprintf(out, "<section id=\"%s\">\n<h2>%s</h2>\n", id, title);
}

void page_section_end(FILE *out)
{
	fputs("</section>\n", out);
}

/* --- the head of a snapshot --------------------------------------------------------------------- */

/* Lines that text reports print below their tables. */
static int write_notes(const struct snapshot *snapshot, const struct report_options *options,
		       FILE *out)
{
	char *text __cleanup(freep) = NULL;
	size_t size;
	FILE *lines = open_memstream(&text, &size);
	int err;

	if (!lines)
		return -ENOMEM;
	print_thread_time(snapshot, true, lines);
	print_user_time(snapshot, lines);
	print_process_changes(snapshot, options->table.keys, lines);
	err = report_trust(snapshot, false, lines);
	if (fclose(lines) || err)
		return err ?: -ENOMEM;
	page_notes(text, out);
	return 0;
}

/* Where nothing was ever counted, nobody knows of any time. */
static bool has_time(const struct snapshot *snapshot)
{
	return snapshot->start_ns || snapshot->end_ns;
}

static void write_facts(const struct snapshot *snapshot, const struct report_options *options,
			FILE *out)
{
	char start[CLOCK_LOCAL_SIZE], end[CLOCK_LOCAL_SIZE], text[3 * CLOCK_LOCAL_SIZE];
	char cpu[AGE_MAX], host[HOST_LABEL_MAX];

	snapshot_host_label(snapshot, host);
	clock_local(snapshot->start_ns, start, sizeof(start));
	clock_local(snapshot->end_ns, end, sizeof(end));
	snprintf(text, sizeof(text), "%s to %s, %.3f s counted", start, end,
		 (double)snapshot->elapsed_ns / 1e9);
	snprintf(cpu, sizeof(cpu), "%.3f s", (double)snapshot_user_ns(snapshot) / 1e9);
	fputs("<dl>\n", out);
	page_fact("Host", host, out);
	page_fact("Kernel", snapshot->kernel, out);
	if (has_time(snapshot))
		page_fact("Time", text, out);
	page_fact("User CPU", cpu, out);
	page_fact("Command", options->command, out);
	fputs("</dl>\n", out);
}

static void frame_title(const struct snapshot *snapshot, char *buf, size_t size)
{
	char start[CLOCK_LOCAL_SIZE], host[HOST_LABEL_MAX];

	snapshot_host_label(snapshot, host);
	clock_local(snapshot->start_ns, start, sizeof(start));
	snprintf(buf, size, "System calls%s%.200s%s%s", *host ? " on " : "", host,
		 has_time(snapshot) ? ", " : "", has_time(snapshot) ? start : "");
}

/* --- what needs no script ----------------------------------------------------------------------- */

static void write_cell(const struct column *column, const struct column_scope *scope,
		       const struct group *group, FILE *out)
{
	char text[COLUMN_TEXT_MAX] = "-";
	uint64_t value;

	if (column_is_key(column) && group->nr_merged)
		others_label(group, text, sizeof(text));
	else if (column_is_key(column))
		column_text(column, scope, group, text);
	else if (!column_number(column, scope, group, &value))
		value = 0;
	else if (column->kind == COLUMN_SUM || column->kind == COLUMN_LATENCY)
		format_age(value, text, AGE_MAX);
	else if (column->kind == COLUMN_PERCENT)
		snprintf(text, sizeof(text), "%.2f%%", (double)value / 100);
	else
		snprintf(text, sizeof(text), "%" PRIu64, value);
	fprintf(out, "<td%s>", column->kind == COLUMN_TEXT ? "" : " class=\"number\"");
	html_text(text, out);
	fputs("</td>", out);
}

static void write_rows(const struct table_part *part, const struct column_list *columns,
		       size_t count, FILE *out)
{
	fputs("<div class=\"scroll\"><table>\n<thead><tr>", out);
	for (size_t i = 0; i < columns->count; i++)
		fprintf(out, "<th scope=\"col\"%s>%s</th>",
			columns->columns[i]->kind == COLUMN_TEXT ? "" : " class=\"number\"",
			columns->columns[i]->name);
	fputs("</tr></thead>\n<tbody>\n", out);
	for (size_t i = 0; i < count; i++) {
		fputs("<tr>", out);
		for (size_t j = 0; j < columns->count; j++)
			write_cell(columns->columns[j], &part->scope, &part->list.groups[i], out);
		fputs("</tr>\n", out);
	}
	fputs("</tbody></table></div>\n", out);
}

/* Writes the first rows; the script replaces them by all. */
static void write_static_table(const struct table_part *part, const struct report_options *options,
			       FILE *out)
{
	const size_t count = min_u64(part->list.nr_groups, STATIC_ROWS);
	struct column_list columns, more;

	columns_of_keys(part->scope.keys, &columns);
	page_columns(options, &more);
	for (size_t i = 0; i < more.count; i++)
		column_list_add(&columns, more.columns[i]);
	page_section_begin("static", "Calls", out);
	if (count)
		write_rows(part, &columns, count, out);
	else
		fputs("<p>No call was counted.</p>\n", out);
	if (count < part->list.nr_groups)
		fprintf(out,
			"<p>The first %zu of %zu rows; the script of this page shows all.</p>\n",
			count, part->list.nr_groups);
	page_section_end(out);
}

int page_flames(const struct page_flames *flames, const struct stack_options *options, FILE *out)
{
	static const char *const names[NR_STACK_WEIGHT] = { [STACK_WEIGHT_CALLS] = "calls",
							    [STACK_WEIGHT_TIME] = "wall time",
							    [STACK_WEIGHT_CPU] = "CPU time",
							    [STACK_WEIGHT_ERRORS] = "errors" };
	struct stack_options how = *options;
	const int first = (int)options->weight;
	int err = 0;

	page_section_begin("stacks", "Call stacks", out);
	for (int i = 0; i < NR_STACK_WEIGHT && !err; i++) {
		/* The first one, then the others in their order. */
		const int weight = i == 0 ? first : i - (i <= first);

		if (!flames->has[weight])
			continue;
		fprintf(out, "<figure class=\"graph\" data-weight=\"%s\">\n", names[weight]);
		how.weight = (enum stack_weight)weight;
		err = flames->draw(flames->closure, &how, out);
		fputs("</figure>\n", out);
	}
	page_section_end(out);
	return err;
}

static int draw_flame(const void *snapshot, const struct stack_options *options, FILE *out)
{
	return flame_write_part(snapshot, options, out);
}

/* Draws a flame graph for each weight that is not 0. */
static int write_flames(const struct snapshot *snapshot, const struct stack_options *options,
			FILE *out)
{
	struct page_flames flames = { draw_flame, snapshot, { [STACK_WEIGHT_CALLS] = true } };

	for (size_t i = 0; i < snapshot->nr_rows; i++) {
		const struct row *row = snapshot->rows[i];

		flames.has[STACK_WEIGHT_TIME] |= row->wall_ns != 0;
		flames.has[STACK_WEIGHT_CPU] |= row_cpu_ns(row) != 0;
		flames.has[STACK_WEIGHT_ERRORS] |= row->errors != 0;
	}
	return page_flames(&flames, options, out);
}

/* --- pages -------------------------------------------------------------------------------------- */

/* Writes all of a snapshot that stands between the header and the data. */
static int write_content(const struct snapshot *snapshot, const struct report_options *options,
			 const struct table_part halves[NR_TABLE_HALF], FILE *out)
{
	const enum table_half half =
		halves[TABLE_WORKING].list.nr_groups ? TABLE_WORKING : TABLE_WAITING;

	write_static_table(&halves[half], options, out);
	return snapshot->stacks ? write_flames(snapshot, &options->stacks, out) : 0;
}

/* A timeline, and how to draw it. */
struct over_time {
	const struct timeline *timeline;
	const struct time_picture_options *picture;
	bool is_empty; /* nothing was counted in it */
};

static int write_data(const struct snapshot *snapshot, const struct over_time *over_time,
		      const struct report_options *options,
		      const struct table_part halves[NR_TABLE_HALF], FILE *out)
{
	const bool is_empty = over_time && over_time->is_empty;
	struct page_data *data __cleanup(freep) = malloc(sizeof(*data));
	int err = data ? page_data_begin(data, out) : -ENOMEM, end;

	if (err)
		return err;
	json_put_origin(&data->to, snapshot);
	json_put_bool(&data->to, "exact", !is_empty && snapshot_is_exact(snapshot));
	json_put_losses(&data->to, &snapshot->losses);
	json_put_text(&data->to, "command", options->command);
	err = page_put_snapshot(&data->to, snapshot, over_time ? over_time->timeline : NULL,
				options, halves);
	end = page_data_end(data, out);
	return err ?: end;
}

static int write_over_time(const struct over_time *over_time, FILE *out)
{
	struct time_picture_options picture = *over_time->picture;
	int err;

	picture.in_page = true;
	page_section_begin("heat", "Latency over time", out);
	fputs("<figure class=\"scroll\" tabindex=\"0\">\n", out);
	err = report_heatmap(over_time->timeline, &picture, out);
	fputs("</figure>\n", out);
	page_section_end(out);
	return err;
}

static int write_page(const struct snapshot *snapshot, const struct over_time *over_time,
		      const struct report_options *options, FILE *out)
{
	struct table_part halves[NR_TABLE_HALF] __cleanup(
		table_halves_done) = { { .list = { 0 } } };
	struct page_frame frame = { .parts = PAGE_ALWAYS };
	char title[256 + CLOCK_LOCAL_SIZE];
	int err;

	if (page_halves_make(snapshot, options, halves))
		return -ENOMEM;
	frame_title(snapshot, title, sizeof(title));
	frame.title = title;
	frame.parts |= snapshot->stacks ? PAGE_FLAME : 0;
	frame.parts |= over_time ? PAGE_OVER_TIME : 0;
	page_begin(&frame, out);
	if (over_time && over_time->is_empty)
		fputs("<div class=\"trust inexact\"><p>nothing was counted</p></div>\n", out);
	else
		page_trust(snapshot, "", out);
	write_facts(snapshot, options, out);
	err = write_notes(snapshot, options, out);
	fputs("</header>\n<main>\n", out);
	if (over_time && !err)
		err = write_over_time(over_time, out);
	err = err ?: write_content(snapshot, options, halves, out);
	fputs("</main>\n", out);
	err = err ?: write_data(snapshot, over_time, options, halves, out);
	page_end(&frame, out);
	return err ?: ferror(out) ? -EIO : 0;
}

int report_page(const struct snapshot *snapshot, const struct report_options *options, FILE *out)
{
	return write_page(snapshot, NULL, options, out);
}

int report_timeline_page(const struct timeline *timeline,
			 const struct time_picture_options *picture, const struct snapshot *sum,
			 const struct report_options *options, FILE *out)
{
	const struct over_time over_time = { timeline, picture, .is_empty = !sum };
	const struct time_plot plot = time_plot_of(timeline, NULL);
	const struct snapshot nothing = { .start_ns = plot.from_ns, .end_ns = plot.to_ns };

	return write_page(sum ?: &nothing, &over_time, options, out);
}
