/* SPDX-License-Identifier: BSD-2-Clause */
/* The time between start and report, and what ends it: signals, the clock and the end of the targets. */
#pragma once

#include <signal.h>

#include "cmd/command.h"
#include "cmd/live_line.h"
#include "cmd/options.h"

struct session {
	const struct options *options; /* borrowed */
	struct errands *errands;       /* owned: of the collector */
	struct collector *collector;   /* owned; NULL: not opened yet */
	struct snapshot *last;         /* owned: the reading at the end of the last interval */
	struct command command;
	int signals;     /* signalfd: what ends it, and SIGUSR1 */
	sigset_t before; /* what was blocked without us */
	int duration;    /* timerfd */
	int interval;    /* timerfd */
	int beat;        /* timerfd: of the line that shows that it lives */
	int keys;        /* borrowed: the terminal whose user ends the session; -1: none */
	int patience;    /* signals that a running command was given time to answer */
	int impatient;   /* the signal that would not wait for the command; 0: none came */
};

enum session_event {
	SESSION_OVER,     /* the last report is due */
	SESSION_INTERVAL, /* an interval is over */
	SESSION_ASKED,    /* somebody asked for a report so far: SIGUSR1 */
	SESSION_BEAT,     /* what session_beat() asked for is over */
	SESSION_KEYS,     /* a key was pressed, or the window has another size */
};

void session_init(struct session *session, const struct options *options);

/*
 * Takes SIGINT, SIGUSR1, and SIGTERM and SIGHUP unless they are ignored, from here on, and opens the
 * collector.
 */
int session_open(struct session *session, struct diag *d);

/*
 * Waits for a command that goes on after its report; signals are passed on to it. Returns its exit
 * status in a shell's terms: its own, or 128 + signal.
 */
int session_wait_command(struct session *session);

void session_done(struct session *session);

/* Counts the processes that were given by pid and those that match; an error if there are none. */
int session_attach(const struct session *session, struct diag *d);

/*
 * Begins: counts the targets, or the command, which waits to be let go, and says so on stderr. 0 or -errno
 * with d filled.
 */
int session_begin(struct session *session, struct diag *d);

/* Lets the command run. 0 or -errno with d filled. */
int session_release(struct session *session, struct diag *d);

/* Starts the clocks: intervals come at a steady pace. 0 ns: no duration, no intervals. */
void session_start(struct session *session, uint64_t duration_ns, uint64_t interval_ns);

/* Wakes up after so many ns; 0: not any more. */
void session_beat(struct session *session, uint64_t ns);

/*
 * Reads the counters. What ends from now on can be told in the next interval, which begins with this reading.
 * 0 or -errno with d filled.
 */
int session_read(struct session *session, struct snapshot **ret, struct diag *d);

/* Takes over such a reading: the next one is compared with it. */
void session_keep(struct session *session, struct snapshot *reading);

/*
 * Returns 0 and what has come. The first signal that would end the session is passed on to a
 * command that is running, which then ends as it likes; a second one does not wait for it and is
 * told in session->impatient. The end of all pids that were given ends it, but for top.
 */
int session_wait(struct session *session, enum session_event *ret, struct diag *d);

/*
 * Waits until the stacks that have come so far have their names: for so long at most, and not when a
 * signal comes, which stays to be taken by session_wait(). The line shows what is left to do.
 */
int session_wait_names(const struct session *session, uint64_t limit_ns,
		       const struct live_line *line, struct diag *d);
