/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the stream that reports go to, stdout, stderr or the file of -o, and writes them there. */
#include "cmd/output.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
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

	if (!o->output || output->begun || fstat(fileno(output->stream), &st) ||
	    !S_ISREG(st.st_mode))
		return 0;
	return ftruncate(fileno(output->stream), 0) ? -errno : 0;
}

int output_width(FILE *stream)
{
	struct winsize size;

	if (ioctl(fileno(stream), TIOCGWINSZ, &size) || !size.ws_col)
		return 80;
	return size.ws_col;
}

static int write_chart(const struct options *o, const struct snapshot *snapshot, FILE *file)
{
	return report_chart(snapshot, &o->table, file);
}

static int write_folded(const struct options *o, const struct snapshot *snapshot, FILE *file)
{
	return report_folded(snapshot, o->stacks.weight, file);
}

static int write_pprof(const struct options *o, const struct snapshot *snapshot, FILE *file)
{
	(void)o;
	return report_pprof(snapshot, file);
}

static int write_flame(const struct options *o, const struct snapshot *snapshot, FILE *file)
{
	return report_flame(snapshot, o->stacks.weight, file);
}

/* A file beside the report; what is in it is of the last one. */
struct side_file {
	const char *path; /* NULL: not asked for */
	int (*write)(const struct options *o, const struct snapshot *snapshot, FILE *file);
};

#define NR_SIDE_FILES (1 + NR_STACK_FILE)

static void list_side_files(const struct options *o, struct side_file list[NR_SIDE_FILES])
{
	list[0] = (struct side_file){ o->chart, write_chart };
	list[1] = (struct side_file){ o->stack_files[STACK_FILE_FOLDED], write_folded };
	list[2] = (struct side_file){ o->stack_files[STACK_FILE_PPROF], write_pprof };
	list[3] = (struct side_file){ o->stack_files[STACK_FILE_FLAME], write_flame };
}

int output_open(struct output *output, const struct options *o, struct diag *d)
{
	struct side_file list[NR_SIDE_FILES];
	int fd;

	list_side_files(o, list);
	for (int i = 0; i < NR_SIDE_FILES; i++) {
		if (list[i].path && !file_can_be_written(list[i].path))
			return diag_set(d, DIAG_FAILED, errno, "cannot write %s: %s", list[i].path,
					strerror(errno));
	}
	output->stream = o->command ? stderr : stdout;
	if (!o->output)
		return 0;
	fd = open(o->output, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
	output->stream = fd < 0 ? NULL : fdopen(fd, "w");
	if (!output->stream)
		return diag_set(d, DIAG_FAILED, errno, "cannot write %s: %s", o->output,
				strerror(errno));
	return 0;
}

static int side_file_write(const struct side_file *side, const struct options *o,
			   const struct snapshot *snapshot)
{
	FILE *file __cleanup(fclosep) = fopen(side->path, "we");
	int err = file ? side->write(o, snapshot, file) : -errno;

	if (!err && fflush(file))
		err = -errno;
	return err;
}

static int output_side_files(const struct options *o, const struct snapshot *snapshot,
			     struct diag *d)
{
	struct side_file list[NR_SIDE_FILES];
	int err = 0;

	list_side_files(o, list);
	for (int i = 0; i < NR_SIDE_FILES && !err; i++) {
		err = list[i].path ? side_file_write(&list[i], o, snapshot) : 0;
		if (err)
			diag_set(d, DIAG_FAILED, -err, "cannot write %s: %s", list[i].path,
				 strerror(-err));
	}
	return err;
}

/* What is to be told of an error when writing the report itself. */
static int output_failed(const struct options *o, int err, struct diag *d)
{
	return diag_set(d, DIAG_FAILED, -err, "cannot write the report%s%s: %s",
			o->output ? " to " : "", o->output ?: "", strerror(-err));
}

static int output_write(struct output *output, const struct options *o,
			const struct snapshot *snapshot)
{
	struct report_options how = {
		.format = o->format,
		.table = o->table,
		.no_header = output->begun,
		.show_stacks = o->show_stacks,
		.stacks = o->stacks,
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

	if (snapshot_select(snapshot, o->only, &chosen))
		return diag_oom(d);
	err = output_write(output, o, chosen);
	return err ? output_failed(o, err, d) : output_side_files(o, chosen, d);
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
	struct side_file list[NR_SIDE_FILES];
	bool has = false;

	list_side_files(o, list);
	for (int i = 0; i < NR_SIDE_FILES; i++)
		has |= list[i].path != NULL;
	return has;
}
