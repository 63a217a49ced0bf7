/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests what the daemon gives up when it costs too much, and when it takes that up again; what the
 * service manager and the journal hear of it; which recent differences it keeps, and in how much
 * memory.
 */
#include "fixture.h"

#include <malloc.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "base/clock.h"
#include "collect/collector.h"
#include "daemon/budget.h"
#include "daemon/log.h"
#include "daemon/recent.h"

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

	budget_set(&budget, limit_percent, false, has_stacks, NULL);
	return budget;
}

TEST(test_gives_up_after_three_spans)
{
	struct budget budget = budget_of(10, true);

	assert_int_equal(spans(&budget, 2, 11), STEP_NORMAL);
	/* A cost that does not last is no reason. */
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

TEST(test_single_calls_are_given_up_first)
{
	struct budget budget;

	budget_set(&budget, 10, true, false, NULL);
	assert_int_equal(spans(&budget, 3, 11), STEP_NO_CALLS);
	assert_int_equal(spans(&budget, 3, 11), STEP_NO_ERRNOS);
	assert_int_equal(spans(&budget, BUDGET_CALM_SPANS, 1), STEP_NO_CALLS);
	assert_int_equal(spans(&budget, BUDGET_CALM_SPANS, 1), STEP_NORMAL);
	budget_set(&budget, 10, true, true, NULL);
	assert_int_equal(spans(&budget, 6, 11), STEP_NO_STACKS);
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

/* A step that costs too much as soon as it is taken up is not tried all day long. */
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

/* A client that asks all the time takes CPU time, but giving up errnos would make it no less. */
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

/* --- the service manager ----------------------------------------------------------------------- */

/* Opens an abstract name, which leaves nothing behind. */
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

/* Returns what log_line() writes on a stderr of our own. */
static void logged(int priority, const char *text, char *buf, size_t size)
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
	log_line(priority, "%s", text);
	dup2(before, STDERR_FILENO);
	n = pread(fd, buf, size - 1, 0);
	assert_true(n >= 0);
	buf[n] = '\0';
}

/* Returns what comes behind the time, which is now, in UTC. */
static const char *behind_time(const char *line)
{
	time_t now = time(NULL), then;
	struct tm parts = { 0 };
	const char *end = strptime(line, "%Y-%m-%dT%H:%M:%SZ ", &parts);

	assert_non_null(end);
	then = timegm(&parts);
	assert_true(then <= now && now - then < 60);
	return end;
}

TEST(test_log)
{
	static const struct {
		int priority;
		const char *begins;
	} levels[] = { { LOG_ERR, "bpftruss: error: x\n" },
		       { LOG_WARNING, "bpftruss: warning: x\n" },
		       { LOG_NOTICE, "bpftruss: notice: x\n" },
		       { LOG_INFO, "bpftruss: info: x\n" },
		       { LOG_DEBUG, "bpftruss: debug: x\n" } };
	char line[8192], text[2000], number[16];

	unsetenv("JOURNAL_STREAM");
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
		logged(levels[i].priority, "x", line, sizeof(line));
		assert_string_equal(behind_time(line), levels[i].begins);
	}
	logged(LOG_ERR, "one\ntwo \x1b[2J\x7f", line, sizeof(line));
	assert_string_equal(behind_time(line), "bpftruss: error: one\\x0atwo \\x1b[2J\\x7f\n");
	/* The text is as long as the longest, each byte of it four. */
	text_fill(text, '\x01');
	logged(LOG_WARNING, text, line, sizeof(line));
	assert_int_equal(strlen(behind_time(line)), strlen("bpftruss: warning: ") + 1023 * 4 + 1);
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
		setenv("JOURNAL_STREAM", "", 1);
		logged(levels[i].priority, "text", line, sizeof(line));
		snprintf(number, sizeof(number), "<%d>text\n", levels[i].priority);
		assert_string_equal(line, number);
	}
	/* That is another file than stderr, or no file's name at all. */
	assert_false(log_is_read_by_journal());
	setenv("JOURNAL_STREAM", "1:2:3", 1);
	assert_false(log_is_read_by_journal());
	unsetenv("JOURNAL_STREAM");
}

/* --- recent differences -------------------------------------------------------------------------- */

#define NS_A_PART 1000

#define RECENT_TEST(name, bytes) \
	TEST_OF(name, struct recent, recent, recent_done, recent_init, bytes)

/* Makes one difference, which ends at mark * NS_A_PART: a call of each of some processes. */
static struct snapshot *difference_make(unsigned int mark, unsigned int nr_calls)
{
	struct builder *builder = builder_make();
	struct snapshot *difference;

	for (unsigned int i = 0; i < nr_calls; i++) {
		builder_take_calls(builder, 100 + i, ABI_X86_64, "read", 1, 1000, 0, 0);
		builder_take_process(builder, 100 + i, "counted", 8, 5);
	}
	difference = snapshot_take(builder);
	difference->end_mono_ns = mark * NS_A_PART;
	difference->elapsed_ns = NS_A_PART;
	return difference;
}

static void part_add(struct recent *recent, unsigned int mark, unsigned int nr_calls,
		     enum recent_mark kind)
{
	assert_int_equal(recent_add(recent, difference_make(mark, nr_calls), kind), 0);
	assert_int_equal(recent_limit(recent), 0);
}

/* Calls counted since a mark up to the last one. */
static uint64_t calls_since(const struct recent *recent, unsigned int mark, unsigned int last)
{
	__cleanup(snapshot_freep) struct snapshot *now = snapshot_take(builder_make()), *sum = NULL;
	size_t first;

	assert_true(recent_find(recent, mark * NS_A_PART, &first));
	now->end_mono_ns = last * NS_A_PART;
	assert_int_equal(recent_sum(recent, first, now, &sum), 0);
	assert_int_equal(sum->elapsed_ns, (last - mark) * NS_A_PART);
	return snapshot_sum(sum).calls;
}

static bool knows(const struct recent *recent, unsigned int mark)
{
	size_t first;

	return recent_find(recent, mark * NS_A_PART, &first);
}

RECENT_TEST(test_spans_add_up, 1 << 20)
{
	for (unsigned int i = 1; i <= 10; i++)
		part_add(recent, i, i, i % 3 ? MARK_GIVEN : MARK_TICK);
	for (unsigned int i = 0; i <= 10; i++)
		assert_int_equal(calls_since(recent, i, 10), 55 - i * (i + 1) / 2);
	assert_all(!knows(recent, 11), !recent->has_forgotten);
}

RECENT_TEST(test_passing_marks_leave_no_trace, 1 << 20)
{
	part_add(recent, 1, 1, MARK_GIVEN);
	for (unsigned int i = 2; i <= 200; i++)
		part_add(recent, i, 1, MARK_PASSING);
	part_add(recent, 201, 1, MARK_GIVEN);
	assert_int_equal(recent->nr_parts, 2);
	assert_int_equal(calls_since(recent, 1, 201), 200);
	assert_false(knows(recent, 100));
}

RECENT_TEST(test_oldest_marks_of_clients_go, 1 << 24)
{
	part_add(recent, 1, 1, MARK_TICK);
	for (unsigned int i = 2; i <= 101; i++)
		part_add(recent, i, 1, MARK_GIVEN);
	assert_int_equal(calls_since(recent, 0, 101), 101);
	assert_int_equal(calls_since(recent, 1, 101), 100);
	assert_all(!knows(recent, 2), knows(recent, 100));
}

/* However little memory there is: the last mark is good for one question. */
RECENT_TEST(test_last_mark_is_known_to_the_next_question, 1)
{
	for (unsigned int i = 1; i <= 20; i++) {
		assert_int_equal(recent_add(recent, difference_make(i, 50), MARK_GIVEN), 0);
		assert_int_equal(calls_since(recent, i - 1, i), 50);
		/* Whether there is time to make room or not. */
		if (i % 2)
			assert_int_equal(recent_limit(recent), 0);
		assert_true(recent->nr_parts <= 3);
	}
	/* All since the last tick is still there: it goes nowhere else. */
	assert_int_equal(calls_since(recent, 0, 20), 1000);
}

RECENT_TEST(test_ticks_beyond_memory_go, 100000)
{
	for (unsigned int i = 1; i <= 100; i++)
		part_add(recent, i, 50, MARK_TICK);
	assert_all(recent->has_forgotten, !knows(recent, 0));
	assert_int_equal(calls_since(recent, 99, 100), 50);
}

/* How much a difference of 50 calls takes. */
static size_t part_bytes(enum recent_mark kind)
{
	__cleanup(recent_done) struct recent recent;

	recent_init(&recent, 1 << 20);
	part_add(&recent, 1, 50, kind);
	return recent.bytes;
}

/* While nobody makes room, adding does, before there is twice as much as there may be. */
RECENT_TEST(test_memory_is_bounded_between_questions, part_bytes(MARK_TICK) * 5 / 4)
{
	for (unsigned int i = 1; i <= 50; i++) {
		assert_int_equal(recent_add(recent, difference_make(i, 50), MARK_TICK), 0);
		assert_true(recent->bytes <= 2 * recent->max_bytes);
	}
}

/* However much comes at once: as many marks go as there has to be room for. */
RECENT_TEST(test_a_large_difference_makes_room, 25 * part_bytes(MARK_GIVEN))
{
	for (unsigned int i = 1; i <= 50; i++)
		assert_int_equal(recent_add(recent, difference_make(i, 50), MARK_GIVEN), 0);
	assert_int_equal(recent_add(recent, difference_make(51, 1000), MARK_GIVEN), 0);
	assert_true(recent->bytes <= 2 * recent->max_bytes);
	assert_int_equal(calls_since(recent, 0, 51), 50 * 50 + 1000);
}

RECENT_TEST(test_forgets_all_when_told, 1 << 20)
{
	part_add(recent, 1, 1, MARK_TICK);
	recent_clear(recent);
	assert_all(recent->has_forgotten, !knows(recent, 0));
}

/* A host on which little happens: many processes and names in each reading, few of them active. */
RECENT_TEST(test_idle_processes_take_no_memory, 8 << 20)
{
	for (unsigned int i = 1; i <= 50; i++) {
		struct snapshot *difference = difference_make(i, 2);
		size_t count = 500;

		difference->processes = reallocarray(difference->processes, count + 2,
						     sizeof(*difference->processes));
		for (size_t j = 0; j < count; j++) {
			difference->processes[2 + j] =
				(struct process){ .pid = 1000 + j, .cgroup_id = 7 + j };
			assert_int_equal(id_names_add(&difference->cgroups, &difference->nr_cgroups,
						      7 + j, "/system.slice/some-service.service"),
					 0);
		}
		difference->nr_processes += count;
		assert_int_equal(recent_add(recent, difference, MARK_TICK), 0);
	}
	assert_int_equal(recent->nr_parts, 50);
	for (size_t i = 0; i < recent->nr_parts; i++) {
		const struct snapshot *counts = recent->parts[i].counts;

		assert_has(counts, nr_processes, 2, nr_cgroups, 0);
		assert_all(malloc_usable_size(counts->processes) < 1000,
			   malloc_usable_size(counts->cgroups) < 1000);
	}
}

/* A difference with processes that ended in it, and one that is still there: this one. */
static struct snapshot *ended_make(unsigned int mark, unsigned int nr_processes)
{
	struct builder *builder = builder_make();
	struct process process;
	struct snapshot *difference;

	for (unsigned int i = 0; i <= nr_processes; i++) {
		/* No pid is as high. */
		process = process_make(i ? (1 << 23) + mark * 10000 + i : (uint32_t)getpid(),
				       "short", 5);
		process.ended_ns = i ? mark * NS_A_PART : 0;
		assert_int_equal(builder_add_process(builder, &process, true), 0);
		builder_take_calls(builder, process.pid, ABI_X86_64, "read", 1, 1000, 0, 0);
	}
	difference = snapshot_take(builder);
	difference->end_mono_ns = mark * NS_A_PART;
	difference->elapsed_ns = NS_A_PART;
	return difference;
}

/* Before the first interval ends nothing may be dropped, so processes are added up. */
RECENT_TEST(test_what_has_to_stay_is_added_up, 100000)
{
	struct snapshot *counts;

	for (unsigned int i = 1; i <= 50; i++) {
		assert_int_equal(recent_add(recent, ended_make(i, 200), MARK_PASSING), 0);
		assert_int_equal(recent_limit(recent), 0);
		assert_true(recent->bytes <= recent->max_bytes);
		assert_int_equal(calls_since(recent, 0, i), i * 201);
	}
	assert_int_equal(recent->nr_parts, 1);
	counts = recent->parts[0].counts;
	assert_non_null(snapshot_find_process(counts, (uint32_t)getpid(), getpid() * 1000ULL));
	assert_int_equal(counts->processes[0].pid, 0);
	assert_string_equal(counts->processes[0].comm, "short");
	assert_true(losses_none(&counts->losses));
}
