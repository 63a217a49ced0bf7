/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests what sockets are called: the calls that make them, and /proc, tell their addresses. */
#include "descriptor_fixture.h"

#include <arpa/inet.h>
#include <sys/un.h>

/* There was room for so many bytes of an address of so many. */
static void add_lengths(struct call *call, uint8_t argument, uint32_t room, uint32_t length)
{
	add_part(call, argument, PART_SELF, &room, sizeof(room));
	add_part(call, argument, PART_AFTER, &length, sizeof(length));
}

static void call_inet(struct proc *proc, uint32_t pid, const char *name, int fd, const char *host,
		      uint16_t port, int64_t result)
{
	struct call call = call_of(proc, pid, name, result);
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };

	inet_pton(AF_INET, host, &in.sin_addr);
	call.record.arguments[0] = (uint32_t)fd;
	add_piece(&call, 1, &in, sizeof(in));
	/* The kernel writes an address, where it is not given. */
	if (strcmp(name, "bind") && strcmp(name, "connect"))
		add_lengths(&call, 2, 128, sizeof(in));
	follow(proc, &call);
}

PROC_TEST(test_client)
{
	struct call read;

	call(proc, 1, "socket", 3, AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_made(proc, 3, "TCP");
	call_inet(proc, 1, "connect", 3, "127.0.0.1", 80, -EINPROGRESS);
	assert_used(proc, 3, "TCP");
	call(proc, 1, "write", 10, 3, 0, 0);
	assert_used(proc, 3, "TCP *->127.0.0.1:80");
	call_inet(proc, 1, "getsockname", 3, "127.0.0.1", 4711, 0);
	/* It began before, but is of the same socket. */
	read = call_of(proc, 1, "read", 1);
	read.record.wall_ns = 1500;
	read.record.arguments[0] = 3;
	follow(proc, &read);
	assert_used(proc, 3, "TCP 127.0.0.1:4711->127.0.0.1:80");
	call(proc, 1, "socket", 4, AF_INET6, SOCK_DGRAM, 0);
	assert_made(proc, 4, "UDPv6");
	call_inet(proc, 1, "connect", 4, "1.2.3.4", 53, -ECONNREFUSED);
	call(proc, 1, "write", 10, 4, 0, 0);
	assert_used(proc, 4, "UDPv6");
	call_pair(proc, 1, "socketpair", 3, SOCK_STREAM, 5, 6);
	assert_made(proc, 6, "UNIX");
	assert_asked(proc, 0);
}

PROC_TEST(test_server)
{
	LINKS(proc, { 1, 5, "socket:[55]" });
	struct sockaddr_un un = { AF_UNIX, "/run/x.sock" };
	struct call bind = call_of(proc, 1, "bind", 0), accept;

	proc->socket = "TCP 10.0.0.1:80->10.0.0.2:99";
	call(proc, 1, "socket", 3, AF_INET, SOCK_STREAM, IPPROTO_TCP);
	call_inet(proc, 1, "bind", 3, "0.0.0.0", 80, 0);
	assert_used(proc, 3, "TCP");
	call_inet(proc, 1, "accept", 3, "127.0.0.1", 4711, 4);
	assert_used(proc, 3, "TCP 0.0.0.0:80");
	assert_made(proc, 4, "TCP *:80->127.0.0.1:4711");
	assert_asked(proc, 0);
	/* Nobody has told the peer. */
	call(proc, 1, "accept4", 5, 3, 0, 0);
	assert_named(proc, 1, 5, DESCRIPTOR_MADE, "TCP 10.0.0.1:80->10.0.0.2:99", DESCRIPTOR_LATE);
	call(proc, 1, "socket", 6, AF_UNIX, SOCK_STREAM, 0);
	bind.record.arguments[0] = 6;
	add_piece(&bind, 1, &un, sizeof(un));
	follow(proc, &bind);
	accept = call_of(proc, 1, "accept", 7);
	accept.record.arguments[0] = 6;
	add_piece(&accept, 1, &un, sizeof(un.sun_family));
	add_lengths(&accept, 2, sizeof(un), sizeof(un.sun_family));
	follow(proc, &accept);
	assert_made(proc, 7, "UNIX /run/x.sock");
	assert_asked(proc, 1);
}

/* What stands where the kernel had no room for an address is the program's, which may be anything. */
PROC_TEST(test_forged_peers)
{
	static const uint32_t rooms[] = { 0, sizeof(struct sockaddr_in) - 1 };

	proc->socket = "TCP 10.0.0.1:80->10.0.0.2:99";
	for (size_t i = 0; i < ARRAY_SIZE(rooms); i++) {
		LINKS(proc, { 1, 3, "socket:[33]" }, { 1, 4, "socket:[44]" });
		struct call peer = call_of(proc, 1, "getpeername", 0), accept;
		struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(53) };

		call(proc, 1, "socket", 3, AF_INET, SOCK_STREAM, 0);
		add_piece(&peer, 1, &in, sizeof(in));
		add_lengths(&peer, 2, rooms[i], sizeof(in));
		peer.record.arguments[0] = 3;
		follow(proc, &peer);
		call(proc, 1, "write", 10, 3, 0, 0);
		assert_named(proc, 1, 3, DESCRIPTOR_USED, "TCP 10.0.0.1:80->10.0.0.2:99",
			     DESCRIPTOR_LATE);
		accept = call_of(proc, 1, "accept", 4);
		accept.record.arguments[0] = 3;
		add_piece(&accept, 1, &in, sizeof(in));
		add_lengths(&accept, 2, rooms[i], sizeof(in));
		follow(proc, &accept);
		assert_named(proc, 1, 4, DESCRIPTOR_MADE, "TCP 10.0.0.1:80->10.0.0.2:99",
			     DESCRIPTOR_LATE);
	}
}
