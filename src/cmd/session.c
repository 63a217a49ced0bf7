/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the event loop of one counting: a poll() over three descriptors, no timeouts. */
#include "cmd/session.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

void session_signal_set(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
}

void session_init(struct session *session)
{
	session->signals = -1;
	session->timer = -1;
	session->impatient = 0;
}

int session_open(struct session *session, struct diag *d)
{
	sigset_t set;

	session_signal_set(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	session->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	session->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (session->signals < 0 || session->timer < 0)
		return diag_set(d, DIAG_FAILED, errno, "cannot wait for signals: %s",
				strerror(errno));
	return 0;
}

void session_done(struct session *session)
{
	closep(&session->signals);
	closep(&session->timer);
}

static void session_set_timer(const struct session *session, uint64_t duration_ns)
{
	struct itimerspec when = {
		.it_value = { .tv_sec = (time_t)(duration_ns / NS_PER_SEC),
			      .tv_nsec = (long)(duration_ns % NS_PER_SEC) },
	};

	timerfd_settime(session->timer, 0, &when, NULL);
}

/*
 * Returns whether the report is due. A command gets the signal unless the terminal gave it to the
 * whole foreground group already.
 */
static bool session_signal(struct session *session, const struct command *command, int *signals)
{
	struct signalfd_siginfo info;

	if (read(session->signals, &info, sizeof(info)) != sizeof(info))
		return false;
	if (!command->pid)
		return true;
	if ((*signals)++) {
		session->impatient = (int)info.ssi_signo;
		return true;
	}
	if (info.ssi_code != SI_KERNEL)
		kill(command->pid, (int)info.ssi_signo);
	fprintf(stderr, "bpftruss: waiting for process %d to end; Ctrl-C again to report now\n",
		command->pid);
	return false;
}

int session_run(struct session *session, struct collector *collector, struct command *command,
		uint64_t duration_ns, struct diag *d)
{
	struct pollfd fds[] = {
		{ .fd = session->signals, .events = POLLIN },
		{ .fd = session->timer, .events = POLLIN },
		{ .fd = collector_fd(collector), .events = POLLIN },
	};
	int signals = 0, err;

	if (duration_ns)
		session_set_timer(session, duration_ns);
	for (;;) {
		err = collector_reclaim(collector);
		if (err)
			return diag_set(d, DIAG_FAILED, -err, "cannot follow the processes: %s",
					strerror(-err));
		if (collector_live(collector) == 0)
			return 0;
		if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
			return diag_set(d, DIAG_FAILED, errno, "poll: %s", strerror(errno));
		if (fds[0].revents && session_signal(session, command, &signals))
			return 0;
		if (fds[1].revents)
			return 0;
	}
}
