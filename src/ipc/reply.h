/* SPDX-License-Identifier: BSD-2-Clause */
/* The reply to one request, read from a socket whose other end may be hostile or slow. */
#ifndef BPFTRUSS_REPLY_H
#define BPFTRUSS_REPLY_H

#include "base/diag.h"
#include "ipc/client.h"

/* The longest head, and the longest body, in bytes. */
#define MAX_REPLY_HEAD_BYTES (16u << 10)
#define MAX_REPLY_BYTES      (1u << 30)

/*
 * Reads one reply, of any status, up to its Content-Length or the end of the stream. Waits for
 * patience_ms without progress. 0; -ETIMEDOUT, -EPROTO, -EFBIG, -ENOMEM or that of recv(), with d
 * filled. The descriptor is non-blocking.
 */
int reply_read(int fd, int patience_ms, struct ipc_reply *ret, struct diag *d);

/*
 * What a reply of an error says, as printable ASCII on one line, for a terminal: the string of
 * {"error": "..."}, or the text itself; what is too long is cut. "" when it says nothing.
 */
void reply_sentence(const struct ipc_reply *reply, char *buf, size_t size);

#endif
