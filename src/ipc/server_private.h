/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the server share. Nobody else sees the library. */
#ifndef BPFTRUSS_SERVER_PRIVATE_H
#define BPFTRUSS_SERVER_PRIVATE_H

#include <microhttpd.h>

#include "ipc/server.h"

#define MAX_HEAD_BYTES 8192

/* Of what requests cost, by a hash of their path. */
#define NR_COSTS 16

/* What the last answer to a path was like: a guess of what the next one will be. */
struct request_cost {
	uint32_t hash;
	size_t bytes;
	uint64_t ns; /* in the handler */
};

struct connection {
	struct ipc_server *server;
	struct connection *previous, *next;
	struct MHD_Connection *handle;
	int fd;               /* the library's */
	uint64_t deadline_ns; /* of the request under way and its answer */
	uint64_t answered_ns; /* when the answer that it has not taken yet was ready; 0: none */
	size_t answer_bytes;
	struct ipc_peer peer;
	bool target_ok; /* of the request under way */
	bool head_seen;
};

struct ipc_server {
	struct MHD_Daemon *daemon;
	struct ipc_server_options options;
	struct ipc_server_counts counts;
	struct connection *connections;
	uint64_t next_look_ns; /* at the deadlines of connections; none is earlier */
	uint64_t busy_ns;      /* in the handler, in this run */
	bool made_room;        /* in this run: the slowest were cut off */
	struct request_cost costs[NR_COSTS];
	bool over_tcp;
};

/*
 * The library's handler of requests, whose context is their connection: called with the whole head,
 * and again when no body follows.
 */
enum MHD_Result request_handle(void *closure, struct MHD_Connection *from, const char *path,
			       const char *method, const char *version, const char *upload,
			       size_t *upload_size, void **context);

/* Clients are not to blame for the time that a handler took: none is cut off for it. */
void connections_forgive(struct ipc_server *server, struct connection *asking, uint64_t took_ns);

/*
 * Cuts off those that have not taken their answers for a while, the longest first, until so many
 * bytes will be free. They are free in a later run of the library.
 */
void connections_make_room(struct ipc_server *server, size_t bytes);

/*
 * Queues an answer, whose body is taken in any case and counted until it is freed. Anything but
 * MHD_YES cuts the connection off.
 */
enum MHD_Result response_send(struct ipc_server *server, struct MHD_Connection *to,
			      struct ipc_answer *answer);

#endif
