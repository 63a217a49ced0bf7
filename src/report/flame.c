/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lays flame graphs out: stacks are sorted by their steps from the outside in, so that
 * those which share steps are neighbours, and a box is a run of them. Invariant: boxes above a
 * box are within it, and a box comes before those above it.
 */
#include "report/flame.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"

/* A level of a path: process, end if incomplete, frames, system call. A path is a sample. */
struct step {
	enum box_kind kind;
	const struct stack_sample *path;
	const struct stack_frame *frame; /* of frames */
};

void flame_done(struct flame *flame)
{
	free(flame->boxes);
	flame->boxes = NULL;
}

/* --- steps --- */

static bool path_is_incomplete(const struct stack_sample *path)
{
	return view_end_name(path->view.end) != NULL;
}

static size_t path_length(const struct stack_sample *path)
{
	return 1 + path_is_incomplete(path) + path->view.nr_frames + 1;
}

static struct step path_step(const struct stack_sample *path, size_t index)
{
	const struct stack_view *view = &path->view;
	size_t first = 1 + path_is_incomplete(path);
	struct step step = { .path = path };

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

static int compare_steps(const struct step *a, const struct step *b)
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
	size_t i = 0;
	int order = 0;

	/* No path begins with another whole one: only the last step is a system call. */
	for (; !order && i < path_length(a) && i < path_length(b); i++) {
		struct step u = path_step(a, i), v = path_step(b, i);

		order = compare_steps(&u, &v);
	}
	return order;
}

static int paths_make(const struct snapshot *snapshot, enum stack_weight weight,
		      struct sample_list *ret)
{
	size_t kept = 0;

	if (samples_list(snapshot, snapshot->rows, snapshot->nr_rows, weight, ret))
		return -ENOMEM;
	for (size_t i = 0; i < ret->count; i++) {
		if (ret->samples[i].weight)
			ret->samples[kept++] = ret->samples[i];
	}
	ret->count = kept;
	qsort(ret->samples, ret->count, sizeof(*ret->samples), compare_paths);
	return 0;
}

/* --- boxes --- */

struct layout {
	struct flame *flame;
	const struct stack_sample *paths;
	uint64_t least; /* lighter boxes are left out */
};

static int layout_add(struct layout *layout, const struct flame_box *box)
{
	struct flame *flame = layout->flame;

	if (!array_grow(&flame->boxes, flame->nr_boxes, sizeof(*flame->boxes)))
		return -ENOMEM;
	flame->boxes[flame->nr_boxes++] = *box;
	if (flame->depth < box->depth + 1)
		flame->depth = box->depth + 1;
	return 0;
}

/* Paths from first on that take the same step, at most up to end. */
static size_t run_length(const struct layout *layout, size_t first, size_t end, size_t index)
{
	struct step step = path_step(&layout->paths[first], index);
	size_t length = 1;

	for (; first + length < end; length++) {
		struct step next = path_step(&layout->paths[first + length], index);

		if (compare_steps(&step, &next))
			break;
	}
	return length;
}

static struct flame_box box_of(const struct layout *layout, size_t first, size_t count)
{
	const struct stack_sample *paths = &layout->paths[first];
	struct flame_box box = { .kind = BOX_ROOT };

	for (size_t i = 0; i < count; i++) {
		box.weight += paths[i].weight;
		box.calls += paths[i].count.calls;
		box.wall_ns += paths[i].count.wall_ns;
	}
	return box;
}

/* All boxes of paths that share their first steps, side by side, and those above each. */
static int layout_level(struct layout *layout, size_t first, size_t end, size_t index,
			uint64_t start)
{
	size_t length;
	int err = 0;

	for (; first < end && !err; first += length) {
		struct step step = path_step(&layout->paths[first], index);
		struct flame_box box;

		length = run_length(layout, first, end, index);
		box = box_of(layout, first, length);
		box.kind = step.kind;
		box.depth = (unsigned int)index + 1;
		box.start = start;
		box.frame = step.frame;
		box.row = step.path->row;
		box.end = step.path->view.end;
		start += box.weight;
		if (box.weight < layout->least)
			continue;
		err = layout_add(layout, &box);
		if (!err && step.kind != BOX_SYSCALL)
			err = layout_level(layout, first, first + length, index + 1, box.start);
	}
	return err;
}

/* --- colours --- */

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
	return 0;
}

size_t flame_box_module(const struct flame *flame, const struct flame_box *box)
{
	for (size_t i = 0; i < flame->nr_modules; i++) {
		if (!strcmp(flame->modules[i], frame_module(box->frame)))
			return i;
	}
	return FLAME_MODULES;
}

char *flame_box_name(const struct flame *flame, const struct flame_box *box)
{
	char comm[PROCESS_LABEL_MAX], call[ROW_LABEL_MAX];

	if (box->frame)
		return frame_label(box->frame, FRAME_NAME);
	if (box->kind == BOX_END)
		return strdup(view_end_name(box->end));
	if (box->kind == BOX_ROOT)
		return strdup("all");
	row_comm(flame->snapshot, box->row, comm);
	row_label(box->row, call, sizeof(call));
	return strdup(box->kind == BOX_COMM ? comm : call);
}

int flame_make(const struct snapshot *snapshot, enum stack_weight weight, uint64_t parts,
	       struct flame *ret)
{
	struct sample_list list __cleanup(samples_done) = { .samples = NULL };
	struct flame flame __cleanup(flame_done) = { .snapshot = snapshot, .weight = weight };
	struct layout layout = { .flame = &flame };
	struct flame_box root;
	int err = paths_make(snapshot, weight, &list);

	if (err)
		return err;
	layout.paths = list.samples;
	root = box_of(&layout, 0, list.count);
	layout.least = root.weight / parts;
	err = layout_add(&layout, &root);
	err = err ?: layout_level(&layout, 0, list.count, 0, 0);
	err = err ?: flame_choose_modules(&flame);
	if (err)
		return err;
	*ret = flame;
	flame.boxes = NULL;
	return 0;
}
