/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests what /proc says of descriptors, with those of this process. */
#include "test.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/address.h"
#include "collect/descriptor_links.h"

static void assert_link(int fd, const char *beginning)
{
	char text[PATH_MAX];
	ssize_t length = descriptor_link_read(NULL, (uint32_t)getpid(), fd, text, sizeof(text));

	assert_true(length > 0);
	assert_int_equal(strlen(text), length);
	if (strncmp(text, beginning, strlen(beginning)))
		fail_msg("%s is not %s", text, beginning);
}

TEST(test_links)
{
	char cwd[PATH_MAX], text[PATH_MAX];
	int fds[2], file = open("/dev/null", O_RDONLY);

	assert_int_equal(pipe(fds), 0);
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	assert_link(file, "/dev/null");
	assert_link(fds[0], "pipe:[");
	assert_link(AT_FDCWD, cwd);
	close(file);
	assert_int_equal(descriptor_link_read(NULL, (uint32_t)getpid(), file, text, sizeof(text)),
			 -ENOENT);
	assert_true(process_sees_our_pids(NULL, (uint32_t)getpid()));
	close(fds[0]);
	close(fds[1]);
}

/* A process that has ended has no descriptors; that says nothing of those that it had. */
TEST(test_ended)
{
	char text[PATH_MAX];
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
	assert_true(descriptor_link_read(NULL, (uint32_t)pid, 0, text, sizeof(text)) < 0);
	assert_true(descriptor_link_read(NULL, (uint32_t)pid, 0, text, sizeof(text)) != -ENOENT);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(descriptor_link_read(NULL, (uint32_t)pid, 0, text, sizeof(text)), -ESRCH);
	assert_false(process_sees_our_pids(NULL, (uint32_t)pid));
}

static void assert_socket(int fd, const char *expected)
{
	char link[PATH_MAX], text[256];
	uint64_t inode;

	assert_true(descriptor_link_read(NULL, (uint32_t)getpid(), fd, link, sizeof(link)) > 0);
	assert_int_equal(sscanf(link, "socket:[%" SCNu64 "]", &inode), 1);
	assert_int_equal(socket_describe(NULL, (uint32_t)getpid(), fd, inode, text, sizeof(text)),
			 strlen(expected));
	assert_string_equal(text, expected);
}

TEST(test_internet)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	socklen_t size = sizeof(in);
	int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
	char server_name[ADDRESS_MAX], client_name[ADDRESS_MAX], expected[2 * ADDRESS_MAX + 16];
	int server;

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(listener, (struct sockaddr *)&in, sizeof(in)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&in, &size), 0);
	assert_true(address_format(&in, size, server_name));
	assert_int_equal(connect(client, (struct sockaddr *)&in, sizeof(in)), 0);
	assert_int_equal(getsockname(client, (struct sockaddr *)&in, &size), 0);
	assert_true(address_format(&in, size, client_name));
	server = accept(listener, NULL, NULL);
	snprintf(expected, sizeof(expected), "TCP %s", server_name);
	assert_socket(listener, expected);
	snprintf(expected, sizeof(expected), "TCP %s->%s", client_name, server_name);
	assert_socket(client, expected);
	snprintf(expected, sizeof(expected), "TCP %s->%s", server_name, client_name);
	assert_socket(server, expected);
	close(server);
	close(client);
	close(listener);
}

TEST(test_unix)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
	char expected[128];
	socklen_t size;
	int server;

	/* An abstract name, of this process alone. */
	size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)snprintf(un.sun_path + 1, sizeof(un.sun_path) - 1,
					    "descriptor-%d", getpid()));
	assert_int_equal(bind(listener, (struct sockaddr *)&un, size), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(connect(client, (struct sockaddr *)&un, size), 0);
	server = accept(listener, NULL, NULL);
	snprintf(expected, sizeof(expected), "UNIX @descriptor-%d", getpid());
	assert_socket(listener, expected);
	assert_socket(server, expected);
	snprintf(expected, sizeof(expected), "UNIX *->@descriptor-%d", getpid());
	assert_socket(client, expected);
	close(server);
	close(client);
	close(listener);
}

TEST(test_addresses)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(443) };
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	char text[ADDRESS_MAX];

	in6.sin6_addr.s6_addr[15] = 1;
	assert_int_equal(address_format(&in6, sizeof(in6), text), 9);
	assert_string_equal(text, "[::1]:443");
	memset(un.sun_path, 'x', sizeof(un.sun_path));
	assert_int_equal(address_format(&un, sizeof(un), text), sizeof(un.sun_path));
	assert_int_equal(address_format(&un, 5000, text), sizeof(un.sun_path));
	for (size_t size = 0; size < 3; size++)
		assert_int_equal(address_format(&un, size, text), 0);
	for (size_t size = 0; size < 24; size++)
		assert_int_equal(address_format(&in6, size, text), 0);
}
