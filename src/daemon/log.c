/* SPDX-License-Identifier: BSD-2-Clause */
/* Speaks for the daemon: lines on stderr, datagrams to the service manager. */
#include "daemon/log.h"

#include <stdarg.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/text.h"

/* JOURNAL_STREAM has device and inode of what the service's stderr was: it may be another now. */
bool log_is_read_by_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       !fstat(STDERR_FILENO, &st) && st.st_dev == device && st.st_ino == inode;
}

/* The journal knows the time; its prefix is that of sd-daemon(3). */
static size_t write_prefix(int priority, char *buf)
{
	static const char *const words[] = { [LOG_ERR] = "error",
					     [LOG_WARNING] = "warning",
					     [LOG_NOTICE] = "notice",
					     [LOG_INFO] = "info",
					     [LOG_DEBUG] = "debug" };
	char now[CLOCK_RFC3339_SIZE];

	if (log_is_read_by_journal())
		return (size_t)sprintf(buf, "<%d>", priority);
	clock_rfc3339(clock_real_ns(), now, sizeof(now));
	return (size_t)sprintf(buf, "%.19sZ bpftruss: %s: ", now, words[priority]);
}

void log_line(int priority, const char *format, ...)
{
	char text[1024], line[TEXT_ESCAPED_MAX(sizeof(text)) + 64];
	size_t length;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	length = write_prefix(priority, line);
	text_escape_visible(text, sizeof(text), line + length);
	length += strlen(line + length);
	line[length++] = '\n';
	/* It goes out in one piece; there is nobody to tell that it failed. */
	if (write(STDERR_FILENO, line, length) < 0)
		return;
}

void notify_send(const char *format, ...)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = path ? strlen(path) : 0;
	int fd __cleanup(closep) = -1;
	char text[512];
	va_list args;

	if (!path || (path[0] != '/' && path[0] != '@') || length >= sizeof(address.sun_path))
		return;
	memcpy(address.sun_path, path, length);
	/* A name in the abstract namespace begins with NUL. */
	if (path[0] == '@')
		address.sun_path[0] = '\0';
	length += offsetof(struct sockaddr_un, sun_path);
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		sendto(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT,
		       (const struct sockaddr *)&address, (socklen_t)length);
}

uint64_t notify_watchdog_ns(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

	if (!usec || (pid && strtol(pid, NULL, 10) != getpid()))
		return 0;
	return strtoull(usec, NULL, 10) * 1000;
}
