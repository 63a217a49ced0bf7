/* SPDX-License-Identifier: BSD-2-Clause */
/* A request as a handler sees it, and the answer that the handler fills. */
#ifndef BPFTRUSS_REQUEST_H
#define BPFTRUSS_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "ipc/socket.h"

enum ipc_method {
	IPC_GET,
	IPC_PUT,
	IPC_DELETE,
	NR_IPC_METHOD,
};

/* The methods' names in HTTP. */
extern const char *const ipc_methods[NR_IPC_METHOD];

#define IPC_MAX_PARAMETERS 64

struct ipc_request {
	enum ipc_method method;
	const char *path;   /* decoded, without the query */
	const char *accept; /* header, "" when absent */
	struct ipc_peer peer;
	bool is_crowded; /* the budget is spent: only what is cheap is to be answered now */
	struct {
		const char *name, *value; /* decoded */
	} parameters[IPC_MAX_PARAMETERS];
	size_t nr_parameters;
};

/* The value of the first parameter of a name; NULL when absent. */
const char *ipc_parameter(const struct ipc_request *request, const char *name);

struct ipc_answer {
	unsigned int status;      /* HTTP */
	const char *content_type; /* a constant */
	char *body;               /* malloc()ed; the server frees it */
	size_t size, capacity;
};

/*
 * A stream that writes the body; NULL: no memory. An open_memstream() would copy and clear as it
 * grows, and take three times the memory of a large body for a moment.
 */
FILE *ipc_answer_open(struct ipc_answer *answer);

/*
 * Writes {"error": sentence} with a status, as ASCII: other bytes of the sentence become \xNN. On no
 * memory the answer has no body. What the answer was before is forgotten, not freed.
 */
void ipc_answer_error(struct ipc_answer *answer, unsigned int status, const char *sentence);

struct MHD_Connection;

/*
 * For the server: fills what a head says that the library has parsed. Whoever is not known, over TCP,
 * must ask for localhost. Returns 0, or the status of what is wrong with it, and a sentence.
 */
unsigned int request_read(struct MHD_Connection *from, const char *method, const char *path,
			  struct ipc_request *ret, const char **ret_sentence);

#endif
