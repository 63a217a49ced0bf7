/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns what becomes of a request: refused by what its head says, too much for now, or put to the
 * handler. The library has parsed and decoded it, and is more lenient than we are.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/mem.h"
#include "ipc/request_check.h"
#include "ipc/server_private.h"

/* What takes less is answered in any case: so the status can be seen when there is a crowd. */
#define CHEAP_NS (5 * NS_PER_MS)

struct head {
	struct ipc_request request;
	const char *host; /* a foreign one, if there is any; else the last; NULL: none */
	bool malformed, has_body;
};

/* The target was fine up to a NUL; the library may have read on behind it. */
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

static bool is_too_much(const struct ipc_server *server, size_t more)
{
	const size_t pending = server->counts.pending_bytes;
	const size_t limit = server->options.max_pending_bytes;

	/* An answer that is larger than all may be is given when it is alone: later is no better. */
	return pending && (pending >= limit || more > limit - pending);
}

/* Will the run have taken too long for others who wait: timers of the daemon, other clients? */
static bool is_too_long(const struct ipc_server *server, uint64_t more_ns)
{
	return server->busy_ns >= server->options.budget_ms * NS_PER_MS && more_ns > CHEAP_NS;
}

/* FNV-1a, whose collisions only spoil a guess. */
static uint32_t path_hash(const char *path)
{
	uint32_t hash = 2166136261u;

	while (*path)
		hash = (hash ^ (unsigned char)*path++) * 16777619u;
	return hash;
}

/* The place of a path, empty unless the last answer there was to the same one. */
static struct request_cost *cost_find(struct ipc_server *server, const char *path)
{
	const uint32_t hash = path_hash(path);
	struct request_cost *cost = &server->costs[hash % NR_COSTS];

	if (cost->hash != hash)
		*cost = (struct request_cost){ .hash = hash };
	return cost;
}

static void answer_too_busy(struct ipc_server *server, struct ipc_answer *answer)
{
	free(answer->body);
	server->counts.refused++;
	ipc_answer_error(answer, MHD_HTTP_SERVICE_UNAVAILABLE,
			 "too many clients ask for too much: ask again in a second");
}

/* Those who do not take theirs give way, once a run: what they held is free only after it. */
static void make_room(struct ipc_server *server, size_t size)
{
	const size_t half = server->options.max_pending_bytes / 2;

	if (!server->made_room)
		connections_make_room(server, size > half ? size : half);
	server->made_room = true;
}

static void request_answer(struct connection *connection, const struct ipc_request *request,
			   struct ipc_answer *answer)
{
	struct ipc_server *server = connection->server;
	struct request_cost *cost = cost_find(server, request->path);
	const uint64_t start_ns = clock_mono_ns();

	/* Before the handler has worked for nothing. */
	if (is_too_much(server, cost->bytes)) {
		make_room(server, cost->bytes);
		answer_too_busy(server, answer);
		return;
	}
	if (is_too_long(server, cost->ns)) {
		answer_too_busy(server, answer);
		return;
	}
	server->options.handler(server->options.closure, request, answer);
	cost->bytes = answer->size;
	cost->ns = clock_mono_ns() - start_ns;
	server->busy_ns += cost->ns;
	connections_forgive(server, connection, cost->ns);
	if (is_too_much(server, answer->size)) {
		make_room(server, answer->size);
		answer_too_busy(server, answer);
	}
}

enum MHD_Result request_handle(void *closure, struct MHD_Connection *from, const char *path,
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
	connection->answered_ns = clock_mono_ns();
	connection->answer_bytes = answer.size;
	return response_send(server, from, &answer);
}
