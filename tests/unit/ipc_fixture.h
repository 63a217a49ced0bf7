/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Serves the tests of src/ipc: a folder, a server with a handler that tells what it was asked, and
 * a raw client in the same process, so that each byte is under control. Nothing here waits for a
 * clock to pass but for what must happen.
 */
#pragma once

#include "test.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "ipc/client.h"
#include "ipc/server.h"
#include "ipc/socket.h"

/* Nothing here takes this long unless it hangs. */
#define HANG_NS (60 * NS_PER_SEC)

struct ipc_fixture {
	char folder[TEMPORARY_SIZE];
	char path[TEMPORARY_SIZE + sizeof("/socket")];
	struct ipc_server *server;
	unsigned int asked;      /* times that the handler was called */
	unsigned int crowded;    /* times that it answered 503 for that */
	struct ipc_request last; /* but for its strings */
	char text[8 * 1024];     /* the last request in one line */
	size_t answer_bytes;     /* of an answer to /large */
	unsigned int still_busy; /* times that /busy answers 503 */
	int work_ms;             /* that /work takes */
	int wait_ms;             /* that /wait is put off */
	char reply[2 << 20];     /* the last one, with its head */
};

/* Byte i of a large answer. */
static inline char large_byte(size_t i)
{
	return (char)('a' + (i * 31 + i / 251) % 26);
}

static inline void answer_large(struct ipc_answer *answer, size_t size)
{
	answer->body = malloc(size);
	for (size_t i = 0; i < size; i++)
		answer->body[i] = large_byte(i);
	answer->size = size;
}

/* Puts off what is dear while the budget is spent, as the daemon does. */
static inline bool is_put_off(struct ipc_fixture *fixture, const struct ipc_request *request,
			      struct ipc_answer *answer)
{
	const bool is_dear = !strcmp(request->path, "/work") || !strcmp(request->path, "/large");

	if (!is_dear || !request->is_crowded)
		return false;
	fixture->crowded++;
	ipc_answer_error(answer, 503, "a crowd");
	return true;
}

/* Puts /wait off once, if there is room. */
static inline bool is_to_wait(const struct ipc_fixture *fixture, const struct ipc_request *request,
			      struct ipc_answer *answer)
{
	if (strcmp(request->path, "/wait") != 0 || request->note)
		return false;
	if (request->may_wait) {
		answer->wait_until_ns = clock_mono_ns() + (uint64_t)fixture->wait_ms * NS_PER_MS;
		answer->note = 4711;
	} else {
		ipc_answer_error(answer, 503, "too many wait");
	}
	return true;
}

/* Answers METHOD PATH|name=value|... to anything but /large, /busy and /nothing. */
static inline void fixture_handle(void *closure, const struct ipc_request *request,
				  struct ipc_answer *answer)
{
	struct ipc_fixture *fixture = closure;
	char *out = fixture->text;

	fixture->asked++;
	fixture->last = *request;
	out += sprintf(out, "%s %s", request->method, request->path);
	for (size_t i = 0; i < request->nr_parameters; i++)
		out += sprintf(out, "|%s=%s", request->parameters[i].name,
			       request->parameters[i].value);
	if (is_put_off(fixture, request, answer) || is_to_wait(fixture, request, answer))
		return;
	answer->status = 200;
	answer->content_type = "text/plain";
	if (!strcmp(request->path, "/work"))
		poll(NULL, 0, fixture->work_ms);
	if (!strcmp(request->path, "/nothing"))
		return;
	if (!strcmp(request->path, "/large")) {
		answer_large(answer, fixture->answer_bytes);
	} else if (!strcmp(request->path, "/busy") && fixture->still_busy) {
		fixture->still_busy--;
		ipc_answer_error(answer, 503, "not yet");
	} else if (!strcmp(request->path, "/error")) {
		ipc_answer_error(answer, 404, ipc_parameter(request, "say"));
	} else {
		answer->body = strdup(fixture->text);
		answer->size = strlen(fixture->text);
	}
}

static inline int folder_setup(void **state)
{
	struct ipc_fixture *fixture = calloc(1, sizeof(*fixture));

	temporary_name(fixture->folder);
	assert_non_null(mkdtemp(fixture->folder));
	sprintf(fixture->path, "%s/socket", fixture->folder);
	fixture->answer_bytes = 1 << 20;
	*state = fixture;
	return 0;
}

static inline int folder_teardown(void **state)
{
	struct ipc_fixture *fixture = *state;

	ipc_server_free(fixture->server);
	unlink(fixture->path);
	assert_int_equal(rmdir(fixture->folder), 0);
	free(fixture);
	return 0;
}

/* Starts the server with options, of which the handler is ours. */
static inline void server_start(struct ipc_fixture *fixture, struct ipc_server_options options)
{
	int fd = socket_listen_unix(fixture->path, getegid(), &d);

	assert_true(fd >= 0);
	options.handler = fixture_handle;
	options.closure = fixture;
	assert_int_equal(ipc_server_new(fd, &options, &fixture->server, &d), 0);
}

static inline int server_setup(void **state)
{
	folder_setup(state);
	server_start(*state, (struct ipc_server_options){ .group = getegid() });
	return 0;
}

/* The server has counted so much: assert_counted(fixture, requests, 1, refused, 0). */
#define assert_counted(fixture, ...) assert_has(ipc_server_counts((fixture)->server), __VA_ARGS__)

/* --- a raw client ----------------------------------------------------------------------------- */

static inline struct sockaddr_un raw_address(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	strcpy(address.sun_path, path);
	return address;
}

static inline int raw_connect(const char *path)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const struct sockaddr_un address = raw_address(path);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* Bytes that the server has not yet taken when it hangs up are nobody's loss. */
static inline void raw_send(int fd, const void *bytes, size_t size)
{
	ssize_t n = send(fd, bytes, size, MSG_NOSIGNAL);

	assert_true(n == (ssize_t)size || errno == EPIPE || errno == ECONNRESET);
}

static inline void raw_say(int fd, const char *text)
{
	raw_send(fd, text, strlen(text));
}

/* A connection on which text is said. */
static inline int raw_begin(const struct ipc_fixture *fixture, const char *text)
{
	int fd = raw_connect(fixture->path);

	raw_say(fd, text);
	return fd;
}

/*
 * Lets the server do what is to be done, waiting for it, or for fd, at most wait_ms. It runs as in
 * a daemon: when its descriptor is readable or its patience is over, and never else.
 */
static inline void server_step(struct ipc_fixture *fixture, int fd, int wait_ms)
{
	struct pollfd fds[] = { { .fd = ipc_server_fd(fixture->server), .events = POLLIN },
				{ .fd = fd, .events = POLLIN } };
	const int patience_ms = ipc_server_patience_ms(fixture->server);
	const bool is_patient = patience_ms < 0 || patience_ms > wait_ms;

	assert_true(poll(fds, 2, is_patient ? wait_ms : patience_ms) >= 0);
	if (fds[0].revents || (!is_patient && !fds[1].revents))
		ipc_server_run(fixture->server);
}

/* Waits until the handler was called so many times. */
static inline void server_wait(struct ipc_fixture *fixture, unsigned int asked)
{
	while (fixture->asked < asked)
		server_step(fixture, -1, 100);
}

/* All that has come, up to size - 1 bytes, when the server hangs up or says until. */
static inline size_t raw_read(struct ipc_fixture *fixture, int fd, char *buf, size_t size,
			      const char *until)
{
	const uint64_t start = clock_mono_ns();
	size_t used = 0;

	for (;;) {
		ssize_t n = recv(fd, buf + used, size - 1 - used, MSG_DONTWAIT);

		assert_true(clock_mono_ns() - start < HANG_NS);
		if (n > 0)
			used += (size_t)n;
		buf[used] = '\0';
		if (!n || used == size - 1 || (n < 0 && errno == ECONNRESET))
			return used;
		if (until && strstr(buf, until))
			return used;
		if (n < 0)
			server_step(fixture, fd, 100);
	}
}

/* The status of the last reply; 0 when there is none. */
static inline unsigned int raw_status(const struct ipc_fixture *fixture)
{
	unsigned int status = 0;

	return sscanf(fixture->reply, "HTTP/1.1 %u", &status) == 1 ? status : 0;
}

static inline const char *raw_body(const struct ipc_fixture *fixture)
{
	const char *end = strstr(fixture->reply, "\r\n\r\n");

	assert_non_null(end);
	return end + 4;
}

/* Reads until the server hangs up; the status of the reply. */
static inline unsigned int raw_finish(struct ipc_fixture *fixture, int fd)
{
	raw_read(fixture, fd, fixture->reply, sizeof(fixture->reply), NULL);
	return raw_status(fixture);
}

/* Sends one request on a connection of its own; returns the status of the reply. */
static inline unsigned int raw_ask(struct ipc_fixture *fixture, const char *request)
{
	int fd __cleanup(closep) = raw_begin(fixture, request);

	return raw_finish(fixture, fd);
}

static inline void need_root(const char *why)
{
	if (!geteuid())
		return;
	print_message("needs root: %s\n", why);
	skip();
}

#define HOST  "Host: localhost\r\n"
#define CLOSE HOST "Connection: close\r\n\r\n"

#define SERVER_TEST(name) \
	TEST_WITH(name, struct ipc_fixture *fixture, server_setup, folder_teardown)
#define FOLDER_TEST(name) \
	TEST_WITH(name, struct ipc_fixture *fixture, folder_setup, folder_teardown)

/* Begins a test of a server with these options. */
#define OPTIONS_TEST(name, ...)                                                    \
	static void name##_of(struct ipc_fixture *fixture);                        \
	FOLDER_TEST(name)                                                          \
	{                                                                          \
		server_start(fixture, (struct ipc_server_options){ __VA_ARGS__ }); \
		name##_of(fixture);                                                \
	}                                                                          \
	static void name##_of(struct ipc_fixture *fixture)

/* --- a server in another process -------------------------------------------------------------- */

/* Serves until the pipe is closed. */
static inline void child_serve(struct ipc_fixture *fixture, int pipe_fd)
{
	for (;;) {
		struct pollfd fds[] = { { .fd = ipc_server_fd(fixture->server), .events = POLLIN },
					{ .fd = pipe_fd, .events = POLLIN } };

		poll(fds, 2, ipc_server_patience_ms(fixture->server));
		if (fds[1].revents)
			_exit(0);
		ipc_server_run(fixture->server);
	}
}

struct ipc_child {
	pid_t pid;
	int pipe;
};

/* The parent's copy of the server stays and must not be run. */
static inline struct ipc_child child_start(struct ipc_fixture *fixture)
{
	struct ipc_child child;
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	child.pid = fork_must();
	if (!child.pid) {
		close(ends[1]);
		child_serve(fixture, ends[0]);
	}
	close(ends[0]);
	child.pipe = ends[1];
	return child;
}

static inline void child_end(struct ipc_child *child)
{
	close(child->pipe);
	child_must_end(child->pid);
}
