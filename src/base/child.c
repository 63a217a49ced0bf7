/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starts and ends children, and takes what copies bring back through a socket. A child is ours until it is
 * reaped, which is soon, as it has a deadline.
 */
#include "base/child.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"

/* A killed process is gone at once, unless the kernel keeps it waiting for a disk: then we leave it. */
#define KILLED_WAIT_NS (100 * NS_PER_MS)

void child_become(const char *program, char *const *argv, char *const *environment)
{
	sigset_t none;

	for (int number = 1; number < NSIG; number++) {
		/* A signal that was sent to us must not end the program. */
		signal(number, SIG_IGN);
		signal(number, SIG_DFL);
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execve(program, argv, environment);
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

/* True when it has ended. It mostly has: whoever is not in a hurry waits for its descriptor before. */
static bool child_wait(const struct child *child, uint64_t until_ns)
{
	static const struct timespec pause = { .tv_nsec = NS_PER_MS };
	siginfo_t end;

	for (;;) {
		end.si_pid = 0;
		if (waitid(P_PID, (id_t)child->pid, &end, WEXITED | WNOHANG | WNOWAIT) ||
		    end.si_pid)
			return true;
		if (clock_mono_ns() >= until_ns)
			return false;
		nanosleep(&pause, NULL);
	}
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

/* --- copies ----------------------------------------------------------------------------------- */

#define COPY_SECONDS 5

/* This is on the socket, with the descriptors. */
struct copy_message {
	int err;
	struct copy_answer answer;
};

union control {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int) * MAX_COPY_FDS)];
};

void copy_answer_done(struct copy_answer *answer)
{
	for (size_t i = 0; i < answer->nr_fds; i++)
		closep(&answer->fds[i]);
	answer->nr_fds = 0;
}

/* Closes what the copy does not need: it would stay open, and in use, as long as the copy runs. */
static void others_close(int socket, const int *fds, size_t nr)
{
	int last = STDERR_FILENO, next;

	do {
		next = socket > last ? socket : INT_MAX;
		for (size_t i = 0; i < nr; i++)
			next = fds[i] > last && fds[i] < next ? fds[i] : next;
		if (next > last + 1)
			syscall(SYS_close_range, last + 1, next - 1, 0);
		last = next;
	} while (next < INT_MAX);
}

static void message_send(int socket, const struct copy_message *message)
{
	struct iovec part = { (void *)message, sizeof(*message) };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
	size_t nr = message->err ? 0 : message->answer.nr_fds;
	union control control = { .space = "" };

	if (nr) {
		header.msg_control = &control;
		header.msg_controllen = CMSG_SPACE(sizeof(int) * nr);
		control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int) * nr),
						   .cmsg_level = SOL_SOCKET,
						   .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.header), message->answer.fds, sizeof(int) * nr);
	}
	sendmsg(socket, &header, MSG_NOSIGNAL);
}

/* Nothing of ours is to be ended by it, such as what libraries do at exit. */
static _Noreturn void copy_run(copy_function function, void *closure, int socket, const int *fds,
			       size_t nr_fds)
{
	struct copy_message message = { 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Should nobody be there any more to end it. */
	signal(SIGALRM, SIG_DFL);
	alarm(COPY_SECONDS + 1);
	/* Signals of our terminal are not for it. */
	setsid();
	others_close(socket, fds, nr_fds);
	message.err = function(closure, &message.answer);
	message_send(socket, &message);
	_exit(0);
}

int copy_start(copy_function function, void *closure, const int *fds, size_t nr_fds,
	       struct child *ret)
{
	struct child child = NO_CHILD;
	int ends[2], err;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	pid = fork();
	if (!pid)
		copy_run(function, closure, ends[1], fds, nr_fds);
	child.output = ends[0];
	err = pid < 0 ? -errno : child_adopt(&child, pid, COPY_SECONDS);
	close(ends[1]);
	if (err)
		child_done(&child);
	else
		*ret = child;
	return err;
}

/* Takes the descriptors that came, and closes them unless all came: some are lost at our limit. */
static int answer_take_fds(struct msghdr *header, struct copy_answer *ret)
{
	struct cmsghdr *control = CMSG_FIRSTHDR(header);
	size_t nr_sent = ret->nr_fds;

	ret->nr_fds = 0;
	for (size_t i = 0; i < MAX_COPY_FDS; i++)
		ret->fds[i] = -1;
	if (control && control->cmsg_type == SCM_RIGHTS) {
		ret->nr_fds = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(ret->fds, CMSG_DATA(control), ret->nr_fds * sizeof(int));
	}
	if (ret->nr_fds == nr_sent && !(header->msg_flags & MSG_CTRUNC))
		return 0;
	copy_answer_done(ret);
	return -EMFILE;
}

static int answer_take(int socket, struct copy_answer *ret)
{
	struct copy_message message;
	struct iovec part = { &message, sizeof(message) };
	union control control = { .space = "" };
	struct msghdr header = { .msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control) };

	if (recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != sizeof(message))
		return -EPROTO;
	if (message.err)
		return message.err;
	*ret = message.answer;
	return answer_take_fds(&header, ret);
}

int copy_finish(struct child *copy, struct copy_answer *ret)
{
	int status = child_reap(copy);
	int err = answer_take(copy->output, ret);

	/* A copy that has answered may have hung later, in closing what it had opened. */
	if (err == -EPROTO && status < 0)
		err = status;
	child_done(copy);
	return err;
}
