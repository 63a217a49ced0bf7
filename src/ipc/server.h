/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An HTTP/1.1 server for small questions and large answers, on sockets that somebody else has
 * bound; a connection carries one of each. Single-threaded and never blocking: it runs when its
 * descriptor is readable. It bounds what peers can make it hold: connections, bytes of requests,
 * bytes of answers not yet taken, time. It knows nothing of what is asked.
 */
#pragma once

#include "ipc/guard.h"
#include "ipc/socket.h"

struct ipc_request {
	const char *method; /* GET, also for HEAD, whose body is left out; PUT or DELETE */
	const char *path;   /* decoded, without the query */
	const char *accept; /* header, "" when absent */
	struct ipc_peer peer;
	bool is_crowded; /* the budget is spent: only what is cheap is to be answered now */
	bool may_wait;   /* there is room for one more answer that is put off */
	uint64_t note;   /* the answer's, when it was put off; 0: it was not */
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
	const char *header; /* the name of one more header, which is 1; NULL: none; a constant */
	char *body;         /* malloc()ed; the server frees it */
	size_t size, capacity;
	/*
	 * Set, it puts the answer off: the handler is called with the same request and this note, which is
	 * not 0, at that time (CLOCK_MONOTONIC), and nothing is sent before.
	 */
	uint64_t wait_until_ns;
	uint64_t note;
};

/*
 * A stream that writes the body; NULL: no memory. An open_memstream() would copy and clear as it
 * grows, and take three times the memory of a large body for a moment.
 */
FILE *ipc_answer_open(struct ipc_answer *answer);

/*
 * Writes {"error": sentence} with a status, as ASCII: other bytes of the sentence become \xNN. On
 * no memory the answer has no body. The earlier contents of the answer are forgotten, not freed.
 */
void ipc_answer_error(struct ipc_answer *answer, unsigned int status, const char *sentence);

/*
 * Fills the answer, which comes with status 500 and no body; nothing is sent before it returns. The
 * path begins with a slash; all strings end with the call, and may have any byte.
 */
typedef void ipc_handler(void *closure, const struct ipc_request *request,
			 struct ipc_answer *answer);

struct ipc_server_options {
	ipc_handler *handler;
	void *closure;
	gid_t group; /* whose members are in_group */
	/*
	 * 0 of the following: the default, in parentheses. The time that the handler takes counts
	 * towards neither patience nor lifetime.
	 */
	unsigned int max_clients; /* connected at once; others wait (1200) */
	/* Patience with a client that neither sends nor takes a byte (10), up to a quarter more. */
	unsigned int patience_s;
	unsigned int lifetime_s; /* of a connection (120); none of it while its answer is put off */
	unsigned int max_waiting; /* answers that are put off at a time (8) */
	/*
	 * The budget for answers: requests are crowded while this much waits to be taken (32 MiB), and
	 * once the handler has worked for so long in this run (250). Each request that is refused
	 * with 503 for the former ends the oldest connection whose answer has waited for 2 s or
	 * more.
	 */
	size_t max_pending_bytes;
	unsigned int budget_ms;
	const struct guard *guard; /* of a TCP socket; borrowed; NULL: none */
	bool has_any_host; /* whoever asks for another name than localhost is answered, too */
};

struct ipc_server;

/*
 * Serves a listening socket, AF_UNIX or TCP. The descriptor is taken over, and
 * closed when this fails. Raises the soft limit of descriptors; there are at most a third as many
 * clients. Over TCP, requests whose Host is not localhost or a loopback address are refused unless
 * has_any_host, and those of clients that the guard does not know. Returns
 * 0 or -errno with d filled.
 */
int ipc_server_new(int listener, const struct ipc_server_options *options, struct ipc_server **ret,
		   struct diag *d);

/* Answers in flight are cut off; NULL is fine. */
void ipc_server_free(struct ipc_server *server);

/* Readable when ipc_server_run() has something to do; owned by the server. */
int ipc_server_fd(const struct ipc_server *server);

/* How long at most to wait for it: milliseconds as poll() takes them, -1 for ever. */
int ipc_server_patience_ms(const struct ipc_server *server);

/* Does what can be done without waiting; calls the handler. Not to be called from it. */
void ipc_server_run(struct ipc_server *server);

struct ipc_server_counts {
	/* Since it was made. */
	uint64_t requests;    /* whose head was understood, also those of the next two */
	uint64_t refused;     /* crowded out (503), of a foreign Host (403), not known (401, 403) */
	uint64_t malformed;   /* answered with 4xx or 505 without the handler */
	unsigned int clients; /* connected now */
	unsigned int waiting; /* of these, whose answer is put off */
	size_t pending_bytes; /* of answers not yet taken */
};

/* Returns the counters, which stay current. */
const struct ipc_server_counts *ipc_server_counts(const struct ipc_server *server);
