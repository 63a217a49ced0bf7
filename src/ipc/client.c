/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the way to a daemon: connects, asks, asks again while it is busy, and says what is wrong. */
#include "ipc/client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "ipc/reply.h"
#include "ipc/request_check.h"

#define PATIENCE_MS (30 * 1000)

/*
 * Pauses before a busy daemon is asked again double from the first to the last; each is as much as a
 * half longer or shorter, so that a crowd does not come back as a crowd.
 */
#define FIRST_PAUSE_MS 50
#define LAST_PAUSE_MS  1600
#define BUSY_MS        (180 * 1000)

#define STATUS_OK   200
#define STATUS_BUSY 503

static int path_refused(const char *path, int err, struct diag *d)
{
	switch (err) {
	case ENOENT:
	case ECONNREFUSED:
		return diag_set(d, DIAG_FAILED, err,
				"no daemon answers at %s: start it with 'systemctl start bpftruss' "
				"or 'bpftruss daemon', or give its --socket",
				path);
	case EACCES:
	case EPERM:
		return diag_set(d, DIAG_FAILED, EACCES,
				"you may not use %s: ask as root or as a member of its group",
				path);
	}
	return diag_set(d, DIAG_FAILED, err, "cannot connect to %s: %s", path, strerror(err));
}

/* A descriptor, or -EAGAIN (without d): too many are before us. */
static int daemon_connect(const char *path, struct diag *d)
{
	int fd __cleanup(closep) = -1;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int connected;

	if (strlen(path) >= sizeof(address.sun_path))
		return diag_set(d, DIAG_USAGE, ENAMETOOLONG,
				"the path of a socket has at most %zu characters: see --socket",
				sizeof(address.sun_path) - 1);
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return fd >= 0 && errno == EAGAIN ? -EAGAIN : path_refused(path, errno, d);
	connected = fd;
	fd = -1;
	return connected;
}

/* 0 too when the daemon has hung up: it may have said why before. */
static int request_send(int fd, const char *bytes, size_t size, struct diag *d)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLOUT };
	int err = 0;

	while (size && !err) {
		ssize_t n = send(fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0) {
			bytes += n;
			size -= (size_t)n;
			continue;
		}
		if (errno == EPIPE || errno == ECONNRESET)
			return 0;
		if (errno == EAGAIN) {
			const int ready = poll(&poll_fd, 1, PATIENCE_MS);

			err = !ready ? ETIMEDOUT : ready < 0 && errno != EINTR ? errno : 0;
		} else if (errno != EINTR) {
			err = errno;
		}
	}
	return err ? diag_set(d, DIAG_FAILED, err, "cannot ask the daemon: %s", strerror(err)) : 0;
}

/* One try; 0 with a reply of any status. */
static int daemon_ask(const char *path, const char *request, struct ipc_reply *ret, struct diag *d)
{
	int fd __cleanup(closep) = daemon_connect(path, d);
	int err;

	if (fd < 0)
		return fd;
	err = request_send(fd, request, strlen(request), d);
	return err ? err : reply_read(fd, PATIENCE_MS, ret, d);
}

static void pause_for(unsigned int ms)
{
	struct timespec left = { ms / 1000, (long)(ms % 1000) * (long)NS_PER_MS };

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

/* From a half of it to one and a half. Where there is no chance, the clock has some. */
static unsigned int pause_vary(unsigned int ms)
{
	uint32_t chance;

	if (getrandom(&chance, sizeof(chance), GRND_NONBLOCK) != sizeof(chance))
		chance = (uint32_t)clock_mono_ns();
	return ms / 2 + chance % (ms + 1);
}

static int daemon_ask_patiently(const char *path, const char *request, unsigned int busy_ms,
				struct ipc_reply *ret, struct diag *d)
{
	const uint64_t end_ns = clock_mono_ns() + busy_ms * NS_PER_MS;
	unsigned int pause_ms = FIRST_PAUSE_MS;

	for (;;) {
		int err = daemon_ask(path, request, ret, d);

		if (err != -EAGAIN && (err || ret->status != STATUS_BUSY))
			return err;
		if (clock_mono_ns() >= end_ns)
			return err ? diag_set(d, DIAG_FAILED, EBUSY,
					      "too many clients wait at %s: ask later", path)
				   : 0;
		if (!err)
			ipc_reply_done(ret);
		pause_for(pause_vary(pause_ms));
		if (pause_ms < LAST_PAUSE_MS)
			pause_ms *= 2;
	}
}

/* What the daemon says, with what a user's program makes of the status. */
static int reply_refused(const struct ipc_reply *reply, struct diag *d)
{
	static const struct {
		unsigned int status;
		int err;
		enum diag_kind kind;
	} meanings[] = {
		{ 400, EINVAL, DIAG_USAGE },         { 403, EPERM, DIAG_FAILED },
		{ 404, ENODATA, DIAG_FAILED },       { 501, EOPNOTSUPP, DIAG_UNSUPPORTED },
		{ STATUS_BUSY, EBUSY, DIAG_FAILED }, { 0, EREMOTEIO, DIAG_FAILED },
	};
	char sentence[sizeof(d->text)];
	size_t i = 0;

	while (meanings[i].status && meanings[i].status != reply->status)
		i++;
	reply_sentence(reply, sentence, sizeof(sentence));
	if (!*sentence)
		return diag_set(d, meanings[i].kind, meanings[i].err,
				"the daemon answers with status %u and no word: see its log",
				reply->status);
	return diag_set(d, meanings[i].kind, meanings[i].err, "%s", sentence);
}

int ipc_call(const char *socket_path, enum ipc_method method, const char *target,
	     struct ipc_reply *ret, struct diag *d)
{
	return ipc_call_within(socket_path, method, target, BUSY_MS, ret, d);
}

int ipc_call_within(const char *socket_path, enum ipc_method method, const char *target,
		    unsigned int busy_ms, struct ipc_reply *ret, struct diag *d)
{
	static const char *const methods[NR_IPC_METHOD] = { "GET", "PUT", "DELETE" };
	__cleanup(ipc_reply_done) struct ipc_reply reply = { 0 };
	__cleanup(freep) char *request = NULL;
	int err;

	if (!target)
		return diag_oom(d);
	if (!request_target_ok(target))
		return diag_set(d, DIAG_FAILED, EINVAL, "this cannot be asked of a daemon");
	if (asprintf(&request, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
		     methods[method], target) < 0) {
		request = NULL;
		return diag_oom(d);
	}
	err = daemon_ask_patiently(socket_path, request, busy_ms, &reply, d);
	if (err)
		return err;
	if (reply.status != STATUS_OK)
		return reply_refused(&reply, d);
	*ret = reply;
	reply = (struct ipc_reply){ 0 };
	return 0;
}
