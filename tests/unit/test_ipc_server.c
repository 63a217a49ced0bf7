/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The HTTP server: answers, refusals and counters, byte by byte; names in the file system, sockets
 * that systemd hands over, and who is at the other end.
 */
#include "ipc_fixture.h"

#include <arpa/inet.h>
#include <grp.h>
#include <netinet/in.h>

/* --- what is answered ------------------------------------------------------------------------- */

SERVER_TEST(test_answer)
{
	static const char request[] = "GET /metrics HTTP/1.1\r\nAccept: text/plain\r\n" CLOSE;

	assert_int_equal(raw_ask(fixture, request), 200);
	assert_string_equal(raw_body(fixture), "GET /metrics");
	assert_all(strcasestr(fixture->reply, "\r\nContent-Type: text/plain\r\n"),
		   strcasestr(fixture->reply, "\r\nContent-Length: 12\r\n"),
		   strcasestr(fixture->reply, "\r\nCache-Control: no-store\r\n"),
		   strcasestr(fixture->reply, "\r\nX-Content-Type-Options: nosniff\r\n"));
	assert_counted(fixture, requests, 1, malformed, 0, refused, 0, pending_bytes, 0);
}

SERVER_TEST(test_methods)
{
	static const struct {
		const char *request, *body;
		unsigned int status;
	} cases[] = {
		{ "GET /a HTTP/1.1\r\n" CLOSE, "GET /a", 200 },
		{ "PUT /a HTTP/1.1\r\n" CLOSE, "PUT /a", 200 },
		{ "PUT /a HTTP/1.1\r\nContent-Length: 0\r\n" CLOSE, "PUT /a", 200 },
		{ "DELETE /a HTTP/1.1\r\n" CLOSE, "DELETE /a", 200 },
		{ "HEAD /a HTTP/1.1\r\n" CLOSE, "", 200 },
		{ "GET /nothing HTTP/1.1\r\n" CLOSE, "", 200 },
		{ "POST /a HTTP/1.1\r\n" CLOSE, NULL, 405 },
		{ "OPTIONS /a HTTP/1.1\r\n" CLOSE, NULL, 405 },
		{ "TRACE /a HTTP/1.1\r\n" CLOSE, NULL, 405 },
		{ "get /a HTTP/1.1\r\n" CLOSE, NULL, 405 },
		{ "FETCH /a HTTP/1.1\r\n" CLOSE, NULL, 405 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		raw_ask(fixture, cases[i].request);
		assert_int_equal(raw_status(fixture), cases[i].status);
		if (cases[i].body)
			assert_string_equal(raw_body(fixture), cases[i].body);
		else
			assert_non_null(
				strstr(fixture->reply, "\r\nAllow: GET, HEAD, PUT, DELETE\r\n"));
	}
	assert_counted(fixture, malformed, 5);
	assert_int_equal(fixture->asked, 6);
}

/* The length is that of the answer to GET, without a byte of it. */
SERVER_TEST(test_head)
{
	static const char request[] = "HEAD /length HTTP/1.1\r\n" CLOSE;

	raw_ask(fixture, request);
	assert_non_null(strcasestr(fixture->reply, "\r\nContent-Length: 11\r\n"));
	assert_string_equal(raw_body(fixture), "");
	assert_string_equal(fixture->text, "GET /length");
	assert_counted(fixture, pending_bytes, 0);
}

SERVER_TEST(test_parameters)
{
	static const char request[] = "GET /v1/x%20y?pid=1&pid=2&empty=&bare&n%61me=a%26b+c%C3%A9 "
				      "HTTP/1.1\r\n" CLOSE;

	raw_ask(fixture, request);
	assert_string_equal(raw_body(fixture),
			    "GET /v1/x y|pid=1|pid=2|empty=|bare=|name=a&b c\xc3\xa9");
	assert_int_equal(fixture->last.nr_parameters, 5);
}

TEST(test_parameter_lookup)
{
	const struct ipc_request request = {
		.parameters = { { "pid", "1" }, { "pid", "2" }, { "top", "" } },
		.nr_parameters = 3,
	};

	assert_string_equal(ipc_parameter(&request, "pid"), "1");
	assert_string_equal(ipc_parameter(&request, "top"), "");
	assert_null(ipc_parameter(&request, "to"));
}

SERVER_TEST(test_parameter_limit)
{
	for (int nr = IPC_MAX_PARAMETERS; nr <= IPC_MAX_PARAMETERS + 1; nr++) {
		char request[1024] = "GET /?";

		for (int i = 0; i < nr; i++)
			sprintf(request + strlen(request), "%sp%d=%d", i ? "&" : "", i, i);
		strcat(request, " HTTP/1.1\r\n" CLOSE);
		raw_ask(fixture, request);
		assert_int_equal(raw_status(fixture), nr > IPC_MAX_PARAMETERS ? 400 : 200);
	}
	assert_has(fixture, asked, 1, last.nr_parameters, IPC_MAX_PARAMETERS);
}

/* Bytes after a request on its connection are nobody's. */
SERVER_TEST(test_one_request)
{
	static const char requests[] = "GET /one HTTP/1.1\r\n" HOST "\r\n"
				       "PUT /two HTTP/1.1\r\n" HOST "\r\n";

	raw_ask(fixture, requests);
	assert_non_null(strcasestr(fixture->reply, "\r\nConnection: close\r\n"));
	assert_string_equal(raw_body(fixture), "GET /one");
	assert_int_equal(fixture->asked, 1);
}

/* --- what is refused -------------------------------------------------------------------------- */

/* The library refuses some of these itself, the newer it is the more, with a status of its own. */
static bool status_is(const struct ipc_fixture *fixture, const unsigned int status[2])
{
	unsigned int got = 0;

	/* It answers in the version of the request. */
	return sscanf(fixture->reply, "HTTP/1.%*u %u", &got) == 1 &&
	       (got == status[0] || got == status[1]);
}

SERVER_TEST(test_refused)
{
	static const struct {
		const char *request;
		unsigned int status[2];
	} cases[] = {
		{ "GET http://localhost/ HTTP/1.1\r\n" CLOSE, { 400 } },
		{ "GET * HTTP/1.1\r\n" CLOSE, { 400 } },
		{ "GET /a%00b HTTP/1.1\r\n" CLOSE, { 400 } },
		{ "GET /?pid=1%002 HTTP/1.1\r\n" CLOSE, { 400 } },
		{ "GET /?pid%00=1 HTTP/1.1\r\n" CLOSE, { 400 } },
		{ "GET / HTTP/1.1\r\nno colon\r\n" CLOSE, { 400 } },
		{ "GET / HTTP/1.1\r\nConnection: close\r\n\r\n", { 400 } }, /* no Host */
		{ "GET / HTTP/1.1\r\nContent-Length: x\r\n" CLOSE, { 400 } },
		{ "PUT / HTTP/1.1\r\nContent-Length: 1\r\n" CLOSE "x", { 413 } },
		{ "PUT / HTTP/1.1\r\nContent-Length: 1\r\nExpect: 100-continue\r\n" CLOSE,
		  { 413 } },
		{ "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" CLOSE "0\r\n\r\n", { 413 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		raw_ask(fixture, cases[i].request);
		if (!status_is(fixture, cases[i].status))
			fail_msg("%s: %s", cases[i].request, fixture->reply);
		assert_counted(fixture, malformed, i + 1);
	}
	assert_int_equal(fixture->asked, 0);
	assert_counted(fixture, pending_bytes, 0);
	/* The server closes the connection by itself, and the next one is served. */
	assert_int_equal(raw_ask(fixture, "GET http://a/ HTTP/1.1\r\n" HOST "\r\n"), 400);
	assert_int_equal(raw_ask(fixture, "GET / HTTP/1.1\r\n" CLOSE), 200);
}

/* A NUL ends the path, where the library does not close the connection without a word. */
SERVER_TEST(test_raw_nul)
{
	static const char request[] = "GET /a\0b HTTP/1.1\r\n" CLOSE;
	int fd __cleanup(closep) = raw_connect(fixture->path);

	raw_send(fd, request, sizeof(request) - 1);
	if (raw_finish(fixture, fd) == 200)
		assert_string_equal(raw_body(fixture), "GET /a");
	else
		assert_int_equal(fixture->asked, 0);
}

/* Tests requests that are too long: in the first line, in a header, in many of them. */
SERVER_TEST(test_too_long)
{
	static const struct {
		const char *before, *repeated, *behind;
		size_t bytes;
		unsigned int status;
	} cases[] = {
		{ "GET /", "a", " HTTP/1.1\r\n" CLOSE, 4000, 200 },
		{ "GET /", "a", " HTTP/1.1\r\n" CLOSE, 40000, 414 },
		{ "GET / HTTP/1.1\r\nX: ", "a", "\r\n" CLOSE, 7000, 200 },
		{ "GET / HTTP/1.1\r\nX: ", "a", "\r\n" CLOSE, 40000, 431 },
		{ "GET / HTTP/1.1\r\n", "X: y\r\n", CLOSE, 40000, 431 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__cleanup(freep) char *request = malloc(cases[i].bytes + 256);
		char *out = stpcpy(request, cases[i].before);

		for (size_t n = 0; n < cases[i].bytes; n += strlen(cases[i].repeated))
			out = stpcpy(out, cases[i].repeated);
		strcpy(out, cases[i].behind);
		raw_ask(fixture, request);
		if (raw_status(fixture) != cases[i].status)
			fail_msg("case %zu: %.40s", i, fixture->reply);
	}
	assert_counted(fixture, malformed, 3);
	assert_int_equal(fixture->asked, 2);
}

/* Errors are JSON whatever bytes are in their sentence. */
TEST(test_error_escapes)
{
	struct ipc_answer answer;
	static const char expected[] = "{\"error\": \"no \\\"x\\\\y\\\"\\\\x0a\\\\x1b[1m"
				       "\\\\x7f\\\\xff\"}\n";

	ipc_answer_error(&answer, 404, "no \"x\\y\"\n\x1b[1m\x7f\xff");
	assert_int_equal(answer.status, 404);
	assert_string_equal(answer.content_type, "application/json");
	assert_int_equal(answer.size, strlen(expected));
	assert_memory_equal(answer.body, expected, answer.size);
	free(answer.body);
}

/* --- TCP -------------------------------------------------------------------------------------- */

TEST(test_hosts)
{
	static const char ours[] =
		"localhost LocalHost:80 127.0.0.1 127.0.0.1:9101 127.255.0.9:1 [::1] "
		"[::1]:80 localhost:";
	static const char foreign[] =
		"evil.example localhost.evil.example 127.0.0.1.evil.example 10.0.0.1 [::2] "
		"[::1 [::1]x ::1 [] localhost:80x localhost:80:80 [127.0.0.1] 127.1 128.0.0.1 "
		"user@localhost"
		/* No longer than an address may be with its NUL, and one byte more. */
		" 127.000000000000000000000000000000000000000001 "
		"127.0000000000000000000000000000000000000000001";
	char host[MAX_WORD];

	for (const char *at = ours; word_read(&at, host);)
		assert_true(socket_host_is_loopback(host));
	assert_false(socket_host_is_loopback(""));
	for (const char *at = foreign; word_read(&at, host);)
		if (socket_host_is_loopback(host))
			fail_msg("%s is no loopback host", host);
}

FOLDER_TEST(test_tcp)
{
	static const struct {
		const char *request;
		unsigned int status[2];
	} cases[] = {
		{ "GET / HTTP/1.1\r\n" CLOSE, { 200 } },
		{ "GET / HTTP/1.1\r\nHost: 127.0.0.1:9101\r\nConnection: close\r\n\r\n", { 200 } },
		{ "GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", { 403 } },
		{ "GET / HTTP/1.1\r\nHost: evil.example\r\nHost: localhost\r\n\r\n", { 403, 400 } },
		{ "GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", { 403, 400 } },
		{ "GET / HTTP/1.0\r\n\r\n", { 403 } },
	};
	const struct ipc_server_options options = { .handler = fixture_handle, .closure = fixture };
	struct sockaddr_in address;
	socklen_t size = sizeof(address);
	int listener = socket_listen_tcp("127.0.0.1:0", &d);

	assert_true(listener >= 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	assert_int_equal(ipc_server_new(listener, &options, &fixture->server, &d), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int fd __cleanup(closep) = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
		raw_say(fd, cases[i].request);
		raw_finish(fixture, fd);
		if (!status_is(fixture, cases[i].status))
			fail_msg("%s: %s", cases[i].request, fixture->reply);
	}
	assert_int_equal(fixture->asked, 2);
	assert_all(!fixture->last.peer.known, !fixture->last.peer.in_group);
	assert_int_equal(ipc_server_counts(fixture->server)->refused +
				 ipc_server_counts(fixture->server)->malformed,
			 4);
}

/* --- names ------------------------------------------------------------------------------------ */

static int listen_on(const char *path, struct diag *d)
{
	d->text[0] = '\0';
	return socket_listen_unix(path, getegid(), d);
}

static int listen_must(const char *path)
{
	int fd = listen_on(path, &d);

	if (fd < 0)
		fail_msg("%s", d.text);
	return fd;
}

/* The mode does not depend on the umask. */
FOLDER_TEST(test_mode)
{
	static const mode_t umasks[] = { 0, 022, 0777 };

	for (size_t i = 0; i < ARRAY_SIZE(umasks); i++) {
		const mode_t before = umask(umasks[i]);
		int fd __cleanup(closep) = listen_on(fixture->path, &d);
		struct stat found;

		assert_int_equal(umask(before), umasks[i]);
		assert_true(fd >= 0);
		assert_int_equal(lstat(fixture->path, &found), 0);
		assert_has(&found, st_mode, S_IFSOCK | 0660, st_gid, getegid());
		assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
		unlink(fixture->path);
	}
}

FOLDER_TEST(test_group)
{
	struct stat found;
	int fd __cleanup(closep) = -1;

	need_root("another group");
	fd = socket_listen_unix(fixture->path, 12345, &d);
	assert_true(fd >= 0);
	assert_int_equal(lstat(fixture->path, &found), 0);
	assert_has(&found, st_gid, 12345, st_uid, 0);
}

FOLDER_TEST(test_dead_replaced)
{
	int fd = listen_on(fixture->path, &d);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(access(fixture->path, F_OK), 0);
	fd = listen_must(fixture->path);
	closep(&(int){ raw_connect(fixture->path) });
	close(fd);
}

FOLDER_TEST(test_live_kept)
{
	int fd __cleanup(closep) = listen_on(fixture->path, &d);
	struct stat before, after;

	assert_true(fd >= 0);
	assert_int_equal(lstat(fixture->path, &before), 0);
	must_fail(listen_on(fixture->path, &d), -EADDRINUSE, "another daemon answers on");
	assert_int_equal(lstat(fixture->path, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	closep(&(int){ raw_connect(fixture->path) });
}

/* A live socket that has no room for one more client is alive, too. */
FOLDER_TEST(test_full_kept)
{
	struct sockaddr_un address = raw_address(fixture->path);
	int fd __cleanup(closep) = socket(AF_UNIX, SOCK_STREAM, 0), client __cleanup(closep) = -1;

	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 0), 0);
	client = raw_connect(fixture->path);
	assert_int_equal(listen_on(fixture->path, &d), -EADDRINUSE);
}

FOLDER_TEST(test_file_kept)
{
	close(open(fixture->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	must_fail(listen_on(fixture->path, &d), -EEXIST, "is not a socket");
	assert_int_equal(access(fixture->path, F_OK), 0);
}

/* Neither where it leads nor the link itself is touched; nor where a dangling one leads. */
FOLDER_TEST(test_link_kept)
{
	char other[64];
	struct stat found;
	int fd;

	sprintf(other, "%s/other", fixture->folder);
	for (int i = 0; i < 2; i++) {
		if (!i) {
			fd = listen_must(other);
			close(fd);
		}
		assert_int_equal(symlink(other, fixture->path), 0);
		assert_int_equal(listen_on(fixture->path, &d), -EEXIST);
		assert_int_equal(lstat(fixture->path, &found), 0);
		assert_true(S_ISLNK(found.st_mode));
		unlink(fixture->path);
		assert_int_equal(unlink(other), i ? -1 : 0);
	}
}

TEST(test_bad_paths)
{
	char path[200];

	text_fill(path, 'a');
	assert_int_equal(listen_on(path, &d), -ENAMETOOLONG);
	assert_int_equal(listen_on("", &d), -ENAMETOOLONG);
	must_fail(listen_on("/nonexistent/socket", &d), -ENOENT, "/nonexistent");
}

FOLDER_TEST(test_unlink)
{
	int ours __cleanup(closep) = listen_on(fixture->path, &d), theirs __cleanup(closep) = -1;
	const struct stat nobodys = { 0 };
	struct stat bound;

	assert_int_equal(lstat(fixture->path, &bound), 0);
	socket_unlink(fixture->path, &nobodys);
	assert_int_equal(access(fixture->path, F_OK), 0);
	socket_unlink(fixture->path, &bound);
	assert_int_equal(access(fixture->path, F_OK), -1);
	theirs = listen_on(fixture->path, &d);
	assert_true(ours >= 0 && theirs >= 0);
	socket_unlink(fixture->path, &bound);
	assert_int_equal(access(fixture->path, F_OK), 0);
}

static void tcp_address_check(const char *address, int err)
{
	int fd __cleanup(closep) = -1;

	d.text[0] = '\0';
	fd = socket_listen_tcp(address, &d);
	if (err ? fd != -err : fd < 0)
		fail_msg("%s: %d", address, fd);
	assert_int_equal(*d.text != '\0', err != 0);
	/* It is known before anybody listens. */
	assert_int_equal(socket_tcp_check(address, &d), -err);
}

TEST(test_tcp_addresses)
{
	static const struct text_number cases[] = {
		{ "127.0.0.1:0 127.8.9.10:0 0.0.0.0:0", 0 },
		{ "127.0.0.1 127.0.0.1: 127.0.0.1:65536 127.0.0.1:+1 127.0.0.1:1x :9101 9101 "
		  "::1:9101 [::1] []:1 localhost:9101",
		  EINVAL },
	};
	char address[MAX_WORD];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (const char *at = cases[i].text; word_read(&at, address);)
			tcp_address_check(address, (int)cases[i].number);
	}
	tcp_address_check("", EINVAL);
	/* Not every host has these. */
	assert_int_equal(socket_tcp_check("[::1]:0", NULL), 0);
	assert_int_equal(socket_tcp_check("127.8.9.1:65535", NULL), 0);
	assert_all(socket_tcp_is_loopback("127.8.9.1:65535"), socket_tcp_is_loopback("[::1]:1"),
		   !socket_tcp_is_loopback("0.0.0.0:1"), !socket_tcp_is_loopback("[::]:1"),
		   !socket_tcp_is_loopback("192.0.2.1:1"),
		   !socket_tcp_is_loopback("[::ffff:127.0.0.1]:1"),
		   !socket_tcp_is_loopback("nonsense"));
}

/* --- handed over ------------------------------------------------------------------------------ */

enum handed {
	HANDED_SOCKET,
	HANDED_NOT_LISTENING,
	HANDED_DATAGRAM,
	HANDED_FILE,
	HANDED_NOTHING,
	NR_HANDED,
};

static int handed_make(struct ipc_fixture *fixture, enum handed what)
{
	switch (what) {
	case HANDED_SOCKET:
		return listen_on(fixture->path, &d);
	case HANDED_NOT_LISTENING:
		return socket(AF_UNIX, SOCK_STREAM, 0);
	case HANDED_DATAGRAM:
		return socket(AF_UNIX, SOCK_DGRAM, 0);
	case HANDED_FILE:
		return open("/dev/null", O_RDONLY);
	default:
		return -1;
	}
}

/* Hands it to a child as descriptor 3, whose exit status is 0 when all is as expected. */
static int inherit(struct ipc_fixture *fixture, enum handed what, const char *nr, pid_t other,
		   int expected)
{
	const pid_t pid = fork_must();
	int status, fd;
	char number[16];

	if (pid) {
		assert_int_equal(waitpid(pid, &status, 0), pid);
		unlink(fixture->path);
		return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	}
	fd = handed_make(fixture, what);
	if (fd < 0)
		close(3);
	else if (fd != 3)
		dup2(fd, 3);
	sprintf(number, "%d", other ? other : getpid());
	setenv("LISTEN_PID", number, 1);
	setenv("LISTEN_FDS", nr, 1);
	setenv("LISTEN_FDNAMES", "x", 1);
	if (socket_inherited(&d) != expected)
		_exit(1);
	if (getenv("LISTEN_PID") || getenv("LISTEN_FDS") || getenv("LISTEN_FDNAMES"))
		_exit(2);
	if (expected >= 0 && !(fcntl(expected, F_GETFD) & FD_CLOEXEC))
		_exit(3);
	_exit(0);
}

FOLDER_TEST(test_inherited)
{
	static const int expected[NR_HANDED] = { 3, -ENOTSOCK, -ENOTSOCK, -ENOTSOCK, -ENOTSOCK };

	for (int what = 0; what < NR_HANDED; what++)
		assert_int_equal(inherit(fixture, (enum handed)what, "1", 0, expected[what]), 0);
}

FOLDER_TEST(test_not_inherited)
{
	static const char *const numbers[] = { "", "0", "-1", "1x", " 1", "99999999999999999999" };

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		assert_int_equal(inherit(fixture, HANDED_SOCKET, numbers[i], 0, -ENOENT), 0);
	/* They were meant for another. */
	assert_int_equal(inherit(fixture, HANDED_SOCKET, "1", 1, -ENOENT), 0);
	assert_int_equal(inherit(fixture, HANDED_SOCKET, "2", 0, -EINVAL), 0);
	assert_int_equal(inherit(fixture, HANDED_SOCKET, "999999999", 0, -EINVAL), 0);
}

/* --- peers ------------------------------------------------------------------------------------ */

#define SOCKET_GROUP 12345
#define OTHER        23456

static struct ipc_peer peer_of(struct ipc_fixture *fixture, int fd)
{
	raw_say(fd, "GET /peer HTTP/1.1\r\n" CLOSE);
	assert_int_equal(raw_finish(fixture, fd), 200);
	return fixture->last.peer;
}

SERVER_TEST(test_own_peer)
{
	int fd __cleanup(closep) = raw_connect(fixture->path);
	const struct ipc_peer peer = peer_of(fixture, fd);

	assert_true(peer.known);
	assert_has(&peer, uid, geteuid(), gid, getegid());
	assert_true(peer.in_group);
}

/* Connects as another user, hands the connection back, and is gone before it is accepted. */
static int connect_as(struct ipc_fixture *fixture, gid_t gid, const gid_t *groups, size_t nr)
{
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const pid_t pid = fork_must();

	if (!pid) {
		struct sockaddr_un address = raw_address(fixture->path);

		if (setgroups(nr, groups) || setresgid(gid, gid, gid) ||
		    setresuid(OTHER, OTHER, OTHER))
			_exit(1);
		_exit(connect(fd, (struct sockaddr *)&address, sizeof(address)) ? 2 : 0);
	}
	child_must_end(pid);
	return fd;
}

FOLDER_TEST(test_peers)
{
	gid_t many[1000];
	const struct {
		gid_t gid;
		gid_t groups[2];
		bool in_group;
	} cases[] = {
		{ OTHER, { OTHER, OTHER + 1 }, false },
		{ SOCKET_GROUP, { OTHER, OTHER + 1 }, true },
		{ OTHER, { SOCKET_GROUP, OTHER }, true },
		{ OTHER, { OTHER, SOCKET_GROUP }, true },
	};

	need_root("other users");
	server_start(fixture, (struct ipc_server_options){ .group = SOCKET_GROUP });
	assert_int_equal(chmod(fixture->folder, 0755), 0);
	assert_int_equal(chmod(fixture->path, 0666), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int fd __cleanup(closep) = connect_as(fixture, cases[i].gid, cases[i].groups, 2);
		const struct ipc_peer peer = peer_of(fixture, fd);

		assert_true(peer.known);
		assert_has(&peer, uid, OTHER, gid, cases[i].gid, in_group, cases[i].in_group);
	}
	/* More than fit where there is room for the usual number. */
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = 30000 + (gid_t)i;
	for (int last = 0; last < 2; last++) {
		int fd __cleanup(closep) = -1;

		many[ARRAY_SIZE(many) - 1] = last ? SOCKET_GROUP : OTHER;
		fd = connect_as(fixture, OTHER, many, ARRAY_SIZE(many));
		assert_int_equal(peer_of(fixture, fd).in_group, last);
	}
}

/* Users who may not use it are told so. */
SERVER_TEST(test_not_allowed)
{
	struct ipc_reply reply;
	struct ipc_url url;
	pid_t pid;

	need_root("other users");
	assert_int_equal(chmod(fixture->folder, 0755), 0);
	pid = fork();
	if (!pid) {
		char expected[256];

		snprintf(expected, sizeof(expected),
			 "permission denied for %s: be root or in its group", fixture->path);
		if (setgroups(0, NULL) || setresgid(OTHER, OTHER, OTHER) ||
		    setresuid(OTHER, OTHER, OTHER))
			_exit(1);
		ipc_url_init(&url, "/");
		if (ipc_call(fixture->path, "GET", &url, NULL, &reply, &d) != -EACCES)
			_exit(2);
		_exit(strcmp(d.text, expected) ? 3 : 0);
	}
	child_must_end(pid);
}

static void name_check(const struct sockaddr_un *address, socklen_t size, const char *expected)
{
	int fd __cleanup(closep) = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char name[SOCKET_NAME_SIZE] = "x";

	assert_int_equal(bind(fd, (const struct sockaddr *)address, size), 0);
	socket_name(fd, name, sizeof(name));
	assert_string_equal(name, expected);
}

/* A path may fill sun_path without a NUL; an abstract name has no end but its length. */
FOLDER_TEST(test_name)
{
	const size_t before = offsetof(struct sockaddr_un, sun_path);
	struct sockaddr_un address = raw_address(fixture->path);
	char name[SOCKET_NAME_SIZE] = "x";
	int fd __cleanup(closep) = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	socket_name(fd, name, sizeof(name));
	assert_string_equal(name, "");
	socket_name(-1, name, sizeof(name));
	assert_string_equal(name, "");
	name_check(&address, sizeof(address), fixture->path);
	unlink(fixture->path);
	snprintf(name, sizeof(name), "%s/", fixture->folder);
	memset(name + strlen(name), 'a', sizeof(name) - 1 - strlen(name));
	name[sizeof(name) - 1] = '\0';
	memcpy(address.sun_path, name, sizeof(address.sun_path));
	name_check(&address, sizeof(address), name);
	unlink(name);
	sprintf(address.sun_path + 1, "bpftruss-test-%d", getpid());
	address.sun_path[0] = '\0';
	snprintf(name, sizeof(name), "@bpftruss-test-%d", getpid());
	name_check(&address, (socklen_t)(before + strlen(name)), name);
}
