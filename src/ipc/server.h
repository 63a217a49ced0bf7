/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An HTTP/1.1 server for small questions and large answers, on sockets that somebody else has
 * bound. Single-threaded and never blocking: it runs when its descriptor is readable. It bounds
 * what peers can make it hold: connections, bytes of requests, bytes of answers not yet taken,
 * time without progress. It knows nothing of what is asked.
 */
#ifndef BPFTRUSS_SERVER_H
#define BPFTRUSS_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"

enum ipc_method {
	IPC_GET,
	IPC_PUT,
	IPC_DELETE,
	NR_IPC_METHOD,
};

/* Who asks. Over TCP nobody is known. */
struct ipc_peer {
	bool known;
	uid_t uid;
	gid_t gid;
	bool in_group; /* of the socket's group, by its main or another group of the peer */
};

#define IPC_MAX_PARAMETERS 64

struct ipc_request {
	enum ipc_method method;
	const char *path;   /* decoded, without the query */
	const char *accept; /* header, "" when absent */
	struct ipc_peer peer;
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
	size_t size;
};

/*
 * Fills the answer, which comes with status 500 and no body; nothing is sent before it returns.
 * Heads of requests have at most 8 KiB and no body follows them; the path begins with a slash, and
 * neither it nor a parameter nor accept has control characters. The strings end with the call.
 */
typedef void ipc_handler(void *closure, const struct ipc_request *request,
			 struct ipc_answer *answer);

/*
 * Writes {"error": sentence} with a status, as ASCII: other bytes of the sentence become \xNN. On no
 * memory the answer has no body. What the answer was before is forgotten, not freed.
 */
void ipc_answer_error(struct ipc_answer *answer, unsigned int status, const char *sentence);

struct ipc_server_options {
	ipc_handler *handler;
	void *closure;
	gid_t group; /* whose members are in_group */
	/* 0 of the following: the default, in parentheses. */
	unsigned int max_clients; /* connected at once; others wait (1200) */
	/* With a client that neither sends nor takes a byte, while the handler is idle (10). */
	unsigned int patience_s;
	unsigned int deadline_s;  /* for one request and its answer, all in all (120) */
	size_t max_pending_bytes; /* of answers not yet taken, all together (32 MiB) */
	unsigned int budget_ms; /* of the handler in one run; others are told to ask again (250) */
};

struct ipc_server;

/*
 * Serves a listening socket, AF_UNIX or TCP on a loopback address. The descriptor is taken over, and
 * closed when this fails. Raises the soft limit of descriptors to twice max_clients; where the hard
 * one is lower, there are as many clients as half of it. Over TCP, requests whose Host is not
 * localhost or a loopback address are refused. Returns 0 or -errno with d filled.
 */
int ipc_server_new(int listener, const struct ipc_server_options *options, struct ipc_server **ret,
		   struct diag *d);

/* Answers in flight are cut off; NULL is fine. */
void ipc_server_free(struct ipc_server *server);

/* Readable when ipc_server_run() has something to do; owned by the server. */
int ipc_server_fd(const struct ipc_server *server);

/* How long at most to wait for it: milliseconds as poll() takes them, -1 for ever. */
int ipc_server_patience_ms(const struct ipc_server *server);

/*
 * Does what can be done without waiting; calls the handler, for so long as options say and one more
 * answer. Not to be called from it.
 */
void ipc_server_run(struct ipc_server *server);

struct ipc_server_counts {
	/* Since it was made. */
	uint64_t requests;    /* whose head was understood, also those of the next two */
	uint64_t refused;     /* too much pending or to do (503), or a foreign Host (403) */
	uint64_t malformed;   /* answered with 4xx or 505 without the handler */
	unsigned int clients; /* connected now */
	size_t pending_bytes; /* of answers not yet taken */
};

void ipc_server_counts(const struct ipc_server *server, struct ipc_server_counts *ret);

#endif
