/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lays flame graphs out. Stacks are sorted by their steps from the outside in, so that those which share steps are
 * neighbours, and a box is a run of them. Invariant: boxes below a box are within it, and come after it.
 */
#include "report/picture.h"

#define NAME_MAX  1000 /* columns of a name, longer ones are cut */
#define WIDEN_MAX 4    /* boxes of so many times the least width are only left out if levels are */

void flame_done(struct flame *flame)
{
	for (size_t i = 0; flame->boxes && i < flame->nr_boxes; i++)
		free(flame->boxes[i].name);
	free(flame->boxes);
	flame->boxes = NULL;
}

const char *const flame_by_names[NR_FLAME_BY] = {
	[FLAME_BY_COMM] = "comm",
	[FLAME_BY_PID] = "pid",
	[FLAME_BY_TID] = "tid",
	[FLAME_BY_UNIT] = "unit",
	[FLAME_BY_CONTAINER] = "container",
	[FLAME_BY_USER] = "user",
	[FLAME_BY_SYSCALL] = "syscall",
};

/* --- owners: whose calls they are ---------------------------------------------------------------- */

/* A key of the group that a sample would be in; "-" if it is not known. To be freed. */
static char *owner_text(const struct snapshot *snapshot, const struct stack_sample *sample,
			const char *name)
{
	const struct column_scope scope = { .snapshot = snapshot, .keys = ~0U };
	const struct group group = { .sum = *sample->row,
				     .process = sample->process,
				     .thread = sample->row->tid
						       ? snapshot_find_thread(snapshot, sample->row)
						       : NULL };
	const struct column *column = NULL;
	char text[COLUMN_TEXT_MAX];

	if (column_find("", name, &column, NULL) || !column_text(column, &scope, &group, text))
		snprintf(text, sizeof(text), "-");
	return strdup(text);
}

/* The process, and its pid where processes are told apart. */
static char *owner_process(const struct snapshot *snapshot, const struct stack_sample *sample,
			   bool has_pid)
{
	char comm[PROCESS_LABEL_MAX], *text;

	row_comm(snapshot, sample->row, comm);
	if (!has_pid || !sample->row->pid)
		return strdup(comm);
	return asprintf(&text, "%s %" PRIu32, comm, sample->row->pid) < 0 ? NULL : text;
}

static char *owner_thread(const struct snapshot *snapshot, const struct stack_sample *sample)
{
	char *name __cleanup(freep) = owner_text(snapshot, sample, "thread"), *text;

	if (!name || asprintf(&text, "thread %" PRIu32 "%s%s", sample->row->tid,
			      strcmp(name, "-") ? " " : "", strcmp(name, "-") ? name : "") < 0)
		return NULL;
	return text;
}

/* Fills the owners of a path; false: no memory. */
static bool path_own(const struct snapshot *snapshot, enum flame_by by, struct flame_path *path)
{
	const struct stack_sample *sample = &path->sample;
	size_t at = 0;

	if (by == FLAME_BY_UNIT || by == FLAME_BY_CONTAINER || by == FLAME_BY_USER) {
		path->owners[at] = owner_text(snapshot, sample, flame_by_names[by]);
		if (!path->owners[at++])
			return false;
	}
	path->owners[at] =
		owner_process(snapshot, sample, by == FLAME_BY_PID || by == FLAME_BY_TID);
	if (!path->owners[at++])
		return false;
	if (by != FLAME_BY_TID || !sample->row->tid)
		return true;
	path->owners[at] = owner_thread(snapshot, sample);
	return path->owners[at];
}

struct path_list {
	struct flame_path *paths; /* owned */
	size_t count;
};

static void paths_done(struct path_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		for (size_t j = 0; j < FLAME_OWNERS; j++)
			free(list->paths[i].owners[j]);
	}
	free(list->paths);
}

/* Adds the stacks of a snapshot that have any weight. */
static int paths_add(struct path_list *list, const struct snapshot *snapshot,
		     const struct stack_options *options, bool is_base)
{
	struct sample_list samples __cleanup(samples_done) = { .samples = NULL };
	struct flame_path *paths;

	if (samples_list(snapshot, snapshot->rows, snapshot->nr_rows, options->weight, &samples))
		return -ENOMEM;
	paths = reallocarray(list->paths, list->count + samples.count + 1, sizeof(*paths));
	if (!paths)
		return -ENOMEM;
	list->paths = paths;
	for (size_t i = 0; i < samples.count; i++) {
		struct flame_path *path = &paths[list->count];

		if (!samples.samples[i].weight)
			continue;
		*path = (struct flame_path){ .sample = samples.samples[i], .in_base = is_base };
		list->count++;
		if (!path_own(snapshot, options->by, path))
			return -ENOMEM;
	}
	return 0;
}

/* --- paths: owners, end if incomplete, frames, system call; inverted from the last to the first ---- */

/* The box of a step without what is in it. */
static struct flame_box path_step(const struct flame *flame, const struct flame_path *path,
				  size_t index)
{
	const struct stack *view = &path->sample.view;
	const size_t nr_owners = path->owners[1] ? 2 : 1;
	const size_t first = nr_owners + (view_end_name(view->end) != NULL);
	const size_t last = first + view->nr_frames;
	const size_t at = flame->options.by == FLAME_BY_SYSCALL ? last - index : index;
	struct flame_box step = { .path = path, .depth = (unsigned int)index + 1 };

	if (at < nr_owners) {
		step.kind = BOX_COMM;
		step.owner = at;
	} else if (at < first) {
		step.kind = BOX_END;
	} else if (at < last) {
		step.frame = &view->frames[view->nr_frames - 1 - (at - first)];
		step.kind = step.frame->kernel ? BOX_KERNEL : BOX_USER;
	} else {
		step.kind = BOX_SYSCALL;
	}
	return step;
}

/* The kind of the last step of each path, and of no other. */
static enum box_kind last_kind(const struct flame *flame)
{
	return flame->options.by == FLAME_BY_SYSCALL ? BOX_COMM : BOX_SYSCALL;
}

static int compare_steps(const struct flame_box *a, const struct flame_box *b)
{
	const struct row *v = a->path->sample.row, *w = b->path->sample.row;

	if (a->kind != b->kind)
		return (int)a->kind - (int)b->kind;
	if (a->frame)
		return frame_compare(a->frame, b->frame, FRAME_FUNCTION);
	if (a->kind == BOX_END)
		return compare_u64(a->path->sample.view.end, b->path->sample.view.end);
	if (a->kind == BOX_SYSCALL)
		return (int)v->abi - (int)w->abi ?: (v->nr > w->nr) - (v->nr < w->nr);
	return strcmp(a->path->owners[a->owner], b->path->owners[b->owner]);
}

static int compare_paths(const void *x, const void *y, void *closure)
{
	const struct flame *flame = closure;

	/* No path begins with another whole one: only the last step is of its kind. */
	for (size_t i = 0;; i++) {
		const struct flame_box u = path_step(flame, x, i), v = path_step(flame, y, i);
		int order = compare_steps(&u, &v);

		if (order || u.kind == last_kind(flame))
			return order;
	}
}

/* --- boxes -------------------------------------------------------------------------------------- */

char *text_fitted(const char *text, size_t columns)
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

static int flame_count(struct flame *flame, const struct flame_box *box)
{
	flame->nr_boxes++;
	flame->depth = (unsigned int)max_u64(flame->depth, box->depth + 1);
	return 0;
}

static int flame_add(struct flame *flame, struct flame_box *box)
{
	char name[ROW_LABEL_MAX] = "all";
	char *full __cleanup(freep) = NULL;

	if (!array_grow(&flame->boxes, flame->nr_boxes, sizeof(*flame->boxes)))
		return -ENOMEM;
	if (box->kind == BOX_END)
		snprintf(name, sizeof(name), "%s", view_end_name(box->path->sample.view.end));
	else if (box->kind == BOX_SYSCALL)
		row_label(box->path->sample.row, name, sizeof(name));
	full = box->frame              ? frame_label(box->frame, FRAME_NAME)
	       : box->kind == BOX_COMM ? strdup(box->path->owners[box->owner])
				       : strdup(name);
	box->name = full ? text_fitted(full, NAME_MAX) : NULL;
	if (!box->name)
		return -ENOMEM;
	flame->boxes[flame->nr_boxes] = *box;
	flame->boxes[flame->nr_boxes].path = NULL;
	return flame_count(flame, box);
}

static void box_weigh(struct flame_box *box, const struct flame_path *paths, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct stack_sample *sample = &paths[i].sample;
		const bool in_base = paths[i].in_base;

		*(in_base ? &box->base_weight : &box->weight) += sample->weight;
		*(in_base ? &box->base_calls : &box->calls) += sample->count.calls;
	}
}

/* Counts a box that is not drawn; outermost: none above it has vanished, too. */
static void leave_out(struct flame *flame, const struct flame_box *box, bool is_outermost)
{
	if (box->weight) {
		flame->nr_left_out++;
		return;
	}
	flame->nr_vanished++;
	flame->vanished += is_outermost ? box->base_weight : 0;
}

/*
 * All boxes of paths that share their first steps, side by side, and those below each. Boxes that are
 * too light are only counted; so are all, if they are not to be kept.
 */
static int flame_add_level(struct flame *flame, bool keep, const struct flame_path *paths,
			   size_t count, size_t index, uint64_t start, bool has_weight)
{
	size_t length;

	for (size_t first = 0; first < count; first += length) {
		struct flame_box box = path_step(flame, &paths[first], index);

		for (length = 1; first + length < count; length++) {
			const struct flame_box next =
				path_step(flame, &paths[first + length], index);

			if (compare_steps(&box, &next))
				break;
		}
		box.start = start;
		box_weigh(&box, &paths[first], length);
		start += box.weight;
		if (!box.weight || box.weight < flame->least || box.depth >= flame->levels)
			leave_out(flame, &box, has_weight);
		else if (keep ? flame_add(flame, &box) : flame_count(flame, &box))
			return -ENOMEM;
		flame->too_deep |= box.depth >= flame->levels;
		if (box.kind != last_kind(flame) && box.depth < FLAME_LEVELS &&
		    flame_add_level(flame, keep, &paths[first], length, index + 1, box.start,
				    box.weight > 0))
			return -ENOMEM;
	}
	return 0;
}

static void forget_boxes(struct flame *flame)
{
	flame->nr_boxes = flame->nr_left_out = flame->nr_vanished = 0;
	flame->vanished = 0;
	flame->depth = 0;
	flame->too_deep = false;
}

/*
 * The picture stays of a size that a browser opens at once: if there are too many boxes, first those that are
 * narrow go, then the deepest levels. Many stacks of the same weight would leave nothing but the root otherwise.
 */
static int flame_add_all(struct flame *flame, const struct flame_path *paths, size_t count)
{
	struct flame_box root = { .kind = BOX_ROOT };
	uint64_t wide;

	box_weigh(&root, paths, count);
	flame->least = root.weight / flame->bounds.parts + (root.weight % flame->bounds.parts != 0);
	flame->levels = FLAME_LEVELS;
	wide = flame->least * WIDEN_MAX;
	for (;;) {
		forget_boxes(flame);
		if (flame_add_level(flame, false, paths, count, 0, 0, true))
			return -ENOMEM;
		if (flame->nr_boxes < flame->bounds.boxes || flame->least >= root.weight)
			break;
		if (flame->least < wide || flame->depth <= 2)
			flame->least *= 2;
		else
			flame->levels = flame->depth - flame->depth / 8 - 1;
	}
	forget_boxes(flame);
	return flame_add(flame, &root) ?: flame_add_level(flame, true, paths, count, 0, 0, true);
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

int flame_make(const struct snapshot *snapshot, const struct snapshot *base,
	       const struct stack_options *options, struct flame_bounds bounds, struct flame *ret)
{
	struct path_list list __cleanup(paths_done) = { .paths = NULL };
	struct flame flame __cleanup(flame_done) = {
		.snapshot = snapshot, .base = base, .options = *options, .bounds = bounds
	};

	if (paths_add(&list, snapshot, options, false) ||
	    (base && paths_add(&list, base, options, true)))
		return -ENOMEM;
	qsort_r(list.paths, list.count, sizeof(*list.paths), compare_paths, &flame);
	if (flame_add_all(&flame, list.paths, list.count) || flame_choose_modules(&flame))
		return -ENOMEM;
	*ret = flame;
	flame.boxes = NULL;
	return 0;
}
