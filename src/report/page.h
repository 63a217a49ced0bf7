/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of a page. page.c writes what is around its content and all that can be read without the script;
 * page_data.c the tables and histograms as JSON, of which the script makes the rest.
 */
#pragma once

#include "json/json.h"
#include "report/rows.h"

/* --- page.c: HTML ------------------------------------------------------------------------------- */

/* Text with what HTML reserves replaced. It may be of anybody: it is made visible first. */
void html_text(const char *text, FILE *out);

/* Bits of what has a style sheet, and maybe a script, of its own. */
enum page_part {
	PAGE_ALWAYS = 1 << 0,
	PAGE_FLAME = 1 << 1,
	PAGE_OVER_TIME = 1 << 2,
};

struct page_frame {
	const char *title;  /* of the window; untrusted */
	unsigned int parts; /* enum page_part */
};

/* Writes everything before, and behind, the content: header, sections, data. */
void page_begin(const struct page_frame *frame, FILE *out);
void page_end(const struct page_frame *frame, FILE *out);

/* Writes a name and a value of the list at the top of a page; nothing without a value. */
void page_fact(const char *name, const char *value, FILE *out);

/* Writes how exact a snapshot is, as the first thing that a reader sees; side is A, B or "". */
void page_trust(const struct snapshot *snapshot, const char *side, FILE *out);

/* Writes lines as paragraphs, but for those on how exact a snapshot is. The text is changed. */
void page_notes(char *text, FILE *out);

/* Begins a section that needs no script, and ends it. */
void page_section_begin(const char *id, const char *title, FILE *out);
void page_section_end(FILE *out);

/* Flame graphs: how one is drawn, and of which weights there are any. */
struct page_flames {
	int (*draw)(const void *closure, const struct stack_options *options, FILE *out);
	const void *closure;
	bool has[NR_STACK_WEIGHT];
};

/* Writes the section of flame graphs, that of the options first. Returns 0, -ENOMEM or -EIO. */
int page_flames(const struct page_flames *flames, const struct stack_options *options, FILE *out);

/* --- page_data.c: JSON -------------------------------------------------------------------------- */

struct page_data {
	struct json_writer to;
	FILE *stream; /* owned; turns each "<" into an escape */
};

/*
 * Begins the element of the data and the document in it, and ends both. Nothing that is written ends the
 * element: there is no "<" in it. Returns 0, -ENOMEM or -EIO.
 */
int page_data_begin(struct page_data *data, FILE *out);
int page_data_end(struct page_data *data, FILE *out);

/* Begins a table: an object with these members. A note may be NULL. */
void page_put_table(struct json_writer *to, const char *id, const char *title, const char *note);

/* Writes a field of a table: its name, and of which kind its values are, one of the words of page.js. */
void page_put_field(struct json_writer *to, const char *name, const char *kind);
void page_put_column(struct json_writer *to, const struct column *column);

/*
 * Writes all tables of a snapshot and, unless that is NULL, of its timeline, then its histograms, as members of
 * the document. halves are the first tables.
 */
int page_put_snapshot(struct json_writer *to, const struct snapshot *snapshot,
		      const struct timeline *timeline, const struct report_options *options,
		      const struct table_part halves[NR_TABLE_HALF]);

/* Makes the first tables: calls that work, and those that wait for work. Returns 0 or -ENOMEM. */
int page_halves_make(const struct snapshot *snapshot, const struct report_options *options,
		     struct table_part ret[NR_TABLE_HALF]);

/* The columns that they have besides their keys. */
void page_columns(const struct report_options *options, struct column_list *ret);

/* So many histograms are in a page, of each half of its first table. */
#define PAGE_HISTOGRAMS 24

/* The buckets of a histogram that are not empty, as the contract has them: low, high and count. */
void page_put_histogram(struct json_writer *to, const char *key, const struct hist *hist);

/* --- page_exemplars.c --------------------------------------------------------------------------- */

/* Writes the tables of the slowest calls, if there are any, into a list of tables. Returns 0 or -ENOMEM. */
int page_put_exemplars(struct json_writer *to, const struct snapshot *snapshot,
		       const struct table_options *options);

/* --- page_steps.c ------------------------------------------------------------------------------- */

/* Writes the table of the steps, and of the gaps between them, into a list of tables. Returns 0 or -ENOMEM. */
int page_put_steps(struct json_writer *to, const struct timeline *timeline,
		   const struct report_options *options);
