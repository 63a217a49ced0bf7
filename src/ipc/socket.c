/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes the sockets that the daemon listens on, or takes over that of systemd, and asks the kernel who
 * is at the other end of a connection. Nobody may use a unix socket before it has its group and mode,
 * and no name is removed but that of a socket which nobody answers on.
 */
#include "ipc/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <strings.h>
#include <sys/socket.h>

/* This many may come while one answer is made; the kernel cuts it to net.core.somaxconn. */
#define BACKLOG 4096

#define MODE_AT_BIRTH 0600
#define MODE          0660

/* The first that sd_listen_fds(3) hands over. */
#define FIRST_DESCRIPTOR 3

/* --- unix sockets ----------------------------------------------------------------------------- */

int socket_address(const char *path, struct sockaddr_un *ret, struct diag *d)
{
	if (!*path || strlen(path) >= sizeof(ret->sun_path))
		return diag_set(d, DIAG_USAGE, ENAMETOOLONG,
				"the path of a socket has 1 to %zu characters: see --socket",
				sizeof(ret->sun_path) - 1);
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	strcpy(ret->sun_path, path);
	return 0;
}

/* Makes room for the name, or says who has it. bind() finds out what else is wrong with it. */
static int name_clear(const struct sockaddr_un *address, struct diag *d)
{
	int fd __cleanup(closep) = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const char *path = address->sun_path;
	struct stat found;

	if (lstat(path, &found))
		return 0;
	if (!S_ISSOCK(found.st_mode))
		return diag_set(d, DIAG_FAILED, EEXIST,
				"%s exists and is not a socket: remove it or choose another path",
				path);
	/* A socket counts as alive unless the error plainly says that nobody listens. */
	if (fd < 0 || !connect(fd, (const struct sockaddr *)address, sizeof(*address)) ||
	    errno != ECONNREFUSED)
		return diag_set(d, DIAG_FAILED, EADDRINUSE,
				"another daemon answers on %s: stop it or choose another path",
				path);
	unlink(path);
	return 0;
}

/* Lets the group in. Users who may write to the folder can have put a link in place of it. */
static int name_share(const char *path, gid_t group)
{
	int fd __cleanup(closep) = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char name[sizeof("/proc/self/fd/") + 3 * sizeof(int)];
	struct stat found;

	if (fd < 0 || fstat(fd, &found))
		return -errno;
	if (!S_ISSOCK(found.st_mode))
		return -EEXIST;
	if (fchownat(fd, "", (uid_t)-1, group, AT_EMPTY_PATH))
		return -errno;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	return chmod(name, MODE) ? -errno : 0;
}

/*
 * The name gets the mode of the descriptor at bind(), less the umask: so it never is open to others. Nor
 * does anybody get in before listen().
 */
static int name_bind(int fd, const struct sockaddr_un *address, gid_t group)
{
	const char *path = address->sun_path;
	int err;

	if (fchmod(fd, MODE_AT_BIRTH) ||
	    bind(fd, (const struct sockaddr *)address, sizeof(*address)))
		return -errno;
	err = name_share(path, group);
	if (!err && listen(fd, BACKLOG))
		err = -errno;
	if (err)
		unlink(path);
	return err;
}

int socket_listen_unix(const char *path, gid_t group, struct diag *d)
{
	int fd __cleanup(closep) = -1;
	struct sockaddr_un address;
	int err = socket_address(path, &address, d) ?: name_clear(&address, d);

	if (err)
		return err;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	err = fd < 0 ? -errno : name_bind(fd, &address, group);
	if (err)
		return diag_set(d, DIAG_FAILED, -err, "cannot make the socket %s: %s", path,
				strerror(-err));
	return steal_fd(&fd);
}

void socket_name(int fd, char *buf, size_t size)
{
	struct sockaddr_un address = { 0 };
	const size_t before = offsetof(struct sockaddr_un, sun_path);
	socklen_t length = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &length) || length <= before)
		length = before;
	else if (!address.sun_path[0])
		address.sun_path[0] = '@';
	snprintf(buf, size, "%.*s", (int)(length - before), address.sun_path);
}

void socket_unlink(const char *path, const struct stat *ours)
{
	struct stat found;

	if (!lstat(path, &found) && ours->st_dev == found.st_dev && ours->st_ino == found.st_ino)
		unlink(path);
}

/* A number without sign or blanks; -1 for anything else. */
static long number_take(const char *name)
{
	const char *text = getenv(name);
	const bool is_number =
		text && *text && strlen(text) <= 9 && !text[strspn(text, "0123456789")];
	const long number = is_number ? strtol(text, NULL, 10) : -1;

	unsetenv(name);
	return number;
}

static int option_of(int fd, int option)
{
	int value = -1;
	socklen_t size = sizeof(value);

	getsockopt(fd, SOL_SOCKET, option, &value, &size);
	return value;
}

int socket_inherited(struct diag *d)
{
	const long pid = number_take("LISTEN_PID"), nr = number_take("LISTEN_FDS");
	const int fd = FIRST_DESCRIPTOR;

	unsetenv("LISTEN_FDNAMES");
	if (pid != getpid() || nr <= 0)
		return -ENOENT;
	if (nr != 1)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"%ld sockets are handed over, but one is needed: leave one "
				"ListenStream= in the socket unit",
				nr);
	if (option_of(fd, SO_DOMAIN) != AF_UNIX || option_of(fd, SO_TYPE) != SOCK_STREAM ||
	    option_of(fd, SO_ACCEPTCONN) != 1)
		return diag_set(d, DIAG_USAGE, ENOTSOCK,
				"what is handed over is no listening unix socket: give the socket "
				"unit ListenStream= with a path");
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	return fd;
}

/* --- peers ------------------------------------------------------------------------------------ */

static bool peer_has_group(int fd, gid_t group)
{
	__cleanup(freep) gid_t *groups = NULL;
	socklen_t size = 0;

	/* Without room the kernel says how much there has to be. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &size) && errno != ERANGE)
		return false;
	groups = malloc(size);
	if (!groups || getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size))
		return false;
	for (size_t i = 0; i < size / sizeof(*groups); i++)
		if (groups[i] == group)
			return true;
	return false;
}

void socket_peer(int fd, gid_t group, struct ipc_peer *ret)
{
	struct ucred credentials;
	socklen_t size = sizeof(credentials);

	*ret = (struct ipc_peer){ .uid = (uid_t)-1, .gid = (gid_t)-1 };
	/* -1 is what the kernel writes for nobody. */
	if (option_of(fd, SO_DOMAIN) != AF_UNIX ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) ||
	    credentials.uid == (uid_t)-1)
		return;
	*ret = (struct ipc_peer){
		.known = true,
		.uid = credentials.uid,
		.gid = credentials.gid,
		.in_group = credentials.gid == group || peer_has_group(fd, group),
	};
}

/* --- TCP ---------------------------------------------------------------------------------------- */

union tcp_address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* ADDRESS or [ADDRESS]; what follows it, or NULL. */
static const char *address_parse(const char *text, union tcp_address *ret)
{
	const bool bracketed = *text == '[';
	const size_t length = strcspn(text, bracketed ? "]" : ":");
	char address[INET6_ADDRSTRLEN + 1];

	*ret = (union tcp_address){ .any.sa_family = bracketed ? AF_INET6 : AF_INET };
	if (length >= sizeof(address) || (bracketed && !text[length]))
		return NULL;
	memcpy(address, text, length);
	address[length] = '\0';
	if (bracketed)
		return inet_pton(AF_INET6, address + 1, &ret->in6.sin6_addr) == 1
			       ? text + length + 1
			       : NULL;
	return inet_pton(AF_INET, address, &ret->in.sin_addr) == 1 ? text + length : NULL;
}

static bool is_loopback(const union tcp_address *address)
{
	if (address->any.sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&address->in6.sin6_addr);
	return ntohl(address->in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

/* The number behind a colon; -1 for anything else. */
static long port_parse(const char *text)
{
	const size_t digits = *text == ':' ? strspn(text + 1, "0123456789") : 0;
	const long port = digits && digits <= 5 && !text[1 + digits] ? atol(text + 1) : -1;

	return port <= UINT16_MAX ? port : -1;
}

bool socket_host_is_loopback(const char *host)
{
	static const char name[] = "localhost";
	const bool is_name = !strncasecmp(host, name, strlen(name));
	union tcp_address address;
	const char *rest = is_name ? host + strlen(name) : address_parse(host, &address);

	return rest && (is_name || is_loopback(&address)) &&
	       (!*rest || !strcmp(rest, ":") || port_parse(rest) >= 0);
}

static int tcp_parse(const char *text, union tcp_address *ret, struct diag *d)
{
	const char *rest = address_parse(text, ret);
	const long port = rest ? port_parse(rest) : -1;

	if (port < 0)
		return diag_set(d, DIAG_USAGE, EINVAL,
				"%.100s is not ADDRESS:PORT or [ADDRESS]:PORT: give one like "
				"127.0.0.1:9101",
				text);
	/* Both families have the port in the same place. */
	ret->in.sin_port = htons((in_port_t)port);
	return 0;
}

int socket_tcp_check(const char *address, struct diag *d)
{
	union tcp_address parsed;

	return tcp_parse(address, &parsed, d);
}

bool socket_tcp_is_loopback(const char *address)
{
	union tcp_address parsed;

	return !tcp_parse(address, &parsed, NULL) && is_loopback(&parsed);
}

int socket_listen_tcp(const char *address, struct diag *d)
{
	int fd __cleanup(closep) = -1;
	union tcp_address parsed;
	const int one = 1;
	int err = tcp_parse(address, &parsed, d);

	if (err)
		return err;
	fd = socket(parsed.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, &parsed.any, sizeof(parsed)) || listen(fd, BACKLOG))
		return diag_set(d, DIAG_FAILED, errno, "cannot listen on %s: %s", address,
				strerror(errno));
	return steal_fd(&fd);
}
