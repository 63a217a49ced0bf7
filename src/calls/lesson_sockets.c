/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Knows how calls change sockets. The name of a socket is its protocol and its ends; an end that no
 * call has told is "*".
 */
#include <linux/net.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/address.h"
#include "calls/lessons.h"
#include "syscalls/arguments.h"

static void stage_socket(const struct lesson *lesson, int fd, const char *text, size_t length,
			 uint32_t flags)
{
	struct fd_name *name = fd_name_new(&lesson->d->table, lesson->process, text, length);

	if (name)
		name->is_socket = true;
	change_stage(lesson->d, fd, name, name ? flags : 0);
}

static const struct {
	int domain, type, protocol; /* type 0: any, protocol -1: any */
	const char *name;
} protocols[] = {
	{ AF_UNIX, 0, -1, "UNIX" },
	{ AF_INET, SOCK_STREAM, 0, "TCP" },
	{ AF_INET, SOCK_STREAM, IPPROTO_TCP, "TCP" },
	{ AF_INET, SOCK_DGRAM, 0, "UDP" },
	{ AF_INET, SOCK_DGRAM, IPPROTO_UDP, "UDP" },
	{ AF_INET, SOCK_DGRAM, IPPROTO_ICMP, "PING" },
	{ AF_INET, SOCK_RAW, -1, "RAW" },
	{ AF_INET6, SOCK_STREAM, 0, "TCPv6" },
	{ AF_INET6, SOCK_STREAM, IPPROTO_TCP, "TCPv6" },
	{ AF_INET6, SOCK_DGRAM, 0, "UDPv6" },
	{ AF_INET6, SOCK_DGRAM, IPPROTO_UDP, "UDPv6" },
	{ AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6, "PINGv6" },
	{ AF_INET6, SOCK_RAW, -1, "RAWv6" },
	{ AF_NETLINK, 0, -1, "NETLINK" },
	{ AF_PACKET, 0, -1, "PACKET" },
	{ AF_VSOCK, 0, -1, "VSOCK" },
};

/* The other bits are flags. */
#define SOCKET_TYPE_MASK 15

/* Returns NULL if only /proc may know. */
static const char *protocol_find(const struct call_record *record)
{
	int domain = (int)record->arguments[0], protocol = (int)record->arguments[2];
	int type = (int)record->arguments[1] & SOCKET_TYPE_MASK;

	for (size_t i = 0; i < ARRAY_SIZE(protocols); i++) {
		if (protocols[i].domain == domain &&
		    (!protocols[i].type || protocols[i].type == type) &&
		    (protocols[i].protocol < 0 || protocols[i].protocol == protocol))
			return protocols[i].name;
	}
	return NULL;
}

void learn_socket(const struct lesson *lesson)
{
	const char *protocol = protocol_find(lesson->record);

	if (protocol)
		stage_socket(lesson, fd_result(lesson), protocol, strlen(protocol),
			     exec_flag_of(lesson));
	else
		stage_unknown(lesson, fd_result(lesson));
}

void learn_socketpair(const struct lesson *lesson)
{
	const char *protocol = protocol_find(lesson->record);
	int fds[2];

	if (!pair_find(lesson, 3, fds)) {
		lesson->process->generation++;
		return;
	}
	for (size_t i = 0; i < 2; i++) {
		if (protocol)
			stage_socket(lesson, fds[i], protocol, strlen(protocol),
				     exec_flag_of(lesson));
		else
			stage_unknown(lesson, fds[i]);
	}
}

#define ARROW "->"

/* The parts of a socket's name; an end that is not in it is empty. */
struct socket_text {
	char protocol[16], local[ADDRESS_MAX], peer[ADDRESS_MAX];
};

static void socket_text_read(const struct fd_name *name, struct socket_text *ret)
{
	const char *local = strchrnul(name->text, ' '), *peer;

	*ret = (struct socket_text){ 0 };
	snprintf(ret->protocol, sizeof(ret->protocol), "%.*s", (int)(local - name->text),
		 name->text);
	if (!*local)
		return;
	local++;
	peer = strstr(local, ARROW) ?: local + strlen(local);
	snprintf(ret->local, sizeof(ret->local), "%.*s", (int)(peer - local), local);
	if (*peer)
		snprintf(ret->peer, sizeof(ret->peer), "%s", peer + strlen(ARROW));
}

static void stage_socket_text(const struct lesson *lesson, int fd, const struct socket_text *socket,
			      uint32_t flags)
{
	char text[MAX_NAME + 1];
	int length = snprintf(text, sizeof(text), "%s%s%s%s%s", socket->protocol,
			      *socket->local || *socket->peer ? " " : "",
			      *socket->local || !*socket->peer ? socket->local : "*",
			      *socket->peer ? ARROW : "", socket->peer);

	stage_socket(lesson, fd, text, (size_t)length, flags);
}

/*
 * Whether there was room for all of the address that the kernel has written: its length, which is the next argument,
 * says before the call how much room there is, and after it how long the address was.
 */
static bool address_is_whole(const struct call_record *record, unsigned int argument)
{
	struct memory room, length;
	uint32_t before, after;

	if (!memory_find(record, argument + 1, &room) || room.size < sizeof(before) ||
	    !memory_find_part(record, argument + 1, PART_AFTER, &length) ||
	    length.size < sizeof(after))
		return false;
	memcpy(&before, room.bytes, sizeof(before));
	memcpy(&after, length.bytes, sizeof(after));
	return !(room.flags & PIECE_AT_EXIT) && after <= before;
}

/* The address that a call was given or has written; empty: none. False: it was not read, or not all of it. */
static bool address_find(const struct lesson *lesson, unsigned int argument, char buf[ADDRESS_MAX])
{
	const struct call_record *record = lesson->record;
	const struct call_arguments *call =
		call_arguments((enum syscall_abi)record->abi, record->nr);
	struct memory memory;

	*buf = 0;
	if (!memory_find(record, argument, &memory) ||
	    (call->arguments[argument].is_written && !address_is_whole(record, argument)))
		return false;
	address_format(memory.bytes, memory.size, buf);
	return true;
}

/* Changes one end of a socket of which something is known. */
static void end_change(const struct lesson *lesson, size_t offset)
{
	int fd = fd_argument(lesson, 0);
	const struct fd_entry *entry = entry_known(lesson->d, lesson->process, fd);
	struct socket_text socket;
	uint64_t since_ns;
	uint32_t flags;

	if (!entry)
		return;
	flags = entry->flags;
	if (!entry->name || !entry->name->is_socket) {
		stage_unknown(lesson, fd);
		return;
	}
	socket_text_read(entry->name, &socket);
	since_ns = entry->known_ns;
	if (address_find(lesson, 1, (char *)&socket + offset)) {
		stage_socket_text(lesson, fd, &socket, flags);
		change_keep(lesson->d, since_ns);
	} else {
		stage_unknown(lesson, fd);
	}
}

void learn_local_end(const struct lesson *lesson)
{
	end_change(lesson, offsetof(struct socket_text, local));
}

void learn_peer(const struct lesson *lesson)
{
	end_change(lesson, offsetof(struct socket_text, peer));
}

void learn_connect(const struct lesson *lesson)
{
	const struct call_record *record = lesson->record;

	if (record->flags & CALL_RETURNED && (!record->result || record->result == -EINPROGRESS))
		learn_peer(lesson);
}

/* At which of a host's addresses a client has found a server that listens at all of them, no call says. */
static void wildcard_hide(char address[ADDRESS_MAX])
{
	static const char *const wildcards[] = { "0.0.0.0:", "[::]:" };

	for (size_t i = 0; i < ARRAY_SIZE(wildcards); i++) {
		size_t length = strlen(wildcards[i]);

		if (strncmp(address, wildcards[i], length) != 0)
			continue;
		memmove(address + 2, address + length, strlen(address + length) + 1);
		memcpy(address, "*:", 2);
	}
}

/* It has the protocol and address of the listening socket; the kernel has written its peer. */
void learn_accept(const struct lesson *lesson)
{
	const struct fd_entry *entry =
		entry_get(lesson->d, lesson->process, fd_argument(lesson, 0));
	uint32_t flags = exec_flag_of(lesson);
	struct socket_text socket;
	bool is_told;

	if (!entry || !entry->name || !entry->name->is_socket) {
		stage_unknown(lesson, fd_result(lesson));
		return;
	}
	flags |= entry->flags & ENTRY_LATE;
	socket_text_read(entry->name, &socket);
	wildcard_hide(socket.local);
	is_told = address_find(lesson, 1, socket.peer);
	if (strcmp(socket.protocol, "UNIX") && !(is_told && *socket.peer))
		stage_unknown(lesson, fd_result(lesson));
	else
		stage_socket_text(lesson, fd_result(lesson), &socket, flags);
}

/* On i386, one call does all of these; its arguments are in memory. */
void learn_socketcall(const struct lesson *lesson)
{
	uint32_t request = (uint32_t)lesson->record->arguments[0];

	if (request == SYS_SOCKET || request == SYS_ACCEPT || request == SYS_ACCEPT4)
		stage_unknown(lesson, fd_result(lesson));
	if (request == SYS_BIND || request == SYS_CONNECT || request == SYS_SOCKETPAIR)
		lesson->process->generation++;
}
