/* SPDX-License-Identifier: BSD-2-Clause */
/* The time between start and report: waits for signals, the clock and the end of the targets. */
#ifndef BPFTRUSS_SESSION_H
#define BPFTRUSS_SESSION_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"
#include "cmd/command.h"
#include "collect/collector.h"

/* When a session ends by itself, and when it reports in between. */
struct session_limits {
	uint64_t duration_ns; /* 0: none */
	uint64_t interval_ns; /* 0: none */
	bool open_ended;      /* new targets may come when the last has ended */
};

struct session {
	struct session_limits limits;
	int signals;     /* signalfd */
	sigset_t taken;  /* what it delivers: its end, and SIGUSR1 */
	sigset_t before; /* what was blocked without us */
	int duration;    /* timerfd */
	int interval;    /* timerfd */
	int patience;    /* signals that a running command was given time to answer */
	int impatient;   /* the signal that would not wait for the command; 0: none came */
};

enum session_event {
	SESSION_OVER,     /* the last report is due */
	SESSION_INTERVAL, /* an interval is over */
	SESSION_ASKED,    /* somebody asked for a report so far: SIGUSR1 */
};

void session_init(struct session *session, const struct session_limits *limits);

/* Takes SIGINT, SIGTERM, SIGHUP (unless they are ignored) and SIGUSR1 from here on. */
int session_open(struct session *session, struct diag *d);

/* Waits for a command that goes on after its report; signals are passed on to it. */
void session_wait_command(struct session *session, struct command *command);

void session_done(struct session *session);

/* Starts the clocks. */
void session_start(struct session *session);

/* Whether a signal that has come ends the session; SIGUSR1, which asks for a report, does not. */
bool session_is_told_to_end(const struct session *session);

/*
 * Returns 0 and what has come. The first signal that would end the session is passed on to a
 * command that is running, which then ends as it likes; a second one does not wait for it and is
 * told in session->impatient.
 */
int session_wait(struct session *session, struct collector *collector, struct command *command,
		 enum session_event *ret, struct diag *d);

/*
 * Waits until the stacks that have come so far have their names: for so long at most, and not when a
 * signal comes, which stays to be taken by session_wait().
 */
int session_wait_names(const struct session *session, struct collector *collector,
		       uint64_t limit_ns, struct diag *d);

#endif
