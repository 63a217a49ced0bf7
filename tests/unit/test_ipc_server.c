/* SPDX-License-Identifier: BSD-2-Clause */
/* What the HTTP server answers, refuses and counts, byte by byte. */
#include "ipc_fixture.h"

#include <arpa/inet.h>
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
	assert_counted(fixture, requests, 1);
	assert_counted(fixture, malformed, 0);
	assert_counted(fixture, refused, 0);
	assert_counted(fixture, pending_bytes, 0);
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

/* As long as the answer to GET would be, without a byte of it. */
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
	assert_int_equal(fixture->asked, 1);
	assert_int_equal(fixture->last.nr_parameters, IPC_MAX_PARAMETERS);
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

/* What is longer than a request may be: in its first line, in a header, in many of them. */
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
		char reply[16 * 1024];
		char *out = stpcpy(request, cases[i].before);

		for (size_t n = 0; n < cases[i].bytes; n += strlen(cases[i].repeated))
			out = stpcpy(out, cases[i].repeated);
		strcpy(out, cases[i].behind);
		raw_ask(fixture, request);
		if (raw_status(fixture) != cases[i].status)
			fail_msg("case %zu: %.40s", i, reply);
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

static int tcp_connect(const struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)address, sizeof(*address)), 0);
	return fd;
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
		int fd __cleanup(closep) = tcp_connect(&address);

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
