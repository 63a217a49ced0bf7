/* SPDX-License-Identifier: BSD-2-Clause */
/* Elements of pictures, in whole pixels, and what a flame graph shows, before anything is drawn. */
#pragma once

#include "report/report.h"

/* --- elements of SVG; classes are those of the picture's style sheet ---------------------------- */

/* Text with what XML reserves replaced; it has been through text_escape_visible(). */
void svg_escape(const char *text, FILE *out);

/* A title, and below it what the picture is of: host, time, a remark, if any, and how exact. */
void svg_head(FILE *out, int x, int y, const char *title, const struct snapshot *snapshot,
	      const char *remark);

void svg_text(FILE *out, int x, int y, const char *class, const char *text);
void svg_rect(FILE *out, int x, int y, int width, int height, const char *class);

/* --- flame graphs ------------------------------------------------------------------------------- */

enum box_kind {
	BOX_ROOT,
	BOX_COMM,
	BOX_END, /* why there are no frames between it and the process */
	BOX_USER,
	BOX_KERNEL,
	BOX_SYSCALL,
	NR_BOX_KIND,
};

/* Bars of a process, its thread, unit and the like, from the outside in. */
#define FLAME_OWNERS 2

/* A stack as a graph shows it. */
struct flame_path {
	struct stack_sample sample;
	char *owners[FLAME_OWNERS]; /* owned; NULL: no such level */
	bool in_base;               /* it is of the base of a difference */
};

/* All stacks that have the same from the outside up to it, or inverted from the inside. */
struct flame_box {
	enum box_kind kind;
	unsigned int depth;     /* 0: the root */
	uint64_t start, weight; /* of the root's weight, from the left */
	uint64_t calls;         /* in it */
	uint64_t base_weight;   /* what it was in the base */
	uint64_t base_calls;
	const struct stack_frame *frame; /* of BOX_USER, BOX_KERNEL */
	size_t owner;                    /* of BOX_COMM: which of the path's */
	const struct flame_path
		*path; /* one of those in it; NULL for the root, and once laid out */
	char *name;    /* owned; what stands in it, escaped for screens */
	size_t module; /* of BOX_USER: FLAME_MODULES is one without a colour */
};

#define FLAME_MODULES    5
#define FLAME_BOXES      10000 /* of a few hundred bytes each: what a browser opens at once */
#define FLAME_PAGE_BOXES 1500  /* a page has up to four graphs */
#define FLAME_LEVELS     2000

/* Limits of a graph; what is beyond them is counted, and still part of the boxes above. */
struct flame_bounds {
	uint64_t parts; /* boxes of at least one part in so many of the root */
	size_t boxes;   /* fewer than so many: else only wider boxes, and fewer levels */
};

struct flame {
	const struct snapshot *snapshot;
	const struct snapshot *base;    /* of a difference; else NULL */
	const char *label, *base_label; /* of a difference: what the user called them; borrowed */
	bool is_normalized;             /* shares are compared, not weights per second */
	struct stack_options options;
	struct flame_bounds bounds;
	uint64_t least;          /* lighter boxes are left out */
	unsigned int levels;     /* so are those at this depth and below; up to FLAME_LEVELS */
	struct flame_box *boxes; /* owned; the root first, then each before those below it */
	size_t nr_boxes;
	size_t nr_left_out; /* boxes; of those below FLAME_LEVELS only the first of each */
	size_t nr_vanished; /* boxes that only the base has */
	uint64_t vanished;  /* the base's weight in them */
	bool too_deep;      /* some are below the last level */
	unsigned int depth; /* levels that have boxes */
	const char *modules[FLAME_MODULES]; /* with the most of the graph; they get a colour each */
	size_t nr_modules;
	bool has[NR_BOX_KIND]; /* boxes of a kind; of BOX_USER any without a colour */
};

/*
 * Lays out a graph within its bounds. With a base, boxes have what they were in it, too. Both snapshots must
 * live as long as the graph. Returns 0 or -ENOMEM.
 */
int flame_make(const struct snapshot *snapshot, const struct snapshot *base,
	       const struct stack_options *options, struct flame_bounds bounds, struct flame *ret);

void flame_done(struct flame *flame);

/*
 * Writes what report_flame() does without style sheet and script, as a part of a page that has both. Returns 0,
 * -ENOMEM or -EIO.
 */
int flame_write_part(const struct snapshot *snapshot, const struct stack_options *options,
		     FILE *out);

/* The same of report_flame_difference(), of amounts per second. */
int flame_difference_write_part(const struct compare_input *input,
				const struct stack_options *options, FILE *out);

/* A copy of a text, cut to so many columns, the last one an ellipsis; to be freed. NULL: no memory. */
char *text_fitted(const char *text, size_t columns);
