/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes reports in the format and to the place that the user chose, and the files beside them. */
#include "cmd/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "model/query.h"
#include "report/report.h"

static bool file_can_be_written(const char *path)
{
	int fd __cleanup(closep) = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

	return fd >= 0;
}

void output_done(struct output *output)
{
	if (output->stream && output->stream != stdout && output->stream != stderr)
		fclose(output->stream);
}

/* A pipe or a terminal has nothing to empty. Returns 0 or -errno. */
static int output_empty(struct output *output, const struct options *o)
{
	struct stat st;

	if (!o->report.output || output->begun || fstat(fileno(output->stream), &st) ||
	    !S_ISREG(st.st_mode))
		return 0;
	return ftruncate(fileno(output->stream), 0) ? -errno : 0;
}

int output_width(FILE *stream)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	int width = 0;

	if (!ioctl(fileno(stream), TIOCGWINSZ, &size))
		width = size.ws_col;
	else if (columns)
		width = atoi(columns);
	return width > 0 && width < 1000 ? width : 80;
}

/* Writes a file beside the report: each report replaces what the last one wrote. */
static int write_side_file(const struct output_options *r, enum side_file which,
			   const struct snapshot *snapshot, FILE *out)
{
	if (which == SIDE_FILE_CHART)
		return report_chart(snapshot, &r->table, out);
	if (which == SIDE_FILE_FOLDED)
		return report_folded(snapshot, r->stacks.weight, out);
	if (which == SIDE_FILE_FLAME)
		return report_flame(snapshot, r->stacks.weight, out);
	return report_pprof(snapshot, out);
}

int output_open(struct output *output, const struct options *o, struct diag *d)
{
	const struct output_options *r = &o->report;
	int fd;

	for (int i = 0; i < NR_SIDE_FILE; i++) {
		if (r->side_files[i] && !file_can_be_written(r->side_files[i]))
			return diag_set(d, DIAG_FAILED, errno, "cannot write %s: %s",
					r->side_files[i], strerror(errno));
	}
	output->stream = o->command ? stderr : stdout;
	if (!r->output)
		return 0;
	fd = open(r->output, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
	output->stream = fd < 0 ? NULL : fdopen(fd, "w");
	if (!output->stream)
		return diag_set(d, DIAG_FAILED, errno, "cannot write %s: %s", r->output,
				strerror(errno));
	return 0;
}

static int output_side_file(const struct output_options *r, enum side_file which,
			    const struct snapshot *snapshot, struct diag *d)
{
	FILE *file __cleanup(fclosep) = fopen(r->side_files[which], "we");
	int err = file ? write_side_file(r, which, snapshot, file) : -errno;

	if (!err && fflush(file))
		err = -errno;
	return err ? diag_set(d, DIAG_FAILED, -err, "cannot write %s: %s", r->side_files[which],
			      strerror(-err))
		   : 0;
}

/* Returns the error of writing the report itself, if it is to be told. */
static int output_failed(const struct options *o, int err, struct diag *d)
{
	return diag_set(d, DIAG_FAILED, -err, "cannot write the report%s%s: %s",
			o->report.output ? " to " : "", o->report.output ?: "", strerror(-err));
}

static int output_write(struct output *output, const struct options *o,
			const struct snapshot *snapshot)
{
	const struct output_options *r = &o->report;
	struct report_options how = {
		.format = r->format,
		.table = r->table,
		.no_header = output->begun,
		.show_stacks = r->show_stacks,
		.stacks = r->stacks,
	};
	int err = output_empty(output, o);

	how.table.width = output_width(output->stream);
	if (!err)
		err = report_write(snapshot, &how, output->stream);
	output->begun = true;
	if (!err && fflush(output->stream))
		err = -errno;
	return err;
}

int output_report(struct output *output, const struct options *o, const struct snapshot *snapshot,
		  struct diag *d)
{
	struct snapshot *chosen __cleanup(snapshot_freep) = NULL;
	int err;

	if (snapshot_select(snapshot, o->report.only, &chosen))
		return diag_oom(d);
	err = output_write(output, o, chosen);
	if (err)
		return output_failed(o, err, d);
	for (int i = 0; i < NR_SIDE_FILE && !err; i++) {
		if (o->report.side_files[i])
			err = output_side_file(&o->report, (enum side_file)i, chosen, d);
	}
	return err;
}

int output_text(struct output *output, const struct options *o, const char *text, size_t size,
		struct diag *d)
{
	int err = output_empty(output, o);

	if (!err && (fwrite(text, 1, size, output->stream) != size || fflush(output->stream)))
		err = -errno;
	return err ? output_failed(o, err, d) : 0;
}

bool output_has_side_files(const struct options *o)
{
	for (int i = 0; i < NR_SIDE_FILE; i++) {
		if (o->report.side_files[i])
			return true;
	}
	return false;
}
