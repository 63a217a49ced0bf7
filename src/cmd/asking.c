/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns options into a question to the daemon, and its answer, or a file, into a snapshot. */
#include "cmd/asking.h"

#include <fcntl.h>

#include "base/moment.h"
#include "base/process.h"

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

void ask_add_sum(struct ipc_url *url, unsigned int folded)
{
	/* Each field is a bit. */
	static const char *const names[] = { "comm", "user", "cgroup" };
	char text[32] = "";

	if (!folded)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (folded & 1U << i)
			continue;
		strcat(text, *text ? "," : "");
		strcat(text, names[i]);
	}
	ipc_url_add(url, "sum", *text ? text : "call");
}

unsigned int ask_folded(const struct report_options *report)
{
	unsigned int keys = report->table.keys;

	if (!keys && report->errors)
		keys = GROUP_COMM;
	return kind_fields_unused(keys);
}

void ask_add_span(struct ipc_url *url, int64_t from_ns, int64_t to_ns, int64_t now_ns)
{
	if (from_ns)
		ask_add_number(url, "from", from_ns);
	if (to_ns && to_ns < now_ns)
		ask_add_number(url, "to", to_ns);
}

/* Takes sum=KEYS out; values have no =, which is encoded. False: there is none. */
static bool drop_sum(struct ipc_url *url)
{
	char *sum = strstr(url->text, "sum="), *rest = sum ? strchr(sum, '&') : NULL;

	if (!sum)
		return false;
	if (rest)
		memmove(sum, rest + 1, strlen(rest));
	else
		sum[-1] = '\0';
	url->size = strlen(url->text);
	url->nr_parameters--;
	return true;
}

static int ask_once(const struct options *o, const char *method, const struct ipc_url *url,
		    struct ipc_reply *ret, struct diag *d)
{
	struct remote *remote __cleanup(remote_freep) = NULL;
	int err;

	if (!o->remote.url)
		return ipc_call(o->socket ?: DEFAULT_SOCKET, method, url, NULL, ret, d);
	err = remote_new(&o->remote, &remote, d);
	return err ?: ipc_call_remote(remote, method, url, NULL, ret, d);
}

int ask(const struct options *o, const char *method, struct ipc_url *url, struct ipc_reply *ret,
	struct diag *d)
{
	int err = ask_once(o, method, url, ret, d);

	/* An older daemon adds nothing up: it answers with all kinds, as ours does of other counts. */
	if (err == -EINVAL && strstr(d->text, "no parameter \"sum\"") && drop_sum(url))
		err = ask_once(o, method, url, ret, d);
	return err;
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
	bool has_hosts = true, has_pids = !snapshot->nr_processes;

	for (size_t i = 0; i < snapshot->nr_processes; i++) {
		has_hosts &= snapshot->processes[i].host != HOST_ALL;
		has_pids |= snapshot->processes[i].pid != 0;
	}
	if (!snapshot->origins ||
	    !((keys & GROUP_HOST && !has_hosts) || (keys & GROUP_PID && !has_pids)))
		return 0;
	return diag_set(d, DIAG_FAILED, ENODATA,
			"--by %s: this snapshot is a sum of all %s; merge without --sum",
			has_hosts ? "pid" : group_key_for(keys & (GROUP_HOST | GROUP_PID)),
			has_hosts ? "processes of a name" : "hosts");
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
	if (snapshot->nr_rows && o->report.stacks.by == FLAME_BY_TID && !has_threads)
		return diag_set(d, DIAG_FAILED, ENODATA,
				"this snapshot is not split by tid: take one with --by tid");
	if (snapshot->nr_rows &&
	    ((keys & GROUPS_OF_THREADS && !has_threads) || (split && !has_split)))
		return diag_set(d, DIAG_FAILED, ENODATA,
				"this snapshot is not split by %s: take one with --by %s", missing,
				missing);
	return keys_fit_sum(keys, snapshot, d);
}
