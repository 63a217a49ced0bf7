/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Orders the lines of processes as a tree. Parents are read from /proc once for each interval, when the tree
 * is first shown: on a large host this takes too long for every key.
 */
#include "tui/top.h"

#define NO_LINE SIZE_MAX

/* The pid of a parent; 0: it is not known. */
static uint32_t parent_of(uint32_t pid)
{
	char path[32], text[256] = "";
	unsigned int parent = 0;
	const char *end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	/* State and parent follow the name, which may have any characters. */
	if (fread(text, 1, sizeof(text) - 1, file) > 0 && (end = strrchr(text, ')')))
		sscanf(end, ") %*c %u", &parent);
	fclose(file);
	return parent;
}

struct node {
	uint32_t pid;
	size_t index; /* among the shown lines */
};

static int compare_lineages(const void *a, const void *b)
{
	return compare_u64(((const struct lineage *)a)->pid, ((const struct lineage *)b)->pid);
}

/* Reads the parents of all live processes, whether the filter shows them or not. 0 or -ENOMEM. */
static int read_parents(struct top *top)
{
	const struct rates *rates = top->rates;

	if (top->parents)
		return 0;
	top->parents = calloc(rates->nr_lines + 1, sizeof(*top->parents));
	if (!top->parents)
		return -ENOMEM;
	top->nr_parents = 0;
	for (size_t i = 0; i < rates->nr_lines; i++) {
		const struct rate *line = &rates->lines[i];

		if (line->pid && line->threads)
			top->parents[top->nr_parents++] =
				(struct lineage){ line->pid, parent_of(line->pid) };
	}
	qsort(top->parents, top->nr_parents, sizeof(*top->parents), compare_lineages);
	return 0;
}

/* The parent of the process of a line; 0: it has none, or has ended. */
static uint32_t line_parent(const struct top *top, const struct rate *line)
{
	struct lineage key = { .pid = line->pid };
	const struct lineage *found;

	if (!line->pid || !line->threads || !top->nr_parents)
		return 0;
	found = bsearch(&key, top->parents, top->nr_parents, sizeof(key), compare_lineages);
	return found ? found->parent : 0;
}

/* The lines of a tree, by their index; that behind the last one is above all roots. */
struct tree {
	struct node *nodes;      /* by pid */
	size_t *first, *sibling; /* child of a line, and the next one of the same parent */
	size_t *above;           /* the lines from a root down to where we are */
};

static void tree_done(struct tree *tree)
{
	free(tree->nodes);
	free(tree->first);
	free(tree->sibling);
	free(tree->above);
}

static int compare_nodes(const void *a, const void *b)
{
	return compare_u64(((const struct node *)a)->pid, ((const struct node *)b)->pid);
}

/* Hangs a line below its parent, in front of what hangs there already; who has none is a root. */
static void hang_line(const struct top *top, struct tree *tree, size_t i, size_t nr_nodes)
{
	struct node key = { line_parent(top, &top->rates->lines[top->shown[i]]), 0 };
	const struct node *found = NULL;
	size_t parent = top->nr_shown;

	if (key.pid && nr_nodes)
		found = bsearch(&key, tree->nodes, nr_nodes, sizeof(key), compare_nodes);
	if (found && found->index != i)
		parent = found->index;
	tree->sibling[i] = tree->first[parent];
	tree->first[parent] = i;
}

/*
 * Lists the children of each line, in the order of the lines. Nobody knows the parents of what has ended: these
 * lines come last.
 */
static void find_children(const struct top *top, struct tree *tree)
{
	const struct rate *lines = top->rates->lines;
	size_t count = 0, all = top->nr_shown;

	for (size_t i = 0; i <= all; i++)
		tree->first[i] = NO_LINE;
	for (size_t i = 0; i < all; i++) {
		if (lines[top->shown[i]].pid)
			tree->nodes[count++] = (struct node){ lines[top->shown[i]].pid, i };
	}
	qsort(tree->nodes, count, sizeof(*tree->nodes), compare_nodes);
	for (int is_alive = 0; is_alive < 2; is_alive++) {
		for (size_t i = all; i-- > 0;) {
			if ((lines[top->shown[i]].threads != 0) == is_alive)
				hang_line(top, tree, i, count);
		}
	}
}

int top_make_tree(struct top *top)
{
	size_t count = top->nr_shown, placed = 0, depth = 0, at;
	size_t *order = calloc(top->rates->nr_lines + 1, sizeof(*order));
	unsigned char *depths = calloc(top->rates->nr_lines + 1, 1);
	struct tree tree __cleanup(tree_done) = {
		.nodes = calloc(count + 1, sizeof(*tree.nodes)),
		.first = calloc(count + 1, sizeof(*tree.first)),
		.sibling = calloc(count + 1, sizeof(*tree.sibling)),
		.above = calloc(count + 1, sizeof(*tree.above)),
	};

	if (!order || !depths || !tree.nodes || !tree.first || !tree.sibling || !tree.above ||
	    read_parents(top)) {
		free(order);
		free(depths);
		return -ENOMEM;
	}
	find_children(top, &tree);
	for (at = tree.first[count]; at != NO_LINE || depth;) {
		if (at == NO_LINE) {
			at = tree.sibling[tree.above[--depth]];
			continue;
		}
		depths[top->shown[at]] = (unsigned char)(depth < 255 ? depth : 255);
		order[placed++] = top->shown[at];
		tree.above[depth++] = at;
		at = tree.first[at];
	}
	/* Pids that were used again may make a circle, which hangs on no root. */
	if (placed == count) {
		memcpy(top->shown, order, count * sizeof(*order));
		free(top->depths);
		top->depths = steal_ptr(&depths);
	}
	free(depths);
	free(order);
	return 0;
}
