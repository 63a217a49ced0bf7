/* SPDX-License-Identifier: BSD-2-Clause */
/* Spells addresses of the internet and of unix sockets; a length that lies ends the bytes early. */
#include "base/address.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>

static size_t unix_format(const char *path, size_t size, char buf[ADDRESS_MAX])
{
	size_t length, start = 0;

	if (size > sizeof(((struct sockaddr_un *)0)->sun_path))
		size = sizeof(((struct sockaddr_un *)0)->sun_path);
	if (!size)
		return 0;
	if (!*path) {
		buf[start++] = '@';
		path++;
		size--;
	}
	length = strnlen(path, size);
	memcpy(buf + start, path, length);
	buf[start + length] = 0;
	return start + length;
}

size_t address_format(const void *address, size_t size, char buf[ADDRESS_MAX])
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	sa_family_t family;
	char text[INET6_ADDRSTRLEN];

	if (size < sizeof(family))
		return 0;
	memcpy(&family, address, sizeof(family));
	if (family == AF_UNIX)
		return unix_format((const char *)address + sizeof(family), size - sizeof(family),
				   buf);
	if (family == AF_INET && size >= sizeof(in)) {
		memcpy(&in, address, sizeof(in));
		return (size_t)snprintf(buf, ADDRESS_MAX, "%s:%u",
					inet_ntop(AF_INET, &in.sin_addr, text, sizeof(text)),
					ntohs(in.sin_port));
	}
	if (family == AF_INET6 && size >= offsetof(struct sockaddr_in6, sin6_scope_id)) {
		memcpy(&in6, address, offsetof(struct sockaddr_in6, sin6_scope_id));
		return (size_t)snprintf(buf, ADDRESS_MAX, "[%s]:%u",
					inet_ntop(AF_INET6, &in6.sin6_addr, text, sizeof(text)),
					ntohs(in6.sin6_port));
	}
	return 0;
}
