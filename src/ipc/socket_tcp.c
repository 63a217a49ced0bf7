/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns listening on TCP: on loopback addresses alone, as nobody is known there. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "ipc/socket.h"

#define BACKLOG 1024

union tcp_address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

static int port_parse(const char *text, in_port_t *ret)
{
	const size_t length = strlen(text);
	unsigned long port;

	if (!length || length > strlen("65535") || strspn(text, "0123456789") != length)
		return -EINVAL;
	port = strtoul(text, NULL, 10);
	if (port > UINT16_MAX)
		return -EINVAL;
	*ret = htons((in_port_t)port);
	return 0;
}

/* ADDRESS:PORT or [ADDRESS]:PORT; the length of the address, or 0. */
static socklen_t address_parse(const char *text, union tcp_address *ret)
{
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN + 2];
	in_port_t port;
	size_t length;

	*ret = (union tcp_address){ 0 };
	if (!colon || (size_t)(colon - text) >= sizeof(host) || port_parse(colon + 1, &port))
		return 0;
	length = (size_t)(colon - text);
	memcpy(host, text, length);
	host[length] = '\0';
	if (length > 2 && host[0] == '[' && host[length - 1] == ']') {
		host[length - 1] = '\0';
		ret->in6.sin6_family = AF_INET6;
		ret->in6.sin6_port = port;
		return inet_pton(AF_INET6, host + 1, &ret->in6.sin6_addr) == 1 ? sizeof(ret->in6)
									       : 0;
	}
	ret->in.sin_family = AF_INET;
	ret->in.sin_port = port;
	return inet_pton(AF_INET, host, &ret->in.sin_addr) == 1 ? sizeof(ret->in) : 0;
}

static bool is_loopback(const union tcp_address *address)
{
	if (address->any.sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&address->in6.sin6_addr);
	return ntohl(address->in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

/* An address that may be listened on, and its length. */
static int address_check(const char *address, union tcp_address *ret, socklen_t *size,
			 struct diag *d)
{
	*size = address_parse(address, ret);
	if (!*size)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"%.100s is no ADDRESS:PORT or [ADDRESS]:PORT: give one like "
				"127.0.0.1:9101",
				address);
	if (!is_loopback(ret))
		return diag_set(d, DIAG_USAGE, EADDRNOTAVAIL,
				"%s is not of this machine alone: give 127.0.0.1 or [::1], and put "
				"a proxy before it that asks who comes",
				address);
	return 0;
}

int socket_tcp_check(const char *address, struct diag *d)
{
	union tcp_address parsed;
	socklen_t size;

	return address_check(address, &parsed, &size, d);
}

int socket_listen_tcp(const char *address, struct diag *d)
{
	int fd __cleanup(closep) = -1;
	union tcp_address parsed;
	socklen_t size;
	const int one = 1;
	int listener, err = address_check(address, &parsed, &size, d);

	if (err)
		return err;
	fd = socket(parsed.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, &parsed.any, size) || listen(fd, BACKLOG))
		return diag_set(d, DIAG_FAILED, errno, "cannot listen on %s: %s", address,
				strerror(errno));
	listener = fd;
	fd = -1;
	return listener;
}
