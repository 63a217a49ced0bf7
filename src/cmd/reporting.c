/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes reports in the format and to the place that the user chose, and the files beside them.
 */
#include "cmd/reporting.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/clock.h"

void span_tell(const char *what, int64_t start_ns, int64_t end_ns, uint64_t elapsed_ns,
	       const char *remark)
{
	char start[CLOCK_LOCAL_SIZE], end[CLOCK_LOCAL_SIZE];

	clock_local(start_ns, start, sizeof(start));
	clock_local(end_ns, end, sizeof(end));
	fprintf(stderr, "bpftruss: %s%s to %s, %.1f s counted%s\n", what, start, end,
		(double)elapsed_ns / 1e9, remark);
}

/* --- writing ----------------------------------------------------------------------------------- */

void output_done(struct output *output)
{
	if (output->stream && output->stream != stdout && output->stream != stderr)
		fclose(output->stream);
}

int output_begin(struct output *output, const struct options *o)
{
	struct stat st;

	if (!o->output.path || output->emptied)
		return 0;
	output->emptied = true;
	if (fstat(fileno(output->stream), &st) || !S_ISREG(st.st_mode))
		return 0;
	return ftruncate(fileno(output->stream), 0) ? -errno : 0;
}

bool output_has_color(FILE *stream)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fileno(stream)) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

int output_width(const struct options *o, FILE *stream)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	uint64_t width;

	if (o->output.width)
		return (int)o->output.width;
	if (!ioctl(fileno(stream), TIOCGWINSZ, &size))
		return size.ws_col;
	return columns && number_read(columns, MAX_WIDTH, &width) ? (int)width : 0;
}

/* A word as a shell takes it. */
static void print_word(const char *word, FILE *out)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_./:=,@%+-";

	if (*word && !word[strspn(word, plain)]) {
		fputs(word, out);
		return;
	}
	fputc('\'', out);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", out);
		else
			fputc(*word, out);
	}
	fputc('\'', out);
}

/* The command line, to be freed; NULL: no memory. */
static char *command_line(const struct options *o)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	/* The first word is a verb, but for -c and single calls that of the program; top --once is -c by now. */
	fputs("bpftruss", out);
	if (o->once || !(o->verb->bit & VERBS_WITH_COMMAND))
		fprintf(out, " %s", o->argv[0]);
	for (int i = 1; i < o->argc; i++) {
		fputc(' ', out);
		print_word(o->argv[i], out);
	}
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

/* A file beside the report. */
struct side {
	const struct options *options;
	report_writer *write;
	const void *what;
	enum report_format format;
};

static int write_side(const void *closure, FILE *out)
{
	const struct side *side = closure;
	const struct options *o = side->options;
	char *command __cleanup(freep) = command_line(o);
	const struct report_options how = { .format = side->format,
					    .table = o->report.table,
					    .stacks = o->report.stacks,
					    .command = command };

	return side->write(side->what, &how, out);
}

static int write_snapshot(const void *what, const struct report_options *how, FILE *out)
{
	return report_write(what, how, out);
}

int output_open(struct output *output, const struct options *o, struct diag *d)
{
	const struct output_options *r = &o->output;
	int fd;

	for (int i = 0; i < NR_SIDE_FILE; i++) {
		const char *path = r->side_files[i];
		int side __cleanup(closep) =
			path ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666) : -1;

		if (path && side < 0)
			return diag_set(d, DIAG_FAILED, errno, "cannot write %s: %s", path,
					strerror(errno));
	}
	output->stream = o->command ? stderr : stdout;
	if (!r->path)
		return 0;
	fd = open(r->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
	output->stream = fd < 0 ? NULL : fdopen(fd, "w");
	if (!output->stream)
		return diag_set(d, DIAG_FAILED, errno, "cannot write %s: %s", r->path,
				strerror(errno));
	return 0;
}

int output_picture(const struct options *o, enum side_file which,
		   int (*draw)(const void *closure, FILE *out), const void *closure, struct diag *d)
{
	const char *path = o->output.side_files[which];
	FILE *file __cleanup(fclosep) = fopen(path, "we");
	int err = file ? draw(closure, file) : -errno;

	if (!err && fflush(file))
		err = -errno;
	return err ? diag_set(d, DIAG_FAILED, -err, "cannot write %s: %s", path, strerror(-err))
		   : 0;
}

int output_page(const struct options *o, report_writer *write, const void *what, struct diag *d)
{
	const struct side side = { o, write, what, FORMAT_HTML };

	return o->output.side_files[SIDE_FILE_HTML]
		       ? output_picture(o, SIDE_FILE_HTML, write_side, &side, d)
		       : 0;
}

int output_failed(const struct options *o, int err, struct diag *d)
{
	return diag_set(d, DIAG_FAILED, -err, "cannot write the report%s%s: %s",
			o->output.path ? " to " : "", o->output.path ?: "", strerror(-err));
}

/* Says of which span a table is. */
static void print_span(const struct snapshot *snapshot, enum report_format format, FILE *out)
{
	char start[CLOCK_LOCAL_SIZE], end[CLOCK_LOCAL_SIZE];

	if (format != FORMAT_TRUSS && format != FORMAT_WIDE && format != FORMAT_STRACE)
		return;
	clock_local(snapshot->start_ns, start, sizeof(start));
	clock_local(snapshot->end_ns, end, sizeof(end));
	fprintf(out, "\n%s to %s, %.3f s\n", start, end,
		(double)snapshot->elapsed_ns / (double)NS_PER_SEC);
}

/* Each report replaces what the last one wrote. */
static int output_sides(const struct options *o, const struct snapshot *snapshot, struct diag *d)
{
	/* Those of the history are over time, and so of no single snapshot. */
	static const struct {
		enum side_file which;
		enum report_format format;
	} sides[] = {
		{ SIDE_FILE_CHART, FORMAT_CHART }, { SIDE_FILE_FOLDED, FORMAT_FOLDED },
		{ SIDE_FILE_PPROF, FORMAT_PPROF }, { SIDE_FILE_FLAME, FORMAT_FLAME },
		{ SIDE_FILE_HTML, FORMAT_HTML },
	};
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sides) && !err && o->verb->bit != VERB_HISTORY; i++) {
		const struct side side = { o, write_snapshot, snapshot, sides[i].format };

		if (o->output.side_files[sides[i].which])
			err = output_picture(o, sides[i].which, write_side, &side, d);
	}
	return err;
}

int output_form(struct output *output, const struct options *o, report_writer *write,
		const void *what, struct diag *d)
{
	char *command __cleanup(freep) = command_line(o);
	struct report_options how = o->report;
	int err;

	how.no_header |= output->begun;
	how.table.width = output_width(o, output->stream);
	how.table.color = output_has_color(output->stream);
	how.command = command;
	err = output_begin(output, o) ?: write(what, &how, output->stream);
	output->begun = true;
	if (!err && fflush(output->stream))
		err = -errno;
	return err ? output_failed(o, err, d) : 0;
}

int output_report(struct output *output, const struct options *o, const struct snapshot *snapshot,
		  struct diag *d)
{
	struct snapshot *chosen __cleanup(snapshot_freep) = NULL;
	int err;

	if (snapshot_select(snapshot, o->output.only, &chosen))
		return diag_oom(d);
	err = output_begin(output, o);
	if (err)
		return output_failed(o, err, d);
	if (output->is_series)
		print_span(snapshot, o->report.format, output->stream);
	return output_form(output, o, write_snapshot, chosen, d) ?: output_sides(o, chosen, d);
}

int output_text(struct output *output, const struct options *o, const char *text, size_t size,
		struct diag *d)
{
	int err = output_begin(output, o);

	if (!err && (fwrite(text, 1, size, output->stream) != size || fflush(output->stream)))
		err = -errno;
	return err ? output_failed(o, err, d) : 0;
}

bool output_has_side_files(const struct options *o)
{
	for (int i = 0; i < NR_SIDE_FILE; i++) {
		if (o->output.side_files[i])
			return true;
	}
	return false;
}
