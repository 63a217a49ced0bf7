/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the HTTP server: libmicrohttpd without threads, driven through its epoll descriptor, and
 * the connections that it has accepted.
 */
#include "ipc/server.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/mem.h"
#include "ipc/peer.h"
#include "ipc/request_check.h"
#include "ipc/server_private.h"

#define DEFAULT_CLIENTS       1200
#define DEFAULT_PATIENCE_S    10
#define DEFAULT_DEADLINE_S    120
#define DEFAULT_PENDING_BYTES (32u << 20)
#define DEFAULT_BUDGET_MS     250

/* A head, what the library notes of each of its lines, and the head of the answer. */
#define CONNECTION_BYTES  (MAX_HEAD_BYTES + 4096)
#define INCREMENT_BYTES   1024
/*
 * The kernel keeps as much for a client that does not read, twice with its own notes. Four or eight
 * times as much does not send an answer of megabytes sooner: what takes time is to make it.
 */
#define SEND_BUFFER_BYTES (32 << 10)
/* Two servers may share the descriptors, and all else that is opened needs as many as one of them. */
#define DESCRIPTOR_SHARE  3
/* For an answer: as long as nobody else needs the room, there is more time. */
#define HURRY_NS          (2 * NS_PER_SEC)

/* --- connections ------------------------------------------------------------------------------ */

static void deadline_set(struct connection *connection)
{
	connection->deadline_ns =
		clock_mono_ns() + connection->server->options.deadline_s * NS_PER_SEC;
}

/*
 * The library ends those that make no progress; this ends those that make hardly any. Deadlines
 * only move away, so that there is nothing to see before the earliest of the last look.
 */
static void deadlines_look(struct ipc_server *server)
{
	const uint64_t now_ns = clock_mono_ns();

	if (now_ns < server->next_look_ns)
		return;
	server->next_look_ns = now_ns + server->options.deadline_s * NS_PER_SEC;
	for (struct connection *connection = server->connections; connection;
	     connection = connection->next) {
		if (now_ns >= connection->deadline_ns) {
			/* It is the library that closes it, when it learns of this. */
			shutdown(connection->fd, SHUT_RDWR);
			connection->deadline_ns = UINT64_MAX;
		} else if (connection->deadline_ns < server->next_look_ns) {
			server->next_look_ns = connection->deadline_ns;
		}
	}
}

/*
 * The library compares the time of the last byte with now, and so would take our own work for
 * silence; a limit that is taken away and set anew begins at this moment.
 */
static void patience_renew(struct connection *connection)
{
	MHD_set_connection_option(connection->handle, MHD_CONNECTION_OPTION_TIMEOUT, 0u);
	MHD_set_connection_option(connection->handle, MHD_CONNECTION_OPTION_TIMEOUT,
				  connection->server->options.patience_s);
}

void connections_forgive(struct ipc_server *server, struct connection *asking, uint64_t took_ns)
{
	patience_renew(asking);
	deadline_set(asking);
	/* What is short is found out in the next run, which reads before it cuts off. */
	if (took_ns < server->options.patience_s * NS_PER_SEC / 4)
		return;
	for (struct connection *connection = server->connections; connection;
	     connection = connection->next) {
		patience_renew(connection);
		if (connection->deadline_ns < UINT64_MAX - took_ns)
			connection->deadline_ns += took_ns;
	}
}

/* Milliseconds, rounded up, until it is time for that. */
static uint64_t deadlines_wait_ms(const struct ipc_server *server)
{
	const uint64_t now_ns = clock_mono_ns();

	return now_ns < server->next_look_ns ? (server->next_look_ns - now_ns) / NS_PER_MS + 1 : 0;
}

/* NULL: all that have an answer to take have just got it. */
static struct connection *connection_slowest(const struct ipc_server *server)
{
	const uint64_t latest_ns = clock_mono_ns() - HURRY_NS;
	struct connection *slowest = NULL;

	for (struct connection *connection = server->connections; connection;
	     connection = connection->next) {
		if (connection->answered_ns && connection->answered_ns <= latest_ns &&
		    (!slowest || connection->answered_ns < slowest->answered_ns))
			slowest = connection;
	}
	return slowest;
}

void connections_make_room(struct ipc_server *server, size_t bytes)
{
	struct connection *slowest;
	size_t found = 0;

	while (found < bytes && (slowest = connection_slowest(server))) {
		found += slowest->answer_bytes;
		slowest->answered_ns = 0;
		shutdown(slowest->fd, SHUT_RDWR);
	}
}

static void connection_open(struct ipc_server *server, struct MHD_Connection *handle,
			    void **context)
{
	struct connection *connection = calloc(1, sizeof(*connection));
	const int send_buffer = SEND_BUFFER_BYTES;
	int fd = MHD_get_connection_info(handle, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;

	server->counts.clients++;
	*context = connection;
	if (!connection)
		return;
	connection->server = server;
	connection->fd = fd;
	connection->handle = handle;
	connection->next = server->connections;
	if (connection->next)
		connection->next->previous = connection;
	server->connections = connection;
	deadline_set(connection);
	peer_read(fd, server->options.group, &connection->peer);
	/* Without it a client is merely dearer. */
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof(send_buffer));
}

static void connection_close(struct ipc_server *server, struct connection *connection)
{
	server->counts.clients--;
	if (!connection)
		return;
	if (connection->previous)
		connection->previous->next = connection->next;
	else
		server->connections = connection->next;
	if (connection->next)
		connection->next->previous = connection->previous;
	free(connection);
}

static void connection_notify(void *closure, struct MHD_Connection *handle, void **context,
			      enum MHD_ConnectionNotificationCode code)
{
	struct ipc_server *server = closure;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		connection_open(server, handle, context);
		return;
	}
	connection_close(server, *context);
	*context = NULL;
}

/* The only sight of a target before it is decoded. What it returns is the request's context. */
static void *target_note(void *closure, const char *target, struct MHD_Connection *handle)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(handle, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct connection *connection = info ? info->socket_context : NULL;

	(void)closure;
	if (connection) {
		connection->target_ok = target && request_target_ok(target);
		connection->head_seen = false;
	}
	return connection;
}

static void request_complete(void *closure, struct MHD_Connection *handle, void **context,
			     enum MHD_RequestTerminationCode code)
{
	struct connection *connection = *context;

	(void)closure;
	(void)handle;
	(void)code;
	if (connection) {
		deadline_set(connection);
		connection->answered_ns = 0;
	}
	*context = NULL;
}

/* The library answers some requests itself, and only its log tells. Nothing is printed. */
static void library_log(void *closure, const char *format, va_list args)
{
	struct ipc_server *server = closure;

	(void)args;
	if (strstr(format, "HTTP response code"))
		server->counts.malformed++;
}

/* --- the server ------------------------------------------------------------------------------- */

/* Raises the limit of descriptors if it can; the clients that there may be then. */
static unsigned int clients_fit(unsigned int wanted)
{
	const rlim_t needed = (rlim_t)wanted * DESCRIPTOR_SHARE;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return wanted;
	if (limit.rlim_cur < needed && limit.rlim_cur < limit.rlim_max) {
		struct rlimit raised = limit;

		raised.rlim_cur = needed < limit.rlim_max ? needed : limit.rlim_max;
		if (!setrlimit(RLIMIT_NOFILE, &raised))
			limit = raised;
	}
	return limit.rlim_cur < needed ? (unsigned int)(limit.rlim_cur / DESCRIPTOR_SHARE) : wanted;
}

static void options_complete(struct ipc_server_options *options)
{
	if (!options->max_clients)
		options->max_clients = DEFAULT_CLIENTS;
	if (!options->patience_s)
		options->patience_s = DEFAULT_PATIENCE_S;
	if (!options->deadline_s)
		options->deadline_s = DEFAULT_DEADLINE_S;
	if (!options->max_pending_bytes)
		options->max_pending_bytes = DEFAULT_PENDING_BYTES;
	if (!options->budget_ms)
		options->budget_ms = DEFAULT_BUDGET_MS;
	options->max_clients = clients_fit(options->max_clients);
}

static bool listens_on_tcp(int listener)
{
	int domain = AF_UNSPEC;
	socklen_t size = sizeof(domain);

	getsockopt(listener, SOL_SOCKET, SO_DOMAIN, &domain, &size);
	return domain != AF_UNIX;
}

/* The strict level refuses HTTP/1.1 without Host, a blank in a target and the like. */
static struct MHD_Daemon *library_start(struct ipc_server *server, int listener)
{
	const struct ipc_server_options *options = &server->options;

	return MHD_start_daemon(
		MHD_USE_EPOLL | MHD_USE_ERROR_LOG, 0, NULL, NULL, request_handle, server,
		MHD_OPTION_EXTERNAL_LOGGER, library_log, server, MHD_OPTION_LISTEN_SOCKET, listener,
		MHD_OPTION_CONNECTION_LIMIT, options->max_clients, MHD_OPTION_CONNECTION_TIMEOUT,
		options->patience_s, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
		MHD_OPTION_CONNECTION_MEMORY_INCREMENT, (size_t)INCREMENT_BYTES,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_CONNECTION, connection_notify,
		server, MHD_OPTION_NOTIFY_COMPLETED, request_complete, server,
		MHD_OPTION_URI_LOG_CALLBACK, target_note, server, MHD_OPTION_END);
}

int ipc_server_new(int listener, const struct ipc_server_options *options, struct ipc_server **ret,
		   struct diag *d)
{
	struct ipc_server *server = calloc(1, sizeof(*server));

	if (!server) {
		close(listener);
		return diag_oom(d);
	}
	server->options = *options;
	options_complete(&server->options);
	server->over_tcp = listens_on_tcp(listener);
	server->daemon = library_start(server, listener);
	if (!server->daemon) {
		/* In most of its failures the library has closed it, in some it has not. */
		close(listener);
		free(server);
		return diag_set(d, DIAG_FAILED, EIO,
				"the HTTP server did not start: see whether memory or file "
				"descriptors (ulimit -n) have run out");
	}
	*ret = server;
	return 0;
}

void ipc_server_free(struct ipc_server *server)
{
	if (!server)
		return;
	MHD_stop_daemon(server->daemon);
	free(server);
}

int ipc_server_fd(const struct ipc_server *server)
{
	return MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

int ipc_server_patience_ms(const struct ipc_server *server)
{
	MHD_UNSIGNED_LONG_LONG wait_ms;

	if (MHD_get_timeout(server->daemon, &wait_ms) != MHD_YES)
		return -1;
	if (server->connections && wait_ms > deadlines_wait_ms(server))
		wait_ms = deadlines_wait_ms(server);
	return wait_ms < INT_MAX ? (int)wait_ms : INT_MAX;
}

void ipc_server_run(struct ipc_server *server)
{
	const uint64_t end_ns = clock_mono_ns() + server->options.budget_ms * NS_PER_MS;
	unsigned int before;

	server->busy_ns = 0;
	server->made_room = false;
	deadlines_look(server);
	/*
	 * A server that was full looks at its listener again in the run after a client has left. The
	 * library takes a few clients at a time: the others would wait for one more answer each time,
	 * and not learn that they had better come later.
	 */
	do {
		before = server->counts.clients;
		MHD_run(server->daemon);
	} while (server->counts.clients < before ||
		 (server->counts.clients > before && clock_mono_ns() < end_ns + server->busy_ns));
}

void ipc_server_counts(const struct ipc_server *server, struct ipc_server_counts *ret)
{
	*ret = server->counts;
}
