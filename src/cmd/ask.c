/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns how a verb turns its options into a question to the daemon. */
#include "cmd/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/moment.h"
#include "cmd/cmd.h"
#include "daemon/config.h"
#include "report/report.h"

static int set_socket(void *options, const char *arg, struct diag *d)
{
	(void)d;
	((struct ask_options *)options)->socket = arg;
	return 0;
}

static int set_state_dir(void *options, const char *arg, struct diag *d)
{
	(void)d;
	((struct ask_options *)options)->state_dir = arg;
	return 0;
}

static int set_help(void *options, const char *arg, struct diag *d)
{
	(void)arg, (void)d;
	((struct ask_options *)options)->report.help = true;
	return 0;
}

static int set_from(void *options, const char *arg, struct diag *d)
{
	(void)d;
	((struct ask_options *)options)->from = arg;
	return 0;
}

static int set_to(void *options, const char *arg, struct diag *d)
{
	(void)d;
	((struct ask_options *)options)->to = arg;
	return 0;
}

static const struct option_def ask_defs[] = {
	{ "socket", "PATH", "of the daemon (default " DEFAULT_SOCKET ")", set_socket, 0 },
	{ "state-dir", "DIR", "of its history, if it does not run\n(default " DEFAULT_STATE_DIR ")",
	  set_state_dir, 0 },
	{ "help", NULL, "print this text", set_help, 'h' },
};

static const struct option_def span_defs[] = {
	{ "from", "TIME", "begin: 14:05, \"2026-11-19 14:05\", \"2h ago\", @1763560000", set_from,
	  0 },
	{ "to", "TIME", "end (default now)", set_to, 0 },
};

const struct option_part ask_part = { ask_defs, ARRAY_SIZE(ask_defs) };
const struct option_part span_part = { span_defs, ARRAY_SIZE(span_defs) };

static void ask_options_done(struct ask_options *o)
{
	options_done(&o->report);
}

int ask_main(const struct ask_verb *verb, int argc, char **argv)
{
	struct ask_options o __cleanup(ask_options_done) = { 0 };
	struct diag d;
	int words = option_table_parse(verb->options, argc, argv, &o, &d), status;

	if (words < 0)
		return cmd_fail(&d);
	if (o.report.help) {
		verb->print_help();
		return STATUS_OK;
	}
	options_derive_report(&o.report);
	status = verb->run(&o, argc - words, argv + words, &d);
	return status < 0 ? cmd_fail(&d) : status;
}

int ask_refuse_words(const char *verb, int nr_words, char **words, struct diag *d)
{
	return nr_words ? diag_set(d, DIAG_USAGE, EINVAL, "%s: \"%.100s\" is no option", verb,
				   words[0])
			: 0;
}

const char *ask_socket(const struct ask_options *o)
{
	return o->socket ?: DEFAULT_SOCKET;
}

void ask_add_targets(struct ipc_url *url, const struct ask_options *o)
{
	/* Indexed by enum selector_kind; all is no restriction. */
	static const char *const names[] = { [SELECT_COMM] = "name",
					     [SELECT_CGROUP] = "cgroup",
					     [SELECT_UNIT] = "unit",
					     [SELECT_USER] = "user" };
	const struct targets *targets = &o->report.targets;

	for (size_t i = 0; i < targets->nr_selectors; i++) {
		if (targets->selectors[i].kind == SELECT_ALL)
			return;
	}
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

int ask_add_span(struct ipc_url *url, const struct ask_options *o, struct diag *d)
{
	int64_t now = clock_real_ns(), from = 0, to = 0;
	int err = 0;

	if (o->from)
		err = moment_parse("--from", o->from, now, &from, d);
	if (!err && o->to)
		err = moment_parse("--to", o->to, now, &to, d);
	if (err)
		return err;
	if (from && (to ?: now) <= from)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"--from, --to: the end is not after the "
				"begin");
	if (from)
		ask_add_number(url, "from", from);
	/* Without an end, it is when the daemon answers. */
	if (to && to < now)
		ask_add_number(url, "to", to);
	return 0;
}

int ask(const struct ask_options *o, enum ipc_method method, struct ipc_url *url,
	struct ipc_reply *ret, struct diag *d)
{
	return ipc_call(ask_socket(o), method, url, NULL, ret, d);
}

void asked_snapshot_done(struct asked_snapshot *asked)
{
	snapshot_free(asked->snapshot);
	stack_table_free(asked->stacks);
}

int asked_snapshot_parse(const char *text, size_t size, struct asked_snapshot *ret, struct diag *d)
{
	return report_json_read(text, size, &ret->snapshot, &ret->stacks, d);
}

#define MAX_SAVED_BYTES (1ULL << 30)

int asked_snapshot_load(const char *path, struct asked_snapshot *ret, struct diag *d)
{
	/* Opening a FIFO would wait for whoever writes to it. */
	int fd __cleanup(closep) = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	FILE *file __cleanup(fclosep) = NULL;
	char *text __cleanup(freep) = NULL;
	struct diag why;
	struct stat st;
	size_t got;
	int err;

	if (fd < 0 || fstat(fd, &st))
		return diag_set(d, DIAG_FAILED, errno, "cannot read %.200s: %s", path,
				strerror(errno));
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > MAX_SAVED_BYTES)
		return diag_set(d, DIAG_FAILED, EINVAL, "%.200s is no saved snapshot", path);
	file = fdopen(fd, "r");
	if (!file)
		return diag_oom(d);
	fd = -1;
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return diag_oom(d);
	got = fread(text, 1, (size_t)st.st_size, file);
	err = asked_snapshot_parse(text, got, ret, &why);
	return err ? diag_set(d, DIAG_FAILED, -err, "%.200s: %.250s", path, why.text) : 0;
}
