/* SPDX-License-Identifier: BSD-2-Clause */
/* The client with our server, and with servers that mean it no good. */
#include "ipc_fixture.h"

#include <netinet/in.h>
#include <sys/time.h>

/* --- with our server -------------------------------------------------------------------------- */

static int ask_url(struct ipc_fixture *fixture, const char *method, struct ipc_url *url,
		   struct ipc_reply *reply)
{
	struct ipc_child child __cleanup(child_end) = child_start(fixture);

	(void)child;
	return ipc_call(fixture->path, method, url, NULL, reply, &d);
}

/* Asks without starting a server of ours. */
static int ask_path(const char *socket_path, const struct ipc_patience *patience,
		    struct ipc_reply *reply)
{
	struct ipc_url url;

	ipc_url_init(&url, "/");
	return ipc_call(socket_path, "GET", &url, patience, reply, &d);
}

static int ask(struct ipc_fixture *fixture, const char *method, const char *path,
	       struct ipc_reply *reply)
{
	struct ipc_url url;

	ipc_url_init(&url, path);
	return ask_url(fixture, method, &url, reply);
}

SERVER_TEST(test_call)
{
	static const char *const methods[] = { "GET", "PUT", "DELETE" };

	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		char text[16];
		__cleanup(ipc_reply_done) struct ipc_reply reply = { 0 };

		snprintf(text, sizeof(text), "%s /a", methods[i]);
		assert_int_equal(ask(fixture, methods[i], "/a", &reply), 0);
		assert_has(&reply, status, 200, size, strlen(text));
		assert_string_equal(reply.body, text);
	}
}

/* Bytes that mean something to HTTP, to a shell or to nobody come back as they were. */
SERVER_TEST(test_round_trip)
{
	static const char *const hostile[] = {
		"",
		"a b",
		"a+b",
		"%41%",
		"a&b=c?d#e/f",
		"../../etc/passwd",
		"\"'\\$(reboot)`;|<>",
		"\xff\xfe\x80",
		"caf\xc3\xa9 \xe2\x80\xae",
	};
	char expected[1024] = "GET /a b%?#&";
	__cleanup(ipc_reply_done) struct ipc_reply reply = { 0 };
	struct ipc_url url;

	ipc_url_init(&url, "/a b%?#&");
	for (size_t i = 0; i < ARRAY_SIZE(hostile); i++) {
		ipc_url_add(&url, "name", hostile[i]);
		sprintf(expected + strlen(expected), "|name=%s", hostile[i]);
	}
	ipc_url_add(&url, "odd=&name", "x");
	strcat(expected, "|odd=&name=x");
	assert_int_equal(ask_url(fixture, "GET", &url, &reply), 0);
	assert_string_equal(reply.body, expected);
}

SERVER_TEST(test_large)
{
	__cleanup(ipc_reply_done) struct ipc_reply reply = { 0 };

	fixture->answer_bytes = 20 << 20;
	assert_int_equal(ask(fixture, "GET", "/large", &reply), 0);
	assert_int_equal(reply.size, fixture->answer_bytes);
	for (size_t i = 0; i < reply.size; i++)
		if (reply.body[i] != large_byte(i))
			fail_msg("byte %zu differs", i);
	assert_int_equal(reply.body[reply.size], '\0');
}

SERVER_TEST(test_busy_then_not)
{
	__cleanup(ipc_reply_done) struct ipc_reply reply = { 0 };

	fixture->still_busy = 3;
	assert_int_equal(ask(fixture, "GET", "/busy", &reply), 0);
	assert_string_equal(reply.body, "GET /busy");
}

static pid_t customer_start(const struct ipc_fixture *fixture)
{
	pid_t pid = fork_must();

	if (!pid) {
		struct ipc_reply reply = { 0 };
		struct ipc_url url;

		ipc_url_init(&url, "/large");
		_exit(ipc_call(fixture->path, "GET", &url, NULL, &reply, &d) ||
		      reply.size != fixture->answer_bytes);
	}
	return pid;
}

/* There is room for one answer at a time, but all get theirs in the end. */
FOLDER_TEST(test_crowd)
{
	struct ipc_child child __cleanup(child_end);
	pid_t customers[50];

	server_start(fixture,
		     (struct ipc_server_options){ .max_pending_bytes = 1000, .budget_ms = 1 });
	child = child_start(fixture);
	for (size_t i = 0; i < ARRAY_SIZE(customers); i++)
		customers[i] = customer_start(fixture);
	for (size_t i = 0; i < ARRAY_SIZE(customers); i++)
		child_must_end(customers[i]);
}

static void alarm_take(int number)
{
	(void)number;
}

/* A signal while the answer is made, as when we are stopped and go on, is no end of it. */
FOLDER_TEST(test_interrupted)
{
	const struct sigaction action = { .sa_handler = alarm_take };
	const struct itimerval often = { { 0, 10000 }, { 0, 10000 } }, never = { 0 };
	struct ipc_url url;
	__cleanup(ipc_reply_done) struct ipc_reply reply = { 0 };
	struct sigaction before;
	struct ipc_child child;
	int err;

	fixture->work_ms = 300;
	server_start(fixture, (struct ipc_server_options){ 0 });
	child = child_start(fixture);
	ipc_url_init(&url, "/work");
	assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	err = ipc_call(fixture->path, "GET", &url, NULL, &reply, &d);
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
	child_end(&child);
	if (err)
		fail_msg("%s", d.text);
	assert_string_equal(reply.body, "GET /work");
}

/* A daemon takes what is not too long, and is not asked the rest. */
SERVER_TEST(test_long_url)
{
	struct ipc_url url;
	struct ipc_reply reply = { 0 };
	char value[IPC_URL_BYTES];

	memset(value, 'a', sizeof(value));
	value[sizeof(value) - strlen("/?v=")] = '\0';
	ipc_url_init(&url, "/");
	ipc_url_add(&url, "v", value);
	must(ask_url(fixture, "GET", &url, &reply));
	ipc_reply_done(&reply);
	ipc_url_add(&url, "v", "");
	assert_int_equal(ask_url(fixture, "GET", &url, &reply), -E2BIG);
}

/* The user reads an error's sentence, but no byte of it controls the terminal. */
SERVER_TEST(test_error)
{
	struct ipc_url url;
	struct ipc_reply reply = { 0 };

	ipc_url_init(&url, "/error");
	ipc_url_add(&url, "say", "no \"baseline\" of that name \\ caf\xc3\xa9");
	assert_int_equal(ask_url(fixture, "GET", &url, &reply), -ENODATA);
	assert_string_equal(d.text, "no \"baseline\" of that name \\ caf\\xc3\\xa9");
	assert_null(reply.body);
}

/* --- no server -------------------------------------------------------------------------------- */

static void assert_start_it(const struct ipc_fixture *fixture, int err)
{
	struct ipc_reply reply;
	char expected[512];

	snprintf(expected, sizeof(expected),
		 "no daemon answers at %s: start it with 'systemctl start bpftruss' or 'bpftruss "
		 "daemon', or give its --socket",
		 fixture->path);
	assert_int_equal(ask_path(fixture->path, NULL, &reply), -err);
	assert_string_equal(d.text, expected);
}

FOLDER_TEST(test_no_daemon)
{
	int fd;

	assert_start_it(fixture, ENOENT);
	fd = socket_listen_unix(fixture->path, getegid(), &d);
	assert_true(fd >= 0);
	close(fd);
	assert_start_it(fixture, ECONNREFUSED);
}

TEST(test_long_path)
{
	char path[200];
	struct ipc_reply reply;

	text_fill(path, 'a');
	assert_int_equal(ask_path(path, NULL, &reply), -ENAMETOOLONG);
}

/* --- hostile servers -------------------------------------------------------------------------- */

/* Sends bytes to whoever comes, and hangs up; until it is killed. */
static pid_t liar_start(int listener, const char *bytes, size_t size)
{
	pid_t pid = fork_must();

	if (pid)
		return pid;
	for (;;) {
		struct pollfd ready = { .fd = listener, .events = POLLIN };
		char request[1024];
		int fd;

		poll(&ready, 1, -1);
		fd = accept(listener, NULL, NULL);
		if (fd < 0)
			continue;
		if (size && recv(fd, request, sizeof(request), 0) > 0)
			send(fd, bytes, size, MSG_NOSIGNAL);
		close(fd);
	}
}

struct lie {
	const char *bytes;
	int err;
	const char *sentence; /* NULL: any */
};

static void lie_check(struct ipc_fixture *fixture, const struct lie *lie)
{
	__cleanup(ipc_reply_done) struct ipc_reply reply = { 0 };
	int listener __cleanup(closep) = socket_listen_unix(fixture->path, getegid(), &d);
	pid_t pid = liar_start(listener, lie->bytes, strlen(lie->bytes));
	const struct ipc_patience patience = { .silence_ms = HANG_NS / NS_PER_MS, .busy_ms = 300 };
	int err;

	d.text[0] = 0;
	err = ask_path(fixture->path, &patience, &reply);
	child_kill(pid);
	unlink(fixture->path);
	if (err != -lie->err || (lie->sentence && strcmp(d.text, lie->sentence)))
		fail_msg("%.60s: %d, %s", lie->bytes, err, d.text);
	assert_int_equal(!err, reply.body != NULL);
}

#define OK     "HTTP/1.1 200 OK\r\n"
#define BROKEN "the daemon ended its answer early: try again, or see its log"

FOLDER_TEST(test_lies)
{
	static const struct lie lies[] = {
		{ OK "\r\nall", EPROTO, NULL },
		{ OK "Content-Length: 3\r\n\r\nallandmore", 0, NULL },
		{ OK "content-length:3 \r\n\r\nall", 0, NULL },
		{ OK "Content-Length: 0\r\n\r\n", 0, NULL },
		{ "HTTP/1.1 200\r\ncontent-length:0\r\n\r\n", 0, NULL },
		{ "", EPROTO, BROKEN },
		{ "HTTP/1.1 200 O", EPROTO, NULL },
		{ OK "Content-Length: 3", EPROTO, NULL },
		{ OK "Content-Length: 4\r\n\r\nall", EPROTO, BROKEN },
		{ OK "Content-Length: 1073741824\r\n\r\nall", EPROTO, BROKEN },
		{ OK "Content-Length: 1073741825\r\n\r\nall", EFBIG, NULL },
		{ OK "Content-Length: 18446744073709551619\r\n\r\nall", EFBIG, NULL },
		{ OK "Content-Length: 99999999999999999999999999\r\n\r\n", EFBIG, NULL },
		{ OK "Content-Length: -3\r\n\r\nall", EPROTO, NULL },
		{ "HTTP/1.1 100 Continue\r\n\r\n", EPROTO, NULL },
		{ "HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n", EREMOTEIO, NULL },
		{ "HTTP/1.1 OK\r\n\r\n", EPROTO, NULL },
		{ "HTTP/1.0 200 OK\r\n\r\n", EPROTO, NULL },
		{ "SSH-2.0-OpenSSH\r\n\r\n", EPROTO, NULL },
		{ "\r\n\r\n", EPROTO, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(lies); i++)
		lie_check(fixture, &lies[i]);
}

/* An error of a status with a body. */
static void error_check(struct ipc_fixture *fixture, unsigned int status, const struct lie *lie)
{
	char reply[4096];

	snprintf(reply, sizeof(reply), "HTTP/1.1 %u No\r\nContent-Length: %zu\r\n\r\n%s", status,
		 strlen(lie->bytes), lie->bytes);
	lie_check(fixture, &(struct lie){ reply, lie->err, lie->sentence });
}

FOLDER_TEST(test_error_lies)
{
	static const struct lie lies[] = {
		{ "{\"error\": \"\\u001b]0;x\\u0007\\u2028 \\n\"}", EREMOTEIO,
		  "\\u001b]0;x\\u0007\\u2028 \\n" },
		{ "{\"error\": \"\x1b[2J\x9b\"}", EREMOTEIO, "?[2J?" },
		{ "\x1b[2J plain\nmore\n", EREMOTEIO, "?[2J plain" },
		{ "{\"error\": \"no end", EREMOTEIO, "no end" },
		{ "{\"error\": \"end \\", EREMOTEIO, "end \\" },
		{ "{\"error\": 7}", EREMOTEIO, "{\"error\": 7}" },
		{ "", EREMOTEIO, "the daemon answers with status 500 and no message: see its log" },
		{ "{\"error\": \"\"}", EREMOTEIO,
		  "the daemon answers with status 500 and no message: see its log" },
	};
	static const struct {
		unsigned int status;
		int err;
	} meanings[] = { { 400, EINVAL },     { 403, EPERM },     { 404, ENODATA }, { 413, E2BIG },
			 { 501, EOPNOTSUPP }, { 302, EREMOTEIO }, { 503, EBUSY } };

	for (size_t i = 0; i < ARRAY_SIZE(lies); i++)
		error_check(fixture, 500, &lies[i]);
	for (size_t i = 0; i < ARRAY_SIZE(meanings); i++)
		error_check(fixture, meanings[i].status,
			    &(struct lie){ "{\"error\": \"x\"}", meanings[i].err, "x" });
}

/* A sentence of any length fits. */
FOLDER_TEST(test_long_sentence)
{
	char bytes[4 * sizeof(((struct diag *)NULL)->text)] = "";

	memset(bytes, 'a', sizeof(bytes) - 1);
	error_check(fixture, 500, &(struct lie){ bytes, EREMOTEIO, NULL });
}

/* A daemon that has said something, and then no more. */
FOLDER_TEST(test_silence)
{
	static const char *const texts[] = { "", OK, OK "Content-Length: 9\r\n\r\n12345678" };
	const struct ipc_patience patience = { .silence_ms = 20 };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct ipc_reply reply;
		int listener __cleanup(closep) = socket_listen_unix(fixture->path, getegid(), &d);
		pid_t pid = fork_must();

		if (!pid) {
			poll(&(struct pollfd){ .fd = listener, .events = POLLIN }, 1, -1);
			raw_say(accept(listener, NULL, NULL), texts[i]);
			pause();
		}
		assert_int_equal(ask_path(fixture->path, &patience, &reply), -ETIMEDOUT);
		child_kill(pid);
		unlink(fixture->path);
	}
}

/* --- another host ----------------------------------------------------------------------------- */

/* Listens on loopback, for one connection that nobody accepts. */
static int listen_deaf(struct sockaddr_in *address)
{
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(*address);

	*address = (struct sockaddr_in){ .sin_family = AF_INET,
					 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	assert_int_equal(bind(listener, (struct sockaddr *)address, size), 0);
	assert_int_equal(listen(listener, 0), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)address, &size), 0);
	return listener;
}

/* Asks a host that says nothing. */
static void deaf_check(const struct sockaddr_in *address, const char *scheme, const char *sentence)
{
	__cleanup(remote_freep) struct remote *remote = NULL;
	const struct ipc_patience patience = { .silence_ms = 20 };
	struct ipc_reply reply;
	struct ipc_url url;
	char text[64];

	snprintf(text, sizeof(text), "%s://127.0.0.1:%u", scheme, ntohs(address->sin_port));
	must(remote_new(&(struct remote_options){ .url = text }, &remote, &d));
	ipc_url_init(&url, "/");
	assert_int_equal(ipc_call_remote(remote, "GET", &url, &patience, &reply, &d), -ETIMEDOUT);
	if (!strstr(d.text, sentence))
		fail_msg("%s", d.text);
}

TEST(test_no_reply)
{
	struct sockaddr_in address;
	int listener __cleanup(closep) = listen_deaf(&address);

	(void)listener;
	deaf_check(&address, "http", "has not answered for");
}

TEST(test_no_handshake)
{
	struct sockaddr_in address;
	int listener __cleanup(closep) = listen_deaf(&address);

	(void)listener;
	if (access("/etc/ssl/certs/ca-certificates.crt", R_OK))
		skip(); /* a client without any CA does not even connect */
	deaf_check(&address, "https", "it does not answer");
}

/* The kernel drops what asks for a connection when the queue is full. */
TEST(test_no_connection)
{
	struct sockaddr_in address;
	int listener __cleanup(closep) = listen_deaf(&address);
	int first __cleanup(closep) = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)listener;
	assert_int_equal(connect(first, (struct sockaddr *)&address, sizeof(address)), 0);
	deaf_check(&address, "http", "no daemon answers at 127.0.0.1:");
	assert_non_null(strstr(d.text, "Connection timed out"));
}
