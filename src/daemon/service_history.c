/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns what is answered of the past: history and baselines. */
#include "daemon/service_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "daemon/question.h"
#include "report/timeline.h"

static int need_history(const struct service *s, struct diag *d)
{
	if (s->counts->history)
		return 0;
	return diag_set(d, DIAG_FAILED, ENODATA, "no history is kept%s%s",
			s->counts->history_trouble[0] ? ": " : "", s->counts->history_trouble);
}

/* A span that goes on up to now has what is not in the history yet, as of one more reading. */
static int read_tail(const struct service *s, const struct history_question *question,
		     struct snapshot **ret, struct diag *d)
{
	int err = 0;

	if (!question->to_ns || question->to_ns > s->counts->last->end_ns)
		err = counts_refresh(s->counts, d);
	if (err)
		return err;
	return counts_tail(s->counts, ret) ? diag_oom(d) : 0;
}

int service_ask_history(const struct service *s, const struct ipc_request *request,
			struct timeline *ret, struct diag *d)
{
	struct snapshot *tail __cleanup(snapshot_freep) = NULL;
	struct history_question question = { 0 };
	struct asked_targets targets;
	int err = need_history(s, d);

	if (!err)
		err = question_targets(request, &targets, d);
	if (!err)
		err = question_span(request, &question, d);
	if (!err)
		err = read_tail(s, &question, &tail, d);
	if (err)
		return err;
	question.filter = targets.filter;
	question.tail = tail;
	return history_ask(s->counts->history, &question, ret, d);
}

void answer_history(struct service *s, const struct ipc_request *request, struct ipc_answer *answer)
{
	struct timeline timeline __cleanup(timeline_done) = { 0 };
	struct diag d;
	int err = service_ask_history(s, request, &timeline, &d);
	FILE *body;

	if (err) {
		answer_failed(answer, err, &d);
		return;
	}
	body = answer_open(answer);
	answer_close(answer, body, body ? report_timeline_json(&timeline, body) : -ENOMEM,
		     CONTENT_JSON);
}

void answer_baselines(struct service *s, const struct ipc_request *request,
		      struct ipc_answer *answer)
{
	struct baseline *list __cleanup(freep) = NULL;
	size_t count = 0;
	struct diag d;
	int err = need_history(s, &d);
	FILE *body;

	(void)request;
	if (!err)
		err = baselines_list(&s->baselines, &list, &count, &d);
	if (err) {
		answer_failed(answer, err, &d);
		return;
	}
	body = answer_open(answer);
	answer_close(answer, body, body ? report_baselines_json(list, count, body) : -ENOMEM,
		     CONTENT_JSON);
}

static const char *baseline_of(const struct ipc_request *request)
{
	return strrchr(request->path, '/') + 1;
}

/* A file is an answer as it is. */
static int send_baseline(const struct service *s, const char *name, struct ipc_answer *answer,
			 struct diag *d)
{
	int err = baselines_read(&s->baselines, name, &answer->body, &answer->size, d);

	if (err)
		return err;
	answer->status = 200;
	answer->content_type = CONTENT_JSON;
	return 0;
}

static int send_chosen(const struct service *s, const char *name,
		       const struct process_filter *filter, struct ipc_answer *answer,
		       struct diag *d)
{
	struct snapshot *snapshot __cleanup(snapshot_freep) = NULL;
	struct snapshot *chosen __cleanup(snapshot_freep) = NULL;
	int err = baselines_load(&s->baselines, name, &snapshot, d);

	if (err)
		return err;
	if (snapshot_filter(snapshot, filter, &chosen))
		return diag_oom(d);
	answer_with_snapshot(chosen, answer);
	return 0;
}

void answer_baseline(struct service *s, const struct ipc_request *request,
		     struct ipc_answer *answer)
{
	const char *name = baseline_of(request);
	struct asked_targets targets;
	struct diag d;
	int err = need_history(s, &d);

	if (!err)
		err = question_targets(request, &targets, &d);
	if (!err)
		err = targets.filter.nr_selectors
			      ? send_chosen(s, name, &targets.filter, answer, &d)
			      : send_baseline(s, name, answer, &d);
	if (err)
		answer_failed(answer, err, &d);
}

static void answer_with_nothing(struct ipc_answer *answer)
{
	FILE *body = answer_open(answer);

	answer_close(answer, body, body && fputs("{\"schema\":1}\n", body) < 0 ? -ENOMEM : 0,
		     CONTENT_JSON);
}

void answer_save(struct service *s, const struct ipc_request *request, struct ipc_answer *answer)
{
	struct timeline timeline __cleanup(timeline_done) = { 0 };
	struct diag d;
	int err = baseline_check_name(baseline_of(request), &d);

	if (!err)
		err = service_ask_history(s, request, &timeline, &d);
	if (!err && !timeline.nr_steps)
		err = diag_set(&d, DIAG_FAILED, ENODATA, "nothing was counted in that time");
	if (!err)
		err = baselines_save(&s->baselines, baseline_of(request), &timeline.steps[0],
				     ipc_parameter(request, "replace") != NULL, &d);
	if (err)
		answer_failed(answer, err, &d);
	else
		answer_with_nothing(answer);
}

void answer_remove(struct service *s, const struct ipc_request *request, struct ipc_answer *answer)
{
	struct diag d;
	int err = need_history(s, &d);

	if (!err)
		err = baselines_remove(&s->baselines, baseline_of(request), &d);
	if (err)
		answer_failed(answer, err, &d);
	else
		answer_with_nothing(answer);
}
