/* SPDX-License-Identifier: BSD-2-Clause */
/* What the service manager and the journal hear of the daemon. */
#include "test.h"
#include <sys/socket.h>
#include <sys/un.h>

#include "daemon/log.h"

/* --- the service manager ----------------------------------------------------------------------- */

/* On an abstract name, which leaves nothing behind. */
static int manager_open(char *name, size_t size)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(name, size, "@bpftruss-notify-%d", getpid());
	memcpy(address.sun_path + 1, name + 1, strlen(name) - 1);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))),
			 0);
	return fd;
}

TEST(test_notify)
{
	char name[64], text[64] = "";
	int fd __cleanup(closep) = manager_open(name, sizeof(name));

	setenv("NOTIFY_SOCKET", name, 1);
	notify_send("READY=%d", 1);
	assert_int_equal(recv(fd, text, sizeof(text) - 1, 0), strlen("READY=1"));
	assert_string_equal(text, "READY=1");
	/* Neither nobody nor what cannot be an address is an error. */
	setenv("NOTIFY_SOCKET", "relative", 1);
	notify_send("READY=1");
	unsetenv("NOTIFY_SOCKET");
	notify_send("READY=1");
	assert_int_equal(recv(fd, text, sizeof(text), 0), -1);
}

TEST(test_watchdog)
{
	char pid[16];

	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	assert_int_equal(notify_watchdog_ns(), 0);
	setenv("WATCHDOG_USEC", "4000000", 1);
	assert_int_equal(notify_watchdog_ns(), 4000000000);
	snprintf(pid, sizeof(pid), "%d", getpid());
	setenv("WATCHDOG_PID", pid, 1);
	assert_int_equal(notify_watchdog_ns(), 4000000000);
	/* Meant for somebody else. */
	setenv("WATCHDOG_PID", "1", 1);
	assert_int_equal(notify_watchdog_ns(), 0);
}

/* --- the journal ------------------------------------------------------------------------------- */

/* What log_line() writes on a stderr of our own. */
static void logged(const char *text, char *buf, size_t size)
{
	int fd __cleanup(closep) = memfd_create("log", MFD_CLOEXEC);
	int before __cleanup(closep) = dup(STDERR_FILENO);
	char stream[64];
	struct stat st;
	ssize_t n;

	assert_int_equal(fstat(fd, &st), 0);
	snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	if (getenv("JOURNAL_STREAM"))
		setenv("JOURNAL_STREAM", stream, 1);
	dup2(fd, STDERR_FILENO);
	log_line(LOG_WARNING, "%s", text);
	dup2(before, STDERR_FILENO);
	n = pread(fd, buf, size - 1, 0);
	assert_true(n >= 0);
	buf[n] = '\0';
}

TEST(test_log)
{
	char line[8192], text[2000];
	char tagged[256];

	unsetenv("JOURNAL_STREAM");
	logged("one\ntwo \x1b[2J\x7f", line, sizeof(line));
	assert_string_equal(line, "bpftruss: one\\x0atwo \\x1b[2J\\x7f\n");
	/* As long as the longest, each byte of it four. */
	text_fill(text, '\x01');
	logged(text, line, sizeof(line));
	assert_int_equal(strlen(line), strlen("bpftruss: ") + 1023 * 4 + 1);
	setenv("JOURNAL_STREAM", "", 1);
	logged("text", tagged, sizeof(tagged));
	assert_string_equal(tagged, "<4>text\n");
	unsetenv("JOURNAL_STREAM");
}
