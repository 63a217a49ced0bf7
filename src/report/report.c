/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes a snapshot in the form that was asked for, and says how far a text report can be trusted. */
#include "report/report.h"

#include "json/json.h"

const char *const report_format_names[NR_REPORT_FORMAT] = {
	[FORMAT_TRUSS] = "truss", [FORMAT_WIDE] = "wide",     [FORMAT_JSON] = "json",
	[FORMAT_CSV] = "csv",     [FORMAT_STRACE] = "strace", [FORMAT_ERRORS] = "errors",
};

int report_format_parse(const char *word, enum report_format *ret, struct diag *d)
{
	for (int i = 0; i < NR_REPORT_FORMAT; i++) {
		if (!strcmp(word, report_format_names[i])) {
			*ret = (enum report_format)i;
			return 0;
		}
	}
	return diag_set(
		d, DIAG_USAGE, EINVAL,
		"--format: no format \"%s\"; there are truss, wide, json, csv, strace, errors",
		word);
}

/* Whether any option is there that only tables obey. */
static bool table_is_shaped(const struct table_options *t)
{
	return t->columns || t->sort.count || t->top || t->min_calls || t->errors_only ||
	       t->waiting;
}

bool report_needs_wide(const struct table_options *table)
{
	return table->keys || table_is_shaped(table);
}

/* Returns the option that the format does not obey, or NULL. */
static const char *format_refused(const struct report_options *options)
{
	const enum report_format format = options->format;
	const struct table_options *t = &options->table;
	const unsigned int json_keys = GROUP_TID | GROUP_PID | GROUP_ARG0 | GROUP_SYSCALL;
	const bool is_shaped = table_is_shaped(t);
	const struct {
		bool is_broken;
		const char *sentence;
	} rules[] = {
		{ format == FORMAT_JSON && (is_shaped || t->keys & ~json_keys),
		  "--json has all rows, by process and call: of --by it takes tid and arg0; "
		  "--sort, --top, --columns, --min-calls, --errors-only and --waiting are for "
		  "tables" },
		{ format == FORMAT_STRACE && (is_shaped || t->keys),
		  "--format=strace has the rows and columns of strace -c: --by, --sort, --top, "
		  "--columns, --min-calls, --errors-only and --waiting are for the other tables" },
		{ format == FORMAT_TRUSS && (is_shaped || t->keys),
		  "--format=truss has the rows and columns of truss -c: --by, --sort, --top, "
		  "--columns, --min-calls, --errors-only and --waiting are for the other tables" },
		{ format == FORMAT_ERRORS && (t->sort.count || t->columns || t->waiting),
		  "--errors has columns and an order of its own: --sort, --columns and --waiting "
		  "are for the wide table" },
		{ format == FORMAT_CSV && t->waiting,
		  "--csv has all calls in one table: --waiting is for the wide table and "
		  "--chart" },
		{ options->show_stacks && (format == FORMAT_CSV || format == FORMAT_STRACE),
		  "--stacks goes with tables and --json; --folded and --pprof write files for "
		  "other programs" },
		{ t->hist && format != FORMAT_WIDE,
		  "--hist draws into the wide table; --json has the histograms as numbers" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (rules[i].is_broken)
			return rules[i].sentence;
	}
	return NULL;
}

int report_options_check(const struct report_options *options, struct diag *d)
{
	const struct table_options *t = &options->table;
	const unsigned int keys = t->keys ?: (unsigned int)GROUP_SYSCALL;
	const char *sentence = format_refused(options);
	/* A column by which rows are not told apart is empty in all of them. */
	const struct column *unknown = NULL;

	for (size_t i = 0; i < t->sort.count && !unknown; i++) {
		if (!column_is_known(t->sort.by[i].column, keys))
			unknown = t->sort.by[i].column;
	}
	for (size_t i = 0; t->columns && i < t->columns->count && !unknown; i++) {
		if (!column_is_known(t->columns->columns[i], keys))
			unknown = t->columns->columns[i];
	}
	if (sentence)
		return diag_set(d, DIAG_USAGE, EINVAL, "%s", sentence);
	if (unknown)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"--sort, --columns: rows combine several values of %s; add --by %s",
				unknown->name, unknown->name);
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

int report_write(const struct snapshot *snapshot, const struct report_options *options, FILE *out)
{
	const struct table_options *table = &options->table;
	int err;

	/* It has stacks in its rows. */
	if (options->format == FORMAT_JSON)
		return report_json(snapshot, out);
	if (options->format == FORMAT_WIDE)
		err = report_wide(snapshot, table, out);
	else if (options->format == FORMAT_CSV)
		err = report_csv(snapshot, table, !options->no_header, out);
	else if (options->format == FORMAT_STRACE)
		err = report_strace(snapshot, out);
	else if (options->format == FORMAT_ERRORS)
		err = report_errors(snapshot, table, out);
	else
		err = report_truss(snapshot, out);
	if (err || !options->show_stacks)
		return err;
	return report_stacks(snapshot, table, &options->stacks, out);
}

int report_text_json(const struct snapshot *snapshot, const char *text, FILE *out)
{
	struct json_writer to;

	json_begin(&to, out);
	json_put_document(&to, NULL);
	json_put_origin(&to, snapshot);
	json_put_text(&to, "report", text);
	return json_end(&to);
}

int report_text_json_read(const char *json, size_t size, struct report_text *ret, struct diag *d)
{
	struct json_document document __cleanup(json_close);
	const struct json_place whole = json_open(&document, json, size, d);
	const char *text = json_get_word(&whole, "report", 0);
	struct report_text report = {
		.start_ns = json_get_time(&whole, "start"),
		.end_ns = json_get_time(&whole, "end"),
		.elapsed_ns = json_get_number(&whole, "elapsed_ns", 0, 0),
	};
	char *at;

	if (document.err)
		return document.err;
	at = report.text = malloc(TEXT_ESCAPED_MAX(strlen(text)));
	if (!at)
		return diag_oom(d);
	/* All but line ends as it can be shown, which changes nothing of a report of ours. */
	for (size_t length;; text += length + 1) {
		length = strcspn(text, "\n");
		text_escape_visible(text, length, at);
		at += strlen(at);
		if (!text[length])
			break;
		*at++ = '\n';
	}
	*ret = report;
	return 0;
}

/* --- trust: how far a report can be trusted -------------------------------------------------------- */

void print_exactness(const struct snapshot *snapshot, FILE *out)
{
	char text[LOSSES_TEXT_MAX];

	losses_text(&snapshot->losses, text, sizeof(text));
	if (losses_none(&snapshot->losses) && !snapshot_is_exact(snapshot))
		snprintf(text, sizeof(text),
			 "not exact: %" PRIu64 " errors counted without their errno",
			 snapshot_errors_unnamed(snapshot));
	fprintf(out, "%s\n", text);
}

/* More of them are not named. */
#define CHANGES_NAMED 5

void print_process_changes(const struct snapshot *snapshot, unsigned int keys, FILE *out)
{
	static const struct {
		enum group_key key;
		enum process_change change;
		const char *what;
	} changes[] = {
		{ GROUP_USER, CHANGED_USER, "user" },
		{ GROUP_UNIT, CHANGED_CGROUP, "cgroup" },
		{ GROUP_COMM, CHANGED_COMM, "name" },
	};
	char name[PROCESS_LABEL_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		size_t count = 0;

		for (size_t j = 0; keys & changes[i].key && j < snapshot->nr_processes; j++) {
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
				": changed %s while counted; all calls stand under the last one\n",
				changes[i].what);
	}
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

int report_trust(const struct snapshot *snapshot, FILE *out)
{
	char age[AGE_MAX];
	int err;

	print_exactness(snapshot, out);
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
