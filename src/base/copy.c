/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts copies of this process, and takes what they bring back through a socket. */
#include "base/copy.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"

#define COPY_SECONDS 5

#define MAX_KEPT 16

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

/* --- the copy --------------------------------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

/* Those that nobody needs would be kept open, and be in use, for as long as it takes. */
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
	/* Signals of our terminal are not for it. */
	setsid();
	/* Should nobody be there any more to end it. */
	signal(SIGALRM, SIG_DFL);
	alarm(COPY_SECONDS + 1);
	others_close(socket, fds, nr_fds);
	message.err = function(closure, &message.answer);
	message_send(socket, &message);
	_exit(0);
}

/* --- here ------------------------------------------------------------------------------------- */

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

	/* One that has answered may have hung later, in closing what it had opened. */
	if (err == -EPROTO && status < 0)
		err = status;
	child_done(copy);
	return err;
}
