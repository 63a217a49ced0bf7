/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns options into a question to the daemon, and its answer into a snapshot. */
#include "cmd/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/clock.h"
#include "report/report.h"

void ask_add_targets(struct ipc_url *url, const struct options *o)
{
	/* Indexed by enum selector_kind. */
	static const char *const names[] = { [SELECT_COMM] = "name",
					     [SELECT_CGROUP] = "cgroup",
					     [SELECT_UNIT] = "unit",
					     [SELECT_USER] = "user" };
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

int ask_read_span(const struct options *o, int64_t now_ns, int64_t *from_ns, int64_t *to_ns,
		  struct diag *d)
{
	int err = o->from ? moment_parse("--from", o->from, now_ns, from_ns, d) : 0;

	if (!err && o->to)
		err = moment_parse("--to", o->to, now_ns, to_ns, d);
	if (!err && *from_ns && (*to_ns ?: now_ns) <= *from_ns)
		err = diag_set(d, DIAG_USAGE, EINVAL,
			       "--from, --to: the end is not after the begin");
	return err;
}

void ask_add_span(struct ipc_url *url, int64_t from_ns, int64_t to_ns, int64_t now_ns)
{
	if (from_ns)
		ask_add_number(url, "from", from_ns);
	if (to_ns && to_ns < now_ns)
		ask_add_number(url, "to", to_ns);
}

int ask(const struct options *o, enum ipc_method method, struct ipc_url *url, struct ipc_reply *ret,
	struct diag *d)
{
	return ipc_call(o->socket ?: DEFAULT_SOCKET, method, url, NULL, ret, d);
}

int ask_and_print(const struct options *o, const char *path,
		  int (*write_text)(const char *body, size_t size, FILE *out, struct diag *d),
		  struct diag *d)
{
	struct ipc_url url __cleanup(ipc_url_done);
	struct ipc_reply reply __cleanup(ipc_reply_done) = { 0 };
	int err;

	ipc_url_init(&url, path);
	err = ask(o, IPC_GET, &url, &reply, d);
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
