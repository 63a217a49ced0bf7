/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the reading of a reply: head, then body. Memory follows what has arrived, not what the
 * other end has announced.
 */
#include "ipc/reply.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/mem.h"

#define UNTIL_END    SIZE_MAX
#define FIRST_BYTES  4096
#define END_OF_HEAD  "\r\n\r\n"
#define END_OF_LINE  "\r\n"
#define STATUS_START "HTTP/1.1 "

struct buffer {
	char *bytes; /* with room for a NUL */
	size_t size, room;
};

struct reply_head {
	unsigned int status;
	size_t body_bytes; /* UNTIL_END: as many as come */
};

static void buffer_done(struct buffer *buffer)
{
	free(buffer->bytes);
}

static int buffer_grow(struct buffer *buffer)
{
	const size_t room = buffer->room ? buffer->room * 2 : FIRST_BYTES;
	char *bytes = realloc(buffer->bytes, room + 1);

	if (!bytes)
		return -ENOMEM;
	buffer->bytes = bytes;
	buffer->room = room;
	return 0;
}

static ssize_t receive(int fd, int patience_ms, char *to, size_t size)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	for (;;) {
		ssize_t n = recv(fd, to, size, MSG_DONTWAIT);
		int ready;

		if (n >= 0)
			return n;
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return -errno;
		ready = poll(&poll_fd, 1, patience_ms);
		if (!ready)
			return -ETIMEDOUT;
		if (ready < 0 && errno != EINTR)
			return -errno;
	}
}

static int broken_off(struct diag *d)
{
	return diag_set(d, DIAG_FAILED, EPROTO,
			"the daemon broke off its answer: ask again, or see its log");
}

/* Bytes that have come, 0 at the end of the stream, or a negative errno with d filled. */
static ssize_t buffer_receive(struct buffer *buffer, int fd, int patience_ms, struct diag *d)
{
	ssize_t n;

	if (buffer->size == buffer->room && buffer_grow(buffer))
		return diag_oom(d);
	n = receive(fd, patience_ms, buffer->bytes + buffer->size, buffer->room - buffer->size);
	if (n == -ETIMEDOUT)
		return diag_set(d, DIAG_FAILED, ETIMEDOUT,
				"the daemon has not answered for %d s: see how it is with "
				"'systemctl status bpftruss'",
				patience_ms / 1000);
	/* It hung up without having read what we asked. */
	if (n == -ECONNRESET)
		return broken_off(d);
	if (n < 0)
		return diag_set(d, DIAG_FAILED, (int)-n, "the connection to the daemon broke: %s",
				strerror((int)-n));
	buffer->size += (size_t)n;
	return n;
}

static int not_understood(struct diag *d)
{
	return diag_set(d, DIAG_FAILED, EPROTO,
			"what answers there is no daemon of this version: see --socket");
}

/* --- head ------------------------------------------------------------------------------------- */

/* The value of a header line of that name, without blanks before it; NULL for others. */
static const char *header_value(const char *line, const char *name)
{
	const size_t length = strlen(name);

	if (strncasecmp(line, name, length) || line[length] != ':')
		return NULL;
	return line + length + 1 + strspn(line + length + 1, " \t");
}

/* Digits, then blanks up to the end of the line. */
static int length_parse(const char *text, size_t *ret)
{
	const size_t digits = strspn(text, "0123456789");
	size_t length = 0;

	if (!digits || strncmp(text + digits + strspn(text + digits, " \t"), END_OF_LINE, 2))
		return -EPROTO;
	for (size_t i = 0; i < digits; i++) {
		length = length * 10 + (size_t)(text[i] - '0');
		if (length > MAX_REPLY_BYTES)
			return -EFBIG;
	}
	*ret = length;
	return 0;
}

static int status_parse(const char *head, unsigned int *ret)
{
	const char *digits = head + strlen(STATUS_START);

	if (strncmp(head, STATUS_START, strlen(STATUS_START)) ||
	    strspn(digits, "0123456789") != 3 || !strchr(" \r", digits[3]))
		return -EPROTO;
	*ret = (unsigned int)strtoul(digits, NULL, 10);
	/* Nobody has asked for those that announce another. */
	return *ret < 200 ? -EPROTO : 0;
}

/* Of a whole head, with the NUL behind it. */
static int head_parse(const char *head, struct reply_head *ret)
{
	int err = status_parse(head, &ret->status);

	ret->body_bytes = UNTIL_END;
	for (const char *line = strstr(head, END_OF_LINE); !err && line;
	     line = strstr(line, END_OF_LINE)) {
		const char *value;
		size_t length;

		line += strlen(END_OF_LINE);
		if (header_value(line, "Transfer-Encoding"))
			return -EPROTO;
		value = header_value(line, "Content-Length");
		if (!value)
			continue;
		err = length_parse(value, &length);
		if (!err && ret->body_bytes != UNTIL_END && ret->body_bytes != length)
			err = -EPROTO;
		if (!err)
			ret->body_bytes = length;
	}
	return err;
}

/* Receives until the buffer has a head; how long it is, or a negative errno with d filled. */
static ssize_t head_receive(struct buffer *buffer, int fd, int patience_ms, struct diag *d)
{
	for (;;) {
		const ssize_t n = buffer_receive(buffer, fd, patience_ms, d);
		const char *end;

		if (n < 0)
			return n;
		end = memmem(buffer->bytes, buffer->size, END_OF_HEAD, strlen(END_OF_HEAD));
		if (end)
			return end - buffer->bytes + (ssize_t)strlen(END_OF_HEAD);
		if (!n)
			return buffer->size ? not_understood(d) : broken_off(d);
		if (buffer->size >= MAX_REPLY_HEAD_BYTES)
			return not_understood(d);
	}
}

/* --- body ------------------------------------------------------------------------------------- */

static int too_large(struct diag *d)
{
	return diag_set(d, DIAG_FAILED, EFBIG,
			"the daemon's answer is larger than %u MiB: ask for less, with -t or --top",
			MAX_REPLY_BYTES >> 20);
}

static int body_receive(struct buffer *buffer, size_t wanted, int fd, int patience_ms,
			struct diag *d)
{
	while (buffer->size < wanted) {
		const ssize_t n = buffer_receive(buffer, fd, patience_ms, d);

		if (n < 0)
			return (int)n;
		if (!n)
			return wanted == UNTIL_END ? 0 : broken_off(d);
		if (buffer->size > MAX_REPLY_BYTES)
			return too_large(d);
	}
	return 0;
}

int reply_read(int fd, int patience_ms, struct ipc_reply *ret, struct diag *d)
{
	__cleanup(buffer_done) struct buffer buffer = { 0 };
	const ssize_t head_bytes = head_receive(&buffer, fd, patience_ms, d);
	struct reply_head head;
	char first_of_body;
	int err;

	if (head_bytes < 0)
		return (int)head_bytes;
	first_of_body = buffer.bytes[head_bytes];
	buffer.bytes[head_bytes] = '\0';
	err = strlen(buffer.bytes) == (size_t)head_bytes ? head_parse(buffer.bytes, &head)
							 : -EPROTO;
	if (err)
		return err == -EFBIG ? too_large(d) : not_understood(d);
	buffer.bytes[head_bytes] = first_of_body;
	buffer.size -= (size_t)head_bytes;
	memmove(buffer.bytes, buffer.bytes + head_bytes, buffer.size);
	err = body_receive(&buffer, head.body_bytes, fd, patience_ms, d);
	if (err)
		return err;
	/* What comes behind the end is nobody's. */
	if (head.body_bytes != UNTIL_END)
		buffer.size = head.body_bytes;
	buffer.bytes[buffer.size] = '\0';
	*ret = (struct ipc_reply){ head.status, steal_ptr(&buffer.bytes), buffer.size };
	return 0;
}

void ipc_reply_done(struct ipc_reply *reply)
{
	free(reply->body);
	*reply = (struct ipc_reply){ 0 };
}
