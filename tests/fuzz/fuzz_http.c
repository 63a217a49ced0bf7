/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Both ends of the socket. The first byte of an input chooses: what a client sends to the server,
 * in one piece or in several, or what a daemon replies to the client.
 */
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "ipc/reply.h"
#include "ipc/server.h"

/* A reply is looked at in full when its socket takes it in one piece. */
#define PATIENCE_MS 1

#define require(condition)        \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void text_use(const char *text)
{
	for (; *text; text++)
		require((unsigned char)*text >= ' ' && *text != 0x7f);
}

static void request_use(void *closure, const struct ipc_request *request, struct ipc_answer *answer)
{
	(void)closure;
	require(request->path[0] == '/' && request->method < NR_IPC_METHOD);
	require(request->nr_parameters <= IPC_MAX_PARAMETERS);
	text_use(request->path);
	text_use(request->accept);
	for (size_t i = 0; i < request->nr_parameters; i++) {
		text_use(request->parameters[i].name);
		text_use(request->parameters[i].value);
		require(ipc_parameter(request, request->parameters[i].name));
	}
	ipc_answer_error(answer, 200, request->path);
}

/* A listener whose name the kernel has chosen, outside of the file system. */
static int listener_make(struct sockaddr_un *address, socklen_t *size)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	address->sun_family = AF_UNIX;
	*size = sizeof(address->sun_family);
	require(fd >= 0 && !bind(fd, (struct sockaddr *)address, *size) && !listen(fd, 16));
	*size = sizeof(*address);
	require(!getsockname(fd, (struct sockaddr *)address, size));
	return fd;
}

/* As long as it has something to do without waiting. */
static void server_settle(struct ipc_server *server)
{
	struct pollfd ready = { .fd = ipc_server_fd(server), .events = POLLIN };

	while (poll(&ready, 1, 0) || !ipc_server_patience_ms(server))
		ipc_server_run(server);
}

static void server_feed(const uint8_t *data, size_t size, size_t pieces)
{
	const struct ipc_server_options options = { .handler = request_use, .patience_s = 1000 };
	struct sockaddr_un address;
	socklen_t address_size;
	struct ipc_server *server;
	struct ipc_server_counts counts;
	int listener = listener_make(&address, &address_size);
	int fd __cleanup(closep) = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char reply[4096];

	require(!ipc_server_new(listener, &options, &server, NULL));
	require(!connect(fd, (struct sockaddr *)&address, address_size));
	for (size_t i = 0; i < pieces; i++) {
		const size_t from = size * i / pieces, to = size * (i + 1) / pieces;

		(void)!send(fd, data + from, to - from, MSG_NOSIGNAL | MSG_DONTWAIT);
		server_settle(server);
	}
	while (recv(fd, reply, sizeof(reply), MSG_DONTWAIT) > 0)
		server_settle(server);
	shutdown(fd, SHUT_RDWR);
	server_settle(server);
	ipc_server_counts(server, &counts);
	require(!counts.clients && !counts.pending_bytes);
	ipc_server_free(server);
}

static void fuzz_request(const uint8_t *data, size_t size)
{
	server_feed(data, size, 1);
}

static void fuzz_pieces(const uint8_t *data, size_t size)
{
	server_feed(data, size, 7);
}

static void fuzz_reply(const uint8_t *data, size_t size)
{
	struct ipc_reply reply;
	char sentence[100];
	int ends[2];

	require(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends));
	require(send(ends[0], data, size, MSG_NOSIGNAL) == (ssize_t)size);
	close(ends[0]);
	if (!reply_read(ends[1], PATIENCE_MS, &reply, NULL)) {
		require(reply.size <= size && !reply.body[reply.size]);
		reply_sentence(&reply, sentence, sizeof(sentence));
		require(strlen(sentence) < sizeof(sentence));
		text_use(sentence);
		ipc_reply_done(&reply);
	}
	close(ends[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const ends[])(const uint8_t *data, size_t size) = {
		fuzz_request,
		fuzz_pieces,
		fuzz_reply,
	};

	if (size < 2)
		return 0;
	/* Digits, so that seeds are text. */
	ends[(uint8_t)(data[0] - '0') % ARRAY_SIZE(ends)](data + 1, size - 1);
	return 0;
}
