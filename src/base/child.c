/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts and ends children. A child is ours until it is reaped, which is soon, as it has a deadline. */
#include "base/child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

/* A killed process is gone at once, unless the kernel keeps it waiting for a disk: then we leave it. */
#define KILLED_WAIT_NS (100 * NS_PER_MS)

/* The child has none of our signals: not those we wait for, nor the terminal's. */
static int attributes_fill(posix_spawnattr_t *attributes)
{
	sigset_t all, none;
	int err;

	sigfillset(&all);
	sigemptyset(&none);
	err = posix_spawnattr_setsigdefault(attributes, &all);
	if (!err)
		err = posix_spawnattr_setsigmask(attributes, &none);
	if (!err)
		err = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF |
								   POSIX_SPAWN_SETSIGMASK |
								   POSIX_SPAWN_SETSID);
	return -err;
}

int child_spawn(struct child *child, char *const *argv, char *const *environment,
		const posix_spawn_file_actions_t *actions, uint64_t seconds)
{
	posix_spawnattr_t attributes;
	int err = -posix_spawnattr_init(&attributes);
	pid_t pid;

	if (err)
		return err;
	err = attributes_fill(&attributes);
	if (!err)
		err = -posix_spawn(&pid, "/proc/self/exe", actions, &attributes, argv, environment);
	posix_spawnattr_destroy(&attributes);
	return err ? err : child_adopt(child, pid, seconds);
}

void child_become(char *const *argv)
{
	char *const environment[] = { NULL };
	sigset_t none;

	for (int number = 1; number < NSIG; number++) {
		/* None that came for us is left to end it. */
		signal(number, SIG_IGN);
		signal(number, SIG_DFL);
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execve("/proc/self/exe", argv, environment);
}

int child_adopt(struct child *child, pid_t pid, uint64_t seconds)
{
	child->pid = pid;
	child->is_stopped = child->is_left = false;
	child->deadline_ns = clock_mono_ns() + seconds * NS_PER_SEC;
	child->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	return child->pidfd < 0 ? -errno : 0;
}

int child_timeout_ms(const struct child *child)
{
	return clock_until_ms(child->deadline_ns);
}

void child_stop(struct child *child)
{
	child->is_stopped = true;
	if (!child->pid || child->is_left)
		return;
	kill(child->pid, SIGKILL);
	kill(-child->pid, SIGKILL);
}

pid_t child_leave(struct child *child)
{
	child->is_left = true;
	return child->pid;
}

/* The same as child_wait(): where there was no descriptor left for a pidfd, it is asked for its end. */
static bool pid_wait(pid_t pid, uint64_t until_ns)
{
	static const struct timespec pause = { .tv_nsec = NS_PER_MS };
	siginfo_t end;

	for (;;) {
		end.si_pid = 0;
		if (waitid(P_PID, (id_t)pid, &end, WEXITED | WNOHANG | WNOWAIT) || end.si_pid)
			return true;
		if (clock_mono_ns() >= until_ns)
			return false;
		nanosleep(&pause, NULL);
	}
}

/* True when it has ended. */
static bool child_wait(const struct child *child, uint64_t until_ns)
{
	struct pollfd pollfd = { .fd = child->pidfd, .events = POLLIN };
	int left_ms, count;

	if (child->pidfd < 0)
		return pid_wait(child->pid, until_ns);
	do {
		left_ms = clock_until_ms(until_ns);
		count = poll(&pollfd, 1, left_ms);
	} while ((count < 0 && errno == EINTR) || (!count && left_ms));
	return count > 0;
}

int child_reap(struct child *child)
{
	int status = 0;
	pid_t pid;

	if (!child->is_stopped && !child_wait(child, child->deadline_ns))
		child_stop(child);
	if (child->is_left ||
	    (child->is_stopped && !child_wait(child, clock_mono_ns() + KILLED_WAIT_NS))) {
		child->pid = 0;
		return -ETIMEDOUT;
	}
	do {
		pid = waitpid(child->pid, &status, 0);
	} while (pid < 0 && errno == EINTR);
	child->pid = 0;
	if (pid < 0)
		return -errno;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	return child->is_stopped ? -ETIMEDOUT : -EPROTO;
}

void child_done(struct child *child)
{
	if (child->pid) {
		child_stop(child);
		child_reap(child);
	}
	closep(&child->pidfd);
	closep(&child->output);
	*child = NO_CHILD;
}
