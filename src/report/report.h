/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reports. Each writes one snapshot to a stream and does not know where it came from. All
 * return 0 or a negative errno: -ENOMEM, or what the stream failed with.
 */
#pragma once

#include "json/documents.h"
#include "model/compare.h"
#include "model/label.h"
#include "report/table.h"

enum report_format {
	FORMAT_TRUSS,
	FORMAT_WIDE,
	FORMAT_JSON,
	FORMAT_CSV,
	FORMAT_STRACE,
	/* Only for the wide table, also as JSON and CSV. */
	FORMAT_ERRORS,
	FORMAT_HIST,
	/* Pictures and files for other programs. */
	FORMAT_FOLDED,
	FORMAT_PPROF,
	FORMAT_FLAME,
	FORMAT_CHART,
	FORMAT_HTML,
	NR_REPORT_FORMAT,
};

/* The words of --format. Returns 0, or -EINVAL with d filled: a usage error. */
extern const char *const report_format_names[NR_REPORT_FORMAT];
int report_format_parse(const char *word, enum report_format *ret, struct diag *d);

/* Tells what stands next to the root of a flame graph. */
enum flame_by {
	FLAME_BY_COMM,
	FLAME_BY_PID,
	FLAME_BY_TID, /* where rows are told apart by thread; else like FLAME_BY_PID */
	FLAME_BY_UNIT,
	FLAME_BY_CONTAINER,
	FLAME_BY_USER,
	FLAME_BY_SYSCALL, /* inverted: below each system call its callers, the process last */
	NR_FLAME_BY,
};

/* The words of --flame-by. */
extern const char *const flame_by_names[NR_FLAME_BY];

/* All zero is what a user gets who asks for nothing. */
struct stack_options {
	enum stack_weight weight;
	size_t top;       /* the heaviest stacks of each group; 0: all */
	enum flame_by by; /* of flame graphs alone */
};

/* The options of a whole report. Nothing is owned. */
struct report_options {
	enum report_format format; /* once it is settled none of errors and hist */
	bool errors;               /* rows of errors by errno */
	struct table_options table;
	bool no_header;   /* of CSV */
	bool show_stacks; /* below the table */
	struct stack_options stacks;
	uint64_t exemplars; /* so many of the slowest calls of each row; 0: none */
	bool exemplars_given;
	const char *command; /* the command line, for a page; untrusted. NULL: not known */
};

/* Makes the wide table of what asks for more than that of truss -c has, and parts of it out of formats. */
void report_options_settle(struct report_options *options);

/* Whether JSON is the object of report_json(): nothing asks for rows of another kind. */
bool report_is_whole(const struct report_options *options);

/* Whether a format shows call stacks, or cannot do without. */
bool report_format_has_stacks(enum report_format format);

/* Returns why a report cannot have its exemplars, in words, or NULL. */
const char *report_exemplars_contradiction(const struct report_options *options);

/*
 * Refuses options that contradict each other or would change nothing, in the words of the command
 * line. Returns 0, or -EINVAL with d filled: a usage error.
 */
int report_options_check(const struct report_options *options, struct diag *d);

/* Fills d with what to ask for instead of a report that is too long. Returns -E2BIG. */
int report_too_long(struct diag *d);

/*
 * Refuses a report whose tables would have more groups than max. Returns 0, or -E2BIG or -ENOMEM with d
 * filled.
 */
int report_check_lines(const struct snapshot *snapshot, const struct report_options *options,
		       size_t max, struct diag *d);

/* Writes a report in one of the forms below. */
int report_write(const struct snapshot *snapshot, const struct report_options *options, FILE *out);

/*
 * A report as one JSON object on one line: the text, and when it was counted. A reader gets a text
 * without control characters but line ends; -EINVAL with d filled for anything else.
 */
struct report_text {
	int64_t start_ns, end_ns; /* CLOCK_REALTIME */
	uint64_t elapsed_ns;
	char *text; /* owned */
};

/* Writes, or reads, a text report in JSON. 0 or -EIO; 0, or -errno with d filled. */
int report_text_json(const struct snapshot *snapshot, const char *text, FILE *out);
int report_text_json_read(const char *json, size_t size, struct report_text *ret, struct diag *d);

/*
 * The table of truss -c, column for column, and the trust lines. It obeys all options but columns, waiting
 * and width; without sort the longest time comes first.
 */
int report_truss(const struct snapshot *snapshot, const struct table_options *options, FILE *out);

/*
 * A table as wide as the screen, of what was counted and of times in all their kinds; calls that
 * wait for work stand apart. Ends with the trust lines.
 */
int report_wide(const struct snapshot *snapshot, const struct table_options *options, FILE *out);

struct line;

/* Appends the frames of a stack, a line each, and why there are no more. */
void report_put_stack(struct line *line, const struct stack *stack, const char *indent);

/* The slowest calls of each group of a table, and what is not known of them; nothing where none are wanted. */
void report_exemplars(const struct snapshot *snapshot, const struct table_part parts[NR_TABLE_HALF],
		      FILE *out);

/*
 * Prints errors by errno, most frequent first, by default of each program. It obeys the options
 * keys, top and min_calls. Ends with the trust lines.
 */
int report_errors(const struct snapshot *snapshot, const struct table_options *options, FILE *out);

/*
 * Comma-separated values for spreadsheets and scripts: a line a group, times in ns, unknown values
 * empty, start and end of the interval in front. An interval without any group has a line all the
 * same, unless it took no time. Many intervals go into one file if only the first has the header
 * line. All options but width and hist; errors and stacks have lines of their own kind.
 */
int report_csv(const struct snapshot *snapshot, const struct report_options *options, FILE *out);

/*
 * The same rows as a JSON object on one line: bpftruss-json(5). JSON without any option that chooses or
 * adds up rows is report_json().
 */
int report_rows_json(const struct snapshot *snapshot, const struct report_options *options,
		     FILE *out);

/*
 * The table of strace -c, byte for byte; seconds are CPU time, as there. No trust lines. It obeys the same
 * options.
 */
int report_strace(const struct snapshot *snapshot, const struct table_options *options, FILE *out);

/*
 * A picture, as one static SVG file: calls as bars, and min, average, p99, max and total on a log
 * axis, of the 20 groups with the longest total. It obeys the options keys, top (up to 20), min_calls,
 * errors_only and waiting.
 */
int report_chart(const struct snapshot *snapshot, const struct table_options *options, FILE *out);

/* --- call stacks: each call of the snapshot is in one, [other stacks] if need be ---------------- */

/*
 * The section below a table: for each of its groups the stacks in the layout of DTrace's ustack(). The
 * heaviest group and stack come first; with sort, groups have the order of the table. It obeys the table's
 * options keys, sort, top, min_calls, errors_only and waiting. Writes nothing when no stacks were taken.
 */
int report_stacks(const struct snapshot *snapshot, const struct table_options *options,
		  const struct stack_options *stack_options, FILE *out);

/*
 * Folded stacks, which the tools around flame graphs read: sorted lines of names from the outside
 * in, comm;main;read_config;read 12, with calls or ns.
 */
int report_folded(const struct snapshot *snapshot, enum stack_weight weight, FILE *out);

/* A profile in the format of pprof, gzipped: calls, wall and CPU time, and errors by stack. */
int report_pprof(const struct snapshot *snapshot, FILE *out);

/*
 * A flame graph, as one SVG element with its own script: zoom, search, tooltips. It can be read without
 * the script, too. It is a file of its own, or a part of an HTML page; PICTURES says what holds for both.
 * It obeys the options weight and by.
 */
int report_flame(const struct snapshot *snapshot, const struct stack_options *options, FILE *out);

/*
 * A page: one HTML file that needs nothing else, with all tables, histograms and, if there are stacks, flame
 * graphs. Tables and histograms are made by its script from the data in it; the first rows can be read without.
 * It obeys the options keys, sort, columns, top, min_calls, errors_only, successes_only and waiting in its first
 * tables, those that choose rows also in the others; and those of stacks.
 */
int report_page(const struct snapshot *snapshot, const struct report_options *options, FILE *out);

/* --- timelines ---------------------------------------------------------------------------------- */

/*
 * A line a step and a sum, of the calls that do not wait for work; a gap is a line in its place.
 * Steps without anything counted are lines of their own unless a gap says why. Times of day are
 * local. It obeys the options width and waiting. Ends with the trust lines.
 */
int report_timeline(const struct timeline *timeline, const struct table_options *options,
		    FILE *out);

/* Why nothing is known of a gap, in words. */
extern const char *const gap_texts[NR_GAP_REASON];

/* Does what report_csv() does for all steps, below one header; gaps have no lines. */
int report_timeline_csv(const struct timeline *timeline, const struct report_options *options,
			FILE *out);

/* --- pictures of timelines ----------------------------------------------------------------------- */

/*
 * PICTURES: each of these, and each flame graph, is one <svg> element, without an XML declaration, ids,
 * or anything from outside. Any number of them can stand in one HTML page: their style sheets only have
 * selectors below a class of the <svg> element (.flame, .over-time), and follow prefers-color-scheme. Times of
 * day are local, as in report_timeline(). All that programs chose is escaped. Nothing of the arguments is
 * kept. They return 0, -ENOMEM, or -EIO if the stream failed; it may have a part of the picture then.
 */

/* A heat map has so many cells at most: steps and buckets are added up. */
#define HEATMAP_COLUMNS 300
#define HEATMAP_ROWS    64

/* Holds the options that all pictures of timelines have. Nothing is owned; all zero are the defaults. */
struct time_picture_options {
	const char *subject; /* whose calls, and which: for the title; untrusted bytes; NULL: all */
	const struct syscall_set *waiting; /* calls that wait for work; NULL: TRAIT_WAITS */
	bool with_waiting; /* they are shown, too: the user asked for them by name */
	bool in_page;      /* without a style sheet: that of the page has over_time.css */
};

/*
 * A heat map: latency by time, the colour of a cell is its number of calls, both on log scales. Each cell has
 * its exact numbers as <title>. A step without calls is an empty column, a gap is hatched. It takes the histograms
 * of the steps' snapshots: their kinds and keys do not matter. Calls without a time are counted below it.
 */
int report_heatmap(const struct timeline *timeline, const struct time_picture_options *options,
		   FILE *out);

/* A chart has so many lines at most, the others are one more. */
#define SERIES_MAX 8

/*
 * A chart of one column by time: a line for each of the groups with the most calls by the keys of the table
 * (0: one line, of all calls), one for all others, and one for the total. Counts, sums and bytes are per second. The
 * column is the first of options->columns that is a number, else the first such of options->sort, else calls; of the
 * options top (at most SERIES_MAX) and min_calls are obeyed, too. The steps' snapshots must have what the keys tell apart.
 */
int report_series(const struct timeline *timeline, const struct time_picture_options *picture,
		  const struct table_options *options, FILE *out);

/* A page of all steps as one, with what changed over time as a heat map and a table; sum has all steps, NULL: nothing was counted. */
int report_timeline_page(const struct timeline *timeline,
			 const struct time_picture_options *picture, const struct snapshot *sum,
			 const struct report_options *options, FILE *out);

/* --- calls in flight ----------------------------------------------------------------------------- */

struct in_flight;

/* Writes what threads do that were looked up in full, and counts the others. */
int report_in_flight(const struct in_flight *list, FILE *out);

/* --- comparisons -------------------------------------------------------------------------------- */

/* A snapshot, and what the user called it: a baseline, a file, a span, now. Untrusted, borrowed. */
struct compare_source {
	const char *label;
	const struct snapshot *snapshot;
};

struct compare_input {
	struct compare_source a, b;
	double fail_over; /* --fail-over: 0.2 for 20%; 0: nothing fails */
};

/* Tells what became worse in a group; nothing without --fail-over. */
struct compare_verdict {
	bool failed;
	struct regressions found;
};

struct compare_part {
	struct comparison_list list;
	struct compare_verdict *verdicts; /* owned; one an item */
	size_t shown;                     /* the first of them; --top leaves the others out */
};

/* Holds what both reports show, and what an exit status depends on. */
struct compare_view {
	struct compare_part parts[NR_TABLE_HALF];
	size_t groups, left_out;
	size_t words[NR_COMPARE_WORD]; /* groups with it, also those left out */
	size_t failed;                 /* groups with a regression, also those left out */
};

/* The view points into the snapshots. Returns 0 or -ENOMEM. */
int compare_view_make(const struct compare_input *input, const struct table_options *options,
		      struct compare_view *ret);
void compare_view_done(struct compare_view *view);

/*
 * A table with both sides of each group, and sentences on what changed and what failed. Calls that
 * wait for work stand apart. It obeys the options keys, top (of each half), width and waiting.
 */
int report_comparison(const struct compare_input *input, const struct compare_view *view,
		      const struct table_options *options, FILE *out);

/* The same as one JSON object on one line. */
int report_comparison_json(const struct compare_input *input, const struct compare_view *view,
			   FILE *out);

/* The same as CSV, a line a group. */
int report_comparison_csv(const struct compare_input *input, const struct compare_view *view,
			  FILE *out);

/*
 * A flame graph of b, in which a colour says how much of each frame's share or weight is more (orange) or less (blue)
 * than in a. It is an <svg> element like report_flame(), whose options it obeys. Both must have stacks. is_normalized:
 * shares of the whole are compared, not calls or time per second.
 */
int report_flame_difference(const struct compare_input *input, const struct stack_options *options,
			    bool is_normalized, FILE *out);

/*
 * A page with the groups of the view in tables, the histograms of both sides over each other for what
 * changed most, and differential flame graphs if both have stacks. Of the options it obeys command and stacks.
 */
int report_comparison_page(const struct compare_input *input, const struct compare_view *view,
			   const struct report_options *options, FILE *out);

/* The scope in which a comparison's keys are read, and the group to read them from. */
const struct group *comparison_group(const struct comparison *item,
				     const struct compare_input *input, unsigned int keys,
				     struct column_scope *ret);

/* --- parts of other reports ---------------------------------------------------------------------- */

/*
 * A histogram of latencies as bars: a line a bucket, from the first to the last that is not empty;
 * longer gaps become "...".
 */
void bars_print(const struct hist *hist, FILE *out);

/* Writes a text as a cell of CSV, in quotes if need be. */
void csv_print_text(const char *text, FILE *out);

/* Prints what a comparison's table does not have: sums, words, what of it is not comparable, the verdict. */
void print_comparison(const struct compare_input *input, const struct compare_view *view,
		      FILE *out);

/* Prints one line: "exact", or what is missing and why. */
void print_exactness(const struct snapshot *snapshot, bool color, FILE *out);

/*
 * Which processes changed, while they were counted, what a report groups by (enum group_key): their
 * calls all stand under the last.
 */
void print_process_changes(const struct snapshot *snapshot, unsigned int keys, FILE *out);

/*
 * Splits the time of all threads, into that for locks, too, if that is wanted. Returns whether it is
 * known.
 */
bool print_thread_time(const struct snapshot *snapshot, bool wants_lock, FILE *out);

/* Says what else counts as user time, if anything does. */
void print_user_time(const struct snapshot *snapshot, FILE *out);

/* Prints exactness, then the calls in flight. Part of every text report. */
int report_trust(const struct snapshot *snapshot, bool color, FILE *out);
