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

/* Writes a file beside the report: each report replaces what the last one wrote. */
static int write_side_file(const struct report_options *r, enum side_file which,
			   const struct snapshot *snapshot, FILE *out)
{
	static const enum report_format formats[NR_SIDE_FILE] = {
		[SIDE_FILE_CHART] = FORMAT_CHART,
		[SIDE_FILE_FOLDED] = FORMAT_FOLDED,
		[SIDE_FILE_PPROF] = FORMAT_PPROF,
		[SIDE_FILE_FLAME] = FORMAT_FLAME,
	};
	struct report_options how = { .format = formats[which],
				      .table = r->table,
				      .stacks = r->stacks };

	return report_write(snapshot, &how, out);
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

static int output_side_file(const struct options *o, enum side_file which,
			    const struct snapshot *snapshot, struct diag *d)
{
	const char *path = o->output.side_files[which];
	FILE *file __cleanup(fclosep) = fopen(path, "we");
	int err = file ? write_side_file(&o->report, which, snapshot, file) : -errno;

	if (!err && fflush(file))
		err = -errno;
	return err ? diag_set(d, DIAG_FAILED, -err, "cannot write %s: %s", path, strerror(-err))
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

int output_report(struct output *output, const struct options *o, const struct snapshot *snapshot,
		  struct diag *d)
{
	struct snapshot *chosen __cleanup(snapshot_freep) = NULL;
	struct report_options how = o->report;
	int err;

	if (snapshot_select(snapshot, o->output.only, &chosen))
		return diag_oom(d);
	how.no_header |= output->begun;
	how.table.width = output_width(o, output->stream);
	how.table.color = output_has_color(output->stream);
	err = output_begin(output, o);
	if (!err && output->is_series)
		print_span(snapshot, how.format, output->stream);
	if (!err)
		err = report_write(chosen, &how, output->stream);
	output->begun = true;
	if (!err && fflush(output->stream))
		err = -errno;
	if (err)
		return output_failed(o, err, d);
	for (int i = 0; i < NR_SIDE_FILE && !err; i++) {
		if (o->output.side_files[i])
			err = output_side_file(o, (enum side_file)i, chosen, d);
	}
	return err;
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
