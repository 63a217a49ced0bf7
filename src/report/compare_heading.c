/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns what a comparison says of its two sides: what they are, and how far they can be trusted. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "report/compare.h"
#include "report/grid.h"
#include "report/label.h"
#include "report/report.h"

/* Columns of the heading. */
enum heading { HEAD_SIDE, HEAD_LABEL, HEAD_HOST, HEAD_FROM, HEAD_TO, HEAD_COUNTED, HEAD_EXACT };

static void heading_set_text(struct grid *grid, size_t column, const char *text, size_t width)
{
	char cell[COLUMN_TEXT_MAX];

	text_escape_visible(text ?: "", (COLUMN_TEXT_MAX - 1) / 4, cell);
	text_cut(cell, width);
	grid_set(grid, column, cell);
}

static void heading_add(struct grid *grid, const char *side, const struct compare_source *source,
			size_t text_max)
{
	const struct snapshot *snapshot = source->snapshot;
	char cell[CLOCK_LOCAL_SIZE];

	grid_add_row(grid);
	grid_set(grid, HEAD_SIDE, side);
	heading_set_text(grid, HEAD_LABEL, source->label, text_max);
	heading_set_text(grid, HEAD_HOST, snapshot->host, text_max);
	clock_local(snapshot->start_ns, cell, sizeof(cell));
	grid_set(grid, HEAD_FROM, cell);
	clock_local(snapshot->end_ns, cell, sizeof(cell));
	grid_set(grid, HEAD_TO, cell);
	snprintf(cell, sizeof(cell), "%.1f s", (double)snapshot->elapsed_ns / (double)NS_PER_SEC);
	grid_set(grid, HEAD_COUNTED, snapshot->elapsed_ns ? cell : "unknown");
	grid_set(grid, HEAD_EXACT, snapshot_is_exact(snapshot) ? "yes" : "no");
}

int compare_heading_print(const struct compare_input *input, const struct table_options *options,
			  FILE *out)
{
	static const char *const titles[] = {
		"", "what", "host", "from", "to", "counted", "exact"
	};
	struct grid *grid __cleanup(grid_freep) = NULL;
	size_t text_max = options->width ? 16 + (size_t)options->width / 20 : SIZE_MAX;

	if (grid_new(ARRAY_SIZE(titles), &grid))
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(titles); i++)
		grid_set_title(grid, i, titles[i], i == HEAD_COUNTED);
	heading_add(grid, "A", &input->a, text_max);
	heading_add(grid, "B", &input->b, text_max);
	if (!strcmp(input->a.snapshot->host, input->b.snapshot->host))
		grid_hide(grid, HEAD_HOST);
	grid_set_rank(grid, HEAD_TO, 1);
	grid_fit(grid, options->width);
	grid_add_line(grid, "");
	return grid_print(grid, out);
}

/* What is missing on a side that is not exact. */
static void print_trust(const char *side, const struct snapshot *snapshot, FILE *out)
{
	if (snapshot_is_exact(snapshot))
		return;
	fprintf(out, "%s: ", side);
	print_exactness(snapshot, out);
}

/* Sides of which one has slow calls only say nothing about each other. */
static void print_unlike(const struct compare_input *input, FILE *out)
{
	const struct compare_source *sources[] = { &input->a, &input->b };
	const char *separator = "not comparable: ";
	char least[AGE_MAX];

	format_age(input->a.snapshot->slower_than_ns, least, sizeof(least));
	if (input->a.snapshot->slower_than_ns == input->b.snapshot->slower_than_ns) {
		if (input->a.snapshot->slower_than_ns)
			fprintf(out, "only calls that took at least %s\n", least);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++, separator = ", ") {
		format_age(sources[i]->snapshot->slower_than_ns, least, sizeof(least));
		if (sources[i]->snapshot->slower_than_ns)
			fprintf(out, "%s%c has only calls that took at least %s", separator,
				i ? 'B' : 'A', least);
		else
			fprintf(out, "%s%c has all calls", separator, i ? 'B' : 'A');
	}
	fputc('\n', out);
}

int compare_doubts_print(const struct compare_input *input, FILE *out)
{
	print_unlike(input, out);
	print_trust("A", input->a.snapshot, out);
	print_trust("B", input->b.snapshot, out);
	return ferror(out) ? -EIO : 0;
}
