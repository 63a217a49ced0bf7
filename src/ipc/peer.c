/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the reading of a peer's credentials. When in doubt a peer is less than it says. */
#include "ipc/peer.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/mem.h"

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif

/* Room for the groups that most have; the kernel says how much others need. */
#define USUAL_GROUPS 32

static bool group_among(const gid_t *groups, socklen_t size, gid_t group)
{
	for (size_t i = 0; i < size / sizeof(*groups); i++)
		if (groups[i] == group)
			return true;
	return false;
}

static bool peer_has_group(int fd, gid_t group)
{
	gid_t usual[USUAL_GROUPS];
	__cleanup(freep) gid_t *many = NULL;
	socklen_t size = sizeof(usual);

	if (!getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, usual, &size))
		return group_among(usual, size, group);
	if (errno != ERANGE)
		return false;
	many = malloc(size);
	if (!many || getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, many, &size))
		return false;
	return group_among(many, size, group);
}

void peer_read(int fd, gid_t group, struct ipc_peer *ret)
{
	struct ucred credentials;
	int domain;
	socklen_t size = sizeof(domain);

	*ret = (struct ipc_peer){ .uid = (uid_t)-1, .gid = (gid_t)-1 };
	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) || domain != AF_UNIX)
		return;
	size = sizeof(credentials);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size))
		return;
	/* What the kernel writes for nobody. */
	if (credentials.uid == (uid_t)-1)
		return;
	ret->known = true;
	ret->uid = credentials.uid;
	ret->gid = credentials.gid;
	ret->in_group = credentials.gid == group || peer_has_group(fd, group);
}
