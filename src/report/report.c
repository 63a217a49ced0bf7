/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes a snapshot in the form that was asked for, and says how far a text report can be trusted. */
#include "report/report.h"

const char *const report_format_names[NR_REPORT_FORMAT] = {
	[FORMAT_TRUSS] = "truss", [FORMAT_WIDE] = "wide",     [FORMAT_JSON] = "json",
	[FORMAT_CSV] = "csv",     [FORMAT_STRACE] = "strace", [FORMAT_ERRORS] = "errors",
	[FORMAT_HIST] = "hist",   [FORMAT_FOLDED] = "folded", [FORMAT_PPROF] = "pprof",
	[FORMAT_FLAME] = "flame", [FORMAT_CHART] = "chart",   [FORMAT_HTML] = "html",
};

int report_format_parse(const char *word, enum report_format *ret, struct diag *d)
{
	for (int i = 0; i < NR_REPORT_FORMAT; i++) {
		if (!strcmp(word, report_format_names[i])) {
			*ret = (enum report_format)i;
			return 0;
		}
	}
	return diag_set(d, DIAG_USAGE, EINVAL,
			"--format: no format \"%.32s\"; there are truss, wide, json, csv, strace, "
			"errors, hist, folded, pprof, flame, chart, html",
			word);
}

bool report_format_has_stacks(enum report_format format)
{
	return format == FORMAT_FOLDED || format == FORMAT_PPROF || format == FORMAT_FLAME;
}

static bool is_picture(enum report_format format)
{
	return format >= FORMAT_FOLDED && format != FORMAT_HTML;
}

/* Whether rows are chosen, ordered or added up. */
static bool table_is_shaped(const struct table_options *t)
{
	return t->columns || t->sort.count || t->top || t->min_calls || t->errors_only ||
	       t->successes_only || t->waiting;
}

/* Whether the table of truss can be sorted by these columns, which it has. */
static bool truss_has_order(const struct sort_list *sort)
{
	static const char *const names[] = { "syscall", "nr", "cpu", "calls", "errors" };
	size_t found = 0;

	for (size_t i = 0; i < sort->count; i++) {
		for (size_t j = 0; j < ARRAY_SIZE(names); j++)
			found += !strcmp(sort->by[i].column->name, names[j]);
	}
	return found == sort->count;
}

void report_options_settle(struct report_options *o)
{
	const struct table_options *t = &o->table;

	o->errors |= o->format == FORMAT_ERRORS;
	o->table.slowest = o->exemplars;
	o->table.hist |= o->format == FORMAT_HIST;
	if (o->format == FORMAT_ERRORS || o->format == FORMAT_HIST ||
	    (o->format == FORMAT_TRUSS &&
	     (t->keys || t->columns || t->waiting || t->hist || o->errors || o->exemplars ||
	      !truss_has_order(&t->sort))))
		o->format = FORMAT_WIDE;
}

/* It has all rows, by process and call, and by what they are split by. */
bool report_is_whole(const struct report_options *o)
{
	const unsigned int splits = GROUP_TID | (GROUP_SPLITS & ~GROUP_DIR), keys = o->table.keys;

	return !o->errors && !o->table.hist && !table_is_shaped(&o->table) &&
	       (!keys || (keys & splits && !(keys & ~(splits | GROUP_PID | GROUP_SYSCALL))));
}

const char *report_exemplars_contradiction(const struct report_options *options)
{
	const enum report_format format = options->format;

	if (!options->exemplars)
		return NULL;
	if (format != FORMAT_WIDE && format != FORMAT_JSON && format != FORMAT_HTML)
		return "--exemplars is for the wide table, --json and --html";
	if (options->errors)
		return "--errors has rows without times: give one of --errors and --exemplars";
	if (options->show_stacks && format == FORMAT_JSON && !report_is_whole(options))
		return "rows of stacks have no calls: give one of --stacks and --exemplars, or "
		       "leave out what chooses rows";
	return NULL;
}

/* Returns what a page has anyway, or NULL. */
static const char *page_contradiction(const struct report_options *options)
{
	if (options->format == FORMAT_HTML && (options->table.hist || options->errors))
		return "a page has histograms and errors in any case: leave out --hist and "
		       "--errors";
	return NULL;
}

/* Returns what the options say that has no meaning together, or NULL. */
static const char *contradiction(const struct report_options *options)
{
	const enum report_format format = options->format;
	const struct table_options *t = &options->table;
	const bool is_fixed = format == FORMAT_STRACE || format == FORMAT_TRUSS;
	const struct {
		bool is_broken;
		const char *sentence;
	} rules[] = {
		{ is_fixed && t->columns,
		  "the tables of truss and strace have columns of their own: --columns is for "
		  "--wide, --csv and --json" },
		{ is_fixed && t->waiting,
		  "the tables of truss and strace have all calls in one table: --waiting is for "
		  "--wide, --csv, --json and --chart" },
		{ is_fixed && t->hist,
		  "--hist draws below the wide table; --json --hist has histograms as numbers" },
		{ format == FORMAT_STRACE && options->errors,
		  "strace has no errors by errno: --errors is for --wide, --csv and --json" },
		{ options->errors && (t->waiting || t->hist),
		  "--errors has all calls in one table, without times: --waiting and --hist are "
		  "for the others" },
		{ options->errors && (t->errors_only || t->successes_only),
		  "--errors lists all errors and nothing else: --errors-only and --successes-only "
		  "are for the other tables" },
		{ t->errors_only && t->successes_only, "give one of --errors-only and -z" },
		{ format == FORMAT_CSV && t->hist,
		  "CSV has no place for histograms; --json --hist has them as numbers" },
		{ options->errors && options->show_stacks &&
			  (format == FORMAT_CSV || format == FORMAT_JSON),
		  "CSV and JSON have rows of one kind: give one of --errors and --stacks" },
		{ options->show_stacks && t->waiting && format == FORMAT_CSV,
		  "CSV has rows of one kind: give one of --waiting and --stacks" },
		{ is_picture(format) && (t->hist || options->errors || options->show_stacks),
		  "pictures and profiles are not tables: leave out --hist, --errors and --stacks" },
		{ report_format_has_stacks(format) && (t->keys || table_is_shaped(t)),
		  "folded stacks, profiles and flame graphs have all stacks: --by, --sort, --top, "
		  "--columns and the like are for tables" },
		{ format == FORMAT_CHART && (t->columns || t->sort.count),
		  "a chart has rows sorted by total time: --columns and --sort are for tables" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (rules[i].is_broken)
			return rules[i].sentence;
	}
	return page_contradiction(options) ?: report_exemplars_contradiction(options);
}

/* The first column by which rows are not told apart, so that it would be empty in all of them. */
static const struct column *unknown_column(const struct report_options *options)
{
	const struct table_options *t = &options->table;
	unsigned int keys = t->keys ?: (unsigned int)GROUP_SYSCALL;

	if (options->errors)
		keys = (t->keys ?: (unsigned int)GROUP_COMM) | GROUP_SYSCALL;
	for (size_t i = 0; i < t->sort.count; i++) {
		if (!column_is_known(t->sort.by[i].column, keys))
			return t->sort.by[i].column;
	}
	for (size_t i = 0; t->columns && i < t->columns->count; i++) {
		if (!column_is_known(t->columns->columns[i], keys))
			return t->columns->columns[i];
	}
	return NULL;
}

int report_options_check(const struct report_options *options, struct diag *d)
{
	const char *sentence = contradiction(options);
	const struct column *unknown = unknown_column(options);

	if (sentence)
		return diag_set(d, DIAG_USAGE, EINVAL, "%s", sentence);
	if (unknown)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"--sort, --columns: rows combine several values of %s; add --by %s",
				unknown->name, group_key_for(unknown->known_by));
	return 0;
}

int report_too_long(struct diag *d)
{
	return diag_set(d, DIAG_FAILED, E2BIG,
			"the report would be too long: ask for the first lines with --top, for "
			"fewer processes, or by fewer keys; JSON has all");
}

int report_check_lines(const struct snapshot *snapshot, const struct report_options *options,
		       size_t max, struct diag *d)
{
	struct table_part part __cleanup(table_part_done) = { .list = { 0 } };
	struct table_options table = options->table;

	/* Groups are no more than rows, and most snapshots have few. */
	if ((table.top && table.top <= max) || snapshot->nr_rows <= max)
		return 0;
	table.sort.count = 0;
	if (table_part_make(snapshot, &table, NULL, &part))
		return diag_oom(d);
	return part.list.nr_groups <= max ? 0 : report_too_long(d);
}

static int write_wide(const struct snapshot *snapshot, const struct report_options *options,
		      FILE *out)
{
	if (options->errors)
		return report_errors(snapshot, &options->table, out);
	return report_wide(snapshot, &options->table, out);
}

static int write_json(const struct snapshot *snapshot, const struct report_options *options,
		      FILE *out)
{
	if (report_is_whole(options))
		return report_json(snapshot, out);
	return report_rows_json(snapshot, options, out);
}

static int write_truss(const struct snapshot *snapshot, const struct report_options *options,
		       FILE *out)
{
	return report_truss(snapshot, &options->table, out);
}

static int write_strace(const struct snapshot *snapshot, const struct report_options *options,
			FILE *out)
{
	return report_strace(snapshot, &options->table, out);
}

static int write_folded(const struct snapshot *snapshot, const struct report_options *options,
			FILE *out)
{
	return report_folded(snapshot, options->stacks.weight, out);
}

static int write_pprof(const struct snapshot *snapshot, const struct report_options *options,
		       FILE *out)
{
	(void)options;
	return report_pprof(snapshot, out);
}

static int write_flame(const struct snapshot *snapshot, const struct report_options *options,
		       FILE *out)
{
	return report_flame(snapshot, &options->stacks, out);
}

static int write_chart(const struct snapshot *snapshot, const struct report_options *options,
		       FILE *out)
{
	return report_chart(snapshot, &options->table, out);
}

/* The forms that have call stacks in them; below a table they are a section of their own. */
static bool has_stacks_inside(enum report_format format)
{
	return format == FORMAT_JSON || format == FORMAT_CSV || format == FORMAT_HTML;
}

int report_write(const struct snapshot *snapshot, const struct report_options *options, FILE *out)
{
	static int (*const writers[NR_REPORT_FORMAT])(const struct snapshot *snapshot,
						      const struct report_options *options,
						      FILE *out) = {
		[FORMAT_TRUSS] = write_truss,   [FORMAT_WIDE] = write_wide,
		[FORMAT_JSON] = write_json,     [FORMAT_CSV] = report_csv,
		[FORMAT_STRACE] = write_strace, [FORMAT_ERRORS] = write_wide,
		[FORMAT_HIST] = write_wide,     [FORMAT_FOLDED] = write_folded,
		[FORMAT_PPROF] = write_pprof,   [FORMAT_FLAME] = write_flame,
		[FORMAT_CHART] = write_chart,   [FORMAT_HTML] = report_page,
	};
	int err = writers[options->format](snapshot, options, out);

	if (err || !options->show_stacks || has_stacks_inside(options->format))
		return err;
	return report_stacks(snapshot, &options->table, &options->stacks, out);
}

/* --- trust: how far a report can be trusted -------------------------------------------------------- */

void print_exactness(const struct snapshot *snapshot, bool color, FILE *out)
{
	const enum emphasis emphasis = snapshot_is_exact(snapshot) ? EMPHASIS_NONE : EMPHASIS_BAD;
	char text[LOSSES_TEXT_MAX];

	losses_text(&snapshot->losses, text, sizeof(text));
	if (losses_none(&snapshot->losses) && !snapshot_is_exact(snapshot))
		snprintf(text, sizeof(text),
			 "not exact: %" PRIu64 " errors counted without their errno",
			 snapshot_errors_unnamed(snapshot));
	emphasis_begin(emphasis, color, out);
	fputs(text, out);
	emphasis_end(emphasis, color, out);
	fputc('\n', out);
}

/* More of them are not named. */
#define CHANGES_NAMED 5

void print_process_changes(const struct snapshot *snapshot, unsigned int keys, FILE *out)
{
	static const struct {
		unsigned int keys;
		enum process_change change;
		const char *what;
	} changes[] = {
		{ GROUP_USER, CHANGED_USER, "user" },
		{ GROUP_UNIT | GROUP_CGROUP | GROUP_CONTAINER | GROUP_POD, CHANGED_CGROUP,
		  "cgroup" },
		{ GROUP_COMM, CHANGED_COMM, "name" },
	};
	char name[PROCESS_LABEL_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		size_t count = 0;

		for (size_t j = 0; keys & changes[i].keys && j < snapshot->nr_processes; j++) {
			const struct process *process = &snapshot->processes[j];

			if (!process->changes[changes[i].change] || ++count > CHANGES_NAMED)
				continue;
			process_label(process, name);
			fprintf(out, "%s%s", count == 1 ? "" : ", ", name);
			if (process->pid)
				fprintf(out, " %u", process->pid);
		}
		if (count > CHANGES_NAMED)
			fprintf(out, " and %zu more", count - CHANGES_NAMED);
		if (count)
			fprintf(out,
				": changed %s while counted; all %s calls are listed under the "
				"last one\n",
				changes[i].what, count == 1 ? "its" : "their");
	}
}

bool print_thread_time(const struct snapshot *snapshot, bool wants_lock, FILE *out)
{
	struct microstates states;
	bool lock = snapshot_microstates(snapshot, &states) && wants_lock;
	uint64_t total_ns = microstates_total_ns(&states);
	const struct {
		const char *name;
		uint64_t ns;
		bool is_known;
	} parts[] = {
		{ "user", states.user_ns, true },
		{ "system", states.system_ns, true },
		{ "run queue", states.runq_ns, snapshot->has_runq },
		{ "lock", states.lock_ns, lock },
		{ lock || !wants_lock ? "sleep" : "lock or sleep",
		  states.sleep_ns + (lock ? 0 : states.lock_ns), true },
	};
	/* The user CPU time above is measured at each call, and differs. */
	const char *note = " (split by clock ticks)\n  ", *separator = "=";

	if (!total_ns)
		return false;
	fprintf(out, "threads %.3f s", (double)total_ns / 1e9);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (!parts[i].is_known)
			continue;
		fprintf(out, "%s%s %s %.3f", wants_lock && i == 2 ? note : " ", separator,
			parts[i].name, (double)parts[i].ns / 1e9);
		separator = "+";
	}
	fputs(wants_lock ? "\n" : "\n  (user and system split by clock ticks)\n", out);
	return true;
}

void print_user_time(const struct snapshot *snapshot, FILE *out)
{
	if (snapshot->user_includes_calls)
		fputs("user time includes most calls that -t leaves out\n", out);
}

/* More kinds of calls in flight are not named. */
#define IN_FLIGHT_NAMED 5

/* The longest wait first; what is as old, in the order of the table. */
static int compare_flights(const void *a, const void *b)
{
	const struct row *first = &(*(const struct group *const *)a)->sum;
	const struct row *second = &(*(const struct group *const *)b)->sum;

	if (first->oldest_start_ns != second->oldest_start_ns)
		return compare_u64(first->oldest_start_ns, second->oldest_start_ns);
	return (first > second) - (first < second);
}

static void print_flight(const struct snapshot *snapshot, const struct row *row, FILE *out)
{
	char label[ROW_LABEL_MAX], age[AGE_MAX];

	row_label(row, label, sizeof(label));
	format_long_age(snapshot_oldest_ns(snapshot, row), age, sizeof(age));
	/* A call begun before counting is at least that old. */
	fprintf(out, "%s %" PRIu64 " (%s%s%s)", label, row->in_flight,
		row->in_flight > 1 ? "oldest " : "", row->in_flight_early ? ">= " : "", age);
}

static int print_in_flight(const struct snapshot *snapshot, FILE *out)
{
	struct group_list list __cleanup(group_list_done) = { 0 };
	const struct group **flights __cleanup(freep) = NULL;
	uint64_t left_out = 0;
	size_t count = 0;

	if (snapshot_group(snapshot, GROUP_SYSCALL, NULL, &list))
		return -ENOMEM;
	flights = calloc(list.nr_groups + 1, sizeof(struct group *));
	if (!flights)
		return -ENOMEM;
	for (size_t i = 0; i < list.nr_groups; i++) {
		if (list.groups[i].sum.in_flight)
			flights[count++] = &list.groups[i];
	}
	qsort(flights, count, sizeof(struct group *), compare_flights);
	for (size_t i = 0; i < count; i++) {
		if (i >= IN_FLIGHT_NAMED) {
			left_out += flights[i]->sum.in_flight;
			continue;
		}
		fputs(i ? ", " : "in flight: ", out);
		print_flight(snapshot, &flights[i]->sum, out);
	}
	if (left_out)
		fprintf(out, " and %zu more kind%s, %" PRIu64 " call%s", count - IN_FLIGHT_NAMED,
			plural(count - IN_FLIGHT_NAMED), left_out, plural(left_out));
	if (count)
		fputc('\n', out);
	return 0;
}

int report_trust(const struct snapshot *snapshot, bool color, FILE *out)
{
	char age[AGE_MAX];
	int err;

	print_exactness(snapshot, color, out);
	err = print_in_flight(snapshot, out);
	if (err)
		return err;
	if (snapshot->slower_than_ns) {
		format_age(snapshot->slower_than_ns, age, sizeof(age));
		fprintf(out, "only calls that took at least %s\n", age);
	}
	if (snapshot->caller_pidns)
		fputs("pids are those of this pid namespace\n", out);
	if (snapshot->threads_unknown)
		fprintf(out,
			"not known: whether %" PRIu64 " thread%s that ran all the time %s in a "
			"call; its CPU time is not counted\n",
			snapshot->threads_unknown, plural(snapshot->threads_unknown),
			snapshot->threads_unknown == 1 ? "is" : "are");
	return ferror(out) ? -EIO : 0;
}
