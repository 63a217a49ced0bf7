/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs the HTTP server: libmicrohttpd without threads, driven through its epoll descriptor, with the
 * library's limits on connections, silence and memory. The limit on the life of a connection and the
 * budget for answers are ours.
 */
#include "ipc/server.h"

#include <limits.h>
#include <microhttpd.h>
#include <poll.h>
#include <strings.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/clock.h"

#define DEFAULT_CLIENTS       1200
#define DEFAULT_PATIENCE_S    10
#define DEFAULT_LIFETIME_S    120
#define DEFAULT_PENDING_BYTES (32u << 20)
#define DEFAULT_BUDGET_MS     250
#define DEFAULT_WAITING       8

/* A head of 8 KiB, what the library notes of each of its lines, and the head of the answer. */
#define CONNECTION_BYTES  (12u << 10)
#define INCREMENT_BYTES   1024u
/*
 * The kernel keeps as much for a client that does not read, twice with its own notes. Four or eight
 * times as much does not send an answer of megabytes sooner: what takes time is to make it.
 */
#define SEND_BUFFER_BYTES (32 << 10)
/* Two servers may share the descriptors, and all else that is opened needs as many as one of them. */
#define DESCRIPTOR_SHARE  3
/* An answer may wait for longer as long as nobody else needs its room. */
#define HURRY_NS          (2 * NS_PER_SEC)
/* So often it is looked at whether those that wait are still there. */
#define LOOK_NS           NS_PER_SEC

struct connection {
	TAILQ_ENTRY(connection) place;
	struct MHD_Connection *handle; /* the library's, as fd */
	int fd;
	uint64_t end_ns;      /* by the clock of the server */
	uint64_t answered_ns; /* 0: has no answer to take, or was cut off; by the same clock */
	size_t answer_bytes;
	bool has_nul;          /* in what is asked: strings would end there */
	uint64_t due_ns, note; /* of an answer that was put off; CLOCK_MONOTONIC; 0: it was not */
	bool is_gone;          /* while it waited */
};

TAILQ_HEAD(connection_list, connection);

struct ipc_server {
	struct MHD_Daemon *daemon;
	struct ipc_server_options options;
	struct ipc_server_counts counts;
	struct connection_list connections; /* the one that ends first is the first */
	struct connection_list waiting;     /* and none of these, whose answers are put off */
	uint64_t look_ns;                   /* when these are looked at again */
	uint64_t busy_ns;                   /* in the handler, in this run */
	uint64_t worked_ns;                 /* the same since it was made */
	uint64_t forgiven_ns;               /* of these, what is held against no client any more */
	bool has_cut;                       /* somebody off for others, in this run */
};

const char *ipc_parameter(const struct ipc_request *request, const char *name)
{
	for (size_t i = 0; i < request->nr_parameters; i++)
		if (!strcmp(request->parameters[i].name, name))
			return request->parameters[i].value;
	return NULL;
}

static ssize_t body_write(void *cookie, const char *bytes, size_t size)
{
	struct ipc_answer *answer = cookie;
	size_t capacity = answer->capacity ?: 4096;
	char *grown;

	while (capacity - answer->size < size)
		capacity += capacity / 2;
	if (capacity > answer->capacity) {
		grown = realloc(answer->body, capacity);
		/* stdio takes 0 for an error. */
		if (!grown)
			return 0;
		answer->body = grown;
		answer->capacity = capacity;
	}
	memcpy(answer->body + answer->size, bytes, size);
	answer->size += size;
	return (ssize_t)size;
}

FILE *ipc_answer_open(struct ipc_answer *answer)
{
	return fopencookie(answer, "w", (cookie_io_functions_t){ .write = body_write });
}

void ipc_answer_error(struct ipc_answer *answer, unsigned int status, const char *sentence)
{
	FILE *out;

	*answer = (struct ipc_answer){ .status = status, .content_type = "application/json" };
	out = ipc_answer_open(answer);
	if (!out)
		return;
	fputs("{\"error\": \"", out);
	for (; *sentence; sentence++) {
		const unsigned char c = (unsigned char)*sentence;

		/* A name in a sentence need not be valid UTF-8. */
		if (c < ' ' || c >= 0x7f)
			fprintf(out, "\\\\x%02x", c);
		else
			fprintf(out, c == '"' || c == '\\' ? "\\%c" : "%c", c);
	}
	fputs("\"}\n", out);
	if (fclose(out)) {
		free(steal_ptr(&answer->body));
		answer->size = 0;
	}
}

/* --- connections ------------------------------------------------------------------------------ */

/* A clock that stands still while the handler works: lifetimes go by it. */
static uint64_t server_now_ns(const struct ipc_server *server)
{
	return clock_mono_ns() - server->worked_ns;
}

/* The library ends those that make no progress; this ends those that make hardly any. */
static void connections_end_old(struct ipc_server *server)
{
	const uint64_t now_ns = server_now_ns(server);
	struct connection *first;

	while ((first = TAILQ_FIRST(&server->connections)) && first->end_ns <= now_ns) {
		/* It is the library that closes it, when it learns of this. */
		shutdown(first->fd, SHUT_RDWR);
		first->end_ns = UINT64_MAX;
		TAILQ_REMOVE(&server->connections, first, place);
		TAILQ_INSERT_TAIL(&server->connections, first, place);
	}
}

/* How much of our work in seconds may be held against a client. */
static unsigned int patience_share_s(const struct ipc_server *server)
{
	return (server->options.patience_s + 3) / 4;
}

/* Returns the library's timeout: no client is cut off before all of the patience is spent. */
static unsigned int library_patience_s(const struct ipc_server *server)
{
	return server->options.patience_s + patience_share_s(server);
}

/*
 * The library compares the time of the last byte with now, and so would take our own work for
 * silence; a limit that is taken away and set anew begins at this moment.
 */
static void patience_renew(const struct ipc_server *server, const struct connection *connection)
{
	MHD_set_connection_option(connection->handle, MHD_CONNECTION_OPTION_TIMEOUT, 0u);
	MHD_set_connection_option(connection->handle, MHD_CONNECTION_OPTION_TIMEOUT,
				  library_patience_s(server));
}

/*
 * Holds our work against nobody, once there is so much of it that it matters. To be called between
 * runs: in a run there are connections that the library has closed without saying so yet, and to set
 * an option of those would spoil its lists.
 */
static void connections_forgive(struct ipc_server *server)
{
	struct connection *connection;

	if (server->worked_ns - server->forgiven_ns < patience_share_s(server) * NS_PER_SEC)
		return;
	server->forgiven_ns = server->worked_ns;
	TAILQ_FOREACH (connection, &server->connections, place)
		patience_renew(server, connection);
}

/*
 * Makes room for others: ends the oldest that has been taking its answer for too long. It ends one
 * in a run, as its room is there only after that.
 */
static void connection_end_slow(struct ipc_server *server)
{
	const uint64_t first_ns = server_now_ns(server) - HURRY_NS;
	struct connection *connection;

	TAILQ_FOREACH (connection, &server->connections, place)
		if (connection->answered_ns && connection->answered_ns <= first_ns)
			break;
	if (!connection || server->has_cut)
		return;
	server->has_cut = true;
	shutdown(connection->fd, SHUT_RDWR);
	connection->answered_ns = 0;
}

static void connection_notify(void *closure, struct MHD_Connection *handle, void **context,
			      enum MHD_ConnectionNotificationCode code)
{
	struct connection *connection = *context;
	struct ipc_server *server = closure;
	const int send_buffer = SEND_BUFFER_BYTES;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		server->counts.clients++;
		*context = connection = calloc(1, sizeof(*connection));
		if (!connection)
			return;
		connection->handle = handle;
		connection->fd = MHD_get_connection_info(handle, MHD_CONNECTION_INFO_CONNECTION_FD)
					 ->connect_fd;
		connection->end_ns =
			server_now_ns(server) + server->options.lifetime_s * NS_PER_SEC;
		TAILQ_INSERT_TAIL(&server->connections, connection, place);
		/* Without it a client is merely dearer. */
		setsockopt(connection->fd, SOL_SOCKET, SO_SNDBUF, &send_buffer,
			   sizeof(send_buffer));
		return;
	}
	server->counts.clients--;
	if (!connection)
		return;
	server->counts.pending_bytes -= connection->answer_bytes;
	TAILQ_REMOVE(&server->connections, connection, place);
	free(connection);
}

/* --- answers that are put off ------------------------------------------------------------------ */

static void connection_wait(struct ipc_server *server, struct connection *connection,
			    const struct ipc_answer *answer)
{
	if (!server->counts.waiting)
		server->look_ns = clock_mono_ns() + LOOK_NS;
	server->counts.waiting++;
	connection->due_ns = answer->wait_until_ns;
	connection->note = answer->note;
	TAILQ_REMOVE(&server->connections, connection, place);
	TAILQ_INSERT_TAIL(&server->waiting, connection, place);
	MHD_suspend_connection(connection->handle);
}

/* Its life begins anew: it has waited for us. */
static void connection_resume(struct ipc_server *server, struct connection *connection)
{
	server->counts.waiting--;
	connection->end_ns = server_now_ns(server) + server->options.lifetime_s * NS_PER_SEC;
	TAILQ_REMOVE(&server->waiting, connection, place);
	TAILQ_INSERT_TAIL(&server->connections, connection, place);
	MHD_resume_connection(connection->handle);
}

/* The library does not listen to those that it has suspended. */
static bool connection_has_left(const struct connection *connection)
{
	struct pollfd peer = { .fd = connection->fd, .events = POLLRDHUP };

	return poll(&peer, 1, 0) > 0;
}

static void connections_resume_due(struct ipc_server *server)
{
	struct connection *connection, *next;
	const uint64_t now_ns = clock_mono_ns();
	const bool looks = now_ns >= server->look_ns;

	for (connection = TAILQ_FIRST(&server->waiting); connection; connection = next) {
		next = TAILQ_NEXT(connection, place);
		connection->is_gone = looks && connection_has_left(connection);
		if (connection->is_gone || connection->due_ns <= now_ns)
			connection_resume(server, connection);
	}
	if (looks)
		server->look_ns = now_ns + LOOK_NS;
}

/* When one is due, or is to be looked at; CLOCK_MONOTONIC. */
static uint64_t waiting_due_ns(const struct ipc_server *server)
{
	const struct connection *connection;
	uint64_t due_ns = TAILQ_EMPTY(&server->waiting) ? UINT64_MAX : server->look_ns;

	TAILQ_FOREACH (connection, &server->waiting, place)
		due_ns = connection->due_ns < due_ns ? connection->due_ns : due_ns;
	return due_ns;
}

/* --- requests --------------------------------------------------------------------------------- */

static enum MHD_Result parameter_take(void *closure, enum MHD_ValueKind kind, const char *name,
				      const char *value)
{
	struct ipc_request *request = closure;
	const size_t at = request->nr_parameters;

	(void)kind;
	if (at == IPC_MAX_PARAMETERS)
		return MHD_NO;
	request->parameters[at].name = name;
	request->parameters[at].value = value ?: "";
	request->nr_parameters++;
	return MHD_YES;
}

static const char *header_find(struct MHD_Connection *from, const char *name)
{
	return MHD_lookup_connection_value(from, MHD_HEADER_KIND, name);
}

/* Goes on until a Host is none of this machine. */
static enum MHD_Result host_check(void *closure, enum MHD_ValueKind kind, const char *name,
				  const char *value)
{
	bool *is_foreign = closure;

	(void)kind;
	if (!strcasecmp(name, MHD_HTTP_HEADER_HOST) && !socket_host_is_loopback(value ?: ""))
		*is_foreign = true;
	return *is_foreign ? MHD_NO : MHD_YES;
}

static bool has_body(struct MHD_Connection *from)
{
	const char *length = header_find(from, MHD_HTTP_HEADER_CONTENT_LENGTH);

	return (length && strcmp(length, "0") != 0) ||
	       header_find(from, MHD_HTTP_HEADER_TRANSFER_ENCODING);
}

/* Whether the guard knows who asks. Returns 0, or the status of what is missing, and a sentence. */
static unsigned int client_check(const struct ipc_server *server, struct MHD_Connection *from,
				 const char **ret_sentence)
{
	const struct guard *guard = server->options.guard;
	const union MHD_ConnectionInfo *session =
		guard_key(guard) ? MHD_get_connection_info(from, MHD_CONNECTION_INFO_GNUTLS_SESSION)
				 : NULL;

	*ret_sentence = "show a certificate that the CA of listen-client-ca vouches for";
	if (!guard_has_certificate(guard, session ? session->tls_session : NULL))
		return MHD_HTTP_FORBIDDEN;
	*ret_sentence = "send a token or a password of listen-auth";
	return guard_has_secret(guard, header_find(from, MHD_HTTP_HEADER_AUTHORIZATION))
		       ? 0
		       : MHD_HTTP_UNAUTHORIZED;
}

/*
 * Fills what a head says that the library has parsed and decoded; it is more lenient than we are. A
 * peer that is not known, over TCP, must ask for localhost. Returns 0, or the status of what is
 * wrong with it, and a sentence.
 */
static unsigned int request_read(const struct ipc_server *server, struct MHD_Connection *from,
				 const char *method, const char *path, struct ipc_request *ret,
				 const char **ret_sentence)
{
	bool is_foreign;
	int nr_parameters;

	ret->path = path;
	ret->accept = header_find(from, MHD_HTTP_HEADER_ACCEPT) ?: "";
	nr_parameters = MHD_get_connection_values(from, MHD_GET_ARGUMENT_KIND, NULL, NULL);
	MHD_get_connection_values(from, MHD_GET_ARGUMENT_KIND, parameter_take, ret);
	/*
	 * A page of a foreign name that resolves to this machine asks with it. A request without a
	 * host is foreign.
	 */
	*ret_sentence = "ask for localhost or an address of it";
	is_foreign = !header_find(from, MHD_HTTP_HEADER_HOST);
	MHD_get_connection_values(from, MHD_HEADER_KIND, host_check, &is_foreign);
	if (!ret->peer.known && is_foreign && !server->options.has_any_host)
		return MHD_HTTP_FORBIDDEN;
	*ret_sentence = "a request has no body";
	if (has_body(from))
		return MHD_HTTP_CONTENT_TOO_LARGE;
	*ret_sentence = "a request is a path with at most 64 parameters";
	if (*path != '/' || nr_parameters > IPC_MAX_PARAMETERS)
		return MHD_HTTP_BAD_REQUEST;
	*ret_sentence = "the methods are GET, HEAD, PUT and DELETE";
	ret->method = strcmp(method, MHD_HTTP_METHOD_HEAD) != 0 ? method : MHD_HTTP_METHOD_GET;
	return !strcmp(ret->method, "GET") || !strcmp(ret->method, "PUT") ||
			       !strcmp(ret->method, "DELETE")
		       ? 0
		       : MHD_HTTP_METHOD_NOT_ALLOWED;
}

/* Takes the body of the answer in any case. Anything but MHD_YES cuts the connection off. */
static enum MHD_Result response_send(struct MHD_Connection *to, struct ipc_answer *answer)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(answer->size, answer->body, MHD_RESPMEM_MUST_FREE);
	enum MHD_Result result;

	if (!response) {
		free(answer->body);
		return MHD_NO;
	}
	/* Without memory for a header, the answer lacks it. */
	if (answer->content_type)
		MHD_add_response_header(response, "Content-Type", answer->content_type);
	if (answer->header)
		MHD_add_response_header(response, answer->header, "1");
	MHD_add_response_header(response, "Cache-Control", "no-store");
	MHD_add_response_header(response, "Connection", "close");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	if (answer->status == MHD_HTTP_SERVICE_UNAVAILABLE)
		MHD_add_response_header(response, "Retry-After", "1");
	if (answer->status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(response, "WWW-Authenticate",
					"Bearer, Basic realm=\"bpftruss\"");
	if (answer->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, "Allow", "GET, HEAD, PUT, DELETE");
	result = MHD_queue_response(to, answer->status, response);
	MHD_destroy_response(response);
	return result;
}

static void request_answer(struct ipc_server *server, const struct connection *asking,
			   struct ipc_request *request, struct ipc_answer *answer)
{
	const struct ipc_server_options *options = &server->options;
	const bool is_full = server->counts.pending_bytes >= options->max_pending_bytes;
	const uint64_t start_ns = clock_mono_ns();
	uint64_t took_ns;

	request->is_crowded = is_full || server->busy_ns >= options->budget_ms * NS_PER_MS;
	request->may_wait = server->counts.waiting < options->max_waiting;
	request->note = asking->note;
	options->handler(options->closure, request, answer);
	took_ns = clock_mono_ns() - start_ns;
	server->busy_ns += took_ns;
	server->worked_ns += took_ns;
	patience_renew(server, asking);
	if (answer->status != MHD_HTTP_SERVICE_UNAVAILABLE)
		return;
	server->counts.refused++;
	if (is_full)
		connection_end_slow(server);
}

static struct connection *connection_of(struct MHD_Connection *handle)
{
	return MHD_get_connection_info(handle, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

/* Decodes a path, or a name or a value of a parameter. */
static size_t part_unescape(void *closure, struct MHD_Connection *from, char *text)
{
	struct connection *connection = connection_of(from);

	(void)closure;
	if (connection && strstr(text, "%00"))
		connection->has_nul = true;
	return MHD_http_unescape(text);
}

/* Called with the whole head, and again when no body follows: an answer in between would cut off. */
static enum MHD_Result request_handle(void *closure, struct MHD_Connection *from, const char *path,
				      const char *method, const char *version, const char *upload,
				      size_t *upload_size, void **context)
{
	struct ipc_server *server = closure;
	struct connection *connection = connection_of(from);
	struct ipc_answer answer = { .status = MHD_HTTP_INTERNAL_SERVER_ERROR };
	struct ipc_request request = { 0 };
	const char *sentence;
	unsigned int refused;

	(void)version, (void)upload, (void)upload_size;
	/* There was no memory for it, or nobody waits for the answer any more. */
	if (!connection || connection->is_gone)
		return MHD_NO;
	socket_peer(connection->fd, server->options.group, &request.peer);
	refused = client_check(server, from, &sentence)
			  ?: request_read(server, from, method, path, &request, &sentence);
	request.peer.is_proven = !refused && guard_asks(server->options.guard);
	if (!refused && connection->has_nul) {
		refused = MHD_HTTP_BAD_REQUEST;
		sentence = "%00 stands for nothing that can be asked";
	}
	if (!refused && !*context) {
		*context = connection;
		return MHD_YES;
	}
	server->counts.requests += !connection->note;
	if (refused) {
		const bool is_unknown =
			refused == MHD_HTTP_FORBIDDEN || refused == MHD_HTTP_UNAUTHORIZED;

		server->counts.refused += is_unknown;
		server->counts.malformed += !is_unknown;
		ipc_answer_error(&answer, refused, sentence);
	} else {
		request_answer(server, connection, &request, &answer);
	}
	if (answer.wait_until_ns) {
		free(answer.body);
		connection_wait(server, connection, &answer);
		return MHD_YES;
	}
	connection->answered_ns = server_now_ns(server);
	connection->answer_bytes = answer.size;
	server->counts.pending_bytes += answer.size;
	return response_send(from, &answer);
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

/* Raises the limit of descriptors; the clients that there may be then. */
static unsigned int clients_fit(unsigned int wanted)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return wanted;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_max / DESCRIPTOR_SHARE < wanted
		       ? (unsigned int)(limit.rlim_max / DESCRIPTOR_SHARE)
		       : wanted;
}

/* Adds the library's options for TLS; none for a server without it. */
static void tls_options(const struct guard *guard, struct MHD_OptionItem ret[5])
{
	size_t count = 0;

	if (guard_key(guard)) {
		ret[count++] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_KEY, 0,
							(void *)guard_key(guard) };
		ret[count++] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_CERT, 0,
							(void *)guard_certificate(guard) };
		ret[count++] = (struct MHD_OptionItem){
			MHD_OPTION_HTTPS_PRIORITIES, 0,
			(void *)"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"
		};
	}
	if (guard_client_ca(guard))
		ret[count++] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_TRUST, 0,
							(void *)guard_client_ca(guard) };
	ret[count] = (struct MHD_OptionItem){ MHD_OPTION_END, 0, NULL };
}

static int start_error(const struct guard *guard, struct diag *d)
{
	if (guard_key(guard) && MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
		return diag_set(d, DIAG_FAILED, ENOTSUP,
				"--listen-cert: the libmicrohttpd of this host has no TLS");
	return diag_set(d, DIAG_FAILED, EIO,
			"the HTTP server did not start: see whether memory or file descriptors "
			"(ulimit -n) have run out");
}

int ipc_server_new(int listener, const struct ipc_server_options *options, struct ipc_server **ret,
		   struct diag *d)
{
	struct ipc_server *server = calloc(1, sizeof(*server));
	struct MHD_OptionItem tls[5];
	struct ipc_server_options *o;

	if (!server) {
		close(listener);
		return diag_oom(d);
	}
	o = &server->options;
	*o = *options;
	o->max_clients = clients_fit(o->max_clients ?: DEFAULT_CLIENTS);
	o->patience_s = o->patience_s ?: DEFAULT_PATIENCE_S;
	o->lifetime_s = o->lifetime_s ?: DEFAULT_LIFETIME_S;
	o->max_pending_bytes = o->max_pending_bytes ?: DEFAULT_PENDING_BYTES;
	o->budget_ms = o->budget_ms ?: DEFAULT_BUDGET_MS;
	o->max_waiting = o->max_waiting ?: DEFAULT_WAITING;
	TAILQ_INIT(&server->connections);
	TAILQ_INIT(&server->waiting);
	/*
	 * The strict level refuses HTTP/1.1 without Host, a blank in a target and the like. A limit
	 * for each address would be none: over TCP all of 127.0.0.0/8 is anybody's, and a unix
	 * socket has no address.
	 */
	tls_options(o->guard, tls);
	server->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_USE_ERROR_LOG | MHD_ALLOW_SUSPEND_RESUME |
			(guard_key(o->guard) ? MHD_USE_TLS : 0),
		0, NULL, NULL, request_handle, server, MHD_OPTION_EXTERNAL_LOGGER, library_log,
		server, MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_CONNECTION_LIMIT,
		o->max_clients, MHD_OPTION_CONNECTION_TIMEOUT, library_patience_s(server),
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
		MHD_OPTION_CONNECTION_MEMORY_INCREMENT, (size_t)INCREMENT_BYTES,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_CONNECTION, connection_notify,
		server, MHD_OPTION_UNESCAPE_CALLBACK, part_unescape, server, MHD_OPTION_ARRAY, tls,
		MHD_OPTION_END);
	if (!server->daemon) {
		/* In most of its failures the library has closed it, in some it has not. */
		close(listener);
		free(server);
		return start_error(options->guard, d);
	}
	*ret = server;
	return 0;
}

void ipc_server_free(struct ipc_server *server)
{
	struct connection *connection;

	if (!server)
		return;
	/* The library cannot stop while any is suspended. */
	while ((connection = TAILQ_FIRST(&server->waiting))) {
		connection->is_gone = true;
		connection_resume(server, connection);
	}
	MHD_stop_daemon(server->daemon);
	free(server);
}

int ipc_server_fd(const struct ipc_server *server)
{
	return MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

int ipc_server_patience_ms(const struct ipc_server *server)
{
	const struct connection *first = TAILQ_FIRST(&server->connections);
	const uint64_t end_ns = first ? first->end_ns : UINT64_MAX, now_ns = server_now_ns(server);
	/* Rounded up: it is time then. */
	const uint64_t left_ms = end_ns > now_ns ? (end_ns - now_ns) / NS_PER_MS + 1 : 0;
	const uint64_t due_ns = waiting_due_ns(server);
	const int due_ms = due_ns < UINT64_MAX ? clock_until_ms(due_ns) : -1;
	MHD_UNSIGNED_LONG_LONG wait_ms;

	if (MHD_get_timeout(server->daemon, &wait_ms) != MHD_YES)
		return due_ms;
	wait_ms = left_ms < wait_ms ? left_ms : wait_ms;
	return sooner_ms(due_ms, wait_ms < INT_MAX ? (int)wait_ms : INT_MAX);
}

void ipc_server_run(struct ipc_server *server)
{
	unsigned int before;

	server->busy_ns = 0;
	server->has_cut = false;
	connections_end_old(server);
	connections_resume_due(server);
	/* A server that was full looks at its listener again in the run after a client has left. */
	do {
		before = server->counts.clients;
		MHD_run(server->daemon);
		connections_forgive(server);
	} while (server->counts.clients < before);
}

const struct ipc_server_counts *ipc_server_counts(const struct ipc_server *server)
{
	return &server->counts;
}
