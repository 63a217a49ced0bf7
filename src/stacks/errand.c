/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starts and ends a copy of this process. Invariant: its end of the socket is closed when it is gone,
 * and not before, so that whoever waits for the socket waits for both.
 */
#include "stacks/errand.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

#define ERRAND_SECONDS 5

/* One that is killed is gone at once, unless its disk keeps it: then it is left to itself. */
#define KILLED_WAIT_MS 100

#define MAX_KEPT 16

struct errand {
	pid_t pid;
	int socket;
	bool is_stopped;
	uint64_t deadline_ns;
};

/* On the socket, with the descriptors. */
struct errand_message {
	int err;
	struct errand_answer answer;
};

union control {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int) * MAX_ERRAND_FDS)];
};

void errand_answer_done(struct errand_answer *answer)
{
	for (size_t i = 0; i < answer->nr_fds; i++)
		closep(&answer->fds[i]);
	answer->nr_fds = 0;
}

/* --- the copy --------------------------------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

/* All others would be kept open, and be in use, for as long as it takes. */
static void others_close(int socket, const int *fds, size_t nr)
{
	int kept[MAX_KEPT + 2] = { STDERR_FILENO, socket };
	size_t nr_kept = 2;
	int last = STDERR_FILENO;

	for (size_t i = 0; i < nr && i < MAX_KEPT; i++) {
		if (fds[i] > STDERR_FILENO)
			kept[nr_kept++] = fds[i];
	}
	qsort(kept, nr_kept, sizeof(*kept), compare_numbers);
	for (size_t i = 0; i < nr_kept; i++) {
		if (kept[i] > last + 1)
			syscall(SYS_close_range, last + 1, kept[i] - 1, 0);
		last = kept[i];
	}
	syscall(SYS_close_range, last + 1, ~0U, 0);
}

static void message_send(int socket, const struct errand_message *message)
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
static _Noreturn void copy_run(errand_function function, void *closure, int socket, const int *fds,
			       size_t nr_fds)
{
	struct errand_message message = { 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Should nobody be there any more to end it. */
	signal(SIGALRM, SIG_DFL);
	alarm(ERRAND_SECONDS + 1);
	others_close(socket, fds, nr_fds);
	message.err = function(closure, &message.answer);
	message_send(socket, &message);
	_exit(0);
}

/* --- here ------------------------------------------------------------------------------------- */

int errand_start(errand_function function, void *closure, const int *fds, size_t nr_fds,
		 struct errand **ret)
{
	struct errand *errand = malloc(sizeof(*errand));
	int ends[2], err;
	pid_t pid;

	if (!errand)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		err = -errno;
		free(errand);
		return err;
	}
	pid = fork();
	if (!pid)
		copy_run(function, closure, ends[1], fds, nr_fds);
	err = -errno;
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		free(errand);
		return err;
	}
	*errand = (struct errand){
		.pid = pid,
		.socket = ends[0],
		.deadline_ns = clock_mono_ns() + ERRAND_SECONDS * NS_PER_SEC,
	};
	*ret = errand;
	return 0;
}

int errand_fd(const struct errand *errand)
{
	return errand->socket;
}

int errand_timeout_ms(const struct errand *errand)
{
	uint64_t now_ns = clock_mono_ns();

	return now_ns < errand->deadline_ns ? (int)((errand->deadline_ns - now_ns) / NS_PER_MS) + 1
					    : 0;
}

void errand_stop(struct errand *errand)
{
	kill(errand->pid, SIGKILL);
	errand->is_stopped = true;
}

static void answer_take_fds(struct msghdr *header, struct errand_answer *ret)
{
	struct cmsghdr *control = CMSG_FIRSTHDR(header);

	ret->nr_fds = 0;
	if (!control || control->cmsg_type != SCM_RIGHTS)
		return;
	ret->nr_fds = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(ret->fds, CMSG_DATA(control), ret->nr_fds * sizeof(int));
}

static int answer_take(int socket, struct errand_answer *ret)
{
	struct errand_message message;
	struct iovec part = { &message, sizeof(message) };
	union control control = { .space = "" };
	struct msghdr header = { .msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control) };

	if (recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != sizeof(message))
		return -EPROTO;
	*ret = message.answer;
	answer_take_fds(&header, ret);
	return message.err;
}

static void copy_reap(const struct errand *errand)
{
	struct pollfd end = { .fd = errand->socket, .events = 0 };

	poll(&end, 1, KILLED_WAIT_MS);
	/* With the socket it has given up all that may take time. */
	waitpid(errand->pid, NULL, end.revents & POLLHUP ? 0 : WNOHANG);
}

int errand_finish(struct errand *errand, struct errand_answer *ret)
{
	int err = answer_take(errand->socket, ret);

	if (err == -EPROTO && errand->is_stopped)
		err = -ETIMEDOUT;
	errand_free(errand);
	return err;
}

void errand_free(struct errand *errand)
{
	if (!errand)
		return;
	kill(errand->pid, SIGKILL);
	copy_reap(errand);
	close(errand->socket);
	free(errand);
}
