/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns what is answered of counts: snapshots, metrics, and how the daemon is doing. */
#include "daemon/service_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "daemon/question.h"
#include "model/query.h"
#include "report/report.h"

static int read_since(const struct ipc_request *request, struct counts_question *question,
		      struct diag *d)
{
	const char *since = ipc_parameter(request, "since");
	const char *mark = ipc_parameter(request, "mark");

	if (since && mark)
		return diag_set(d, DIAG_USAGE, EINVAL, "since when? give since or mark, not both");
	question->since = SINCE_START;
	if (mark) {
		question->since = SINCE_MARK;
		question->boot_id = ipc_parameter(request, "boot_id");
		return question_number("mark", mark, UINT64_MAX, &question->ns, d);
	}
	if (!since)
		return 0;
	if (!strcmp(since, "boot")) {
		question->since = SINCE_BOOT;
		return 0;
	}
	question->since = SINCE_AGO;
	return question_number("since", since, INT64_MAX, &question->ns, d);
}

/* Of a span in the past: what the history knows. */
static int ask_past(struct service *s, const struct ipc_request *request, struct counts_answer *ret,
		    struct diag *d)
{
	struct timeline timeline __cleanup(timeline_done) = { 0 };
	int err;

	if (ipc_parameter(request, "since") || ipc_parameter(request, "mark"))
		return diag_set(d, DIAG_USAGE, EINVAL,
				"a span ends at to: since and mark go on until now");
	err = service_ask_history(s, request, &timeline, d);
	if (err)
		return err;
	if (!timeline.nr_steps || !timeline.steps[0].sum)
		return diag_set(d, DIAG_FAILED, ENODATA, "nothing was counted in that time");
	ret->snapshot = ret->owned = steal_ptr(&timeline.steps[0].sum);
	return 0;
}

/* The processes that were asked for, in the time that was asked for. */
static int ask_processes(struct service *s, const struct ipc_request *request,
			 struct counts_answer *ret, struct diag *d)
{
	struct counts_question question = { 0 };
	struct asked_targets targets;
	int err;

	if (ipc_parameter(request, "from") || ipc_parameter(request, "to"))
		return ask_past(s, request, ret, d);
	err = question_targets(request, &targets, d);
	if (!err)
		err = read_since(request, &question, d);
	question.filter = targets.filter;
	return err ?: counts_ask(s->counts, &question, ret, d);
}

/* Of these the calls that were asked for; the caller owns *ret. */
static int ask_calls(struct service *s, const struct ipc_request *request, struct snapshot **ret,
		     struct diag *d)
{
	struct counts_answer counted __cleanup(counts_answer_done) = { 0 };
	struct syscall_set *calls __cleanup(syscall_set_freep) = NULL;
	int err = question_calls(request, &calls, d);

	if (!err)
		err = ask_processes(s, request, &counted, d);
	if (!err && snapshot_select(counted.snapshot, calls, ret))
		err = diag_oom(d);
	return err;
}

void answer_snapshot(struct service *s, const struct ipc_request *request,
		     struct ipc_answer *answer)
{
	struct snapshot *snapshot __cleanup(snapshot_freep) = NULL;
	struct diag d;
	int err = ask_calls(s, request, &snapshot, &d);

	if (err)
		answer_failed(answer, err, &d);
	else
		answer_with_snapshot(snapshot, answer);
}

/* The text of a report as a JSON object, with what of the snapshot is not in the text. */
static int write_report(const struct snapshot *snapshot, const struct report_options *options,
			FILE *out)
{
	char *text __cleanup(freep) = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);
	int err = memory ? report_write(snapshot, options, memory) : -ENOMEM;

	if (memory && fclose(memory) && !err)
		err = -ENOMEM;
	return err ?: report_text_json(snapshot, text, out);
}

void answer_report(struct service *s, const struct ipc_request *request, struct ipc_answer *answer)
{
	struct snapshot *snapshot __cleanup(snapshot_freep) = NULL;
	struct asked_report asked __cleanup(asked_report_done);
	struct diag d;
	int err = question_report(request, &asked, &d);
	FILE *body;

	if (!err)
		err = ask_calls(s, request, &snapshot, &d);
	if (!err && asked.options.show_stacks && !snapshot->stacks)
		err = diag_set(&d, DIAG_FAILED, ENODATA,
			       "the daemon takes no call stacks: set 'stacks = yes' in [tables] of "
			       "its configuration");
	if (err) {
		answer_failed(answer, err, &d);
		return;
	}
	body = answer_open(answer);
	answer_close(answer, body, body ? write_report(snapshot, &asked.options, body) : -ENOMEM,
		     CONTENT_JSON);
}

void answer_status(struct service *s, const struct ipc_request *request, struct ipc_answer *answer)
{
	struct daemon_status status;
	struct diag d;
	FILE *body;

	(void)request;
	if (counts_refresh(s->counts, &d)) {
		answer_failed(answer, -ENOMEM, &d);
		return;
	}
	service_status(s, &status);
	body = answer_open(answer);
	answer_close(answer, body, body ? report_status_json(&status, body) : -ENOMEM,
		     CONTENT_JSON);
}

static void answer_with_metrics(struct service *s, enum metrics_format format,
				struct ipc_answer *answer)
{
	uint64_t start_ns = clock_mono_ns();
	struct metrics_self self;
	struct diag d;
	FILE *body;

	if (counts_refresh(s->counts, &d)) {
		answer_failed(answer, -ENOMEM, &d);
		return;
	}
	service_metrics_self(s, &self);
	body = answer_open(answer);
	answer_close(answer, body,
		     body ? report_metrics(s->counts->metrics, &self, format, body) : -ENOMEM,
		     metrics_content_type(format));
	s->scrape_ns = clock_mono_ns() - start_ns;
	if (answer->status == 200)
		scrape_keep(&s->texts[format], clock_mono_ns(), answer->body, answer->size);
}

void answer_metrics(struct service *s, const struct ipc_request *request, struct ipc_answer *answer)
{
	enum metrics_format format = metrics_negotiate(request->accept);

	if (scrape_again(&s->texts[format], clock_mono_ns(), &answer->body, &answer->size)) {
		answer->status = 200;
		answer->content_type = metrics_content_type(format);
	} else {
		answer_with_metrics(s, format, answer);
	}
	s->scrapes++;
}
