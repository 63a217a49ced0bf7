/* SPDX-License-Identifier: BSD-2-Clause */
/* Who is at the other end of a connection, as the kernel tells. */
#ifndef BPFTRUSS_PEER_H
#define BPFTRUSS_PEER_H

#include "ipc/server.h"

/*
 * The peer of a connected socket, as it was when it connected. Unknown when the socket is not of
 * AF_UNIX or the kernel does not answer; in_group is false when in doubt.
 */
void peer_read(int fd, gid_t group, struct ipc_peer *ret);

#endif
