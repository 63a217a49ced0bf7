/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns how an answer is filled. */
#include "daemon/service_private.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "report/report.h"

static unsigned int status_of(int err)
{
	switch (err) {
	case -EINVAL:
	case -E2BIG: /* the answer would be */
		return 400;
	case -ENOENT:
		return 404;
	case -EEXIST:
		return 409;
	case -ENODATA:
		return 410;
	default:
		return 500;
	}
}

void answer_failed(struct ipc_answer *answer, int err, const struct diag *d)
{
	ipc_answer_error(answer, status_of(err), d->text);
}

FILE *answer_open(struct ipc_answer *answer)
{
	return open_memstream(&answer->body, &answer->size);
}

void answer_close(struct ipc_answer *answer, FILE *body, int err, const char *content_type)
{
	if (!body || fclose(body) || err) {
		free(steal_ptr(&answer->body));
		ipc_answer_error(answer, 500, "no memory for the answer");
		return;
	}
	answer->status = 200;
	answer->content_type = content_type;
}

void answer_with_snapshot(const struct snapshot *snapshot, struct ipc_answer *answer)
{
	FILE *body = answer_open(answer);

	answer_close(answer, body, body ? report_json(snapshot, body) : -ENOMEM, CONTENT_JSON);
}
