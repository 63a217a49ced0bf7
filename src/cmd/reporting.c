/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Turns options into a question to the daemon, and its answer into a snapshot; writes reports in
 * the format and to the place that the user chose, and the files beside them.
 */
#include "cmd/reporting.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/moment.h"

void ask_add_targets(struct ipc_url *url, const struct options *o)
{
	/* Indexed by enum selector_kind. */
	static const char *const names[] = { [SELECT_COMM] = "name",
					     [SELECT_CGROUP] = "cgroup",
					     [SELECT_UNIT] = "unit",
					     [SELECT_USER] = "user",
					     [SELECT_CONTAINER] = "container" };
	const struct targets *targets = &o->targets;

	/* No restriction. */
	if (targets->all)
		return;
	for (size_t i = 0; i < targets->nr_pids; i++)
		ask_add_number(url, "pid", targets->pids[i]);
	for (size_t i = 0; i < targets->nr_selectors; i++)
		ipc_url_add(url, names[targets->selectors[i].kind], targets->selectors[i].text);
}

void ask_add_number(struct ipc_url *url, const char *name, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	ipc_url_add(url, name, text);
}

void ask_add_report(struct ipc_url *url, const struct options *o, bool is_table, int width)
{
	char name[32];

	if (is_table) {
		ipc_url_add(url, "format", report_format_names[o->report.format]);
		ask_add_number(url, "width", width);
	}
	for (size_t i = 0; i < nr_option_defs; i++) {
		const struct option_def *def = &option_defs[i];
		const char *suffix = "";

		if (!def->asked || !o->given[i] || (!is_table && strcmp(def->name, "trace")))
			continue;
		/* If stacks are shown, --top limits them instead of the table. */
		if (o->report.show_stacks && !strcmp(def->name, "top"))
			suffix = "_stacks";
		snprintf(name, sizeof(name), "%s%s", def->name, suffix);
		for (char *c = name; *c; c++)
			*c = *c == '-' ? '_' : *c;
		ipc_url_add(url, name, o->given[i]);
	}
	if (!is_table)
		ask_add_split(url, o);
}

void ask_add_split(struct ipc_url *url, const struct options *o)
{
	const enum call_split split = group_split(o->report.table.keys);

	if (split != SPLIT_NONE)
		ipc_url_add(url, "by", row_split_names[split]);
}

int ask_read_span(const struct options *o, int64_t now_ns, int64_t *from_ns, int64_t *to_ns,
		  struct diag *d)
{
	int err = o->from ? moment_parse("--from", o->from, now_ns, from_ns, d) : 0;

	if (!err && o->to)
		err = moment_parse("--to", o->to, now_ns, to_ns, d);
	if (!err && *from_ns && (*to_ns ?: now_ns) <= *from_ns)
		err = diag_set(d, DIAG_USAGE, EINVAL,
			       "--from, --to: the end is not after the start");
	return err;
}

void ask_add_span(struct ipc_url *url, int64_t from_ns, int64_t to_ns, int64_t now_ns)
{
	if (from_ns)
		ask_add_number(url, "from", from_ns);
	if (to_ns && to_ns < now_ns)
		ask_add_number(url, "to", to_ns);
}

int ask(const struct options *o, const char *method, struct ipc_url *url, struct ipc_reply *ret,
	struct diag *d)
{
	struct remote *remote __cleanup(remote_freep) = NULL;
	int err;

	if (!o->remote.url)
		return ipc_call(o->socket ?: DEFAULT_SOCKET, method, url, NULL, ret, d);
	err = remote_new(&o->remote, &remote, d);
	return err ?: ipc_call_remote(remote, method, url, NULL, ret, d);
}

int ask_and_print(const struct options *o, const char *path,
		  int (*write_text)(const char *body, size_t size, FILE *out, struct diag *d),
		  struct diag *d)
{
	struct ipc_url url;
	struct ipc_reply reply __cleanup(ipc_reply_done) = { 0 };
	int err;

	ipc_url_init(&url, path);
	err = ask(o, "GET", &url, &reply, d);
	if (err)
		return err;
	if (o->report.format != FORMAT_JSON)
		return write_text(reply.body, reply.size, stdout, d);
	fwrite(reply.body, 1, reply.size, stdout);
	return STATUS_OK;
}

void asked_snapshot_done(struct asked_snapshot *asked)
{
	snapshot_free(asked->snapshot);
	stack_table_free(asked->stacks);
}

#define MAX_SAVED_BYTES (1ULL << 30)

/* Reads all of stdin, which may be a pipe. */
static int stdin_read(char **ret, size_t *ret_size)
{
	char *text __cleanup(freep) = NULL, *grown;
	size_t size = 0, most = 0;

	do {
		if (size == most) {
			most = most ? 2 * most : 1 << 16;
			grown = most > MAX_SAVED_BYTES ? NULL : realloc(text, most + 1);
			if (!grown)
				return most > MAX_SAVED_BYTES ? -EFBIG : -ENOMEM;
			text = grown;
		}
		size += fread(text + size, 1, most - size, stdin);
	} while (!feof(stdin) && !ferror(stdin));
	if (ferror(stdin))
		return -EIO;
	text[size] = '\0';
	*ret = steal_ptr(&text);
	*ret_size = size;
	return 0;
}

int asked_snapshot_load(const char *path, struct asked_snapshot *ret, struct diag *d)
{
	char *text __cleanup(freep) = NULL;
	struct diag why;
	size_t size;
	int err = strcmp(path, "-")
			  ? regular_file_read(AT_FDCWD, path, 0, MAX_SAVED_BYTES, &text, &size)
			  : stdin_read(&text, &size);

	if (err == -EINVAL || err == -EFBIG)
		return diag_set(d, DIAG_FAILED, EINVAL, "%.200s is not a saved snapshot", path);
	if (err)
		return diag_set(d, DIAG_FAILED, -err, "cannot read %.200s: %s", path,
				strerror(-err));
	err = report_json_read(text, size, &ret->snapshot, &ret->stacks, &why);
	return err ? diag_set(d, DIAG_FAILED, -err, "%.200s: %.250s", path, why.text) : 0;
}

int targets_filter(const struct targets *targets, const struct snapshot *snapshot,
		   struct snapshot **ret)
{
	const struct process_filter filter = { targets->pids, targets->nr_pids, targets->selectors,
					       targets->nr_selectors };

	return snapshot_filter(snapshot, &filter, ret);
}

int keys_fit_sum(unsigned int keys, const struct snapshot *snapshot, struct diag *d)
{
	const char *key = group_key_for(keys & (GROUP_HOST | GROUP_PID));
	bool is_sum = false;

	for (size_t i = 0; i < snapshot->nr_rows; i++)
		is_sum |= snapshot->rows[i]->host == HOST_ALL;
	if (!is_sum || !(keys & (GROUP_HOST | GROUP_PID)))
		return 0;
	return diag_set(d, DIAG_FAILED, ENODATA,
			"--by %s: this snapshot is a sum of all hosts; merge without --sum", key);
}

int options_fit_snapshot(const struct options *o, const struct snapshot *snapshot, struct diag *d)
{
	const unsigned int keys = o->report.table.keys;
	const enum call_split split = group_split(keys);
	const char *missing = group_key_for(keys & (GROUPS_OF_THREADS | GROUP_SPLITS));
	bool has_threads = false, has_split = false;

	/* Rows by folder are split by path. */
	if (keys & GROUP_DIR)
		missing = row_split_names[SPLIT_PATH];
	for (size_t i = 0; i < snapshot->nr_rows; i++) {
		has_threads |= snapshot->rows[i]->tid != 0;
		has_split |= snapshot->rows[i]->split == split;
	}
	if (o->collector.stacks && !snapshot->stacks)
		return diag_set(d, DIAG_FAILED, ENODATA,
				"this snapshot has no call stacks: take one with --stacks");
	if (snapshot->nr_rows &&
	    ((keys & GROUPS_OF_THREADS && !has_threads) || (split && !has_split)))
		return diag_set(d, DIAG_FAILED, ENODATA,
				"this snapshot is not split by %s: take one with --by %s", missing,
				missing);
	return keys_fit_sum(keys, snapshot, d);
}

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
