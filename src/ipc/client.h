/* SPDX-License-Identifier: BSD-2-Clause */
/* One question to a daemon over its unix socket. The daemon is not trusted to be well-behaved. */
#ifndef BPFTRUSS_CLIENT_H
#define BPFTRUSS_CLIENT_H

#include <stddef.h>

#include "base/diag.h"
#include "ipc/server.h"

struct ipc_reply {
	unsigned int status;
	char *body; /* owned, with a NUL behind it */
	size_t size;
};

void ipc_reply_done(struct ipc_reply *reply);

/*
 * Sends one request and waits for the whole reply; target is the path with its encoded query. A
 * daemon that is too busy (503) is asked again for some seconds. Returns 0 with status 200, or
 * -errno with d filled: what the daemon said, -ECONNREFUSED or -ENOENT when there is none (d says
 * how to start one), -EACCES when the socket is not ours to use.
 */
int ipc_call(const char *socket_path, enum ipc_method method, const char *target,
	     struct ipc_reply *ret, struct diag *d);

/* A target is built from a path and parameters, which are encoded. To be freed; NULL: no memory. */
struct ipc_target {
	char *text;
	bool failed;
};

void ipc_target_init(struct ipc_target *target, const char *path);
void ipc_target_add(struct ipc_target *target, const char *name, const char *value);
void ipc_target_done(struct ipc_target *target);

#endif
