/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the protocol of sd_listen_fds(3): descriptors from 3 on, for the process of LISTEN_PID. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ipc/socket.h"

#define FIRST_DESCRIPTOR 3
/* More than any unit has; each is looked at. */
#define MAX_DESCRIPTORS  1024

/* A number without sign or blanks; -1 for anything else. */
static long number_of(const char *name)
{
	const char *text = getenv(name);

	if (!text || !*text || strlen(text) > 9 || text[strspn(text, "0123456789")])
		return -1;
	return strtol(text, NULL, 10);
}

static bool socket_option_is(int fd, int option, int wanted)
{
	int value;
	socklen_t size = sizeof(value);

	return !getsockopt(fd, SOL_SOCKET, option, &value, &size) && value == wanted;
}

static void variables_unset(void)
{
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
}

int socket_inherited(struct diag *d)
{
	const long pid = number_of("LISTEN_PID"), nr = number_of("LISTEN_FDS");

	variables_unset();
	if (pid != getpid() || nr <= 0)
		return -ENOENT;
	for (int fd = FIRST_DESCRIPTOR; fd < FIRST_DESCRIPTOR + nr && nr <= MAX_DESCRIPTORS; fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	if (nr != 1)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"%ld sockets are handed over, but one is needed: leave one "
				"ListenStream= in the socket unit",
				nr);
	if (!socket_option_is(FIRST_DESCRIPTOR, SO_DOMAIN, AF_UNIX) ||
	    !socket_option_is(FIRST_DESCRIPTOR, SO_TYPE, SOCK_STREAM) ||
	    !socket_option_is(FIRST_DESCRIPTOR, SO_ACCEPTCONN, 1))
		return diag_set(d, DIAG_USAGE, ENOTSOCK,
				"what is handed over is no listening unix socket: give the socket "
				"unit ListenStream= with a path");
	return FIRST_DESCRIPTOR;
}
