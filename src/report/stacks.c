/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes call stacks as text: the section below a table, and the folded format. Invariant: what is printed
 * for a group, with what it says it left out, adds up to that group's row of the table.
 */
#include "report/report.h"

/*
 * Programs that make code while they run, and what has it named. By the name of the process, which is the
 * beginning of it.
 */
static const struct runtime {
	const char *comm, *remedy;
} runtimes[] = {
	{ "java", "jcmd PID Compiler.perfmap writes their names (Java 17 or newer)" },
	{ "node", "node --perf-basic-prof has them named" },
	{ "python", "python -X perf (3.12 or newer) has them named" },
	{ "php", "php -d opcache.jit_debug=16 has them named" },
	{ "dotnet", "DOTNET_PerfMapEnabled=1 has them named" },
	{ "ruby", "ruby --yjit-perf has them named" },
	{ "beam", "erl +JPperf true has them named" },
	{ "", "the program must write a perf map, /tmp/perf-PID.map" },
};

/* Calls with frames of code that is in no file and has no name, by what would name it. */
struct nameless {
	uint64_t calls[ARRAY_SIZE(runtimes)];
	const struct process *process[ARRAY_SIZE(runtimes)]; /* one of them */
};

#define FRAME_INDENT 14 /* as DTrace has it, and its counts end in column 17 */
#define COUNT_WIDTH  17

/* The number of stacks shown for a row unless the options say how many. */
#define DEFAULT_STACKS 10

struct section {
	const struct snapshot *snapshot;
	const struct stack_options *options;
	const struct time_scale *scale;
	uint64_t whole;              /* calls or ns of all groups: what shares are of */
	uint64_t calls[NR_VIEW_END]; /* of all groups, by end of their stacks */
	struct nameless nameless;
	FILE *out;
};

/* A group of a table, and the calls or ns by which it has its place in the section. */
struct heavy_group {
	const struct table_part *part;
	const struct group *group;
	enum table_half half;
	uint64_t weight;
	size_t place; /* in the table */
};

/* --- printing --- */

static void print_time(const struct section *section, const char *title, uint64_t ns)
{
	char text[SCALED_MAX];

	scale_format(section->scale, ns, text, sizeof(text));
	fprintf(section->out, "%s%s %s", title, text, section->scale->unit);
}

static void print_share(const struct section *section, const char *before, uint64_t weight)
{
	if (section->whole)
		fprintf(section->out, "%s%.1f%%", before,
			(double)weight * 100 / (double)section->whole);
}

static void print_count(const struct section *section, const struct stack_count *count)
{
	char text[SCALED_MAX];

	if (section->options->weight == STACK_WEIGHT_CALLS) {
		fprintf(section->out, "%*" PRIu64, COUNT_WIDTH, count->calls);
		print_share(section, "  ", count->calls);
		fputc('\n', section->out);
		return;
	}
	scale_format(section->scale, count->wall_ns, text, sizeof(text));
	fprintf(section->out, "%*s %s", COUNT_WIDTH, text, section->scale->unit);
	print_share(section, ", ", count->wall_ns);
	fprintf(section->out, ", in %" PRIu64 " call%s: ", count->calls, plural(count->calls));
	/* A kernel without run-queue times cannot tell the two apart. */
	if (section->snapshot->has_runq) {
		print_time(section, "sleep ", count->off_ns - count->runq_ns);
		print_time(section, ", runq ", count->runq_ns);
	} else {
		print_time(section, "off the CPU ", count->off_ns);
	}
	print_time(section, ", cpu ", count->wall_ns - count->off_ns);
	fputc('\n', section->out);
}

/* The longest round of calls that is shown once: interpreters take several frames a function. */
#define MAX_ROUND 8

/* How often the frames from an index on come again, one round of them after the other. */
static size_t rounds_after(const struct stack *view, size_t from, size_t length)
{
	size_t rounds = 0;

	for (size_t i = from + length; i < view->nr_frames; i++) {
		if (frame_compare(&view->frames[i - length], &view->frames[i], FRAME_EXACT))
			break;
		rounds += (i + 1 - from) % length == 0;
	}
	return rounds;
}

/* The shortest round that begins at an index and comes at least twice more; 0: there is none. */
static size_t find_round(const struct stack *view, size_t from, size_t *ret_rounds)
{
	for (size_t length = 1; length <= MAX_ROUND; length++) {
		*ret_rounds = rounds_after(view, from, length);
		if (*ret_rounds > 1)
			return length;
	}
	return 0;
}

static int print_frames(const struct section *section, const struct stack *view, size_t from,
			size_t count)
{
	for (size_t i = from; i < from + count; i++) {
		char *label __cleanup(freep) = frame_label(&view->frames[i], FRAME_EXACT);

		if (!label)
			return -ENOMEM;
		fprintf(section->out, "%*s%s\n", FRAME_INDENT, "", label);
	}
	return 0;
}

static int print_stack(const struct section *section, const struct stack_sample *sample)
{
	const char *end = view_end_name(sample->view.end);
	size_t rounds, length;

	fputc('\n', section->out);
	for (size_t i = 0; i < sample->view.nr_frames; i += length * (rounds + 1)) {
		length = find_round(&sample->view, i, &rounds);
		if (!length) {
			length = 1;
			rounds = 0;
		}
		if (print_frames(section, &sample->view, i, length))
			return -ENOMEM;
		if (rounds && length == 1)
			fprintf(section->out, "%*s[the same %zu more times]\n", FRAME_INDENT, "",
				rounds);
		else if (rounds)
			fprintf(section->out, "%*s[these %zu frames %zu more times]\n",
				FRAME_INDENT, "", length, rounds);
	}
	if (end)
		fprintf(section->out, "%*s%s\n", FRAME_INDENT, "", end);
	print_count(section, &sample->count);
	return 0;
}

/* Whether a frame is in no file: not so the last one of a walk that could not find out. */
static bool frame_is_in_no_file(const struct stack *view, size_t at)
{
	const struct stack_frame *frame = &view->frames[at];
	bool is_unknown = (view->end == STACK_MM_BUSY || view->end == STACK_TABLE_PENDING) &&
			  at + 1 == view->nr_frames;

	return !frame->kernel && !frame->module && !frame->symbol && !is_unknown;
}

static void count_nameless(struct nameless *nameless, const struct stack_sample *sample)
{
	const char *comm = sample->process ? sample->process->comm : "";
	size_t i = 0;

	while (i < sample->view.nr_frames && !frame_is_in_no_file(&sample->view, i))
		i++;
	if (i == sample->view.nr_frames)
		return;
	for (i = 0; strncmp(comm, runtimes[i].comm, strlen(runtimes[i].comm)) != 0;)
		i++;
	nameless->calls[i] += sample->count.calls;
	nameless->process[i] = nameless->process[i] ?: sample->process;
}

/* Adds up the stacks from an index on, which are more than the options want. */
static void print_rest(const struct section *section, const struct sample_list *list, size_t from)
{
	const bool by_time = section->options->weight == STACK_WEIGHT_TIME;
	struct stack_count sum = { 0 };

	for (size_t i = from; i < list->count; i++)
		stack_count_add(&sum, &list->samples[i].count);
	fprintf(section->out, "\n%*s(%zu %sstack%s%s%s)\n", FRAME_INDENT, "", list->count - from,
		by_time ? "" : "rarer ", plural(list->count - from), by_time ? " of less time" : "",
		section->options->top ? "" : "; --top N shows more");
	print_count(section, &sum);
}

static int print_group(struct section *section, const struct heavy_group *heavy)
{
	const bool by_time = section->options->weight == STACK_WEIGHT_TIME;
	const struct group *group = heavy->group;
	struct sample_list list __cleanup(samples_done) = { .samples = NULL };
	struct row *row = (struct row *)&group->sum;
	char title[COLUMN_TEXT_MAX];
	size_t shown;

	if (samples_list(section->snapshot, &row, 1, section->options->weight, &list))
		return -ENOMEM;
	samples_merge(&list);
	shown = min_u64(list.count, section->options->top ?: DEFAULT_STACKS);
	table_group_title(heavy->part, group, title);
	fprintf(section->out, "\n%s%s: ", title, heavy->half == TABLE_WAITING ? " (waiting)" : "");
	if (by_time)
		print_time(section, "", group->sum.wall_ns);
	fprintf(section->out, "%s%" PRIu64 " call%s", by_time ? " in " : "", group->sum.calls,
		plural(group->sum.calls));
	print_share(section, ", ", heavy->weight);
	fprintf(section->out, ", %zu stack%s\n", list.count, plural(list.count));
	for (size_t i = 0; i < list.count; i++) {
		section->calls[list.samples[i].view.end] += list.samples[i].count.calls;
		count_nameless(&section->nameless, &list.samples[i]);
		if (i < shown && print_stack(section, &list.samples[i]))
			return -ENOMEM;
	}
	if (shown < list.count)
		print_rest(section, &list, shown);
	return 0;
}

/* Says how frames without names would have them. */
static void print_nameless(const struct section *section)
{
	const struct nameless *nameless = &section->nameless;
	char comm[PROCESS_LABEL_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++) {
		const uint64_t calls = nameless->calls[i];

		if (!calls)
			continue;
		fprintf(section->out, "%" PRIu64 " call%s", calls, plural(calls));
		if (nameless->process[i]) {
			process_label(nameless->process[i], comm);
			fprintf(section->out, " of %s", comm);
		}
		fprintf(section->out, " came through code without names, made while it runs: %s\n",
			runtimes[i].remedy);
	}
}

/* Prints how many calls have no complete stack, if any. */
static void print_completeness(const struct section *section)
{
	uint64_t all = 0, incomplete = 0;
	const char *separator = ":";

	for (unsigned int end = 0; end < NR_VIEW_END; end++) {
		all += section->calls[end];
		incomplete += end == STACK_COMPLETE ? 0 : section->calls[end];
	}
	if (!incomplete)
		return;
	fprintf(section->out, "\n%" PRIu64 " of %" PRIu64 " call%s without a complete stack",
		incomplete, all, plural(all));
	for (unsigned int end = STACK_COMPLETE + 1; end < NR_VIEW_END; end++) {
		if (!section->calls[end])
			continue;
		fprintf(section->out, "%s %" PRIu64 " %s", separator, section->calls[end],
			view_end_name(end));
		separator = ",";
	}
	fputc('\n', section->out);
}

/* Puts those first that weigh most, but a last group of others stays behind them. */
static int compare_heavy(const void *x, const void *y)
{
	const struct heavy_group *a = x, *b = y;
	const int order = !!a->group->nr_merged - !!b->group->nr_merged;

	return order ?: compare_u64(b->weight, a->weight) ?: compare_u64(a->place, b->place);
}

/* The groups of both halves that have calls. Whoever wants the order of --sort gets that of the table. */
static int list_groups(struct section *section, const struct table_part parts[NR_TABLE_HALF],
		       bool is_sorted, struct heavy_group **ret, size_t *ret_count)
{
	struct heavy_group *list = calloc(parts[TABLE_WORKING].list.nr_groups +
						  parts[TABLE_WAITING].list.nr_groups + 1,
					  sizeof(*list));
	uint64_t most = 0;
	size_t count = 0;

	if (!list)
		return -ENOMEM;
	for (enum table_half half = 0; half < NR_TABLE_HALF; half++) {
		for (size_t i = 0; i < parts[half].list.nr_groups; i++) {
			const struct group *group = &parts[half].list.groups[i];
			const struct row *sum = &group->sum;
			uint64_t weight = section->options->weight == STACK_WEIGHT_TIME
						  ? sum->wall_ns
						  : sum->calls;

			most = max_u64(most, sum->wall_ns);
			section->whole += weight;
			if (sum->calls)
				list[count++] = (struct heavy_group){ &parts[half], group, half,
								      weight, i };
		}
	}
	/* The whole section has one unit, that of its longest time. */
	section->scale = scale_for_sums(most);
	if (!is_sorted)
		qsort(list, count, sizeof(*list), compare_heavy);
	*ret = list;
	*ret_count = count;
	return 0;
}

int report_stacks(const struct snapshot *snapshot, const struct table_options *options,
		  const struct stack_options *stack_options, FILE *out)
{
	struct table_part parts[NR_TABLE_HALF] __cleanup(table_halves_done) = { { .list = { 0 } } };
	struct heavy_group *groups __cleanup(freep) = NULL;
	struct section section = {
		.snapshot = snapshot,
		.options = stack_options,
		.out = out,
	};
	size_t count = 0;

	if (!snapshot->stacks)
		return 0;
	if (table_halves_make(snapshot, options, parts) ||
	    list_groups(&section, parts, options->sort.count, &groups, &count))
		return -ENOMEM;
	for (size_t i = 0; i < count && !ferror(out); i++) {
		if (print_group(&section, &groups[i]))
			return -ENOMEM;
	}
	print_completeness(&section);
	print_nameless(&section);
	return ferror(out) ? -EIO : 0;
}

/* --- folded: a line has one blank, and semicolons only between names ----------------------------- */

struct folded_line {
	char *path; /* owned */
	uint64_t weight;
};

struct folded {
	struct sample_list list;
	struct folded_line *lines; /* owned */
	size_t count;
};

static void folded_done(struct folded *folded)
{
	for (size_t i = 0; i < folded->count; i++)
		free(folded->lines[i].path);
	free(folded->lines);
	samples_done(&folded->list);
}

static void write_name(const char *before, const char *name, FILE *out)
{
	size_t length;

	fputs(before, out);
	for (; *name; name += length) {
		unsigned int code = text_code(name, strnlen(name, 4), &length);
		/* Blanks, at which some reader splits a line. Control characters are escaped already. */
		bool is_blank = code == ' ' || code == 0xa0 || code == 0x1680 ||
				(code >= 0x2000 && code <= 0x200a) || code == 0x202f ||
				code == 0x205f || code == 0x3000;

		length = length ?: 1;
		if (code == ';' || is_blank)
			fputc(code == ';' ? ':' : '_', out);
		else
			fwrite(name, 1, length, out);
	}
}

static int write_path(const struct snapshot *snapshot, const struct stack_sample *sample, FILE *out)
{
	const struct stack *view = &sample->view;
	char comm[PROCESS_LABEL_MAX], call[ROW_LABEL_MAX];

	row_comm(snapshot, sample->row, comm);
	write_name("", comm, out);
	if (view_end_name(view->end))
		write_name(";", view_end_name(view->end), out);
	for (size_t i = view->nr_frames; i-- > 0;) {
		const struct stack_frame *frame = &view->frames[i];
		char *label __cleanup(freep) = frame_label(frame, FRAME_FUNCTION);

		if (!label)
			return -ENOMEM;
		write_name(";", label, out);
		/* Marks that flame graph tools know. */
		fputs(frame->inlined ? "_[i]" : frame->kernel ? "_[k]" : "", out);
	}
	row_label(sample->row, call, sizeof(call));
	write_name(";", call, out);
	return 0;
}

static int compare_lines(const void *x, const void *y)
{
	const struct folded_line *a = x, *b = y;

	return strcmp(a->path, b->path);
}

int report_folded(const struct snapshot *snapshot, enum stack_weight weight, FILE *out)
{
	struct folded folded __cleanup(folded_done) = { .lines = NULL };
	struct sample_list *list = &folded.list;
	struct folded_line *line;
	uint64_t sum = 0;
	size_t size;

	if (samples_list(snapshot, snapshot->rows, snapshot->nr_rows, weight, list))
		return -ENOMEM;
	folded.lines = calloc(list->count + 1, sizeof(*folded.lines));
	if (!folded.lines)
		return -ENOMEM;
	for (size_t i = 0; i < list->count; i++) {
		FILE *path __cleanup(fclosep) = NULL;

		if (!list->samples[i].weight)
			continue;
		line = &folded.lines[folded.count];
		path = open_memstream(&line->path, &size);
		if (!path)
			return -ENOMEM;
		folded.count++;
		line->weight = list->samples[i].weight;
		if (write_path(snapshot, &list->samples[i], path) || fflush(path))
			return -ENOMEM;
	}
	qsort(folded.lines, folded.count, sizeof(*folded.lines), compare_lines);
	for (size_t i = 0; i < folded.count; i++) {
		sum += folded.lines[i].weight;
		if (i + 1 < folded.count && !compare_lines(&folded.lines[i], &folded.lines[i + 1]))
			continue;
		fprintf(out, "%s %" PRIu64 "\n", folded.lines[i].path, sum);
		sum = 0;
	}
	return ferror(out) ? -EIO : 0;
}
