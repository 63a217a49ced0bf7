/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lays flame graphs out and draws them. Stacks are sorted by their steps from the outside in, so that
 * those which share steps are neighbours, and a box is a run of them. The root is on top, so that a
 * picture of any depth opens with it. Invariant: boxes below a box are within it, and come after it.
 *
 * Without its script a graph is a picture that can be read; what the script needs beyond that is in
 * data-x and data-w of each box, in the unit of the weight. All text has been escaped: nothing that a
 * program chose gets into the script.
 */
#include "report/picture.h"

#define WIDTH          1200
#define MARGIN         10
#define GRAPH          (WIDTH - 2 * MARGIN)
#define TOP            124 /* of the root: below title, notes and legend */
#define BOTTOM         12  /* below the deepest box */
#define BOX_HEIGHT     18
#define CHAR_WIDTH     7.23 /* of the font in a box */
#define GAP            .6   /* between boxes that are wide enough for one */
#define GAP_MIN        3
#define PADDING        4     /* of the text in a box */
#define LABEL_MIN      3     /* columns, with fewer there is no text */
#define PARTS          GRAPH /* of a pixel each */
#define NAME_MAX       1000  /* columns of a name, longer ones are cut */
#define KEY_CHARS      22    /* longer names of modules are cut */
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

void flame_done(struct flame *flame)
{
	for (size_t i = 0; flame->boxes && i < flame->nr_boxes; i++)
		free(flame->boxes[i].name);
	free(flame->boxes);
	flame->boxes = NULL;
}

/* --- paths: process, end if incomplete, frames, system call ------------------------------------- */

/* The box of a step without what is in it. */
static struct flame_box path_step(const struct stack_sample *path, size_t index)
{
	const struct stack *view = &path->view;
	size_t first = view_end_name(view->end) ? 2 : 1;
	struct flame_box step = { .path = path, .depth = (unsigned int)index + 1 };

	if (index == 0) {
		step.kind = BOX_COMM;
	} else if (index < first) {
		step.kind = BOX_END;
	} else if (index < first + view->nr_frames) {
		step.frame = &view->frames[view->nr_frames - 1 - (index - first)];
		step.kind = step.frame->kernel ? BOX_KERNEL : BOX_USER;
	} else {
		step.kind = BOX_SYSCALL;
	}
	return step;
}

static int compare_steps(const struct flame_box *a, const struct flame_box *b)
{
	const struct process *x = a->path->process, *y = b->path->process;
	const struct row *v = a->path->row, *w = b->path->row;

	if (a->kind != b->kind)
		return (int)a->kind - (int)b->kind;
	if (a->frame)
		return frame_compare(a->frame, b->frame, FRAME_FUNCTION);
	if (a->kind == BOX_END)
		return compare_u64(a->path->view.end, b->path->view.end);
	if (a->kind == BOX_SYSCALL)
		return (int)v->abi - (int)w->abi ?: (v->nr > w->nr) - (v->nr < w->nr);
	if (!x || !y)
		return (x != NULL) - (y != NULL);
	return strncmp(x->comm, y->comm, PROCESS_COMM_SIZE);
}

static int compare_paths(const void *x, const void *y)
{
	const struct stack_sample *a = x, *b = y;

	/* No path begins with another whole one: only the last step is a system call. */
	for (size_t i = 0;; i++) {
		const struct flame_box u = path_step(a, i), v = path_step(b, i);
		int order = compare_steps(&u, &v);

		if (order || u.kind == BOX_SYSCALL)
			return order;
	}
}

/* --- boxes -------------------------------------------------------------------------------------- */

/* A copy of a text, cut to so many columns, the last one an ellipsis; to be freed. */
static char *text_fitted(const char *text, size_t columns)
{
	size_t used = 0, cut = 0, at = 0;
	char *copy;

	while (text[at]) {
		const unsigned char *byte = (const unsigned char *)text + at;

		/* Characters of the East take two columns, as far as it matters here. */
		used += *byte >= 0xe1 && (*byte > 0xe1 || byte[1] >= 0x84) &&
					!(*byte == 0xe2 && byte[1] < 0xba)
				? 2
				: 1;
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

static int flame_add(struct flame *flame, struct flame_box *box)
{
	char name[PROCESS_LABEL_MAX] = "all";
	char *full __cleanup(freep) = NULL;

	if (!array_grow(&flame->boxes, flame->nr_boxes, sizeof(*flame->boxes)))
		return -ENOMEM;
	if (box->kind == BOX_COMM)
		row_comm(flame->snapshot, box->path->row, name);
	else if (box->kind == BOX_END)
		snprintf(name, sizeof(name), "%s", view_end_name(box->path->view.end));
	else if (box->kind == BOX_SYSCALL)
		row_label(box->path->row, name, sizeof(name));
	full = box->frame ? frame_label(box->frame, FRAME_NAME) : strdup(name);
	box->name = full ? text_fitted(full, NAME_MAX) : NULL;
	if (!box->name)
		return -ENOMEM;
	flame->boxes[flame->nr_boxes] = *box;
	flame->boxes[flame->nr_boxes++].path = NULL;
	flame->depth = (unsigned int)max_u64(flame->depth, box->depth + 1);
	return 0;
}

static void box_weigh(struct flame_box *box, const struct stack_sample *paths, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		box->weight += paths[i].weight;
		box->calls += paths[i].count.calls;
		box->wall_ns += paths[i].count.wall_ns;
	}
}

/*
 * All boxes of paths that share their first steps, side by side, and those below each. Boxes that are
 * too light are only counted; so are all, if they are not to be kept.
 */
static int flame_add_level(struct flame *flame, bool keep, const struct stack_sample *paths,
			   size_t count, size_t index, uint64_t start)
{
	size_t length;

	for (size_t first = 0; first < count; first += length) {
		struct flame_box box = path_step(&paths[first], index);

		for (length = 1; first + length < count; length++) {
			const struct flame_box next = path_step(&paths[first + length], index);

			if (compare_steps(&box, &next))
				break;
		}
		box.start = start;
		box_weigh(&box, &paths[first], length);
		start += box.weight;
		if (box.weight < flame->least || box.depth >= FLAME_LEVELS)
			flame->nr_left_out++;
		else if (!keep)
			flame->nr_boxes++;
		else if (flame_add(flame, &box))
			return -ENOMEM;
		flame->too_deep |= box.depth >= FLAME_LEVELS;
		if (box.kind != BOX_SYSCALL && box.depth < FLAME_LEVELS &&
		    flame_add_level(flame, keep, &paths[first], length, index + 1, box.start))
			return -ENOMEM;
	}
	return 0;
}

/* The picture stays of a size that a browser opens at once: boxes must be wider if there are too many. */
static int flame_add_all(struct flame *flame, const struct stack_sample *paths, size_t count)
{
	struct flame_box root = { .kind = BOX_ROOT };
	bool fits = false;

	box_weigh(&root, paths, count);
	flame->least = root.weight / flame->parts + (root.weight % flame->parts != 0);
	while (!fits) {
		flame->nr_boxes = flame->nr_left_out = 0;
		if (flame_add_level(flame, false, paths, count, 0, 0))
			return -ENOMEM;
		fits = flame->nr_boxes < FLAME_BOXES || flame->least >= root.weight;
		flame->least *= fits ? 1 : 2;
	}
	flame->nr_boxes = flame->nr_left_out = 0;
	return flame_add(flame, &root) ?: flame_add_level(flame, true, paths, count, 0, 0);
}

struct share {
	const char *module;
	uint64_t weight; /* of all boxes: its area */
};

static int compare_shares(const void *x, const void *y)
{
	const struct share *a = x, *b = y;

	return compare_u64(b->weight, a->weight) ?: strcmp(a->module, b->module);
}

static int flame_choose_modules(struct flame *flame)
{
	struct share *shares __cleanup(freep) = calloc(flame->nr_boxes + 1, sizeof(*shares));
	size_t count = 0;

	if (!shares)
		return -ENOMEM;
	for (size_t i = 0; i < flame->nr_boxes; i++) {
		const struct flame_box *box = &flame->boxes[i];
		const char *module = box->kind == BOX_USER ? frame_module(box->frame) : "";
		size_t at = 0;

		if (!*module)
			continue;
		while (at < count && strcmp(shares[at].module, module) != 0)
			at++;
		shares[at].module = module;
		shares[at].weight += box->weight;
		count += at == count;
	}
	qsort(shares, count, sizeof(*shares), compare_shares);
	for (size_t i = 0; i < count && i < FLAME_MODULES; i++)
		flame->modules[flame->nr_modules++] = shares[i].module;
	for (size_t i = 0; i < flame->nr_boxes; i++) {
		struct flame_box *box = &flame->boxes[i];

		while (box->kind == BOX_USER && box->module < flame->nr_modules &&
		       strcmp(flame->modules[box->module], frame_module(box->frame)) != 0)
			box->module++;
		if (box->module == flame->nr_modules)
			box->module = FLAME_MODULES;
		flame->has[box->kind] |= box->kind != BOX_USER || box->module == FLAME_MODULES;
	}
	return 0;
}

int flame_make(const struct snapshot *snapshot, enum stack_weight weight, uint64_t parts,
	       struct flame *ret)
{
	struct sample_list list __cleanup(samples_done) = { .samples = NULL };
	struct flame flame __cleanup(
		flame_done) = { .snapshot = snapshot, .weight = weight, .parts = parts };
	size_t kept = 0;

	if (samples_list(snapshot, snapshot->rows, snapshot->nr_rows, weight, &list))
		return -ENOMEM;
	for (size_t i = 0; i < list.count; i++) {
		if (list.samples[i].weight)
			list.samples[kept++] = list.samples[i];
	}
	qsort(list.samples, kept, sizeof(*list.samples), compare_paths);
	if (flame_add_all(&flame, list.samples, kept) || flame_choose_modules(&flame))
		return -ENOMEM;
	*ret = flame;
	flame.boxes = NULL;
	return 0;
}

/* --- drawing --------------------------------------------------------------------------------- */

static double weight_px(const struct flame *flame, uint64_t weight)
{
	uint64_t all = flame->boxes[0].weight;

	return all ? (double)weight / (double)all * GRAPH : GRAPH;
}

/* Three lines, of which the script makes its tooltip: name, what it is, how much. */
static void write_tooltip(const struct flame *flame, const struct flame_box *box, FILE *out)
{
	uint64_t all = flame->boxes[0].weight;
	double pct = all ? (double)box->weight / (double)all * 100 : 0;
	char age[AGE_MAX];

	fputs("<title>", out);
	svg_escape(box->name, out);
	fputc('\n', out);
	if (box->frame) {
		char *module __cleanup(freep) = text_visible(frame_module(box->frame));

		svg_escape(module && *module ? module : "in no file", out);
		fputs(box->frame->inlined ? ", inlined" : "", out);
	} else {
		fputs(kinds[box->kind].note, out);
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
	double x = MARGIN + weight_px(flame, box->start), width = weight_px(flame, box->weight);
	int y = (int)box->depth * BOX_HEIGHT;
	int columns = (int)((width - 2 * PADDING) / CHAR_WIDTH);
	char *label __cleanup(freep) = text_fitted(box->name, columns > 0 ? (size_t)columns : 0);
	uint32_t hash = 2166136261;

	if (!label)
		return -ENOMEM;
	/* FNV-1a: the shade of a function is the same wherever it stands, in every picture. */
	for (const char *at = box->name; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 16777619;
	fprintf(out, "<g class=\"box %s", kinds[box->kind].class);
	if (box->kind == BOX_USER)
		fprintf(out, " m%zu", box->module);
	if (box->frame)
		fprintf(out, " h%u%s", hash >> 13 & 3, box->frame->inlined ? " inlined" : "");
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

/* Modules with a colour first, then what else is there. */
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
	int x = MARGIN, y = TOP - 34;

	for (size_t i = 0; i < flame->nr_modules + ARRAY_SIZE(keys); i++) {
		size_t key = i - flame->nr_modules;
		bool is_module = i < flame->nr_modules;
		char *name __cleanup(freep) =
			text_visible(is_module ? flame->modules[i] : keys[key].name);
		char *label __cleanup(freep) = name ? text_fitted(name, KEY_CHARS) : NULL;
		char class[24];
		int width;

		if (!label)
			return -ENOMEM;
		if (!is_module && !flame->has[keys[key].kind])
			continue;
		snprintf(class, sizeof(class), "m%zu", i);
		width = 24 + (int)(text_width(label) * KEY_CHAR_WIDTH);
		if (x + width > WIDTH - MARGIN) {
			x = MARGIN;
			y += 18;
		}
		svg_rect(out, x, y - 10, 12, 12, is_module ? class : keys[key].class);
		svg_text(out, x + 17, y, "key", label);
		x += width;
	}
	return 0;
}

/* How to read it, and what it does not show. */
static void write_note(const struct flame *flame, FILE *out)
{
	uint64_t widest = flame->least ? flame->least - 1 : 0;
	int pixels = (int)weight_px(flame, widest) + 1;
	char text[320] = "No system call was counted.", width[32] = "a pixel", level[40] = "";
	size_t left_out = flame->nr_left_out;

	if (pixels > 1)
		snprintf(width, sizeof(width), "%d pixels", pixels);
	if (flame->too_deep)
		snprintf(level, sizeof(level), " or below level %d", FLAME_LEVELS);
	if (left_out)
		snprintf(text, sizeof(text),
			 "Above a box is its caller, at the end of each stack its system call. "
			 "%zu frame%s narrower than %s%s %s not drawn; those above include them.",
			 left_out, plural(left_out), width, level, left_out == 1 ? "is" : "are");
	else if (flame->boxes[0].weight)
		snprintf(text, sizeof(text),
			 "Above a box is its caller, at the end of each stack its system call.");
	svg_text(out, MARGIN, 67, "note", text);
}

static int flame_write(const struct flame *flame, FILE *out)
{
	int height = TOP + (int)flame->depth * BOX_HEIGHT + BOTTOM, err;
	bool by_time = flame->weight == STACK_WEIGHT_TIME;
	const struct snapshot *snapshot = flame->snapshot;
	char age[AGE_MAX], count[64];
	uint64_t calls = 0;

	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flame\" width=\"%d\" "
		"height=\"%d\" viewBox=\"0 0 %d %d\">\n<title>Call stacks of system calls</title>\n"
		"<style>\n%s</style>\n<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n",
		WIDTH, height, WIDTH, height, style);
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
	write_note(flame, out);
	err = write_legend(flame, out);
	fprintf(out, "<g class=\"boxes\" transform=\"translate(0 %d)\">\n", TOP);
	for (size_t i = 0; i < flame->nr_boxes && !err; i++)
		err = write_box(flame, &flame->boxes[i], out);
	fprintf(out, "</g>\n<script><![CDATA[\n%s]]></script>\n</svg>\n", script);
	return err ?: (ferror(out) ? -EIO : 0);
}

int report_flame(const struct snapshot *snapshot, const struct stack_options *options, FILE *out)
{
	struct flame flame __cleanup(flame_done) = { .boxes = NULL };

	if (flame_make(snapshot, options->weight, PARTS, &flame))
		return -ENOMEM;
	return flame_write(&flame, out);
}
