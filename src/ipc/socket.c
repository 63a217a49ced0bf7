/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the names in the file system that the daemon listens on. Nobody may use a socket before it
 * has its group and mode, and no name is removed but that of a socket which nobody answers on.
 */
#include "ipc/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/sockios.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/mem.h"

#ifndef SIOCUNIXFILE
#define SIOCUNIXFILE (SIOCPROTOPRIVATE + 0)
#endif

/* As many as may come while one answer is made; the kernel cuts it to net.core.somaxconn. */
#define BACKLOG 4096

#define MODE_AT_BIRTH 0600
#define MODE          0660

static int address_fill(const char *path, struct sockaddr_un *address, struct diag *d)
{
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (!*path || strlen(path) >= sizeof(address->sun_path))
		return diag_set(d, DIAG_USAGE, ENAMETOOLONG,
				"the path of a socket has 1 to %zu characters: choose another",
				sizeof(address->sun_path) - 1);
	strcpy(address->sun_path, path);
	return 0;
}

/*
 * Holds those off who replace a socket in the same folder at this moment. Not with flock(), by which
 * a daemon keeps the folder of its history for as long as it runs: that may be the same one. A folder
 * cannot be open for writing, nor have a write lock; but one can ask what would be in its way. Two at
 * the same time see each other, and give up both.
 */
static int folder_lock(const char *path, struct diag *d)
{
	char copy[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	const char *folder = dirname(strcpy(copy, path));
	int fd __cleanup(closep) = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct flock ours = { .l_type = F_RDLCK }, others = { .l_type = F_WRLCK };
	int locked;

	if (fd < 0)
		return diag_set(d, DIAG_FAILED, errno, "cannot open the folder %s: %s", folder,
				strerror(errno));
	if (fcntl(fd, F_OFD_SETLK, &ours) || fcntl(fd, F_OFD_GETLK, &others) ||
	    others.l_type != F_UNLCK)
		return diag_set(d, DIAG_FAILED, EADDRINUSE,
				"another program makes a socket in %s: try again", folder);
	locked = fd;
	fd = -1;
	return locked;
}

/* Does nobody listen on it? Whatever is not plainly so counts as alive. */
static bool socket_is_dead(const struct sockaddr_un *address)
{
	int fd __cleanup(closep) = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof(*address)) &&
	       errno == ECONNREFUSED;
}

/* Makes room for the name, or says who has it. */
static int name_clear(const struct sockaddr_un *address, struct diag *d)
{
	const char *path = address->sun_path;
	struct stat found;

	if (lstat(path, &found))
		return errno == ENOENT ? 0
				       : diag_set(d, DIAG_FAILED, errno, "cannot look at %s: %s",
						  path, strerror(errno));
	if (!S_ISSOCK(found.st_mode))
		return diag_set(d, DIAG_FAILED, EEXIST,
				"%s exists and is no socket: remove it or choose another path",
				path);
	if (!socket_is_dead(address))
		return diag_set(d, DIAG_FAILED, EADDRINUSE,
				"another daemon answers on %s: stop it or choose another path",
				path);
	if (unlink(path))
		return diag_set(d, DIAG_FAILED, errno,
				"cannot remove the socket %s that a daemon left: %s", path,
				strerror(errno));
	return 0;
}

/* By a descriptor, so that it is the socket that was found, and not what a link points to. */
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
 * The name gets the mode of the descriptor at bind(), less the umask, which we leave alone: so it
 * never is open to others. Nor does anybody get in before listen().
 */
static int name_bind(int fd, const struct sockaddr_un *address, gid_t group)
{
	int err;

	if (fchmod(fd, MODE_AT_BIRTH) ||
	    bind(fd, (const struct sockaddr *)address, sizeof(*address)))
		return -errno;
	err = name_share(address->sun_path, group);
	if (!err && listen(fd, BACKLOG))
		err = -errno;
	if (err)
		unlink(address->sun_path);
	return err;
}

int socket_listen_unix(const char *path, gid_t group, struct diag *d)
{
	int fd __cleanup(closep) = -1, lock __cleanup(closep) = -1;
	struct sockaddr_un address;
	int err = address_fill(path, &address, d), listener;

	if (err)
		return err;
	lock = folder_lock(path, d);
	if (lock < 0)
		return lock;
	err = name_clear(&address, d);
	if (err)
		return err;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	err = fd < 0 ? -errno : name_bind(fd, &address, group);
	if (err)
		return diag_set(d, DIAG_FAILED, -err, "cannot make the socket %s: %s", path,
				strerror(-err));
	listener = fd;
	fd = -1;
	return listener;
}

void socket_name(int fd, char *buf, size_t size)
{
	struct sockaddr_un address = { .sun_family = AF_UNSPEC };
	socklen_t length = sizeof(address);
	const size_t before = offsetof(struct sockaddr_un, sun_path);
	size_t name;

	*buf = '\0';
	if (getsockname(fd, (struct sockaddr *)&address, &length) ||
	    address.sun_family != AF_UNIX || length <= before)
		return;
	name = length - before;
	if (!address.sun_path[0])
		address.sun_path[0] = '@';
	snprintf(buf, size, "%.*s", (int)name, address.sun_path);
}

void socket_unlink(const char *path, int fd)
{
	int bound __cleanup(closep) = ioctl(fd, SIOCUNIXFILE);
	struct stat ours, found;

	/* Without the right to ask (CAP_NET_ADMIN) it stays: the next daemon replaces it. */
	if (bound < 0 || fstat(bound, &ours) || lstat(path, &found))
		return;
	if (ours.st_dev == found.st_dev && ours.st_ino == found.st_ino)
		unlink(path);
}
