/* SPDX-License-Identifier: BSD-2-Clause */
/* Listening sockets, handed over by systemd or made here, and who is at the other end of others. */
#pragma once

#include <sys/stat.h>
#include <sys/types.h>
#include <sys/un.h>

#include "base/diag.h"

/* A request has at most so many parameters. */
#define IPC_MAX_PARAMETERS 64

/* The address of a path; 0, or -ENAMETOOLONG with d filled. */
int socket_address(const char *path, struct sockaddr_un *ret, struct diag *d);

/*
 * Binds and listens on a unix socket, 0660, of a group. The socket of a daemon that died is
 * replaced, that of a live one is not (-EADDRINUSE). Never follows a symbolic link, never removes
 * what is no socket (-EEXIST). The folder must be one that only its owner may write to. Returns the
 * descriptor or -errno with d filled.
 */
int socket_listen_unix(const char *path, gid_t group, struct diag *d);

/*
 * Binds ADDRESS:PORT or [ADDRESS]:PORT; port 0 lets the kernel choose. Returns the descriptor or -errno
 * with d filled.
 */
int socket_listen_tcp(const char *address, struct diag *d);

/* Whether it is such an address; 0, or -EINVAL with d filled. */
int socket_tcp_check(const char *address, struct diag *d);

/* Whether only this machine can connect to such an address. */
bool socket_tcp_is_loopback(const char *address);

/* Holds a name as clients write it: sun_path, and a NUL that it may lack. */
#define SOCKET_NAME_SIZE (sizeof(((struct sockaddr_un *)NULL)->sun_path) + 1)

/* Writes what a unix socket is bound to; an abstract name begins with @. "" when there is none. */
void socket_name(int fd, char *buf, size_t size);

/*
 * Removes the socket if it is still the one that lstat() told of, whose descriptor must be open: before
 * ipc_server_free().
 */
void socket_unlink(const char *path, const struct stat *ours);

/*
 * The listening unix socket that systemd hands over (LISTEN_FDS); -ENOENT, without d, if it does not;
 * -EINVAL or -ENOTSOCK with d filled if it hands over something else. Removes the variables.
 */
int socket_inherited(struct diag *d);

/* Is this value of a Host header localhost or an address of it, with or without a port? */
bool socket_host_is_loopback(const char *host);

/* The process at the other end of a connection. Over TCP it is not known. */
struct ipc_peer {
	bool known;
	uid_t uid;
	gid_t gid;
	bool in_group;  /* of the socket's group, by its main or another group of the peer */
	bool is_proven; /* over TCP: has shown a certificate or a secret */
};

/*
 * The peer of a connected socket, as it was when it connected. Unknown when the socket is not of
 * AF_UNIX or the kernel does not answer; in_group is false when in doubt.
 */
void socket_peer(int fd, gid_t group, struct ipc_peer *ret);
