/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns answers on their way. A body belongs to its response from the moment it is counted as
 * pending until the library frees it: sent, or cut off.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "ipc/server_private.h"

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

enum MHD_Result response_send(struct ipc_server *server, struct MHD_Connection *to,
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
