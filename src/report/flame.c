/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Draws flame graphs. The root is on top, so that a picture of any depth opens with it.
 *
 * Without its script a graph is a picture that can be read; what the script needs beyond that is in
 * data-x and data-w of each box, in the unit of the weight. All text has been escaped: nothing that a
 * program chose gets into the script.
 */
#include "report/picture.h"

#include <math.h>

#define WIDTH          1200
#define MARGIN         10
#define GRAPH          (WIDTH - 2 * MARGIN)
#define TOP            124 /* of the root: below title, notes and legend */
#define BOTTOM         12  /* below the deepest box */
#define BOX_HEIGHT     18
#define CHAR_WIDTH     7.23 /* of the font in a box */
#define GAP            .6   /* between boxes that are wide enough for one */
#define GAP_MIN        3
#define PADDING        4  /* of the text in a box */
#define LABEL_MIN      3  /* columns, with fewer there is no text */
#define KEY_CHARS      22 /* longer names of modules are cut */
#define KEY_CHAR_WIDTH 7.0

static const char style[] =
#include "flame.css.inc"
	;

static const char script[] =
#include "flame.js.inc"
	;

static const struct {
	const char *class, *note;
} kinds[NR_BOX_KIND] = {
	[BOX_ROOT] = { "root", "" },
	[BOX_COMM] = { "comm", "process" },
	[BOX_END] = { "end", "frames are missing here" },
	[BOX_USER] = { "user", "" },
	[BOX_KERNEL] = { "kernel", "" },
	[BOX_SYSCALL] = { "call", "system call" },
};

static const struct {
	const char *by;
	bool is_time, is_count;
	const char *unit; /* behind a time, or the noun of a count */
	/* The note of a difference, by amounts per second and by shares. */
	const char *rate, *share;
} weights[NR_STACK_WEIGHT] = {
	[STACK_WEIGHT_CALLS] = { .by = "by number",
				 .rate = "how many more or fewer calls per second it makes",
				 .share = "how much larger or smaller its share of all calls is" },
	[STACK_WEIGHT_TIME] = { .by = "by time in them",
				.is_time = true,
				.unit = "",
				.rate = "how much more or less time per second it takes",
				.share = "how much larger or smaller its share of all time is" },
	[STACK_WEIGHT_CPU] = { .by = "by CPU time in them",
			       .is_time = true,
			       .unit = " of CPU time",
			       .rate = "how much more or less CPU time per second it takes",
			       .share = "how much larger or smaller its share of the CPU time is" },
	[STACK_WEIGHT_ERRORS] = { .by = "by errors",
				  .is_count = true,
				  .unit = " error",
				  .rate = "how many more or fewer errors per second it gets",
				  .share =
					  "how much larger or smaller its share of all errors is" },
};

/* --- drawing --------------------------------------------------------------------------------- */

static double weight_px(const struct flame *flame, uint64_t weight)
{
	uint64_t all = flame->boxes[0].weight;

	return all ? (double)weight / (double)all * GRAPH : GRAPH;
}

/* --- differences --- */

/* Classes d0 to d7 of the style sheet, by how many times as much it is: up to that much. */
static const struct {
	double most;
	const char *name;
} changes[] = {
	{ .5, "half or less" },        { .8, "-50 to -20%" },  { .95, "-20 to -5%" },
	{ 1.05, "about the same" },    { 1.25, "+5 to +25%" }, { 1.999999, "+25 to +100%" },
	{ INFINITY, "twice or more" }, { NAN, "new" },
};

#define CHANGE_NEW (ARRAY_SIZE(changes) - 1)

/* Returns the number by which the weights of a side are divided before they are compared. */
static double side_whole(const struct flame *flame, bool is_base)
{
	const struct snapshot *snapshot = is_base ? flame->base : flame->snapshot;
	const struct flame_box *root = &flame->boxes[0];
	const uint64_t whole = flame->is_normalized ? is_base ? root->base_weight : root->weight
						    : snapshot->elapsed_ns;

	return whole ? (double)whole : 1;
}

/* The weight as a multiple of that in the base. */
static double box_ratio(const struct flame *flame, const struct flame_box *box)
{
	return (double)box->weight / side_whole(flame, false) /
	       ((double)box->base_weight / side_whole(flame, true));
}

static size_t box_change(const struct flame *flame, const struct flame_box *box)
{
	size_t change = 0;

	if (!box->base_weight)
		return box->weight ? CHANGE_NEW : 3;
	while (box_ratio(flame, box) > changes[change].most)
		change++;
	return change;
}

/* --- boxes --- */

#define WEIGHT_MAX 64

/* "4.56 ms in ", "3 errors in "; nothing where the calls themselves are the weight. */
static const char *weight_text(const struct flame *flame, uint64_t weight, char buf[WEIGHT_MAX])
{
	const char *unit = weights[flame->options.weight].unit;
	char age[AGE_MAX];

	format_age(weight, age, sizeof(age));
	buf[0] = '\0';
	if (weights[flame->options.weight].is_time)
		snprintf(buf, WEIGHT_MAX, "%s%s in ", age, unit);
	else if (weights[flame->options.weight].is_count)
		snprintf(buf, WEIGHT_MAX, "%" PRIu64 "%s%s in ", weight, unit, plural(weight));
	return buf;
}

static void write_amount(const struct flame *flame, uint64_t calls, uint64_t weight, double pct,
			 FILE *out)
{
	char how_much[WEIGHT_MAX];

	fprintf(out, "%s%" PRIu64 " call%s, %.2f%%", weight_text(flame, weight, how_much), calls,
		plural(calls), pct);
}

static double part_pct(uint64_t part, uint64_t all)
{
	return all ? (double)part / (double)all * 100 : 0;
}

/* Returns the word for a box: process, thread, unit and so on. */
static const char *box_note(const struct flame *flame, const struct flame_box *box)
{
	static const char *const notes[NR_FLAME_BY][FLAME_OWNERS] = {
		[FLAME_BY_TID] = { "process", "thread" },
		[FLAME_BY_UNIT] = { "unit", "process" },
		[FLAME_BY_CONTAINER] = { "container", "process" },
		[FLAME_BY_USER] = { "user", "process" },
	};
	const char *note = notes[flame->options.by][box->owner];

	return box->kind == BOX_COMM && note ? note : kinds[box->kind].note;
}

/* Lines of which the script makes its tooltip: name, what it is, how much; and how much in the base. */
static void write_tooltip(const struct flame *flame, const struct flame_box *box, FILE *out)
{
	const struct flame_box *root = &flame->boxes[0];

	fputs("<title>", out);
	svg_escape(box->name, out);
	fputc('\n', out);
	if (box->frame) {
		char *module __cleanup(freep) = text_visible(frame_module(box->frame));

		svg_escape(module && *module ? module : "in no file", out);
		fputs(box->frame->inlined ? ", inlined" : "", out);
	} else {
		fputs(box_note(flame, box), out);
	}
	fputc('\n', out);
	write_amount(flame, box->calls, box->weight, part_pct(box->weight, root->weight), out);
	if (flame->base) {
		fputs("\nin A ", out);
		write_amount(flame, box->base_calls, box->base_weight,
			     part_pct(box->base_weight, root->base_weight), out);
		if (box->base_weight)
			fprintf(out, ": now %.2f times as much%s", box_ratio(flame, box),
				flame->is_normalized ? " of the whole" : " per second");
	}
	fputs("</title>", out);
}

/* Where the colours of kinds would say nothing, those of changes do. */
static void write_classes(const struct flame *flame, const struct flame_box *box, FILE *out)
{
	uint32_t hash = 2166136261;

	if (flame->base) {
		fprintf(out, "d%zu", box_change(flame, box));
		return;
	}
	/* FNV-1a: the shade of a function is the same wherever it stands, in every picture. */
	for (const char *at = box->name; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 16777619;
	fputs(kinds[box->kind].class, out);
	if (box->kind == BOX_USER)
		fprintf(out, " m%zu", box->module);
	if (box->frame)
		fprintf(out, " h%u", hash >> 13 & 3);
}

static int write_box(const struct flame *flame, const struct flame_box *box, FILE *out)
{
	double x = MARGIN + weight_px(flame, box->start), width = weight_px(flame, box->weight);
	int y = (int)box->depth * BOX_HEIGHT;
	int columns = (int)((width - 2 * PADDING) / CHAR_WIDTH);
	char *label __cleanup(freep) = text_fitted(box->name, columns > 0 ? (size_t)columns : 0);

	if (!label)
		return -ENOMEM;
	fputs("<g class=\"box ", out);
	write_classes(flame, box, out);
	if (box->frame && box->frame->inlined)
		fputs(" inlined", out);
	fprintf(out, "\" data-x=\"%" PRIu64 "\" data-w=\"%" PRIu64 "\">", box->start, box->weight);
	write_tooltip(flame, box, out);
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

/* A coloured square and its text, where the next one goes. Returns 0 or -ENOMEM. */
static int write_key(const char *text, const char *class, int *x, int *y, FILE *out)
{
	char *name __cleanup(freep) = text_visible(text);
	char *label __cleanup(freep) = name ? text_fitted(name, KEY_CHARS) : NULL;
	int width;

	if (!label)
		return -ENOMEM;
	width = 24 + (int)(text_width(label) * KEY_CHAR_WIDTH);
	if (*x + width > WIDTH - MARGIN) {
		*x = MARGIN;
		*y += 18;
	}
	svg_rect(out, *x, *y - 10, 12, 12, class);
	svg_text(out, *x + 17, *y, "key", label);
	*x += width;
	return 0;
}

/* Modules with a colour first, then what else is there; of a difference its changes. */
static int write_legend(const struct flame *flame, FILE *out)
{
	static const struct {
		enum box_kind kind;
		const char *class, *name;
	} keys[] = {
		{ BOX_USER, "m5", "other code" },
		{ BOX_KERNEL, "kernel", "kernel" },
		{ BOX_SYSCALL, "call", "system call" },
		{ BOX_END, "end", "frames missing" },
	};
	int x = MARGIN, y = TOP - 34, err = 0;
	char class[24];

	for (size_t i = 0; flame->base && i < ARRAY_SIZE(changes) && !err; i++) {
		snprintf(class, sizeof(class), "d%zu", i);
		err = write_key(changes[i].name, class, &x, &y, out);
	}
	for (size_t i = 0; !flame->base && i < flame->nr_modules && !err; i++) {
		snprintf(class, sizeof(class), "m%zu", i);
		err = write_key(flame->modules[i], class, &x, &y, out);
	}
	for (size_t i = 0; !flame->base && i < ARRAY_SIZE(keys) && !err; i++) {
		if (flame->has[keys[i].kind])
			err = write_key(keys[i].name, keys[i].class, &x, &y, out);
	}
	return err;
}

#define NOTE_MAX 700

/* Explains widths and colours of a difference, and counts frames that vanished. Returns the length. */
static size_t write_compared(const struct flame *flame, char note[NOTE_MAX])
{
	char a[TEXT_ESCAPED_MAX(40)], b[TEXT_ESCAPED_MAX(40)];
	size_t used;

	text_escape_visible(flame->base_label, (sizeof(a) - 1) / 4, a);
	text_escape_visible(flame->label, (sizeof(b) - 1) / 4, b);
	used = (size_t)snprintf(note, NOTE_MAX,
				"Widths are those of B, %s; colours say %s than in A, %s. ", b,
				flame->is_normalized ? weights[flame->options.weight].share
						     : weights[flame->options.weight].rate,
				a);
	if (flame->nr_vanished)
		used += (size_t)snprintf(note + used, NOTE_MAX - used,
					 "%zu frame%s of A, %.1f%% of it, %s not in B. ",
					 flame->nr_vanished, plural(flame->nr_vanished),
					 part_pct(flame->vanished, flame->boxes[0].base_weight),
					 flame->nr_vanished == 1 ? "is" : "are");
	return used;
}

/* Explains the picture, and counts the frames that it leaves out. */
static void write_note(const struct flame *flame, FILE *out)
{
	uint64_t widest = flame->least ? flame->least - 1 : 0;
	int pixels = (int)weight_px(flame, widest) + 1;
	char text[NOTE_MAX + 320], width[32] = "a pixel", level[40] = "";
	size_t left_out = flame->nr_left_out, used = 0;

	if (pixels > 1)
		snprintf(width, sizeof(width), "%d pixels", pixels);
	if (flame->too_deep)
		snprintf(level, sizeof(level), " or below level %u", flame->levels);
	if (flame->base)
		used = write_compared(flame, text);
	used += (size_t)snprintf(
		text + used, sizeof(text) - used, "%s",
		!flame->boxes[0].weight ? "No system call was counted."
		: flame->options.by == FLAME_BY_SYSCALL
			? "Below a system call is what called it, at the end of each stack its "
			  "process."
			: "Above a box is its caller, at the end of each stack its system call.");
	if (left_out)
		snprintf(text + used, sizeof(text) - used,
			 " %zu frame%s narrower than %s%s %s not drawn; those above include them.",
			 left_out, plural(left_out), width, level, left_out == 1 ? "is" : "are");
	svg_text(out, MARGIN, 67, "note", text);
}

static void write_head(const struct flame *flame, FILE *out)
{
	const struct snapshot *snapshot = flame->snapshot;
	const bool is_inverted = flame->options.by == FLAME_BY_SYSCALL;
	char how_much[WEIGHT_MAX], count[WEIGHT_MAX + 32], title[96];
	uint64_t calls = 0;

	/* All calls, also those without a time, which have no box in a graph of times. */
	for (size_t i = 0; i < snapshot->nr_rows; i++)
		calls += snapshot->rows[i]->calls;
	snprintf(count, sizeof(count), "%s%" PRIu64 " call%s",
		 weight_text(flame, flame->boxes[0].weight, how_much), calls, plural(calls));
	snprintf(title, sizeof(title), "%s of system calls, %s",
		 flame->base   ? is_inverted ? "Changes in callers" : "Changes in call stacks"
		 : is_inverted ? "Callers"
			       : "Call stacks",
		 weights[flame->options.weight].by);
	svg_head(out, MARGIN, 30, title, snapshot, count);
}

/* In a page style and script are the page's. */
static int flame_write(const struct flame *flame, bool in_page, FILE *out)
{
	int height = TOP + (int)flame->depth * BOX_HEIGHT + BOTTOM, err;

	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flame\" width=\"%d\" "
		"height=\"%d\" viewBox=\"0 0 %d %d\">\n<title>Call stacks of system "
		"calls</title>\n",
		WIDTH, height, WIDTH, height);
	if (!in_page)
		fprintf(out, "<style>\n%s</style>\n", style);
	fputs("<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n", out);
	write_head(flame, out);
	write_note(flame, out);
	err = write_legend(flame, out);
	fprintf(out, "<g class=\"boxes\" transform=\"translate(0 %d)\">\n", TOP);
	for (size_t i = 0; i < flame->nr_boxes && !err; i++)
		err = write_box(flame, &flame->boxes[i], out);
	fputs("</g>\n", out);
	if (!in_page)
		fprintf(out, "<script><![CDATA[\n%s]]></script>\n", script);
	fputs("</svg>\n", out);
	return err ?: (ferror(out) ? -EIO : 0);
}

/* Boxes are at least a pixel wide. */
static struct flame_bounds bounds_of(bool in_page)
{
	return (struct flame_bounds){ GRAPH, in_page ? FLAME_PAGE_BOXES : FLAME_BOXES };
}

static int flame_draw(const struct snapshot *snapshot, const struct stack_options *options,
		      bool in_page, FILE *out)
{
	struct flame flame __cleanup(flame_done) = { .boxes = NULL };

	if (flame_make(snapshot, NULL, options, bounds_of(in_page), &flame))
		return -ENOMEM;
	return flame_write(&flame, in_page, out);
}

int report_flame(const struct snapshot *snapshot, const struct stack_options *options, FILE *out)
{
	return flame_draw(snapshot, options, false, out);
}

int flame_write_part(const struct snapshot *snapshot, const struct stack_options *options,
		     FILE *out)
{
	return flame_draw(snapshot, options, true, out);
}

static int difference_draw(const struct compare_input *input, const struct stack_options *options,
			   bool is_normalized, bool in_page, FILE *out)
{
	struct flame flame __cleanup(flame_done) = { .boxes = NULL };

	if (flame_make(input->b.snapshot, input->a.snapshot, options, bounds_of(in_page), &flame))
		return -ENOMEM;
	flame.label = input->b.label;
	flame.base_label = input->a.label;
	flame.is_normalized = is_normalized;
	return flame_write(&flame, in_page, out);
}

int report_flame_difference(const struct compare_input *input, const struct stack_options *options,
			    bool is_normalized, FILE *out)
{
	return difference_draw(input, options, is_normalized, false, out);
}

int flame_difference_write_part(const struct compare_input *input,
				const struct stack_options *options, FILE *out)
{
	return difference_draw(input, options, false, true, out);
}
