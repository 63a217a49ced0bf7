/* SPDX-License-Identifier: BSD-2-Clause */
/* Listening sockets: handed over by systemd, or made here. */
#ifndef BPFTRUSS_SOCKET_H
#define BPFTRUSS_SOCKET_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/un.h>

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

/* Whether socket_listen_tcp() would take this address; 0, or its -errno with d filled. */
int socket_tcp_check(const char *address, struct diag *d);

/* Of a name as clients write it: sun_path, and a NUL that it may lack. */
#define SOCKET_NAME_SIZE (sizeof(((struct sockaddr_un *)NULL)->sun_path) + 1)

/* What a unix socket is bound to; an abstract name begins with @. "" when there is none. */
void socket_name(int fd, char *buf, size_t size);

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
