/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers clients, as docs/PROTOCOL.md says, and decides who may ask. */
#pragma once

#include "daemon/baselines.h"
#include "daemon/budget.h"
#include "daemon/counts.h"
#include "daemon/call_log.h"
#include "ipc/server.h"

/* A text of /metrics: anybody may ask, as often as he likes, and each text takes a reading. */
struct scrape {
	char *text; /* owned; NULL: none */
	size_t size;
	uint64_t made_ns; /* monotonic */
};

struct push;

/* All borrowed but the counters and texts. */
struct service {
	const struct daemon_config *config; /* the latest */
	const struct daemon_config *first;  /* of the start: tables, and who is let in over TCP */
	struct counts *counts;
	const struct budget *budget;
	struct call_log *calls;
	const struct push *push;
	struct ipc_server *local;               /* of the unix socket */
	char targets[256];                      /* who is counted, in words */
	uint64_t scrapes;                       /* of /metrics */
	uint64_t scrape_ns;                     /* what it took to write the last one */
	struct scrape texts[NR_METRICS_FORMAT]; /* the latest */
	bool warned[STATUS_MAX_TABLES];         /* that a table is nearly full */
};

/* Frees its own. */
void service_done(struct service *service);

/* The ipc_handler; closure is a struct service. */
void service_answer(void *closure, const struct ipc_request *request, struct ipc_answer *answer);

/* Fills in what `bpftruss status` shows; also the source of metrics about the daemon itself. */
void service_status(const struct service *service, struct daemon_status *ret);

/* Warns of tables in the kernel that are nearly full. */
void service_watch_tables(struct service *service);
