/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The flight recorder: keeps the newest single calls of all that is counted in a memory of a fixed size, and
 * has them saved when something happens. Invariants: nobody waits for it; a call that is counted while it
 * records is in the memory, or counted as overwritten, left out or lost.
 */
#pragma once

#include "calls/recorder.h"
#include "daemon/config.h"
#include "daemon/saves.h"
#include "json/status.h"

struct call_log {
	const struct daemon_config *config; /* the latest; borrowed */
	struct collector *collector;        /* borrowed */
	struct recorder *recorder;          /* owned; NULL: nothing is recorded */
	uint64_t bytes;                     /* of its memory */
	bool is_partial;                    /* only some calls are recorded */
	uint64_t start_ns, look_ns; /* CLOCK_MONOTONIC: when it began, when it is to look next */
	uint64_t taken;             /* from this collector */
	uint64_t own;               /* of them, made by whoever writes a file: left out */
	struct call_totals before;  /* of collectors that were replaced */
	uint64_t met;               /* events since the last file was begun */
	uint64_t met_ns;            /* CLOCK_MONOTONIC of the first of them */
	uint64_t signals;           /* of which met tells already */
	uint64_t told_lost;         /* so many lost calls the log knows of */
	bool is_losing;             /* as it says */
	struct saves saves;
};

/* Begins, if that is configured; counting has begun. Clients ask at the socket. 0, or -errno with d filled. */
int call_log_open(struct call_log *log, const struct daemon_config *config,
		  struct collector *collector, const char *socket, struct diag *d);

void call_log_done(struct call_log *log);

/* Goes on with another collector: the one before has stopped, and is the caller's again. */
void call_log_change_collector(struct call_log *log, struct collector *next);

/* Takes what has ended, if that is due, and saves what is to be saved. 0, or -errno with d filled. */
int call_log_look(struct call_log *log, struct diag *d);

/* How long at most to wait for that: milliseconds as poll() takes them, -1 for ever. */
int call_log_patience_ms(const struct call_log *log);

/* Says when calls begin to be lost, and when they are not any more: to be called from time to time. */
void call_log_tell(struct call_log *log);

/*
 * Writes a head and a piece of the recording from a position on; whether it is paused, others know. 0, or
 * -errno with d filled.
 */
int call_log_write(struct call_log *log, uint64_t position, bool is_paused, FILE *out,
		   struct diag *d);

void call_log_status(const struct call_log *log, struct recorder_status *ret);
