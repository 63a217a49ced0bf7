/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the addresses of a socket by its inode. /proc/PID/net has internet sockets of the process's
 * network namespace. For unix sockets and their peers the kernel is asked in that namespace: names
 * in /proc/net/unix may hold line ends.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>

#include "base/address.h"
#include "base/text.h"
#include "collect/call_facts.h"
#include "collect/descriptor_links.h"

/* The answer is put in its place later. */
void wanted_ends_keep(struct wanted_ends *ends)
{
	struct wanted_end *end = &ends->items[ends->count];

	end->fact = end->flight->nr_facts;
	flight_add_fact(end->flight, "other_end", strdup("nobody was found"));
	ends->count += end->flight->nr_facts > end->fact;
}

/* A path, or an abstract name, which begins with a NUL: shown with "@", as ss(8) does. */
static char *unix_name_text(const char *name, size_t size)
{
	char *text = NULL;

	if (!size)
		return NULL;
	if (asprintf(&text, "%s%.*s", *name ? "" : "@", (int)size - !*name, name + !*name) < 0)
		return NULL;
	return text;
}

char *socket_address_text(const void *address, size_t size)
{
	char buf[ADDRESS_MAX];

	return address_format(address, size, buf) ? strdup(buf) : NULL;
}

/* --- internet ----------------------------------------------------------------------------------- */

static const char *const tcp_states[] = { "",           "ESTABLISHED", "SYN_SENT",  "SYN_RECV",
					  "FIN_WAIT1",  "FIN_WAIT2",   "TIME_WAIT", "CLOSE",
					  "CLOSE_WAIT", "LAST_ACK",    "LISTEN",    "CLOSING" };

/* Each word of an address is printed in the byte order of the host. */
static void hex_address(const char *hex, unsigned int port, char *buf, size_t size)
{
	uint32_t words[4] = { 0 };
	char text[INET6_ADDRSTRLEN];
	bool is_v6 = strlen(hex) == 32;

	for (size_t i = 0; i < (is_v6 ? 4 : 1); i++)
		sscanf(hex + i * 8, "%8" SCNx32, &words[i]);
	inet_ntop(is_v6 ? AF_INET6 : AF_INET, words, text, sizeof(text));
	snprintf(buf, size, is_v6 ? "[%s]:%u" : "%s:%u", text, port);
}

struct inet_socket {
	char local[64], peer[64]; /* "": none */
	char hex[2][48];          /* both, as the table has them, an IPv4 address always as such */
	unsigned int state;
};

/* The beginning of an IPv4 address as one of IPv6. */
#define MAPPED "0000000000000000FFFF0000"

static void hex_write(const char *hex, unsigned int port, char *buf, size_t size)
{
	if (strlen(hex) == 32 && !strncmp(hex, MAPPED, strlen(MAPPED)))
		hex += strlen(MAPPED);
	snprintf(buf, size, "%.32s:%u", hex, port);
}

/* A line of /proc/net/tcp and its like; addresses are in hexadecimal. */
struct inet_line {
	char ours[33], theirs[33];
	unsigned int local_port, peer_port, state;
	uint64_t inode;
};

static FILE *inet_open(int process, const char *table)
{
	char path[32];

	snprintf(path, sizeof(path), "net/%s", table);
	return process_file(process, path);
}

/* Reads the next line that is one of a socket. False: there are no more. */
static bool inet_next(FILE *file, struct inet_line *ret)
{
	char line[512];

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line,
			   " %*d: %32[0-9A-F]:%x %32[0-9A-F]:%x %x %*x:%*x %*x:%*x %*x %*u %*d "
			   "%" SCNu64,
			   ret->ours, &ret->local_port, ret->theirs, &ret->peer_port, &ret->state,
			   &ret->inode) == 6)
			return true;
	}
	return false;
}

static bool inet_find(int process, const char *table, uint64_t inode, struct inet_socket *ret)
{
	FILE *file __cleanup(fclosep) = inet_open(process, table);
	struct inet_line line;

	*ret = (struct inet_socket){ 0 };
	while (inet_next(file, &line)) {
		if (line.inode != inode)
			continue;
		ret->state = line.state;
		hex_address(line.ours, line.local_port, ret->local, sizeof(ret->local));
		hex_write(line.ours, line.local_port, ret->hex[0], sizeof(ret->hex[0]));
		hex_write(line.theirs, line.peer_port, ret->hex[1], sizeof(ret->hex[1]));
		if (line.peer_port)
			hex_address(line.theirs, line.peer_port, ret->peer, sizeof(ret->peer));
		return true;
	}
	return false;
}

/* The inode of the other socket of a connection, if it is in the same network namespace; 0: it is not. */
static uint64_t inet_find_other(int process, const char *table, const struct inet_socket *own)
{
	FILE *file __cleanup(fclosep) = inet_open(process, table);
	char local[48], peer[48];
	struct inet_line line;

	while (inet_next(file, &line)) {
		hex_write(line.ours, line.local_port, local, sizeof(local));
		hex_write(line.theirs, line.peer_port, peer, sizeof(peer));
		if (!strcmp(local, own->hex[1]) && !strcmp(peer, own->hex[0]) && line.inode)
			return line.inode;
	}
	return 0;
}

#define TCP_IS_ESTABLISHED 1

static void want_inet_end(struct flight *flight, int process, const struct inet_socket *own,
			  struct wanted_ends *ends)
{
	struct wanted_end *end = &ends->items[ends->count];
	uint64_t inode;

	if (own->state != TCP_IS_ESTABLISHED || ends->count == MAX_WANTED_ENDS)
		return;
	inode = inet_find_other(process, "tcp", own) ?: inet_find_other(process, "tcp6", own);
	if (!inode)
		return;
	*end = (struct wanted_end){ .flight = flight, .mode = -1 };
	snprintf(end->link, sizeof(end->link), "socket:[%" PRIu64 "]", inode);
	wanted_ends_keep(ends);
}

static void add_inet(struct flight *flight, int process, const char *table, uint64_t inode,
		     struct wanted_ends *ends)
{
	struct inet_socket found;
	bool is_tcp = *table == 't';
	char *text;

	if (!inet_find(process, table, inode, &found))
		return;
	if (asprintf(&text, "%s -> %s (%s%s%s)", found.local, *found.peer ? found.peer : "*", table,
		     is_tcp ? " " : "",
		     is_tcp && found.state < ARRAY_SIZE(tcp_states) ? tcp_states[found.state]
								    : "") >= 0)
		flight_add_fact(flight, "socket", text);
	if (is_tcp)
		want_inet_end(flight, process, &found, ends);
}

/* --- unix --------------------------------------------------------------------------------------- */

/* Opens a socket to the kernel in the network namespace of a process. */
static int diag_open(int process)
{
	int ours __cleanup(closep) = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	int theirs __cleanup(closep) = openat(process, "ns/net", O_RDONLY | O_CLOEXEC);
	struct stat a, b;
	bool moved;
	int fd;

	if (ours < 0 || theirs < 0 || fstat(ours, &a) || fstat(theirs, &b))
		return -1;
	moved = a.st_ino != b.st_ino;
	if (moved && setns(theirs, CLONE_NEWNET))
		return -1;
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (moved && setns(ours, CLONE_NEWNET)) {
		closep(&fd);
		return -1;
	}
	return fd;
}

struct unix_socket {
	char *name;    /* owned; NULL: none */
	uint32_t peer; /* inode; 0: none */
};

static bool unix_find(int diag, uint32_t inode, struct unix_socket *ret)
{
	struct {
		struct nlmsghdr header;
		struct unix_diag_req body;
	} request = { { sizeof(request), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 0, 0 },
		      { .sdiag_family = AF_UNIX,
			.udiag_states = UINT32_MAX,
			.udiag_ino = inode,
			.udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER,
			.udiag_cookie = { UINT32_MAX, UINT32_MAX } } };
	char answer[8192] __attribute__((aligned(8)));
	const struct nlmsghdr *header = (const void *)answer;
	const size_t start = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct unix_diag_msg));
	ssize_t got = -1;

	if (send(diag, &request, sizeof(request), 0) == sizeof(request))
		got = recv(diag, answer, sizeof(answer), 0);
	if (got < (ssize_t)start || header->nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return false;
	*ret = (struct unix_socket){ 0 };
	for (size_t at = start; at + sizeof(struct nlattr) <= (size_t)got;) {
		const struct nlattr *part = (const void *)(answer + at);
		const char *value = answer + at + NLA_HDRLEN;

		if (part->nla_len < NLA_HDRLEN || at + part->nla_len > (size_t)got)
			break;
		if (part->nla_type == UNIX_DIAG_NAME && !ret->name)
			ret->name = unix_name_text(value, part->nla_len - NLA_HDRLEN);
		if (part->nla_type == UNIX_DIAG_PEER && part->nla_len >= NLA_HDRLEN + 4)
			memcpy(&ret->peer, value, 4);
		at += NLA_ALIGN(part->nla_len);
	}
	return true;
}

char *unix_socket_text(uint32_t pid, uint64_t inode)
{
	int process __cleanup(closep) = process_open(pid);
	int diag __cleanup(closep) = process < 0 ? -1 : diag_open(process);
	struct unix_socket own, peer = { NULL, 0 };

	if (diag < 0 || !unix_find(diag, (uint32_t)inode, &own))
		return NULL;
	if (!own.name && own.peer && !unix_find(diag, own.peer, &peer))
		return NULL;
	return own.name ?: peer.name;
}

static void add_unix(struct flight *flight, int process, uint32_t inode, struct wanted_ends *ends)
{
	int diag __cleanup(closep) = diag_open(process);
	struct wanted_end *end = &ends->items[ends->count];
	struct unix_socket own, peer;

	if (diag < 0 || !unix_find(diag, inode, &own))
		return;
	flight_add_fact(flight, "socket", own.name ?: strdup("unix, without a name"));
	if (!own.peer)
		return;
	if (unix_find(diag, own.peer, &peer))
		flight_add_fact(flight, "peer", peer.name);
	if (ends->count == MAX_WANTED_ENDS)
		return;
	*end = (struct wanted_end){ .flight = flight, .mode = -1 };
	snprintf(end->link, sizeof(end->link), "socket:[%u]", own.peer);
	wanted_ends_keep(ends);
}

/* --- both --------------------------------------------------------------------------------------- */

/* Protocols, and the tables that their sockets are in. */
static const char *const inet_protocols[][2] = {
	{ "TCP", "tcp" },          { "TCPv6", "tcp6" }, { "UDP", "udp" },    { "UDPv6", "udp6" },
	{ "UDP-Lite", "udplite" }, { "RAW", "raw" },    { "RAWv6", "raw6" },
};

/* Returns NULL if it is no internet socket, or one without a table. */
static const char *inet_table(const char *protocol)
{
	for (size_t i = 0; i < ARRAY_SIZE(inet_protocols); i++) {
		if (!strcmp(inet_protocols[i][0], protocol))
			return inet_protocols[i][1];
	}
	return NULL;
}

#define MAX_PROTOCOL 64

static bool socket_protocol(uint32_t pid, int fd, char protocol[MAX_PROTOCOL])
{
	char path[64];

	memset(protocol, 0, MAX_PROTOCOL);
	snprintf(path, sizeof(path), "/proc/%u/fd/%d", pid, fd);
	return getxattr(path, "system.sockprotoname", protocol, MAX_PROTOCOL - 1) >= 0;
}

void socket_facts_add(struct flight *flight, int process, int fd, uint64_t inode,
		      struct wanted_ends *ends)
{
	char protocol[MAX_PROTOCOL];
	const char *table;

	if (!socket_protocol(flight->thread.pid, fd, protocol))
		return;
	table = inet_table(protocol);
	if (table)
		add_inet(flight, process, table, inode, ends);
	else if (!strncmp(protocol, "UNIX", 4))
		add_unix(flight, process, (uint32_t)inode, ends);
	else
		flight_add_fact(flight, "socket", strdup(protocol));
}

/* Uses its own name, or else that of its peer: one of the two has one. */
static int unix_describe(int process, uint32_t inode, char *buf, size_t size)
{
	int diag __cleanup(closep) = diag_open(process);
	struct unix_socket own = { 0 }, peer = { 0 };
	int length;

	if (diag >= 0 && unix_find(diag, inode, &own) && !own.name && own.peer)
		unix_find(diag, own.peer, &peer);
	length = snprintf(buf, size, "UNIX%s%s%s", own.name ? " " : "",
			  own.name ?: (peer.name ? " *->" : ""), peer.name ?: "");
	free(own.name);
	free(peer.name);
	return length;
}

ssize_t socket_describe(__attribute__((unused)) void *context, uint32_t pid, int fd, uint64_t inode,
			char *buf, size_t size)
{
	int process __cleanup(closep) = process_open(pid);
	char protocol[MAX_PROTOCOL];
	struct inet_socket found;
	const char *table;
	int length;

	if (process < 0 || !socket_protocol(pid, fd, protocol))
		return -ENOENT;
	table = inet_table(protocol);
	if (table && inet_find(process, table, inode, &found))
		length = snprintf(buf, size, "%s %s%s%s", protocol, found.local,
				  *found.peer ? "->" : "", found.peer);
	else if (!strncmp(protocol, "UNIX", 4))
		length = unix_describe(process, (uint32_t)inode, buf, size);
	else
		length = snprintf(buf, size, "%s", protocol);
	return length > 0 && (size_t)length < size ? length : -EIO;
}
