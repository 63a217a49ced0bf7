/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the HTTP server: libmicrohttpd without threads, driven through its epoll descriptor. It
 * parses and decodes; here is what it is asked to bound, and what it lets through that we refuse.
 * A body belongs to its response from the moment it is counted as pending until it is freed.
 */
#include "ipc/server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <microhttpd.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "ipc/peer.h"
#include "ipc/request_check.h"

#define DEFAULT_CLIENTS       1200
#define DEFAULT_PATIENCE_S    10
#define DEFAULT_PENDING_BYTES (32u << 20)

#define MAX_HEAD_BYTES    8192
/* A head, what the library notes of each of its lines, and the head of the answer. */
#define CONNECTION_BYTES  (MAX_HEAD_BYTES + 4096)
/* The kernel keeps as much for a client that does not read, twice with its own notes. */
#define SEND_BUFFER_BYTES (32 << 10)
/* Others need descriptors, too: clients have at most one in so many. */
#define DESCRIPTOR_SHARE  2

struct ipc_server {
	struct MHD_Daemon *daemon;
	struct ipc_server_options options;
	struct ipc_server_counts counts;
	bool over_tcp;
};

struct connection {
	struct ipc_server *server;
	struct ipc_peer peer;
	bool target_ok; /* of the request under way */
	bool head_seen;
};

/* --- answers ---------------------------------------------------------------------------------- */

struct pending_body {
	struct ipc_server *server;
	char *bytes;
	size_t size;
};

static void pending_body_free(void *closure)
{
	struct pending_body *body = closure;

	body->server->counts.pending_bytes -= body->size;
	free(body->bytes);
	free(body);
}

/* Takes the body of the answer, also when it returns NULL: no memory. */
static struct MHD_Response *response_new(struct ipc_server *server, struct ipc_answer *answer)
{
	__cleanup(freep) char *bytes = steal_ptr(&answer->body);
	struct pending_body *body;
	struct MHD_Response *response;

	if (!bytes || !answer->size)
		return MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
	body = malloc(sizeof(*body));
	if (!body)
		return NULL;
	*body = (struct pending_body){ server, bytes, answer->size };
	response = MHD_create_response_from_buffer_with_free_callback_cls(body->size, bytes,
									  pending_body_free, body);
	if (!response) {
		free(body);
		return NULL;
	}
	server->counts.pending_bytes += body->size;
	(void)steal_ptr(&bytes);
	return response;
}

static bool response_headers_add(struct MHD_Response *response, const struct ipc_answer *answer)
{
	const struct {
		const char *name, *value;
	} headers[] = {
		{ MHD_HTTP_HEADER_CONTENT_TYPE, answer->content_type },
		{ MHD_HTTP_HEADER_CACHE_CONTROL, "no-store" },
		{ "X-Content-Type-Options", "nosniff" },
		{ answer->status == MHD_HTTP_SERVICE_UNAVAILABLE ? MHD_HTTP_HEADER_RETRY_AFTER
								 : NULL,
		  "1" },
		{ answer->status == MHD_HTTP_METHOD_NOT_ALLOWED ? MHD_HTTP_HEADER_ALLOW : NULL,
		  "GET, HEAD, PUT, DELETE" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(headers); i++)
		if (headers[i].name && headers[i].value &&
		    MHD_add_response_header(response, headers[i].name, headers[i].value) != MHD_YES)
			return false;
	return true;
}

/* Anything but MHD_YES cuts the connection off. */
static enum MHD_Result answer_send(struct ipc_server *server, struct MHD_Connection *to,
				   struct ipc_answer *answer)
{
	struct MHD_Response *response = response_new(server, answer);
	enum MHD_Result result = MHD_NO;

	if (!response)
		return MHD_NO;
	if (response_headers_add(response, answer))
		result = MHD_queue_response(to, answer->status, response);
	MHD_destroy_response(response);
	return result;
}

static bool is_too_much(const struct ipc_server *server, size_t more)
{
	const size_t pending = server->counts.pending_bytes;
	const size_t limit = server->options.max_pending_bytes;

	/* An answer that is larger than all may be is given when it is alone: later is no better. */
	return pending && (pending >= limit || more > limit - pending);
}

static void answer_too_busy(struct ipc_server *server, struct ipc_answer *answer)
{
	free(answer->body);
	server->counts.refused++;
	ipc_answer_error(answer, MHD_HTTP_SERVICE_UNAVAILABLE,
			 "too much is being sent to other clients: ask again in a second");
}

/* --- requests --------------------------------------------------------------------------------- */

struct head {
	struct ipc_request request;
	const char *host; /* a foreign one, if there is any; else the last; NULL: none */
	bool malformed, has_body;
};

static enum MHD_Result parameter_take(void *closure, enum MHD_ValueKind kind, const char *name,
				      size_t name_size, const char *value, size_t value_size)
{
	struct head *head = closure;
	struct ipc_request *request = &head->request;

	(void)kind;
	if (!value)
		value = "";
	if (request->nr_parameters == IPC_MAX_PARAMETERS || !request_text_ok(name, name_size) ||
	    !request_text_ok(value, value_size)) {
		head->malformed = true;
		return MHD_NO;
	}
	request->parameters[request->nr_parameters].name = name;
	request->parameters[request->nr_parameters++].value = value;
	return MHD_YES;
}

static enum MHD_Result header_take(void *closure, enum MHD_ValueKind kind, const char *name,
				   size_t name_size, const char *value, size_t value_size)
{
	struct head *head = closure;

	(void)kind;
	if (!value || !request_text_ok(name, name_size)) {
		head->malformed = true;
		return MHD_NO;
	}
	if (!strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH))
		head->has_body |= strcmp(value, "0") != 0;
	if (!strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING))
		head->has_body = true;
	if (!strcasecmp(name, MHD_HTTP_HEADER_HOST) &&
	    (!head->host || request_host_is_loopback(head->host)))
		head->host = value;
	if (!strcasecmp(name, MHD_HTTP_HEADER_ACCEPT)) {
		head->malformed |= !request_text_ok(value, value_size);
		head->request.accept = value;
	}
	return MHD_YES;
}

/* GET, HEAD, PUT, DELETE. The library leaves out the body for HEAD. */
static bool method_parse(const char *name, enum ipc_method *ret)
{
	static const struct {
		const char *name;
		enum ipc_method method;
	} methods[] = {
		{ MHD_HTTP_METHOD_GET, IPC_GET },
		{ MHD_HTTP_METHOD_HEAD, IPC_GET },
		{ MHD_HTTP_METHOD_PUT, IPC_PUT },
		{ MHD_HTTP_METHOD_DELETE, IPC_DELETE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (!strcmp(methods[i].name, name)) {
			*ret = methods[i].method;
			return true;
		}
	return false;
}

static size_t head_bytes(struct MHD_Connection *from)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(from, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

	return info ? info->header_size : 0;
}

/* Reads a head. False with an answer: it is not for the handler to see. */
static bool head_read(struct connection *connection, struct MHD_Connection *from,
		      const char *method, struct head *head, struct ipc_answer *answer)
{
	struct ipc_server_counts *counts = &connection->server->counts;
	unsigned int status = 0;
	const char *sentence = "";

	head->malformed = !connection->target_ok;
	MHD_get_connection_values_n(from, MHD_HEADER_KIND, header_take, head);
	MHD_get_connection_values_n(from, MHD_GET_ARGUMENT_KIND, parameter_take, head);
	if (connection->server->over_tcp &&
	    (!head->host || !request_host_is_loopback(head->host))) {
		/* A page of a foreign name that resolves to this machine. */
		counts->refused++;
		ipc_answer_error(answer, MHD_HTTP_FORBIDDEN,
				 "ask for localhost or an address of it");
		return false;
	}
	if (head_bytes(from) > MAX_HEAD_BYTES) {
		status = MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE;
		sentence = "a request has at most 8 KiB";
	} else if (head->has_body) {
		status = MHD_HTTP_CONTENT_TOO_LARGE;
		sentence = "a request has no body";
	} else if (head->malformed) {
		status = MHD_HTTP_BAD_REQUEST;
		sentence = "a request is a path with at most 64 parameters, percent-encoded, "
			   "without control characters";
	} else if (!method_parse(method, &head->request.method)) {
		status = MHD_HTTP_METHOD_NOT_ALLOWED;
		sentence = "the methods are GET, HEAD, PUT and DELETE";
	}
	if (!status)
		return true;
	counts->malformed++;
	ipc_answer_error(answer, status, sentence);
	return false;
}

static void request_answer(struct connection *connection, const struct ipc_request *request,
			   struct ipc_answer *answer)
{
	struct ipc_server *server = connection->server;

	if (is_too_much(server, 0)) {
		answer_too_busy(server, answer);
		return;
	}
	server->options.handler(server->options.closure, request, answer);
	if (is_too_much(server, answer->size))
		answer_too_busy(server, answer);
}

/* Called with the whole head, and again when no body follows. */
static enum MHD_Result request_handle(void *closure, struct MHD_Connection *from, const char *path,
				      const char *method, const char *version, const char *upload,
				      size_t *upload_size, void **context)
{
	struct ipc_server *server = closure;
	struct connection *connection = *context;
	struct head head = { .request = { .path = path, .accept = "" } };
	struct ipc_answer answer = { .status = MHD_HTTP_INTERNAL_SERVER_ERROR };
	bool is_good;

	(void)version;
	(void)upload;
	(void)upload_size;
	/* There was no memory for it. */
	if (!connection)
		return MHD_NO;
	is_good = head_read(connection, from, method, &head, &answer);
	if (is_good && !connection->head_seen) {
		connection->head_seen = true;
		return MHD_YES;
	}
	server->counts.requests++;
	head.request.peer = connection->peer;
	/* An answer before the end of a request also closes the connection. */
	if (is_good)
		request_answer(connection, &head.request, &answer);
	return answer_send(server, from, &answer);
}

/* --- connections ------------------------------------------------------------------------------ */

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
	peer_read(fd, server->options.group, &connection->peer);
	/* Without it a client is merely dearer. */
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof(send_buffer));
}

static void connection_notify(void *closure, struct MHD_Connection *handle, void **context,
			      enum MHD_ConnectionNotificationCode code)
{
	struct ipc_server *server = closure;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		connection_open(server, handle, context);
		return;
	}
	server->counts.clients--;
	free(*context);
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
	if (!options->max_pending_bytes)
		options->max_pending_bytes = DEFAULT_PENDING_BYTES;
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
		MHD_OPTION_CONNECTION_MEMORY_INCREMENT, (size_t)1024, MHD_OPTION_STRICT_FOR_CLIENT,
		1, MHD_OPTION_NOTIFY_CONNECTION, connection_notify, server,
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
	return wait_ms < INT_MAX ? (int)wait_ms : INT_MAX;
}

void ipc_server_run(struct ipc_server *server)
{
	unsigned int before;

	/* A server that was full looks at its listener again in the run after a client has left. */
	do {
		before = server->counts.clients;
		MHD_run(server->daemon);
	} while (server->counts.clients < before);
}

void ipc_server_counts(const struct ipc_server *server, struct ipc_server_counts *ret)
{
	*ret = server->counts;
}
