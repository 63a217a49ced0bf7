/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks a daemon: connects, asks again while it is busy, reads the reply, and says what is wrong. */
#include "ipc/client.h"

#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/clock.h"
#include "ipc/socket.h"

#define SILENCE_MS (30 * 1000)
#define BUSY_MS    (180 * 1000)

/*
 * Pauses before a busy daemon is asked again double from the first to the last; each is as much as a
 * half longer or shorter, so that a crowd does not come back as a crowd.
 */
#define FIRST_PAUSE_MS 50
#define LAST_PAUSE_MS  1600

#define MAX_REPLY_BYTES (1 << 30)
#define MAX_HEAD_LINES  100
#define LINE_BYTES      256
#define END_OF_LINE     "\r\n"

#define UNRESERVED "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

#define STATUS_OK   200
#define STATUS_BUSY 503

void ipc_reply_done(struct ipc_reply *reply)
{
	free(reply->body);
	*reply = (struct ipc_reply){ 0 };
}

/* --- what is asked ---------------------------------------------------------------------------- */

/* RFC 3986: every byte that is not unreserved, but for those of keep. */
static void url_encode(struct ipc_url *url, const char *text, const char *keep)
{
	for (; *text; text++) {
		const unsigned char c = (unsigned char)*text;
		const bool is_kept = strchr(UNRESERVED, c) || strchr(keep, c);

		url->is_too_long |= url->size + (is_kept ? 1 : 3) > IPC_URL_BYTES;
		if (!url->is_too_long)
			url->size += (size_t)sprintf(url->text + url->size,
						     is_kept ? "%c" : "%%%02X", c);
	}
}

void ipc_url_init(struct ipc_url *url, const char *path)
{
	*url = (struct ipc_url){ 0 };
	url_encode(url, path, "/");
}

void ipc_url_add(struct ipc_url *url, const char *name, const char *value)
{
	const char *before = url->nr_parameters ? "&" : "?";

	url->is_too_long |= ++url->nr_parameters > IPC_MAX_PARAMETERS;
	url_encode(url, before, before);
	url_encode(url, name, "");
	url_encode(url, "=", "=");
	url_encode(url, value, "");
}

/* --- what is replied -------------------------------------------------------------------------- */

static int broken_off(FILE *from, unsigned int silence_ms, struct diag *d)
{
	if (ferror(from) && errno == EAGAIN)
		return diag_set(d, DIAG_FAILED, ETIMEDOUT,
				"the daemon has not answered for %u s: see how it is with "
				"'systemctl status bpftruss'",
				silence_ms / 1000);
	return diag_set(d, DIAG_FAILED, EPROTO,
			"the daemon ended its answer early: try again, or see its log");
}

/* Reads a reply of any status from whom an option has named. The reply is to be freed in any case. */
static int reply_read(FILE *from, const char *option, unsigned int silence_ms,
		      struct ipc_reply *ret, struct diag *d)
{
	static const char name[] = "Content-Length:";
	char line[LINE_BYTES] = "";
	long size = -1;
	bool is_http =
		fgets(line, sizeof(line), from) && sscanf(line, "HTTP/1.1 %3u", &ret->status) == 1;

	for (int i = 0; is_http && i < MAX_HEAD_LINES && fgets(line, sizeof(line), from); i++) {
		if (!strcmp(line, END_OF_LINE))
			break;
		if (!strncasecmp(line, name, strlen(name)))
			size = strtol(line + strlen(name), NULL, 10);
	}
	if (feof(from) || ferror(from))
		return broken_off(from, silence_ms, d);
	if (size < 0)
		return diag_set(d, DIAG_FAILED, EPROTO,
				"the server there is not a daemon of this version: see %s", option);
	if (size > MAX_REPLY_BYTES)
		return diag_set(d, DIAG_FAILED, EFBIG,
				"the daemon's answer is larger than %d MiB: ask for less, with -t "
				"or --top",
				MAX_REPLY_BYTES >> 20);
	ret->size = (size_t)size;
	ret->body = malloc(ret->size + 1);
	if (!ret->body)
		return diag_oom(d);
	if (fread(ret->body, 1, ret->size, from) != ret->size)
		return broken_off(from, silence_ms, d);
	ret->body[ret->size] = '\0';
	return 0;
}

/*
 * Extracts what a reply of an error says: the string of {"error": "..."}, or the first line of the
 * text. It is for a terminal: only printable ASCII leaves, and escapes but those of quotes stay as
 * they are.
 */
static void reply_sentence(const struct ipc_reply *reply, char *buf, size_t size)
{
	static const char start[] = "{\"error\": \"";
	const bool is_ours = !strncmp(reply->body, start, strlen(start));
	const char *text = reply->body + (is_ours ? strlen(start) : 0);

	for (; size > 1 && *text && *text != (is_ours ? '"' : '\n'); text++, size--) {
		if (is_ours && *text == '\\' && text[1] && strchr("\"\\", text[1]))
			text++;
		*buf++ = *text >= ' ' && *text <= '~' ? *text : '?';
	}
	*buf = '\0';
}

/* Returns the error for the daemon's status, with what the daemon says. */
static int reply_refused(const struct ipc_reply *reply, struct diag *d)
{
	static const struct {
		unsigned int status;
		int err;
		enum diag_kind kind;
	} meanings[] = {
		{ 400, EINVAL, DIAG_USAGE },           { 403, EPERM, DIAG_FAILED },
		{ 404, ENODATA, DIAG_FAILED },         { 413, E2BIG, DIAG_USAGE },
		{ 501, EOPNOTSUPP, DIAG_UNSUPPORTED }, { STATUS_BUSY, EBUSY, DIAG_FAILED },
		{ 0, EREMOTEIO, DIAG_FAILED },
	};
	char sentence[sizeof(d->text)];
	size_t i = 0;

	while (meanings[i].status && meanings[i].status != reply->status)
		i++;
	reply_sentence(reply, sentence, sizeof(sentence));
	if (!*sentence)
		return diag_set(d, meanings[i].kind, meanings[i].err,
				"the daemon answers with status %u and no message: see its log",
				reply->status);
	return diag_set(d, meanings[i].kind, meanings[i].err, "%s", sentence);
}

/* --- asking ----------------------------------------------------------------------------------- */

static int path_refused(const char *path, int err, struct diag *d)
{
	if (err == ENOENT || err == ECONNREFUSED)
		return diag_set(d, DIAG_FAILED, err,
				"no daemon answers at %s: start it with 'systemctl start bpftruss' "
				"or 'bpftruss daemon', or give its --socket",
				path);
	if (err == EACCES || err == EPERM)
		return diag_set(d, DIAG_FAILED, EACCES,
				"permission denied for %s: be root or in its group", path);
	return diag_set(d, DIAG_FAILED, err, "cannot connect to %s: %s", path, strerror(err));
}

/* Where a daemon is. */
struct place {
	const char *path;            /* of its socket, or NULL */
	const struct remote *remote; /* or on another host */
};

/* Reads for stdio: a read that a signal ends, as when we are stopped and go on, is made again. */
static ssize_t cookie_read(void *cookie, char *buf, size_t size)
{
	const int *fd = cookie;
	ssize_t n;

	do
		n = read(*fd, buf, size);
	while (n < 0 && errno == EINTR);
	return n;
}

static ssize_t cookie_receive(void *cookie, char *buf, size_t size)
{
	return remote_receive(cookie, buf, size);
}

/* Tries once, on another host. */
static int remote_ask(const struct remote *remote, const char *request, unsigned int silence_ms,
		      struct ipc_reply *ret, struct diag *d)
{
	struct remote_line *line __cleanup(remote_line_freep) = NULL;
	FILE *from __cleanup(fclosep) = NULL;
	int err = remote_connect(remote, silence_ms, &line, d);

	/* -EAGAIN is for those that wait in the queue of a local socket. */
	if (err)
		return err == -EAGAIN ? -ETIMEDOUT : err;
	if (remote_send(line, request, strlen(request))) {
		err = errno == EAGAIN ? ETIMEDOUT : errno;
		return diag_set(d, DIAG_FAILED, err, "cannot ask the daemon at %s: %s",
				remote_name(remote), strerror(err));
	}
	from = fopencookie(line, "r", (cookie_io_functions_t){ .read = cookie_receive });
	return from ? reply_read(from, "--host", silence_ms, ret, d) : diag_oom(d);
}

/*
 * Tries once. 0 with a reply of any status, always to be freed; -EAGAIN without d: too many wait.
 */
static int local_ask(const char *path, const char *request, unsigned int silence_ms,
		     struct ipc_reply *ret, struct diag *d)
{
	const struct timeval silence = { silence_ms / 1000, silence_ms % 1000 * 1000 };
	int fd __cleanup(closep) = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	FILE *from __cleanup(fclosep) = NULL;
	struct sockaddr_un address;
	int err = socket_address(path, &address, d);

	if (err)
		return err;
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &silence, sizeof(silence)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof(silence)))
		return path_refused(path, errno, d);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return errno == EAGAIN || errno == EINTR ? -EAGAIN : path_refused(path, errno, d);
	/*
	 * The request fits into what a socket holds. A daemon that hung up may have said why
	 * before.
	 */
	if (send(fd, request, strlen(request), MSG_NOSIGNAL) < 0 && errno != EPIPE &&
	    errno != ECONNRESET)
		return diag_set(d, DIAG_FAILED, errno, "cannot ask the daemon: %s",
				strerror(errno));
	from = fopencookie(&fd, "r", (cookie_io_functions_t){ .read = cookie_read });
	if (!from)
		return diag_oom(d);
	return reply_read(from, "--socket", silence_ms, ret, d);
}

static int ask_once(const struct place *place, const char *request, unsigned int silence_ms,
		    struct ipc_reply *ret, struct diag *d)
{
	return place->remote ? remote_ask(place->remote, request, silence_ms, ret, d)
			     : local_ask(place->path, request, silence_ms, ret, d);
}

static int ask_patiently(const struct place *place, const char *request,
			 const struct ipc_patience *patience, struct ipc_reply *ret, struct diag *d)
{
	const uint64_t end_ns = clock_mono_ns() + patience->busy_ms * NS_PER_MS;
	unsigned int pause_ms = FIRST_PAUSE_MS;

	for (;;) {
		int err = ask_once(place, request, patience->silence_ms, ret, d);

		if (err != -EAGAIN && (err || ret->status != STATUS_BUSY))
			return err;
		if (clock_mono_ns() >= end_ns)
			return err ? diag_set(d, DIAG_FAILED, EBUSY,
					      "too many clients wait at %s: ask later", place->path)
				   : 0;
		if (!err)
			ipc_reply_done(ret);
		/* No two processes have the same nanoseconds. */
		usleep(pause_ms * 500 + (useconds_t)(clock_mono_ns() % (pause_ms * 1000)));
		if (pause_ms < LAST_PAUSE_MS)
			pause_ms *= 2;
	}
}

static int call(const struct place *place, const char *method, const struct ipc_url *url,
		const struct ipc_patience *patience, struct ipc_reply *ret, struct diag *d)
{
	static const struct ipc_patience usual = { SILENCE_MS, BUSY_MS };
	__cleanup(ipc_reply_done) struct ipc_reply reply = { 0 };
	char *request = NULL;
	int err;

	if (url->is_too_long)
		return diag_set(d, DIAG_USAGE, E2BIG,
				"too much for one question to the daemon: name fewer processes, "
				"calls or columns");
	if (asprintf(&request, "%s %s HTTP/1.1\r\n%s\r\n", method, url->text,
		     place->remote ? remote_head(place->remote) : "Host: localhost\r\n") < 0)
		return diag_oom(d);
	err = ask_patiently(place, request, patience ?: &usual, &reply, d);
	/* It may have a secret. */
	explicit_bzero(request, strlen(request));
	free(request);
	if (err)
		return err;
	if (reply.status != STATUS_OK)
		return reply_refused(&reply, d);
	*ret = reply;
	reply.body = NULL;
	return 0;
}

int ipc_call(const char *socket_path, const char *method, const struct ipc_url *url,
	     const struct ipc_patience *patience, struct ipc_reply *ret, struct diag *d)
{
	return call(&(struct place){ .path = socket_path }, method, url, patience, ret, d);
}

int ipc_call_remote(const struct remote *remote, const char *method, const struct ipc_url *url,
		    const struct ipc_patience *patience, struct ipc_reply *ret, struct diag *d)
{
	return call(&(struct place){ .remote = remote }, method, url, patience, ret, d);
}
