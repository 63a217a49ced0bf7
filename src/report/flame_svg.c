/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Draws a flame graph. Without its script it is a picture that can be read; what the
 * script needs beyond that is in data-x and data-w of each box, in the unit of the weight. All
 * text has been escaped: nothing that a program chose gets into the script.
 */
#include "report/stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "report/flame.h"
#include "report/svg.h"

#define WIDTH          1200
#define MARGIN         10
#define GRAPH          (WIDTH - 2 * MARGIN)
#define TOP            108 /* of the highest box: below title and legend */
#define BOTTOM         34  /* below the root */
#define BOX_HEIGHT     18
#define CHAR_WIDTH     7.23 /* of the font in a box */
#define GAP            .6   /* between boxes that are wide enough for one */
#define GAP_MIN        3
#define PADDING        4            /* of the text in a box */
#define LABEL_MIN      3            /* columns, with fewer there is no text */
#define PARTS          (GRAPH * 10) /* a tenth of a pixel */
#define KEY_CHARS      22           /* longer names of modules are cut */
#define KEY_CHAR_WIDTH 7.0

static const char style[] =
#include "flame.css.inc"
	;

static const char script[] =
#include "flame.js.inc"
	;

static const char *const kind_classes[NR_BOX_KIND] = {
	[BOX_ROOT] = "root", [BOX_COMM] = "comm",     [BOX_END] = "end",
	[BOX_USER] = "user", [BOX_KERNEL] = "kernel", [BOX_SYSCALL] = "call",
};

static const char *const kind_notes[NR_BOX_KIND] = {
	[BOX_COMM] = "process",
	[BOX_END] = "frames are missing here",
	[BOX_SYSCALL] = "system call",
};

/* --- text --- */

/* Columns of a character: those of the East take two, as far as it matters here. */
static unsigned int char_columns(const unsigned char *at)
{
	return *at >= 0xe1 && (*at > 0xe1 || at[1] >= 0x84) && !(*at == 0xe2 && at[1] < 0xba) ? 2
											      : 1;
}

/* A copy of a text, cut to so many columns, the last one an ellipsis; to be freed. */
static char *text_fitted(const char *text, size_t columns)
{
	size_t used = 0, cut = 0, at = 0;
	char *copy;

	while (text[at]) {
		used += char_columns((const unsigned char *)text + at);
		if (used > columns)
			break;
		do
			at++;
		while ((text[at] & 0xc0) == 0x80);
		if (used < columns)
			cut = at;
	}
	if (!text[at])
		return strdup(text);
	return asprintf(&copy, "%.*s\u2026", (int)cut, text) < 0 ? NULL : copy;
}

/* --- boxes --- */

/* FNV-1a: the shade of a function is the same wherever it stands, in every picture. */
static unsigned int name_shade(const char *name)
{
	uint32_t hash = 2166136261;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619;
	return hash >> 13 & 3;
}

static double weight_px(const struct flame *flame, uint64_t weight)
{
	uint64_t all = flame->boxes[0].weight;

	return all ? (double)weight / (double)all * GRAPH : GRAPH;
}

static void write_class(const struct flame *flame, const struct flame_box *box, const char *name,
			FILE *out)
{
	fprintf(out, "box %s", kind_classes[box->kind]);
	if (box->kind == BOX_USER)
		fprintf(out, " m%zu", flame_box_module(flame, box));
	if (box->frame)
		fprintf(out, " h%u", name_shade(name));
	if (box->frame && box->frame->inlined)
		fputs(" inlined", out);
}

/* Three lines, of which the script makes its tooltip: name, what it is, how much. */
static void write_tooltip(const struct flame *flame, const struct flame_box *box, const char *name,
			  FILE *out)
{
	uint64_t all = flame->boxes[0].weight;
	double pct = all ? (double)box->weight / (double)all * 100 : 0;
	char age[AGE_MAX];

	fputs("<title>", out);
	svg_escape(name, out);
	fputc('\n', out);
	if (box->frame) {
		char *module __cleanup(freep) = text_visible(frame_module(box->frame));

		svg_escape(module && *module ? module : "in no file", out);
		fputs(box->frame->inlined ? ", inlined" : "", out);
	} else {
		fputs(kind_notes[box->kind] ?: "", out);
	}
	fputc('\n', out);
	if (flame->weight == STACK_WEIGHT_TIME) {
		format_age(box->wall_ns, age, sizeof(age));
		fprintf(out, "%s in ", age);
	}
	fprintf(out, "%" PRIu64 " call%s, %.2f%%</title>", box->calls, plural(box->calls), pct);
}

static int write_box(const struct flame *flame, const struct flame_box *box, FILE *out)
{
	char *name __cleanup(freep) = flame_box_name(flame, box);
	double x = MARGIN + weight_px(flame, box->start), width = weight_px(flame, box->weight);
	int y = TOP + (int)(flame->depth - 1 - box->depth) * BOX_HEIGHT;
	int columns = (int)((width - 2 * PADDING) / CHAR_WIDTH);
	char *label __cleanup(freep) =
		name ? text_fitted(name, columns > 0 ? (size_t)columns : 0) : NULL;

	if (!label)
		return -ENOMEM;
	fputs("<g class=\"", out);
	write_class(flame, box, name, out);
	fprintf(out, "\" data-x=\"%" PRIu64 "\" data-w=\"%" PRIu64 "\">", box->start, box->weight);
	write_tooltip(flame, box, name, out);
	fprintf(out, "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\"/>", x, y,
		width > GAP_MIN ? width - GAP : width, BOX_HEIGHT - 1);
	if (columns >= LABEL_MIN) {
		fprintf(out, "<text x=\"%.2f\" y=\"%d\">", x + PADDING, y + 13);
		svg_escape(label, out);
		fputs("</text>", out);
	}
	fputs("</g>\n", out);
	return 0;
}

/* --- what is around them --- */

static void write_head(const struct flame *flame, FILE *out)
{
	bool by_time = flame->weight == STACK_WEIGHT_TIME;
	const struct snapshot *snapshot = flame->snapshot;
	char age[AGE_MAX], count[64];
	uint64_t calls = 0;

	/* All calls, also those without a time, which have no box in a graph of times. */
	for (size_t i = 0; i < snapshot->nr_rows; i++)
		calls += snapshot->rows[i]->calls;
	format_age(flame->boxes[0].wall_ns, age, sizeof(age));
	snprintf(count, sizeof(count), "%s%s%" PRIu64 " call%s", by_time ? age : "",
		 by_time ? " in " : "", calls, plural(calls));
	svg_head(out, MARGIN, 30,
		 by_time ? "Call stacks of system calls, by time in them"
			 : "Call stacks of system calls, by number",
		 snapshot, count);
}

static bool flame_has(const struct flame *flame, enum box_kind kind, size_t module)
{
	for (size_t i = 0; i < flame->nr_boxes; i++) {
		const struct flame_box *box = &flame->boxes[i];

		if (box->kind == kind &&
		    (kind != BOX_USER || flame_box_module(flame, box) == module))
			return true;
	}
	return false;
}

/* Where the next key goes. */
struct legend {
	int x, y;
	FILE *out;
};

static void legend_add(struct legend *legend, const char *class, const char *name)
{
	int width = 24 + (int)(text_width(name) * KEY_CHAR_WIDTH);

	if (legend->x + width > WIDTH - MARGIN) {
		legend->x = MARGIN;
		legend->y += 18;
	}
	svg_rect(legend->out, legend->x, legend->y - 10, 12, 12, class);
	svg_text(legend->out, legend->x + 17, legend->y, "key", name);
	legend->x += width;
}

static int write_legend(const struct flame *flame, FILE *out)
{
	static const struct {
		enum box_kind kind;
		const char *class, *name;
	} keys[] = {
		{ BOX_USER, "m7", "other code" },
		{ BOX_KERNEL, "kernel", "kernel" },
		{ BOX_SYSCALL, "call", "system call" },
		{ BOX_END, "end", "frames missing" },
	};
	struct legend legend = { MARGIN, TOP - 34, out };

	for (size_t i = 0; i < flame->nr_modules; i++) {
		char *name __cleanup(freep) = text_visible(flame->modules[i]), class[24];
		char *label __cleanup(freep) = name ? text_fitted(name, KEY_CHARS) : NULL;

		if (!label)
			return -ENOMEM;
		snprintf(class, sizeof(class), "m%zu", i);
		legend_add(&legend, class, label);
	}
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (flame_has(flame, keys[i].kind, FLAME_MODULES))
			legend_add(&legend, keys[i].class, keys[i].name);
	}
	return 0;
}

static int flame_height(const struct flame *flame)
{
	return TOP + (int)flame->depth * BOX_HEIGHT + BOTTOM;
}

static void write_foot(const struct flame *flame, FILE *out)
{
	int y = flame_height(flame) - 14;

	if (!flame->boxes[0].weight) {
		svg_text(out, MARGIN, y, "note", "No system call was counted.");
		return;
	}
	svg_text(out, MARGIN, y, "note still",
		 "Below a box is its caller, on top of each stack its system call.");
	svg_text(out, MARGIN, y, "note moving",
		 "Below a box is its caller, on top of each stack its system call. Click to zoom "
		 "in, on a lower box or press Esc to zoom out, press / to search.");
}

static int flame_write(const struct flame *flame, FILE *out)
{
	int height = flame_height(flame), err = 0;

	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		"viewBox=\"0 0 %d %d\">\n<title>Call stacks of system calls</title>\n"
		"<style>\n%s</style>\n<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n",
		WIDTH, height, WIDTH, height, style);
	write_head(flame, out);
	err = write_legend(flame, out);
	for (size_t i = 0; i < flame->nr_boxes && !err; i++)
		err = write_box(flame, &flame->boxes[i], out);
	write_foot(flame, out);
	fprintf(out, "<script><![CDATA[\n%s]]></script>\n</svg>\n", script);
	return err;
}

int report_flame(const struct snapshot *snapshot, enum stack_weight weight, FILE *out)
{
	struct flame flame __cleanup(flame_done) = { .boxes = NULL };
	int err = flame_make(snapshot, weight, PARTS, &flame);

	err = err ?: flame_write(&flame, out);
	if (err)
		return err;
	return ferror(out) ? -EIO : 0;
}
