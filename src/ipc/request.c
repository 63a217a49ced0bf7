/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Turns the head of a request into what a handler sees. The library has parsed and decoded it, and
 * is more lenient than we are.
 */
#include "ipc/request.h"

#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "ipc/socket.h"

const char *const ipc_methods[NR_IPC_METHOD] = { "GET", "PUT", "DELETE" };

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

/* None is foreign, too. */
static bool host_is_foreign(struct MHD_Connection *from)
{
	bool is_foreign = !header_find(from, MHD_HTTP_HEADER_HOST);

	MHD_get_connection_values(from, MHD_HEADER_KIND, host_check, &is_foreign);
	return is_foreign;
}

/* The library leaves out the body for HEAD. */
static bool method_parse(const char *name, enum ipc_method *ret)
{
	if (!strcmp(name, MHD_HTTP_METHOD_HEAD))
		name = MHD_HTTP_METHOD_GET;
	for (*ret = 0; *ret < NR_IPC_METHOD; ++*ret)
		if (!strcmp(name, ipc_methods[*ret]))
			return true;
	return false;
}

static bool has_body(struct MHD_Connection *from)
{
	const char *length = header_find(from, MHD_HTTP_HEADER_CONTENT_LENGTH);

	return (length && strcmp(length, "0") != 0) ||
	       header_find(from, MHD_HTTP_HEADER_TRANSFER_ENCODING);
}

unsigned int request_read(struct MHD_Connection *from, const char *method, const char *path,
			  struct ipc_request *ret, const char **ret_sentence)
{
	int nr_parameters;

	ret->path = path;
	ret->accept = header_find(from, MHD_HTTP_HEADER_ACCEPT) ?: "";
	nr_parameters = MHD_get_connection_values(from, MHD_GET_ARGUMENT_KIND, NULL, NULL);
	MHD_get_connection_values(from, MHD_GET_ARGUMENT_KIND, parameter_take, ret);
	/* A page of a foreign name that resolves to this machine asks with that name. */
	*ret_sentence = "ask for localhost or an address of it";
	if (!ret->peer.known && host_is_foreign(from))
		return MHD_HTTP_FORBIDDEN;
	*ret_sentence = "a request has no body";
	if (has_body(from))
		return MHD_HTTP_CONTENT_TOO_LARGE;
	*ret_sentence = "a request is a path with at most 64 parameters";
	if (*path != '/' || nr_parameters > IPC_MAX_PARAMETERS)
		return MHD_HTTP_BAD_REQUEST;
	*ret_sentence = "the methods are GET, HEAD, PUT and DELETE";
	return method_parse(method, &ret->method) ? 0 : MHD_HTTP_METHOD_NOT_ALLOWED;
}
