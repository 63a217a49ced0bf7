/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the daemon gives up when it costs too much, and when it takes that up again; what the service
 * manager and the journal hear of it.
 */
#include "fixture.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "collect/collector.h"
#include "daemon/budget.h"
#include "daemon/log.h"

/* The collector of these tests: it costs nothing, and knows which step it was told to take. */
static enum collector_step told;

void collector_step_down(struct collector *collector, enum collector_step step)
{
	(void)collector;
	told = step;
}

int collector_cost(const struct collector *collector, struct collector_cost *ret)
{
	(void)collector;
	*ret = (struct collector_cost){ 0 };
	return 0;
}

/* So many spans of the same cost; the step after them. */
static enum collector_step spans(struct budget *budget, unsigned int count, double percent)
{
	while (count--)
		budget_judge(budget, percent, NULL);
	assert_int_equal(told, budget->step);
	return budget->step;
}

static struct budget budget_of(double limit_percent, bool has_stacks)
{
	struct budget budget;

	budget_set(&budget, limit_percent, has_stacks, NULL);
	return budget;
}

TEST(test_gives_up_after_three_spans)
{
	struct budget budget = budget_of(10, true);

	assert_int_equal(spans(&budget, 2, 11), STEP_NORMAL);
	/* What does not last is no reason. */
	assert_int_equal(spans(&budget, 1, 9), STEP_NORMAL);
	assert_int_equal(spans(&budget, 2, 11), STEP_NORMAL);
	assert_int_equal(spans(&budget, 1, 11), STEP_NO_STACKS);
	assert_int_equal(spans(&budget, 3, 11), STEP_NO_ERRNOS);
	assert_int_equal(spans(&budget, 100, 11), STEP_NO_ERRNOS);
}

TEST(test_without_stacks_it_begins_with_errnos)
{
	struct budget budget = budget_of(10, false);
	struct budget unlimited = budget_of(0, true);

	assert_int_equal(spans(&budget, 3, 11), STEP_NO_ERRNOS);
	assert_int_equal(spans(&budget, BUDGET_CALM_SPANS, 1), STEP_NORMAL);
	assert_int_equal(spans(&unlimited, 100, 1000), STEP_NORMAL);
}

TEST(test_takes_up_again_a_step_at_a_time)
{
	struct budget budget = budget_of(10, true);

	spans(&budget, 6, 11);
	assert_int_equal(spans(&budget, BUDGET_CALM_SPANS - 1, 4), STEP_NO_ERRNOS);
	/* Below the limit, but not by far: what was given up would not fit. */
	assert_int_equal(spans(&budget, 1000, 6), STEP_NO_ERRNOS);
	assert_int_equal(spans(&budget, BUDGET_CALM_SPANS - 1, 4), STEP_NO_ERRNOS);
	assert_int_equal(spans(&budget, 1, 4), STEP_NO_STACKS);
	assert_int_equal(spans(&budget, BUDGET_CALM_SPANS - 1, 4), STEP_NO_STACKS);
	assert_int_equal(spans(&budget, 1, 4), STEP_NORMAL);
	assert_int_equal(spans(&budget, 1000, 0), STEP_NORMAL);
}

/* How many calm spans it takes until stacks are taken again. */
static unsigned int wait_for_stacks(struct budget *budget)
{
	unsigned int waited = 0;

	spans(budget, 3, 11);
	while (budget->step != STEP_NORMAL) {
		assert_true(waited < 10 * BUDGET_MAX_CALM_SPANS);
		budget_judge(budget, 4, NULL);
		waited++;
	}
	return waited;
}

/* What costs too much as soon as it is taken up is not tried all day long. */
TEST(test_waits_longer_each_time)
{
	struct budget budget = budget_of(10, true);
	unsigned int before = wait_for_stacks(&budget), waited;

	assert_int_equal(before, BUDGET_CALM_SPANS);
	for (int i = 0; i < 20; i++) {
		waited = wait_for_stacks(&budget);
		assert_true(waited == 2 * before || waited == BUDGET_MAX_CALM_SPANS);
		before = waited;
	}
	assert_int_equal(before, BUDGET_MAX_CALM_SPANS);
	/* A reload begins anew. */
	budget = budget_of(10, true);
	assert_int_equal(wait_for_stacks(&budget), BUDGET_CALM_SPANS);
}

/* Whoever asks all the time takes CPU time, but giving up errnos would make it no less. */
TEST(test_answers_are_not_in_the_budget)
{
	struct budget budget = budget_of(10, true);
	uint64_t begun = clock_mono_ns();

	while (clock_mono_ns() - begun < 20 * NS_PER_MS)
		continue;
	budget.answers_ns += UINT64_MAX / 2;
	for (int i = 0; i < 10; i++) {
		budget_check(&budget, NULL);
		budget.answers_ns += NS_PER_SEC;
		assert_all(budget.used_percent >= 0, budget.answers_percent >= 0,
			   budget.answers_percent <= budget.own_percent);
	}
	assert_int_equal(budget.step, STEP_NORMAL);
}

/* --- the service manager and the journal --------------------------------------------------------- */

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
