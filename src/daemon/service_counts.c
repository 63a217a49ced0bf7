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
static void answer_past(struct service *s, const struct ipc_request *request,
			struct ipc_answer *answer)
{
	struct timeline timeline __cleanup(timeline_done) = { 0 };
	bool both = ipc_parameter(request, "since") || ipc_parameter(request, "mark");
	struct diag d;
	int err = both ? diag_set(&d, DIAG_USAGE, EINVAL,
				  "a span ends at to: since and mark go on until now")
		       : service_ask_history(s, request, &timeline, &d);

	if (!err && (!timeline.nr_steps || !timeline.steps[0].sum))
		err = diag_set(&d, DIAG_FAILED, ENODATA, "nothing was counted in that time");
	if (err)
		answer_failed(answer, err, &d);
	else
		answer_with_snapshot(timeline.steps[0].sum, answer);
}

void answer_snapshot(struct service *s, const struct ipc_request *request,
		     struct ipc_answer *answer)
{
	struct counts_answer counted __cleanup(counts_answer_done) = { 0 };
	struct counts_question question = { 0 };
	struct asked_targets targets;
	struct diag d;
	int err;

	if (ipc_parameter(request, "from") || ipc_parameter(request, "to")) {
		answer_past(s, request, answer);
		return;
	}
	err = question_targets(request, &targets, &d);
	if (!err)
		err = read_since(request, &question, &d);
	question.filter = targets.filter;
	if (!err)
		err = counts_ask(s->counts, &question, &counted, &d);
	if (err)
		answer_failed(answer, err, &d);
	else
		answer_with_snapshot(counted.snapshot, answer);
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
