/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the reading of parameters. */
#include "daemon/question.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

int question_number(const char *name, const char *text, uint64_t high, uint64_t *ret,
		    struct diag *d)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || *ret > high)
		return diag_set(d, DIAG_USAGE, EINVAL, "%s: \"%.64s\" is no number up to %llu",
				name, text, (unsigned long long)high);
	return 0;
}

/* A number that may be absent: then it stays as it is. */
static int read_parameter(const struct ipc_request *request, const char *name, uint64_t high,
			  uint64_t *ret, struct diag *d)
{
	const char *text = ipc_parameter(request, name);

	return text ? question_number(name, text, high, ret, d) : 0;
}

static int add_pid(struct asked_targets *targets, const char *text, struct diag *d)
{
	uint64_t pid = 0;

	if (targets->filter.nr_pids == QUESTION_MAX_PIDS)
		return diag_set(d, DIAG_USAGE, EINVAL, "at most %d pids can be asked for",
				QUESTION_MAX_PIDS);
	if (question_number("pid", text, INT32_MAX, &pid, d))
		return -EINVAL;
	targets->pids[targets->filter.nr_pids++] = (pid_t)pid;
	return 0;
}

static int add_selector(struct asked_targets *targets, enum selector_kind kind, const char *text,
			struct diag *d)
{
	if (targets->filter.nr_selectors == MAX_SELECTORS)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"at most %d names, units, cgroups and users can be asked for",
				MAX_SELECTORS);
	targets->selectors[targets->filter.nr_selectors++] = (struct target_selector){ kind, text };
	return 0;
}

int question_targets(const struct ipc_request *request, struct asked_targets *ret, struct diag *d)
{
	static const struct {
		const char *name;
		enum selector_kind kind;
	} kinds[] = { { "name", SELECT_COMM },
		      { "unit", SELECT_UNIT },
		      { "cgroup", SELECT_CGROUP },
		      { "user", SELECT_USER } };
	int err = 0;

	ret->filter = (struct process_filter){ .pids = ret->pids, .selectors = ret->selectors };
	for (size_t i = 0; i < request->nr_parameters && !err; i++) {
		const char *name = request->parameters[i].name;
		const char *value = request->parameters[i].value;

		if (!strcmp(name, "pid"))
			err = add_pid(ret, value, d);
		for (size_t j = 0; j < ARRAY_SIZE(kinds) && !err; j++) {
			if (!strcmp(name, kinds[j].name))
				err = add_selector(ret, kinds[j].kind, value, d);
		}
	}
	return err;
}

int question_span(const struct ipc_request *request, struct history_question *question,
		  struct diag *d)
{
	const char *sum = ipc_parameter(request, "sum");
	uint64_t from = 0, to = 0;
	int err = read_parameter(request, "from", INT64_MAX, &from, d);

	if (!err && sum && strcmp(sum, "call") != 0)
		err = diag_set(d, DIAG_USAGE, EINVAL, "sum: \"%.64s\" is not call", sum);
	question->by_call = sum != NULL;

	if (!err)
		err = read_parameter(request, "to", INT64_MAX, &to, d);
	if (!err)
		err = read_parameter(request, "step", INT64_MAX, &question->step_ns, d);
	question->from_ns = (int64_t)from;
	question->to_ns = (int64_t)to;
	return err;
}

static int read_set(const struct ipc_request *request, const char *name, struct syscall_set **ret,
		    struct diag *d)
{
	const char *text = ipc_parameter(request, name);
	struct diag why;
	int err = text ? syscall_set_parse(text, ret, &why) : 0;

	return err ? diag_set(d, why.kind, -err, "%s: %.400s", name, why.text) : 0;
}

int question_calls(const struct ipc_request *request, struct syscall_set **ret, struct diag *d)
{
	*ret = NULL;
	return read_set(request, "trace", ret, d);
}

void asked_report_done(struct asked_report *asked)
{
	syscall_set_free(asked->waiting);
}

/* Options that are lists and names, each as the command line takes it. */
static int read_words(const struct ipc_request *request, struct asked_report *asked, struct diag *d)
{
	struct report_options *options = &asked->options;
	const char *by = ipc_parameter(request, "by"), *sort = ipc_parameter(request, "sort");
	const char *format = ipc_parameter(request, "format");
	const char *columns = ipc_parameter(request, "columns");
	const char *stacks = ipc_parameter(request, "stacks");

	if ((by && group_keys_parse(by, &options->table.keys, d)) ||
	    (sort && column_find("sort", sort, &options->table.sort, d)) ||
	    (format && report_format_parse(format, &options->format, d)) ||
	    (columns && columns_parse(columns, &asked->columns, d)))
		return -EINVAL;
	if (options->format == FORMAT_JSON)
		return diag_set(d, DIAG_USAGE, EINVAL, "format: /v1/snapshot is JSON");
	options->table.columns = columns ? &asked->columns : NULL;
	options->show_stacks = stacks != NULL;
	if (stacks && !strcmp(stacks, "time"))
		options->stacks.weight = STACK_WEIGHT_TIME;
	return read_set(request, "waiting", &asked->waiting, d);
}

int question_report(const struct ipc_request *request, struct asked_report *ret, struct diag *d)
{
	struct table_options *table = &ret->options.table;
	uint64_t top = 0, top_stacks = 0, width = 0;
	int err;

	*ret = (struct asked_report){ .options.format = FORMAT_WIDE };
	err = read_words(request, ret, d);
	if (err)
		return err;
	if (read_parameter(request, "top", UINT32_MAX, &top, d) ||
	    read_parameter(request, "min_calls", UINT32_MAX, &table->min_calls, d) ||
	    read_parameter(request, "width", INT32_MAX, &width, d) ||
	    read_parameter(request, "top_stacks", UINT32_MAX, &top_stacks, d))
		return -EINVAL;
	table->top = top;
	table->width = (int)width;
	table->waiting = ret->waiting;
	table->errors_only = ipc_parameter(request, "errors_only") != NULL;
	table->hist = ipc_parameter(request, "hist") != NULL;
	ret->options.stacks.top = top_stacks;
	return 0;
}
