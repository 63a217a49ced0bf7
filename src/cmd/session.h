/* SPDX-License-Identifier: BSD-2-Clause */
/* The time between start and report: waits for signals, the clock and the end of the targets. */
#ifndef BPFTRUSS_SESSION_H
#define BPFTRUSS_SESSION_H

#include <signal.h>
#include <stdint.h>

#include "base/diag.h"
#include "cmd/command.h"
#include "collect/collector.h"

struct session {
	int signals;   /* signalfd */
	int timer;     /* timerfd */
	int impatient; /* the signal that would not wait for the command */
};

/* The signals that end a counting. */
void session_signal_set(sigset_t *set);

void session_init(struct session *session);

/* Takes those signals from here on. */
int session_open(struct session *session, struct diag *d);

void session_done(struct session *session);

/*
 * Returns 0 when the report is due: the targets have ended, duration_ns (0: no limit) is over, or
 * a signal came. The first signal is passed on to a command that is running, which then ends as it
 * likes; a second one does not wait for it and is told in session->impatient (0: none came).
 */
int session_run(struct session *session, struct collector *collector, struct command *command,
		uint64_t duration_ns, struct diag *d);

#endif
