/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns `bpftruss -c`: set up, count until told to stop, print one report. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/command.h"
#include "cmd/options.h"
#include "cmd/session.h"
#include "collect/collector.h"
#include "model/query.h"
#include "report/report.h"

/* Everything one run owns; each part may be absent. */
struct run {
	struct collector *collector;
	struct command command;
	struct session session;
	FILE *out; /* owned unless stdout or stderr */
};

static void run_done(struct run *run)
{
	command_done(&run->command);
	session_done(&run->session);
	collector_free(run->collector);
	if (run->out && run->out != stdout && run->out != stderr)
		fclose(run->out);
}

/*
 * Opened before anything is attached, since a report that cannot be written is not worth a run;
 * emptied only when there is a report, so that a run that fails leaves the old one.
 */
static int open_output(struct run *run, const struct options *o, struct diag *d)
{
	int fd;

	run->out = o->command ? stderr : stdout;
	if (!o->output)
		return 0;
	fd = open(o->output, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
	run->out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!run->out)
		return diag_set(d, DIAG_FAILED, errno, "cannot write %s: %s", o->output,
				strerror(errno));
	return 0;
}

/* A pipe or a terminal has nothing to empty. Returns 0 or -errno. */
static int empty_output(struct run *run, const struct options *o)
{
	struct stat st;

	if (!o->output || fstat(fileno(run->out), &st) || !S_ISREG(st.st_mode))
		return 0;
	return ftruncate(fileno(run->out), 0) ? -errno : 0;
}

static int add_targets(struct run *run, const struct options *o, struct diag *d)
{
	struct target_options how = { .follow = o->follow, .await_exec = o->command != NULL };
	int err = 0;

	if (o->command) {
		err = command_prepare(&run->command, o->command, d);
		return err ?: collector_add_target(run->collector, run->command.pid, &how, d);
	}
	for (size_t i = 0; i < o->nr_pids && !err; i++)
		err = collector_add_target(run->collector, o->pids[i], &how, d);
	return err;
}

static int start(struct run *run, const struct options *o, struct diag *d)
{
	uint32_t threads;
	int err = collector_start(run->collector, d);

	if (err)
		return err;
	if (o->command)
		return command_release(&run->command, o->command[0], d);
	threads = collector_live(run->collector);
	if (!threads)
		return diag_set(
			d, DIAG_FAILED, ESRCH,
			"no thread of %s can be counted: it has ended, or the kernel hides it",
			o->nr_pids == 1 ? "the process" : "any of the processes");
	fprintf(stderr,
		"bpftruss: counting %zu process%s (%u thread%s); Ctrl-C prints the report\n",
		o->nr_pids, o->nr_pids == 1 ? "" : "es", threads, threads == 1 ? "" : "s");
	return 0;
}

static int print_report(struct run *run, const struct options *o, struct diag *d)
{
	struct snapshot *all __cleanup(snapshot_freep) = NULL;
	struct snapshot *chosen __cleanup(snapshot_freep) = NULL;
	int err = collector_read(run->collector, &all, d);

	if (err)
		return err;
	if (snapshot_select(all, o->only, &chosen))
		return diag_oom(d);
	err = empty_output(run, o);
	if (!err)
		err = o->json ? report_json(chosen, run->out) : report_truss(chosen, run->out);
	if (!err && fflush(run->out))
		err = -errno;
	if (err)
		return diag_set(d, DIAG_FAILED, -err, "cannot write the report%s%s: %s",
				o->output ? " to " : "", o->output ?: "", strerror(-err));
	return 0;
}

static int run_count(struct run *run, const struct options *o, struct diag *d)
{
	int err = open_output(run, o, d);

	if (!err)
		err = session_open(&run->session, d);
	if (!err)
		err = collector_open(&o->collector, &run->collector, d);
	if (!err)
		err = add_targets(run, o, d);
	if (!err)
		err = start(run, o, d);
	if (!err)
		err = session_run(&run->session, run->collector, &run->command, o->duration_ns, d);
	if (err)
		return err;
	collector_stop(run->collector);
	return print_report(run, o, d);
}

static int count(const struct options *o)
{
	struct run run __cleanup(run_done) = { .command = { .go = -1, .failure = -1 } };
	struct diag d;

	session_init(&run.session);
	if (run_count(&run, o, &d))
		return cmd_fail(&d);
	if (!run.command.pid)
		return STATUS_OK;
	if (run.session.impatient)
		return 128 + run.session.impatient;
	/* Detached first: the command may go on for long. */
	collector_free(steal_ptr(&run.collector));
	command_wait(&run.command);
	return command_exit_status(&run.command);
}

int count_main(int argc, char **argv)
{
	struct options options __cleanup(options_done);
	struct diag d;

	if (options_parse(argc, argv, &options, &d))
		return cmd_fail(&d);
	if (options.help) {
		options_print_help();
		return STATUS_OK;
	}
	if (options.version) {
		puts("bpftruss " BPFTRUSS_VERSION);
		return STATUS_OK;
	}
	return count(&options);
}
