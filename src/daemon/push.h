/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pushes metrics and events to a collector, as [otlp] of the configuration says. A request is a file first
 * (daemon/spool.h), and a child sends what is there (ipc/post.h), the oldest first: so an outage or a restart
 * loses nothing as long as the files fit. Nothing here waits for the network.
 */
#pragma once

#include "daemon/events.h"
#include "daemon/service.h"
#include "daemon/spool.h"

struct push {
	const struct otlp_config *config; /* borrowed; NULL: nothing is pushed */
	struct otlp *otlp;
	struct events events;
	struct spool spool;
	struct child child;
	int64_t sending[POST_MAX_FILES]; /* the files that the child has */
	size_t nr_sending;
	uint64_t next_ns;      /* CLOCK_MONOTONIC of the next request */
	uint64_t again_ns;     /* and before which nothing is sent */
	unsigned int failures; /* one after the other */
	uint64_t told_dropped; /* requests, of which an event has told */
	bool is_dropping;
	const char *advice; /* the last that was logged; NULL: none since a request was taken */
	char trouble[640];  /* why the last try failed; "": it did not */
	char remark
		[640]; /* the collector's last words on requests that it took in part or refused */
	char host_id[40]; /* "": not known */
	uint64_t sent, failed, refused, rejected;
	int64_t sent_ns;
};

/* Pushes nothing. */
void push_init(struct push *push);

/* Opens what there is to push with, if anything is to be pushed. 0 or -errno with d filled. */
int push_open(struct push *push, const struct daemon_config *config, struct diag *d);
void push_done(struct push *push);

/* Returns where events are noted; NULL: nowhere, as nothing is pushed. */
struct events *push_events(struct push *push);

/* Readable when push_run() has something to do; -1: nothing. */
int push_fd(const struct push *push);

/* How long at most to wait for it, as poll() takes it. */
int push_patience_ms(const struct push *push);

/* Does what is due. */
void push_run(struct push *push, struct service *service);

/* Makes the last request, which the next daemon sends. */
void push_end(struct push *push, struct service *service);

/* Fills in what status and metrics say of pushing. */
void push_status(const struct push *push, struct otlp_status *ret);
