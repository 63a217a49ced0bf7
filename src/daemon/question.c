/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the parameters of requests. Sentences name the parameter. */
#include "daemon/question.h"

static int number_parse(const struct question *q, const char *name, const char *text, uint64_t high,
			uint64_t *ret)
{
	if (number_read(text, high, ret))
		return 0;
	return diag_set(q->d, DIAG_USAGE, EINVAL, "%s: \"%.64s\" is not a number up to %llu", name,
			text, (unsigned long long)high);
}

/* 0 when it is absent. */
static int read_number(const struct question *q, const char *name, uint64_t high, uint64_t *ret)
{
	return number_parse(q, name, ipc_parameter(q->request, name) ?: "0", high, ret);
}

/* The same of a time. */
static int read_ns(const struct question *q, const char *name, uint64_t *ret)
{
	return read_number(q, name, INT64_MAX, ret);
}

int question_targets(const struct question *q, struct asked_targets *ret)
{
	static const struct {
		const char *name;
		enum selector_kind kind;
	} kinds[] = { { "name", SELECT_COMM },
		      { "unit", SELECT_UNIT },
		      { "cgroup", SELECT_CGROUP },
		      { "user", SELECT_USER },
		      { "container", SELECT_CONTAINER } };
	struct process_filter *filter = &ret->filter;

	*filter = (struct process_filter){ .pids = ret->pids, .selectors = ret->selectors };
	for (size_t i = 0; i < q->request->nr_parameters; i++) {
		const char *name = q->request->parameters[i].name;
		const char *value = q->request->parameters[i].value;
		uint64_t pid;

		for (size_t j = 0; j < ARRAY_SIZE(kinds); j++)
			if (!strcmp(name, kinds[j].name))
				ret->selectors[filter->nr_selectors++] =
					(struct target_selector){ kinds[j].kind, value };
		if (strcmp(name, "pid") != 0)
			continue;
		if (number_parse(q, name, value, INT32_MAX, &pid))
			return -EINVAL;
		ret->pids[filter->nr_pids++] = (pid_t)pid;
	}
	return 0;
}

int question_set(const struct question *q, const char *name, struct syscall_set **ret)
{
	const char *text = ipc_parameter(q->request, name);
	struct diag why;
	int err;

	*ret = NULL;
	if (!text)
		return 0;
	err = syscall_set_parse(text, ret, &why);
	if (!err)
		return 0;
	return diag_set(q->d, why.kind, -err, "%s: %.400s", name, why.text);
}

void asked_report_done(struct asked_report *report)
{
	syscall_set_free(report->waiting);
}

/* Whether a parameter is there, which has to be 1. */
static int read_flag(const struct question *q, const char *name, bool *ret)
{
	const char *text = ipc_parameter(q->request, name);

	*ret = text;
	if (text && strcmp(text, "1") != 0)
		return diag_set(q->d, DIAG_USAGE, EINVAL, "%s: \"%.64s\" is not 1", name, text);
	return 0;
}

static int read_stacks(const struct question *q, struct report_options *options)
{
	const char *weight = ipc_parameter(q->request, "stacks");

	options->show_stacks = weight;
	if (!weight || !strcmp(weight, "calls"))
		return 0;
	options->stacks.weight = STACK_WEIGHT_TIME;
	if (!strcmp(weight, "time"))
		return 0;
	return diag_set(q->d, DIAG_USAGE, EINVAL, "stacks: \"%.64s\" is neither calls nor time",
			weight);
}

/* Options that are lists and names, each as the command line takes it. */
static int read_words(const struct question *q, struct asked_report *report)
{
	struct report_options *options = &report->options;
	const char *by = ipc_parameter(q->request, "by"), *sort = ipc_parameter(q->request, "sort");
	const char *format = ipc_parameter(q->request, "format"),
		   *columns = ipc_parameter(q->request, "columns");
	struct diag *d = q->d;

	if ((by && group_keys_parse("by", by, &options->table.keys, d)) ||
	    (sort && sort_parse("sort", sort, &options->table.sort, d)) ||
	    (format && report_format_parse(format, &options->format, d)) ||
	    (columns && columns_parse(columns, &report->columns, d)))
		return -EINVAL;
	if (options->format == FORMAT_JSON || options->format >= FORMAT_FOLDED)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"format: /v1/report writes tables; make others of /v1/snapshot, "
				"which is JSON");
	options->table.columns = columns ? &report->columns : NULL;
	return question_set(q, "waiting", &report->waiting);
}

int question_split(const struct question *q, enum call_split *ret)
{
	const char *by = ipc_parameter(q->request, "by");
	unsigned int keys = 0;

	if (by && group_keys_parse("by", by, &keys, q->d))
		return -EINVAL;
	if (keys & (GROUPS_OF_THREADS | (GROUP_SPLITS & ~GROUPS_OF_NAMES)))
		return diag_set(q->d, DIAG_USAGE, EINVAL,
				"by: the daemon keeps neither threads nor first arguments");
	*ret = group_split(keys);
	return 0;
}

int question_report(const struct question *q, struct asked_report *report)
{
	struct table_options *table = &report->options.table;
	enum call_split split;
	uint64_t width;
	int err;

	*report = (struct asked_report){ .options.format = FORMAT_WIDE };
	err = question_split(q, &split) ?: read_words(q, report);
	if (err)
		return err;
	if (read_stacks(q, &report->options) || read_flag(q, "errors_only", &table->errors_only) ||
	    read_flag(q, "successes_only", &table->successes_only) ||
	    read_flag(q, "errors", &report->options.errors) || read_flag(q, "hist", &table->hist) ||
	    read_number(q, "top", UINT32_MAX, &table->top) ||
	    read_number(q, "min_calls", UINT32_MAX, &table->min_calls) ||
	    read_number(q, "width", INT32_MAX, &width) ||
	    read_number(q, "top_stacks", UINT32_MAX, &report->options.stacks.top))
		return -EINVAL;
	report_options_settle(&report->options);
	table->width = (int)width;
	table->waiting = report->waiting;
	return report_options_check(&report->options, q->d);
}

int question_sum(const struct question *q, unsigned int *ret)
{
	const char *sum = ipc_parameter(q->request, "sum");
	unsigned int keys = 0;

	if (!sum)
		return 0;
	if (strcmp(sum, "call") != 0 && group_keys_parse("sum", sum, &keys, q->d))
		return -EINVAL;
	*ret = kind_fields_unused(keys);
	return 0;
}

int question_span(const struct question *q, struct history_question *ret)
{
	/* No number is beyond INT64_MAX. */
	if (read_ns(q, "from", (uint64_t *)&ret->from_ns) ||
	    read_ns(q, "to", (uint64_t *)&ret->to_ns) || read_ns(q, "step", &ret->step_ns))
		return -EINVAL;
	return question_sum(q, &ret->folded);
}

int question_since(const struct question *q, struct counts_question *ret)
{
	const char *since = ipc_parameter(q->request, "since"),
		   *mark = ipc_parameter(q->request, "mark");

	ret->boot_id = ipc_parameter(q->request, "boot_id");
	if (question_sum(q, &ret->folded))
		return -EINVAL;
	if (since && mark)
		return diag_set(q->d, DIAG_USAGE, EINVAL,
				"since when? give since or mark, not both");
	if (mark)
		ret->since = SINCE_MARK;
	else if (since)
		ret->since = strcmp(since, "boot") ? SINCE_AGO : SINCE_BOOT;
	if (mark)
		return number_parse(q, "mark", mark, UINT64_MAX, &ret->ns);
	return ret->since == SINCE_AGO ? read_ns(q, "since", &ret->ns) : 0;
}

int question_number(const struct question *q, const char *name, uint64_t *ret)
{
	return read_number(q, name, UINT64_MAX, ret);
}

int question_seconds(const struct question *q, uint64_t high, uint64_t *ret)
{
	return read_number(q, "seconds", high, ret);
}
