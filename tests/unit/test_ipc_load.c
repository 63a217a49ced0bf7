/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests what many, slow and hostile clients make the server hold, and whether others are served. */
#include "ipc_fixture.h"

#include <sys/resource.h>

#define CROWD 400
#define LARGE "GET /large HTTP/1.1\r\n" HOST "\r\n"

/* Both ends of a crowd are in this process. */
static void descriptors_allow(void)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_cur >= 4 * CROWD)
		return;
	limit.rlim_cur = limit.rlim_max < 4 * CROWD ? limit.rlim_max : 4 * CROWD;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void assert_served(struct ipc_fixture *fixture)
{
	assert_int_equal(raw_ask(fixture, "GET /alive HTTP/1.1\r\n" CLOSE), 200);
	assert_string_equal(raw_body(fixture), "GET /alive");
}

static void clients_wait(struct ipc_fixture *fixture, unsigned int nr)
{
	const uint64_t start = clock_mono_ns();

	while (ipc_server_counts(fixture->server)->clients != nr) {
		assert_true(clock_mono_ns() - start < HANG_NS);
		server_step(fixture, -1, 100);
	}
}

/* Clients that say text, or nothing, and then no more. */
static void crowd_open(struct ipc_fixture *fixture, int *fds, size_t nr, const char *text)
{
	for (size_t i = 0; i < nr; i++) {
		fds[i] = raw_begin(fixture, text);
		server_step(fixture, -1, 0);
	}
	clients_wait(fixture, (unsigned int)nr);
}

static void crowd_close(int *fds, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		close(fds[i]);
}

/* --- answers that are put off ------------------------------------------------------------------ */

#define WAIT "GET /wait?for=it HTTP/1.1\r\n" CLOSE

static void waiting_wait(struct ipc_fixture *fixture, unsigned int nr)
{
	const uint64_t start = clock_mono_ns();

	while (ipc_server_counts(fixture->server)->waiting != nr) {
		assert_true(clock_mono_ns() - start < HANG_NS);
		server_step(fixture, -1, 100);
	}
}

/* Others are served meanwhile; the handler is asked the same again, with its note. */
SERVER_TEST(test_put_off)
{
	int fd __cleanup(closep) = -1;

	fixture->wait_ms = 300;
	fd = raw_begin(fixture, WAIT);
	waiting_wait(fixture, 1);
	assert_served(fixture);
	assert_counted(fixture, waiting, 1, requests, 2);
	assert_int_equal(raw_finish(fixture, fd), 200);
	assert_string_equal(raw_body(fixture), "GET /wait|for=it");
	assert_has(fixture, asked, 3, last.note, 4711);
	assert_counted(fixture, waiting, 0, requests, 2, pending_bytes, 0);
}

/* Its time does not count towards patience and lifetime, which begin anew. */
OPTIONS_TEST(test_put_off_longer_than_a_life, .lifetime_s = 1, .patience_s = 1)
{
	fixture->wait_ms = 1600;
	assert_int_equal(raw_ask(fixture, WAIT), 200);
	assert_string_equal(raw_body(fixture), "GET /wait|for=it");
}

/* A client that leaves makes room for the next. */
OPTIONS_TEST(test_put_off_too_many, .max_waiting = 2)
{
	int fds[2];

	fixture->wait_ms = 1 << 20;
	fds[0] = raw_begin(fixture, WAIT);
	fds[1] = raw_begin(fixture, WAIT);
	waiting_wait(fixture, 2);
	assert_int_equal(raw_ask(fixture, WAIT), 503);
	close(fds[0]);
	waiting_wait(fixture, 1);
	fds[0] = raw_begin(fixture, WAIT);
	waiting_wait(fixture, 2);
	crowd_close(fds, 2);
	waiting_wait(fixture, 0);
	clients_wait(fixture, 0);
}

/* A server can end while somebody waits. */
SERVER_TEST(test_end_while_put_off)
{
	int fd __cleanup(closep) = -1;

	fixture->wait_ms = 1 << 20;
	fd = raw_begin(fixture, WAIT);
	waiting_wait(fixture, 1);
	ipc_server_free(steal_ptr(&fixture->server));
}

/* --- crowds ------------------------------------------------------------------------------------- */

SERVER_TEST(test_half_requests)
{
	static const char *const halves[] = { "", "G", "GET /", "GET / HTTP/1.1\r\nHos",
					      "GET / HTTP/1.1\r\nHost: localhost\r\n" };
	int fds[CROWD];

	descriptors_allow();
	for (size_t i = 0; i < ARRAY_SIZE(halves); i++) {
		crowd_open(fixture, fds, CROWD, halves[i]);
		assert_served(fixture);
		assert_counted(fixture, clients, CROWD);
		crowd_close(fds, CROWD);
		clients_wait(fixture, 0);
	}
	assert_int_equal(fixture->asked, ARRAY_SIZE(halves));
}

/* The test runs in a child, whose limits are its own. */
FOLDER_TEST(test_limit_raised)
{
	const pid_t pid = fork_must();
	struct rlimit limit;

	if (!pid) {
		if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_max <= 100)
			_exit(2);
		limit.rlim_cur = 100;
		if (setrlimit(RLIMIT_NOFILE, &limit))
			_exit(3);
		server_start(fixture, (struct ipc_server_options){ 0 });
		_exit(getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur != limit.rlim_max);
	}
	child_must_end(pid);
}

/* Two servers take a third each, so that as much is left for all else. */
FOLDER_TEST(test_share_of_descriptors)
{
	const struct rlimit few = { 300, 300 };
	const pid_t pid = fork_must();

	if (!pid) {
		if (setrlimit(RLIMIT_NOFILE, &few))
			_exit(2);
		server_start(fixture, (struct ipc_server_options){ 0 });
		for (int i = 0; i < 120; i++) {
			raw_connect(fixture->path);
			server_step(fixture, -1, 0);
		}
		for (int i = 0; i < 10; i++)
			server_step(fixture, -1, 10);
		_exit(ipc_server_counts(fixture->server)->clients != 100);
	}
	child_must_end(pid);
}

/* The server closes what it was given, as it says. */
TEST(test_no_listener)
{
	const struct ipc_server_options options = { 0 };
	struct ipc_server *server;
	int fd = memfd_create("no socket", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ipc_server_new(fd, &options, &server, &d), -EIO);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

/* They ask for more than the kernel holds for them, and do not read. */
OPTIONS_TEST(test_slow_readers, .max_pending_bytes = CROWD * (256UL << 10),
	     .budget_ms = HANG_NS / NS_PER_MS)
{
	int fds[CROWD];

	descriptors_allow();
	fixture->answer_bytes = 256 << 10;
	crowd_open(fixture, fds, CROWD, LARGE);
	server_wait(fixture, CROWD);
	assert_counted(fixture, pending_bytes, CROWD * fixture->answer_bytes);
	assert_served(fixture);
	crowd_close(fds, CROWD);
	clients_wait(fixture, 0);
	assert_counted(fixture, pending_bytes, 0, refused, 0);
}

/* Neither half a request nor half an answer is waited for longer than that, and the share of work. */
OPTIONS_TEST(test_patience, .patience_s = 2, .max_pending_bytes = 1000)
{
	static const char *const texts[] = { "", "GET / HT", LARGE };
	int fds[ARRAY_SIZE(texts)];

	assert_int_equal(ipc_server_patience_ms(fixture->server), -1);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		fds[i] = raw_begin(fixture, texts[i]);
	clients_wait(fixture, ARRAY_SIZE(texts));
	server_wait(fixture, 1);
	assert_counted(fixture, pending_bytes, fixture->answer_bytes);
	assert_in_range(ipc_server_patience_ms(fixture->server), 0, 3000);
	clients_wait(fixture, 0);
	assert_counted(fixture, pending_bytes, 0);
	crowd_close(fds, ARRAY_SIZE(fds));
	/* There is room again for an answer beyond the limit. */
	assert_int_equal(raw_ask(fixture, LARGE), 200);
}

/* A client that always makes a little progress does not keep an answer for ever. */
OPTIONS_TEST(test_lifetime, .patience_s = 1000, .lifetime_s = 1)
{
	const uint64_t start = clock_mono_ns();
	int slow[2];
	char byte;

	crowd_open(fixture, slow, 1, LARGE);
	slow[1] = raw_begin(fixture, "GET /");
	while (!fixture->asked || ipc_server_counts(fixture->server)->clients) {
		assert_true(clock_mono_ns() - start < HANG_NS);
		(void)!recv(slow[0], &byte, 1, MSG_DONTWAIT);
		raw_send(slow[1], "a", 1);
		server_step(fixture, -1, 20);
		poll(NULL, 0, 20);
	}
	assert_counted(fixture, pending_bytes, 0);
	assert_int_equal(fixture->asked, 1);
	crowd_close(slow, 2);
	/* Nor does it take anybody else to wake the server for that. */
	crowd_open(fixture, slow, 1, LARGE);
	clients_wait(fixture, 0);
	crowd_close(slow, 1);
}

/* After the first has been cut off, the next look is at the deadline of the second. */
OPTIONS_TEST(test_two_lifetimes, .patience_s = 1000, .lifetime_s = 2)
{
	int first __cleanup(closep) = -1, second __cleanup(closep) = -1;
	uint64_t earliest, latest, now;
	char reply[64];

	first = raw_connect(fixture->path);
	clients_wait(fixture, 1);
	poll(NULL, 0, 1000);
	earliest = clock_mono_ns() + 2 * NS_PER_SEC;
	second = raw_connect(fixture->path);
	clients_wait(fixture, 2);
	latest = clock_mono_ns() + 2 * NS_PER_SEC;
	assert_int_equal(raw_read(fixture, first, reply, sizeof(reply), NULL), 0);
	now = clock_mono_ns();
	if (now >= earliest) {
		print_message("this machine stood still for too long\n");
		skip();
	}
	assert_in_range(ipc_server_patience_ms(fixture->server), 0, (latest - now) / NS_PER_MS + 1);
}

/* A server that is full lets others wait, and takes them as soon as one has left. */
OPTIONS_TEST(test_full, .max_clients = 4, .patience_s = 1000)
{
	int fds[4], waiting __cleanup(closep) = -1;

	crowd_open(fixture, fds, 4, "");
	waiting = raw_begin(fixture, "GET /late HTTP/1.1\r\n" CLOSE);
	for (int i = 0; i < 10; i++)
		server_step(fixture, -1, 0);
	assert_int_equal(fixture->asked, 0);
	assert_counted(fixture, clients, 4);
	crowd_close(fds, 4);
	raw_finish(fixture, waiting);
	assert_string_equal(raw_body(fixture), "GET /late");
}

/* Sends a request on a new connection, and does not wait for the answer. */
static int ask_later(const struct ipc_fixture *fixture, const char *path)
{
	char request[256];

	snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\n" CLOSE, path);
	return raw_begin(fixture, request);
}

static unsigned int status_come(struct ipc_fixture *fixture, int fd)
{
	raw_finish(fixture, fd);
	close(fd);
	return raw_status(fixture);
}

/* A request after others have had their time is told to come again, unless it is a trifle. */
OPTIONS_TEST(test_budget, .budget_ms = 10)
{
	int works[3], trifle;

	fixture->work_ms = 30;
	for (size_t i = 0; i < ARRAY_SIZE(works); i++)
		works[i] = ask_later(fixture, "/work");
	trifle = ask_later(fixture, "/trifle");
	assert_int_equal(status_come(fixture, trifle), 200);
	for (size_t i = 0; i < ARRAY_SIZE(works); i++)
		status_come(fixture, works[i]);
	assert_has(fixture, asked, ARRAY_SIZE(works) + 1, crowded, ARRAY_SIZE(works) - 1);
	assert_counted(fixture, refused, fixture->crowded);
	/* The next run has its own. */
	assert_int_equal(status_come(fixture, ask_later(fixture, "/work")), 200);
}

/* Time in which the server works is not held against those who wait for it. */
OPTIONS_TEST(test_work_is_no_silence, .patience_s = 1)
{
	int first, second, half;

	fixture->work_ms = 2500;
	half = raw_begin(fixture, "GET /trifle HTTP/1.1\r\n");
	clients_wait(fixture, 1);
	first = ask_later(fixture, "/work");
	second = ask_later(fixture, "/work");
	server_wait(fixture, 1);
	raw_say(half, CLOSE);
	assert_int_equal(status_come(fixture, half), 200);
	assert_int_equal(status_come(fixture, first), 200);
	/* Whether it is put off depends on when it was accepted, but it gets an answer. */
	assert_int_not_equal(status_come(fixture, second), 0);
}

/*
 * A client may be gone in the turn in which another one's work is long, and the library has not said
 * so yet. It sees to them in one order or in the other, so work is at both ends.
 */
OPTIONS_TEST(test_work_after_an_end, .patience_s = 2, .budget_ms = HANG_NS / NS_PER_MS)
{
	int waiting[4], ended[4], works[2];

	fixture->work_ms = 1500;
	crowd_open(fixture, waiting, ARRAY_SIZE(waiting), "GET /trifle HTTP/1.1\r\n");
	works[0] = raw_connect(fixture->path);
	clients_wait(fixture, 5);
	for (size_t i = 0; i < ARRAY_SIZE(ended); i++)
		ended[i] = raw_connect(fixture->path);
	clients_wait(fixture, 9);
	works[1] = raw_connect(fixture->path);
	clients_wait(fixture, 10);
	for (size_t i = 0; i < ARRAY_SIZE(ended); i++)
		raw_say(ended[i], "GET /trifle HTTP/1.1\r\n" CLOSE);
	crowd_close(ended, ARRAY_SIZE(ended) / 2);
	raw_say(works[0], "GET /work HTTP/1.1\r\n" CLOSE);
	raw_say(works[1], "GET /work HTTP/1.1\r\n" CLOSE);
	for (size_t i = 0; i < ARRAY_SIZE(works); i++)
		assert_int_equal(status_come(fixture, works[i]), 200);
	crowd_close(ended + 2, ARRAY_SIZE(ended) / 2);
	/* The library still knows the others, and ends them. */
	clients_wait(fixture, 0);
	crowd_close(waiting, ARRAY_SIZE(waiting));
}

/* Work does not count towards the lifetime of those who wait, either. */
OPTIONS_TEST(test_work_moves_ends, .patience_s = 2, .lifetime_s = 2)
{
	uint64_t start;
	int half;

	fixture->work_ms = 800;
	start = clock_mono_ns();
	half = raw_begin(fixture, "GET /trifle HTTP/1.1\r\n");
	clients_wait(fixture, 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(status_come(fixture, ask_later(fixture, "/work")), 200);
	if (clock_mono_ns() - start >= 4 * NS_PER_SEC) {
		close(half);
		print_message("this machine stood still for too long\n");
		skip();
	}
	raw_say(half, CLOSE);
	assert_int_equal(status_come(fixture, half), 200);
}

/*
 * Answers not taken are bounded: a client that asks for more has to come again, and is served then.
 */
OPTIONS_TEST(test_pending, .max_pending_bytes = 2 << 20)
{
	int slow[2];

	crowd_open(fixture, slow, 2, LARGE);
	server_wait(fixture, 2);
	assert_int_equal(raw_ask(fixture, LARGE), 503);
	assert_all(strcasestr(fixture->reply, "\r\nRetry-After: 1\r\n"),
		   strcasestr(fixture->reply, "\r\nContent-Type: application/json\r\n"));
	assert_string_equal(raw_body(fixture), "{\"error\": \"a crowd\"}\n");
	assert_counted(fixture, refused, 1);
	assert_served(fixture);
	crowd_close(slow, 2);
	clients_wait(fixture, 0);
	assert_counted(fixture, pending_bytes, 0);
	assert_int_equal(raw_ask(fixture, LARGE), 200);
	assert_int_equal(strlen(raw_body(fixture)), fixture->answer_bytes);
}

/* Later would be no better for it. */
OPTIONS_TEST(test_larger_than_all, .max_pending_bytes = 1000)
{
	assert_int_equal(raw_ask(fixture, LARGE), 200);
	assert_int_equal(strlen(raw_body(fixture)), fixture->answer_bytes);
}

/* They go as soon as that is found out, however patient the server is. */
OPTIONS_TEST(test_slow_makes_room, .max_pending_bytes = 2 << 20, .patience_s = 1000,
	     .lifetime_s = 1000)
{
	const uint64_t start = clock_mono_ns();
	int slow[2];

	crowd_open(fixture, slow, 2, LARGE);
	server_wait(fixture, 2);
	while (status_come(fixture, ask_later(fixture, "/work")) == 503) {
		assert_true(clock_mono_ns() - start < HANG_NS);
		server_step(fixture, -1, 100);
	}
	assert_true(fixture->crowded > 0);
	/* Ending one was enough; the other may go on. */
	assert_counted(fixture, pending_bytes, fixture->answer_bytes);
	crowd_close(slow, 2);
}

/* They leave at any point of an answer; its body is not kept. */
SERVER_TEST(test_leaving)
{
	const size_t read_bytes[] = { 0, 1, 200, 100000, 900000 };

	for (size_t i = 0; i < ARRAY_SIZE(read_bytes); i++) {
		__cleanup(freep) char *reply = malloc(read_bytes[i] + 1);
		int fd = raw_begin(fixture, LARGE);

		server_wait(fixture, (unsigned int)i + 1);
		assert_counted(fixture, pending_bytes, fixture->answer_bytes);
		if (read_bytes[i])
			raw_read(fixture, fd, reply, read_bytes[i] + 1, NULL);
		close(fd);
		clients_wait(fixture, 0);
		assert_counted(fixture, pending_bytes, 0);
	}
}

/* The server ends while an answer is under way. */
SERVER_TEST(test_cut_off)
{
	int fd __cleanup(closep) = raw_connect(fixture->path);

	raw_say(fd, LARGE);
	server_wait(fixture, 1);
	assert_counted(fixture, pending_bytes, fixture->answer_bytes);
	ipc_server_free(fixture->server);
	fixture->server = NULL;
}

/* --- a storm ---------------------------------------------------------------------------------- */

/* A good request with some of its bytes changed, left out or repeated. */
static size_t storm_request(uint64_t *seed, char *request, size_t room)
{
	static const char good[] = "GET /v1/snapshot?pid=1&name=%41b HTTP/1.1\r\n"
				   "Host: localhost\r\nAccept: a/b\r\nContent-Length: 0\r\n\r\n";
	static const char odd[] = "\r\n\0% :?&=/\x80\xff\x1b+";
	size_t size = 0;

	for (size_t i = 0; i < sizeof(good) - 1 && size + 64 < room; i++) {
		const uint64_t dice = random_below(seed, 64);

		if (dice == 0)
			request[size++] = odd[random_below(seed, sizeof(odd) - 1)];
		else if (dice == 1)
			for (int n = 0; n < 32; n++)
				request[size++] = good[i];
		else if (dice != 2)
			request[size++] = good[i];
	}
	return size;
}

/* Reads what has come when the server has no more to do; it would wait for the rest of a half. */
static void storm_read(struct ipc_fixture *fixture, int fd)
{
	struct pollfd server = { .fd = ipc_server_fd(fixture->server), .events = POLLIN };
	ssize_t n;

	while (poll(&server, 1, 0) || !ipc_server_patience_ms(fixture->server))
		ipc_server_run(fixture->server);
	n = recv(fd, fixture->reply, sizeof(fixture->reply) - 1, MSG_DONTWAIT);
	fixture->reply[n > 0 ? n : 0] = '\0';
}

/* STORM_REQUESTS of the environment, or a few thousand. */
SERVER_TEST(test_storm)
{
	const char *wanted = getenv("STORM_REQUESTS");
	const int nr = wanted ? atoi(wanted) : 3000;
	uint64_t seed = 20260131;
	int good = 0;

	for (int i = 0; i < nr; i++) {
		char request[4096];
		size_t size = storm_request(&seed, request, sizeof(request));
		int fd __cleanup(closep) = raw_connect(fixture->path);

		raw_send(fd, request, size);
		storm_read(fixture, fd);
		good += raw_status(fixture) == 200;
	}
	clients_wait(fixture, 0);
	assert_served(fixture);
	assert_counted(fixture, pending_bytes, 0);
	/* Both kinds were there, or nothing was tested. */
	assert_in_range(good, nr / 100, nr / 2);
	assert_true(ipc_server_counts(fixture->server)->malformed > (uint64_t)nr / 10);
}
