/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Both ends of the socket. The first byte of an input chooses: what a client sends to the server,
 * in one piece or in several, or what a daemon replies to the client.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "ipc/client.h"
#include "ipc/server.h"
#include "ipc/socket.h"
#include "fuzz.h"

/* No request that is understood is longer. */
#define MAX_REQUEST_BYTES (16u << 10)

static void request_use(void *closure, const struct ipc_request *request, struct ipc_answer *answer)
{
	(void)closure;
	require(request->path[0] == '/' && strstr("GET PUT DELETE", request->method));
	require(request->nr_parameters <= IPC_MAX_PARAMETERS);
	require(strlen(request->path) + strlen(request->accept) < MAX_REQUEST_BYTES);
	for (size_t i = 0; i < request->nr_parameters; i++) {
		require(strlen(request->parameters[i].value) < MAX_REQUEST_BYTES);
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

/* Runs the server as long as it has something to do without waiting. */
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
	const struct ipc_server_counts *counts;
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
	counts = ipc_server_counts(server);
	require(!counts->clients && !counts->pending_bytes);
	ipc_server_free(server);
}

struct lie {
	int listener;
	const uint8_t *data;
	size_t size;
};

static void *lie_tell(void *closure)
{
	const struct lie *lie = closure;
	int fd = accept(lie->listener, NULL, NULL);
	char request[256];

	(void)!recv(fd, request, sizeof(request), 0);
	(void)!send(fd, lie->data, lie->size, MSG_NOSIGNAL);
	close(fd);
	return NULL;
}

/* The other end is a thread; its socket lives in a folder as long as one input. */
static void fuzz_reply(const uint8_t *data, size_t size)
{
	static const struct ipc_patience patience = { .silence_ms = 10000 };
	struct lie lie = { .data = data, .size = size };
	char folder[] = "/tmp/bpftruss-fuzz-XXXXXX", path[64];
	struct ipc_reply reply;
	struct ipc_url url;
	struct diag d;
	pthread_t thread;

	require(mkdtemp(folder));
	sprintf(path, "%s/socket", folder);
	lie.listener = socket_listen_unix(path, getegid(), &d);
	require(lie.listener >= 0 && !fcntl(lie.listener, F_SETFL, 0));
	require(!pthread_create(&thread, NULL, lie_tell, &lie));
	ipc_url_init(&url, "/");
	if (!ipc_call(path, "GET", &url, &patience, &reply, &d)) {
		require(reply.size <= size && !reply.body[reply.size]);
		ipc_reply_done(&reply);
	} else {
		for (const char *at = d.text; *at; at++)
			require((unsigned char)*at >= ' ' && *at != 0x7f);
	}
	pthread_join(thread, NULL);
	close(lie.listener);
	unlink(path);
	rmdir(folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const unsigned int end = size ? (uint8_t)(data[0] - '0') % 3 : 0;

	if (size < 2)
		return 0;
	/* Digits, so that seeds are text: a request as a whole, one in pieces, a reply. */
	if (end < 2)
		server_feed(data + 1, size - 1, end ? 7 : 1);
	else
		fuzz_reply(data + 1, size - 1);
	return 0;
}
