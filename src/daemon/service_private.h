/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the service share; nobody else includes this. */
#ifndef BPFTRUSS_SERVICE_PRIVATE_H
#define BPFTRUSS_SERVICE_PRIVATE_H

#include <stdio.h>

#include "daemon/service.h"
#include "report/metrics.h"

#define CONTENT_JSON "application/json"

/* The status that a negative errno of ours means, and the sentence. */
void answer_failed(struct ipc_answer *answer, int err, const struct diag *d);

/* The stream into which a body is written; NULL: no memory. answer_close() is due in both cases. */
FILE *answer_open(struct ipc_answer *answer);

/* err is what writing said. */
void answer_close(struct ipc_answer *answer, FILE *body, int err, const char *content_type);

void answer_with_snapshot(const struct snapshot *snapshot, struct ipc_answer *answer);

/* What the parameters ask of the history. 0 or -errno with d filled. */
int service_ask_history(const struct service *service, const struct ipc_request *request,
			struct timeline *ret, struct diag *d);

/* About the daemon itself, for /metrics. */
void service_metrics_self(const struct service *service, struct metrics_self *ret);

/* The routes. */
void answer_snapshot(struct service *service, const struct ipc_request *request,
		     struct ipc_answer *answer);
void answer_report(struct service *service, const struct ipc_request *request,
		   struct ipc_answer *answer);
void answer_status(struct service *service, const struct ipc_request *request,
		   struct ipc_answer *answer);
void answer_metrics(struct service *service, const struct ipc_request *request,
		    struct ipc_answer *answer);
void answer_history(struct service *service, const struct ipc_request *request,
		    struct ipc_answer *answer);
void answer_baselines(struct service *service, const struct ipc_request *request,
		      struct ipc_answer *answer);
void answer_baseline(struct service *service, const struct ipc_request *request,
		     struct ipc_answer *answer);
void answer_save(struct service *service, const struct ipc_request *request,
		 struct ipc_answer *answer);
void answer_remove(struct service *service, const struct ipc_request *request,
		   struct ipc_answer *answer);

#endif
