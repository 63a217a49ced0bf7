/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Serves the reports that group: the columns that tables have, as data, the grid that they are
 * shown in, the options, and the groups that these ask for.
 */
#pragma once

#include "base/diag.h"
#include "base/text.h"
#include "model/group.h"
#include "syscalls/syscall_set.h"

/*
 * Columns are what --columns and --sort name. A cell is a text, for the columns that say what a group is,
 * or a number in the unit of the column's kind.
 */
enum column_kind {
	COLUMN_TEXT,    /* a key, left-aligned */
	COLUMN_ID,      /* a key that is a number, right-aligned */
	COLUMN_COUNT,   /* calls */
	COLUMN_SUM,     /* ns, over all calls */
	COLUMN_LATENCY, /* ns, of single calls */
	COLUMN_BYTES,
	COLUMN_PERCENT, /* in hundredths of a percent */
	NR_COLUMN_KIND,
};

/* Holds what the cells of one table have in common. */
struct column_scope {
	const struct snapshot *snapshot;
	unsigned int keys;  /* the groups are grouped by */
	uint64_t total_ns;  /* what time% is a share of */
	bool has_whole_ids; /* of containers and pods: for files */
};

/* Bytes that hold any text cell; the longest is a path that was cut, escaped. */
#define COLUMN_TEXT_MAX TEXT_ESCAPED_MAX(ARGUMENT_BYTES_MAX)

struct column {
	const char *name;  /* for the command line */
	const char *field; /* for files: with the unit */
	enum column_kind kind;
	/* For a key: the keys that bring it into a table, and those that tell what it is. */
	unsigned int shown_by, known_by;
	unsigned int number; /* what number it shows, or sorts by; 0: none */
	/* Writes the text of a key; false when it is not known. */
	bool (*text)(const struct column_scope *scope, const struct group *group, char *buf);
	size_t offset;   /* of a number of struct row */
	double quantile; /* of the row's histogram */
};

/* All columns in the order of --help, but for the names that other tools have; NULL from the first index on that is out of range. */
const struct column *column_at(size_t index);

/* A column by name; -EINVAL with d filled, which starts with the option's name. */
int column_find(const char *option, const char *name, const struct column **ret, struct diag *d);

#define COLUMNS_MAX 48

struct column_list {
	const struct column *columns[COLUMNS_MAX];
	size_t count;
};

bool column_list_has(const struct column_list *list, const struct column *column);

/* Does nothing if the column is there. */
void column_list_add(struct column_list *list, const struct column *column);

/* Reads a list such as calls,p99,max for --columns. Returns 0 or -EINVAL with d filled. */
int columns_parse(const char *list, struct column_list *ret, struct diag *d);

/* The columns of --sort. Numbers begin with the largest, keys with the least, or reversed. */
#define SORT_MAX 4

struct sort_list {
	struct {
		const struct column *column;
		bool is_reversed;
	} by[SORT_MAX];
	size_t count;
};

/*
 * Reads a list such as errors,+p99 for --sort: "-" before a column begins with the largest, "+" with the
 * least. Returns 0 or -EINVAL with d filled, which starts with the option's name.
 */
int sort_parse(const char *option, const char *list, struct sort_list *ret, struct diag *d);

bool sort_has(const struct sort_list *sort, const struct column *column);

bool column_is_key(const struct column *column);

/* Whether groups by these keys have a value in it: numbers always do. */
bool column_is_known(const struct column *column, unsigned int keys);

/* Write a cell; false if unknown. A group of others has no known key. */
bool column_text(const struct column *column, const struct column_scope *scope,
		 const struct group *group, char buf[COLUMN_TEXT_MAX]);
bool column_number(const struct column *column, const struct column_scope *scope,
		   const struct group *group, uint64_t *ret);

/* Compares two groups in a column, as sort_list says. Unknown cells come last, either way. */
int column_compare(const struct column *column, bool is_reversed, const struct column_scope *scope,
		   const struct group *a, const struct group *b);

/* The columns that tell groups by these keys apart; pid brings comm along. */
void columns_of_keys(unsigned int keys, struct column_list *ret);

/* --- grids -------------------------------------------------------------------------------------- */

/*
 * A table of texts whose columns are as wide as what is in them. A failed allocation is remembered
 * and returned by grid_print(), so that filling needs no checks.
 */
struct grid;

/* Returns 0 or -ENOMEM. */
int grid_new(size_t nr_columns, struct grid **ret);
void grid_free(struct grid *grid);
CLEANUP_OF(grid, grid_free)

/* Names a column. The column of the highest rank is hidden first; 0: never. */
void grid_set_title(struct grid *grid, size_t column, const char *title, bool right, int rank);

/*
 * Makes it a column of numbers, which are scaled alike in all columns of a group: by the largest of
 * them. The title gets the unit of times and what they are per.
 */
enum grid_kind {
	GRID_TEXT,
	GRID_SUM,     /* ns; see scale_for_sums() */
	GRID_LATENCY, /* ns; see scale_for_latencies() */
	GRID_RATE,
};
#define GRID_GROUPS   (2 + COLUMNS_MAX)
#define GRID_SECTIONS 2 /* what comes later is scaled like the last */
void grid_set_scale(struct grid *grid, size_t column, enum grid_kind kind, unsigned int group,
		    const char *per);

/* Starts a row of empty cells; these fill the last one. Texts are copied. */
void grid_add_row(struct grid *grid);
void grid_set(struct grid *grid, size_t column, const char *text);
__attribute__((format(printf, 3, 4))) void grid_set_format(struct grid *grid, size_t column,
							   const char *format, ...);

/* A number of such a column; NAN is one that is not known. */
void grid_set_number(struct grid *grid, size_t column, double value);

/* The style of a cell or line. */
enum emphasis {
	EMPHASIS_NONE,
	EMPHASIS_TITLE,
	EMPHASIS_BAD,  /* errors, losses */
	EMPHASIS_TAIL, /* far slower than most */
	NR_EMPHASIS,
};

/* Begins and ends an emphasis on a terminal; writes nothing without color. */
void emphasis_begin(enum emphasis emphasis, bool color, FILE *out);
void emphasis_end(enum emphasis emphasis, bool color, FILE *out);

/* The emphasis of a cell of the last row, seen if the grid has color. */
void grid_set_emphasis(struct grid *grid, size_t column, enum emphasis emphasis);
void grid_set_color(struct grid *grid, bool color);

/*
 * The titles once more, which begin a section with units of its own; a line of dashes below every column;
 * and a line of free text.
 */
void grid_add_titles(struct grid *grid);
void grid_add_rule(struct grid *grid);
void grid_add_line(struct grid *grid, const char *text);

void grid_hide(struct grid *grid, size_t column);

/*
 * Prints the titles and all rows. Where they are wider than width (0: any width does) columns are hidden by
 * rank, those of one rank together. Returns 0, -ENOMEM or -EIO.
 */
int grid_print(struct grid *grid, int width, FILE *out);

/*
 * Names the columns that grid_print() had no room for in a line, which has room for it itself where the table
 * has; writes nothing if there are none.
 */
void grid_print_left_out(const struct grid *grid, int width, FILE *out);

/* The columns on a screen that the grid as filled so far takes with all of its columns. */
size_t grid_width(struct grid *grid);

/* --- tables of groups --------------------------------------------------------------------------- */

/* All zero is what a user gets who asks for nothing. Nothing is owned. */
struct table_options {
	unsigned int
		keys; /* --by: enum group_key; 0 is what suits the report, mostly GROUP_SYSCALL */
	struct sort_list sort;             /* --sort; none: total time */
	const struct column_list *columns; /* --columns, in this order; NULL: chosen by width */
	size_t top;                        /* --top; 0: all; of each half of the wide table */
	uint64_t min_calls;                /* --min-calls */
	bool errors_only, successes_only;  /* --errors-only, --successes-only */
	bool ended_only;                   /* no rows of calls that are in flight only */
	bool hist;                         /* --hist */
	bool slowest;                      /* --exemplars: the wide table has them below */
	int width;                         /* columns of the screen; 0: no limit */
	bool color;                        /* errors, tails and losses stand out */
	const struct syscall_set *waiting; /* calls that wait for work; NULL: TRAIT_WAITS */
};

/* Some of the calls, grouped. */
struct table_part {
	struct column_scope scope; /* of its cells; total_ns is that of the part */
	struct group_list list;    /* sorted and cut, maybe with a last group of others */
	struct group sum;          /* of all, also those cut */
};

void table_part_done(struct table_part *part);

/* Bytes that hold any label below. */
#define TABLE_LABEL_MAX 48

/* "(12 others)", for a group with nr_merged. */
void others_label(const struct group *group, char *buf, size_t size);

/* The calls that a test has (NULL: all), as the options ask for. Returns 0 or -ENOMEM. */
int table_part_make(const struct snapshot *snapshot, const struct table_options *options,
		    const struct row_test *test, struct table_part *ret);

/*
 * The keys, and what the user chose, in that order, but for keys that the user chose elsewhere.
 * Only the keys if nothing was chosen.
 */
void table_columns(const struct table_options *options, unsigned int keys, struct column_list *ret);

/* The column in which sums and others are named: the first of text, else the first key. */
size_t table_label_column(const struct column_list *columns);

/* The keys of a group in words, with blanks between: nginx read. For headings. */
void table_group_title(const struct table_part *part, const struct group *group,
		       char buf[COLUMN_TEXT_MAX]);

/* Tests of row_test; closure is the options. [other], of unknown number, is taken for working. */
bool row_is_working(const struct row *row, const void *options);
bool row_is_waiting(const struct row *row, const void *options);

/* Tables show calls that wait for work below the others. */
enum table_half { TABLE_WORKING, TABLE_WAITING, NR_TABLE_HALF };

/* The names of the halves for other programs: working, waiting. */
extern const char *const table_half_names[NR_TABLE_HALF];

/* What tables call the sum of each half, and the title of the half of calls that wait for work. */
extern const char *const table_half_sums[NR_TABLE_HALF];
#define TABLE_WAITING_TITLE "waiting (may be idle):"

struct row_test half_test(enum table_half half, const struct table_options *options);

/* Makes both parts, which are to be ended in any case. Returns 0 or -ENOMEM. */
int table_halves_make(const struct snapshot *snapshot, const struct table_options *options,
		      struct table_part ret[NR_TABLE_HALF]);
void table_halves_done(struct table_part (*parts)[NR_TABLE_HALF]);

/*
 * Sets titles and scales of a grid that begins with these columns. Columns that are no keys have
 * ranks: see grid_set_title().
 */
void table_set_titles(struct grid *grid, const struct column_list *columns, const int *ranks);

/*
 * Adds a row to such a grid, its texts cut to a width. A label, if any, stands in place of the keys; that
 * of others is there of itself.
 */
void table_add_row(struct grid *grid, const struct column_list *columns,
		   const struct column_scope *scope, const struct group *group, const char *label,
		   size_t text_max);

/* A width for text_max on a screen (0: no limit) that at least holds the longest name of a call. */
size_t table_text_max(int width);

/* Sets the scale of a column of times: the sums of a section have one unit, each column of latencies its own. */
void column_set_scale(struct grid *grid, size_t index, const struct column *column,
		      const char *per);

/* Sets a number of a column that has its scale. */
void column_set_number(struct grid *grid, size_t index, const struct column *column,
		       uint64_t value);
