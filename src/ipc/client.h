/* SPDX-License-Identifier: BSD-2-Clause */
/* One question to a daemon over its unix socket. The daemon is not trusted to be well-behaved. */
#ifndef BPFTRUSS_CLIENT_H
#define BPFTRUSS_CLIENT_H

#include <stdbool.h>
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
 * Sends one request and waits for the whole reply, up to 1 GiB, as long as every 30 s something of
 * it comes; target is the path with its encoded query, NULL counts as no memory. A daemon that is
 * too busy (503) is asked again for three minutes. Returns 0 with status 200, or -errno with d filled:
 *
 * -ENOENT, -ECONNREFUSED  there is no daemon; d says how to start one
 * -EACCES                 the socket is not ours to use
 * -EINVAL, -EPERM, -ENODATA, -EOPNOTSUPP, -EBUSY
 *                         the daemon says no: 400, 403, 404, 501, 503; d has its words
 * -EREMOTEIO              the same with any other status
 * -EPROTO, -EFBIG, -ETIMEDOUT, -ENOMEM
 *                         no reply that could be used
 */
int ipc_call(const char *socket_path, enum ipc_method method, const char *target,
	     struct ipc_reply *ret, struct diag *d);

/* The same with another limit for how long a busy daemon is asked again. */
int ipc_call_within(const char *socket_path, enum ipc_method method, const char *target,
		    unsigned int busy_ms, struct ipc_reply *ret, struct diag *d);

/*
 * A target is built from a path and parameters, both encoded here. When memory runs out its text is
 * NULL, which ipc_call() understands, and stays so.
 */
struct ipc_target {
	char *text; /* owned */
	bool failed;
};

void ipc_target_init(struct ipc_target *target, const char *path);
void ipc_target_add(struct ipc_target *target, const char *name, const char *value);
void ipc_target_done(struct ipc_target *target);

#endif
