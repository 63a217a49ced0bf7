/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks a daemon one question over its unix socket, or over TCP on another host. The daemon is not trusted to be well-behaved. */
#pragma once

#include "ipc/remote.h"

/* A daemon understands requests of 8 KiB with their head. */
#define IPC_URL_BYTES (6 << 10)

/* The target of a request, built from a path and parameters, both encoded here. */
struct ipc_url {
	char text[IPC_URL_BYTES + 1];
	size_t size, nr_parameters;
	bool is_too_long; /* which ipc_call() says */
};

void ipc_url_init(struct ipc_url *url, const char *path);
void ipc_url_add(struct ipc_url *url, const char *name, const char *value);

struct ipc_reply {
	unsigned int status;
	char *body; /* owned, with a NUL behind it */
	size_t size;
};

void ipc_reply_done(struct ipc_reply *reply);

/* How long a client waits. */
struct ipc_patience {
	unsigned int silence_ms; /* without a byte of the reply */
	unsigned int busy_ms;    /* while the daemon is too busy */
};

/*
 * Sends one request and waits for the whole reply, up to 1 GiB. A daemon that is too busy (503) is
 * asked again. Without a patience, silence may last for 30 s and being busy for three minutes. Returns
 * 0 with status 200, or -errno with d filled:
 *
 * -ENOENT, -ECONNREFUSED  there is no daemon; d says how to start one
 * -EACCES                 the socket is not ours to use
 * -EINVAL, -EPERM, -ENODATA, -EOPNOTSUPP, -EBUSY
 *                         the daemon says no: 400, 403, 404, 501, 503; d has its words
 * -EREMOTEIO              the same with any other status
 * -E2BIG                  the URL is longer than IPC_URL_BYTES
 * -EPROTO, -EFBIG, -ETIMEDOUT, -ENOMEM
 *                         no reply that could be used
 */
int ipc_call(const char *socket_path, const char *method, const struct ipc_url *url,
	     const struct ipc_patience *patience, struct ipc_reply *ret, struct diag *d);

/* The same of another host; what is wrong with the connection has the errors of remote_connect(). */
int ipc_call_remote(const struct remote *remote, const char *method, const struct ipc_url *url,
		    const struct ipc_patience *patience, struct ipc_reply *ret, struct diag *d);
