/* SPDX-License-Identifier: BSD-2-Clause */
/* Listening sockets: handed over by systemd, or made here. */
#ifndef BPFTRUSS_SOCKET_H
#define BPFTRUSS_SOCKET_H

#include <sys/types.h>

#include "base/diag.h"

/*
 * Binds and listens on a unix socket, 0660, of a group. What a daemon that died left there is
 * replaced, a live one is not (-EADDRINUSE). Never follows a symbolic link, never removes what is no
 * socket (-EEXIST). The folder must be one that only its owner may write to. Returns the descriptor or -errno with d filled.
 */
int socket_listen_unix(const char *path, gid_t group, struct diag *d);

/*
 * Binds ADDRESS:PORT or [ADDRESS]:PORT, of a loopback address only (else -EADDRNOTAVAIL); port 0 lets
 * the kernel choose. Returns the descriptor or -errno with d filled.
 */
int socket_listen_tcp(const char *address, struct diag *d);

/*
 * Removes the socket if it is still the one behind the descriptor, which must be open: before
 * ipc_server_free(). Needs CAP_NET_ADMIN, and does nothing without it or when in doubt.
 */
void socket_unlink(const char *path, int fd);

/*
 * The listening unix socket that systemd hands over (LISTEN_FDS); -ENOENT, without d, if it does not;
 * -EINVAL or -ENOTSOCK with d filled if it hands over something else. Removes the variables.
 */
int socket_inherited(struct diag *d);

#endif
