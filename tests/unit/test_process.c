/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies of this process and their answers, ends of processes, and the list of errands: whose turn
 * it is, and how each of them ends.
 */
#include "fixture.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/errand.h"
#include "base/process.h"

/* Those that were killed may end only when nobody waits for them any more, if the machine is busy. */
static void assert_no_children(int killed)
{
	for (int i = 0; i < killed; i++)
		waitpid(-1, NULL, 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

/* Sends a copy, and takes what it brings. */
static int copy_send(int (*work)(void *, struct copy_answer *), void *closure,
		     struct copy_answer *ret)
{
	struct child copy;

	assert_int_equal(copy_start(work, closure, NULL, 0, &copy), 0);
	return copy_finish(&copy, ret);
}

static int bring_all(void *closure, struct copy_answer *ret)
{
	strcpy(ret->text, closure);
	strcpy(ret->name, "name");
	for (size_t i = 0; i < 4; i++)
		ret->numbers[i] = i * i;
	for (int i = 0; i < MAX_COPY_FDS; i++) {
		ret->fds[ret->nr_fds++] = memfd_create("brought", MFD_CLOEXEC);
		dprintf(ret->fds[i], "%d", i);
	}
	return 0;
}

TEST(test_a_copy_brings_what_it_was_sent_for)
{
	__cleanup(copy_answer_done) struct copy_answer answer = { .nr_fds = 0 };
	char text[4] = "";

	assert_int_equal(copy_send(bring_all, "text", &answer), 0);
	assert_string_equal(answer.text, "text");
	assert_string_equal(answer.name, "name");
	assert_has(&answer, numbers[3], 9, nr_fds, MAX_COPY_FDS);
	for (int i = 0; i < MAX_COPY_FDS; i++) {
		assert_int_equal(pread(answer.fds[i], text, 1, 0), 1);
		assert_int_equal(atoi(text), i);
		assert_true(fcntl(answer.fds[i], F_GETFD) & FD_CLOEXEC);
	}
	assert_no_children(0);
}

/* At our limit the kernel leaves out descriptors, and the answer is refused. */
TEST(test_an_answer_without_room_for_its_descriptors)
{
	struct rlimit before, few;
	struct child copy;
	int lowest, opened;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	for (unsigned int room = 0; room < MAX_COPY_FDS; room++) {
		struct copy_answer answer = { .nr_fds = 1, .fds = { STDERR_FILENO } };

		assert_int_equal(copy_start(bring_all, "text", NULL, 0, &copy), 0);
		lowest = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
		close(lowest);
		few = (struct rlimit){ (rlim_t)lowest + room, before.rlim_max };
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		assert_int_equal(copy_finish(&copy, &answer), -EMFILE);
		assert_int_equal(answer.nr_fds, 0);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		/* The descriptors that came are closed, and so are those of the copy. */
		opened = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
		close(opened);
		assert_true(opened <= lowest);
	}
	assert_no_children(0);
}

static int bring_nothing(void *closure, struct copy_answer *ret)
{
	(void)closure, (void)ret;
	return -ENOENT;
}

static int crash(void *closure, struct copy_answer *ret)
{
	(void)closure, (void)ret;
	raise(SIGKILL);
	return 0;
}

static int wait_for_ever(void *closure, struct copy_answer *ret)
{
	(void)closure, (void)ret;
	while (pause() < 0)
		continue;
	return 0;
}

TEST(test_a_copy_that_fails)
{
	struct copy_answer answer;
	struct child copy;

	assert_int_equal(copy_send(bring_nothing, NULL, &answer), -ENOENT);
	assert_int_equal(copy_send(crash, NULL, &answer), -EPROTO);
	assert_int_equal(copy_start(wait_for_ever, NULL, NULL, 0, &copy), 0);
	assert_true(child_timeout_ms(&copy) > 0);
	child_stop(&copy);
	assert_int_equal(copy_finish(&copy, &answer), -ETIMEDOUT);
	assert_int_equal(copy_start(wait_for_ever, NULL, NULL, 0, &copy), 0);
	child_done(&copy);
	assert_no_children(2);
}

struct two {
	int kept, other;
};

static int look(void *closure, struct copy_answer *ret)
{
	const struct two *two = closure;

	ret->numbers[0] = fcntl(two->kept, F_GETFD) >= 0;
	ret->numbers[1] = fcntl(two->other, F_GETFD) >= 0;
	ret->numbers[2] = fcntl(STDERR_FILENO, F_GETFD) >= 0;
	return 0;
}

/* A descriptor there stays open as long as it takes. */
TEST(test_a_copy_has_no_descriptors_but_its_own)
{
	struct two two = { memfd_create("kept", MFD_CLOEXEC), memfd_create("other", MFD_CLOEXEC) };
	struct copy_answer answer;
	struct child copy;

	assert_int_equal(copy_start(look, &two, &two.kept, 1, &copy), 0);
	assert_int_equal(copy_finish(&copy, &answer), 0);
	assert_has(&answer, numbers[0], 1, numbers[1], 0, numbers[2], 1);
	close(two.kept);
	close(two.other);
}

/* --- ends ---------------------------------------------------------------------------------------- */

TEST(test_a_living_process_has_not_ended)
{
	pid_t child = fork();

	if (!child) {
		pause();
		_exit(0);
	}
	assert_all(!process_has_ended(getpid()), !process_has_ended(child));
	kill(child, SIGSTOP);
	waitpid(child, NULL, WUNTRACED);
	assert_false(process_has_ended(child));
	child_kill(child);
	/* The kernel says EINVAL, not that it is gone. */
	assert_all(!process_has_ended(0), !process_has_ended(-1));
}

TEST(test_a_zombie_has_ended_and_so_has_one_that_is_gone)
{
	pid_t child = fork();
	siginfo_t info;

	if (!child)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	assert_true(process_has_ended(child));
	waitpid(child, NULL, 0);
	assert_true(process_has_ended(child));
}

static void *live_on(void *end)
{
	if (write(*(int *)end, "x", 1) == 1)
		pause();
	return NULL;
}

/* Its first thread is a zombie then. */
TEST(test_a_process_whose_first_thread_has_ended_has_not)
{
	int ends[2];
	pthread_t thread;
	pid_t child;
	char byte;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (!child) {
		pthread_create(&thread, NULL, live_on, &ends[1]);
		syscall(SYS_exit, 0);
	}
	assert_int_equal(read(ends[0], &byte, 1), 1);
	assert_false(process_has_ended(child));
	child_kill(child);
	close(ends[0]);
	close(ends[1]);
}

/* --- errands ------------------------------------------------------------------------------------- */

/* An errand whose child waits until it is killed. */
struct wait {
	struct errand errand;
	unsigned int turns;    /* that it has begun */
	unsigned int wanted;   /* as many as that */
	enum errand_kind next; /* of another turn */
	bool is_refused;       /* no child can be started for it */
	int status;            /* of its last child */
	unsigned int order;    /* among all that have begun */
};

static unsigned int begun;

#define ERRAND_TEST(name)                                   \
	static void name##_in(struct errands *errands);     \
	TEST(name)                                          \
	{                                                   \
		struct errands *errands;                    \
		begun = 0;                                  \
		assert_int_equal(errands_new(&errands), 0); \
		name##_in(errands);                         \
		errands_free(errands);                      \
	}                                                   \
	static void name##_in(struct errands *errands)

static enum errand_turn wait_step(void *closure)
{
	struct wait *wait = closure;
	struct child *child = &wait->errand.child;
	pid_t pid;

	if (child->pid) {
		wait->status = child_reap(child);
		child_done(child);
		wait->errand.kind = wait->next;
		return wait->turns < wait->wanted ? ERRAND_AGAIN : ERRAND_OVER;
	}
	wait->turns++;
	wait->order = ++begun;
	if (wait->is_refused)
		return ERRAND_REFUSED;
	pid = fork_must();
	if (!pid) {
		for (;;)
			pause();
	}
	assert_int_equal(child_adopt(child, pid, 600), 0);
	return ERRAND_RUNS;
}

static void wait_init(struct wait *wait, enum errand_kind kind, uint32_t user)
{
	*wait = (struct wait){ .wanted = 1, .next = kind };
	errand_init(&wait->errand, kind, wait_step, wait);
	wait->errand.user = user;
}

static void wait_add(struct errands *errands, struct wait *wait, enum errand_kind kind,
		     uint32_t user)
{
	wait_init(wait, kind, user);
	errands_add(errands, &wait->errand);
}

/* Their children end first: one that is slow to would be left, and take a place. */
static void waits_remove(struct errands *errands, struct wait *waits, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		pid_t pid = waits[i].errand.child.pid;

		if (pid && !kill(pid, SIGKILL))
			waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT);
		errands_remove(errands, &waits[i].errand);
	}
}

static void turn_end(struct errands *errands, struct wait *wait)
{
	struct pollfd end = { .fd = wait->errand.child.pidfd, .events = POLLIN };
	struct pollfd list = { .fd = errands_fd(errands), .events = POLLIN };

	kill(wait->errand.child.pid, SIGKILL);
	assert_int_equal(poll(&end, 1, -1), 1);
	/* A waiter for the list is woken. */
	assert_int_equal(poll(&list, 1, -1), 1);
	errands_run(errands);
}

/* Runs the list until nothing can begin. */
static void run_all(struct errands *errands)
{
	while (!errands_patience_ms(errands))
		errands_run(errands);
}

static size_t count_running(const struct wait *waits, size_t nr)
{
	size_t count = 0;

	for (size_t i = 0; i < nr; i++)
		count += waits[i].errand.is_running;
	return count;
}

ERRAND_TEST(test_users_take_turns)
{
	struct wait waits[8];
	static const unsigned int order[] = { 1, 3, 5, 6, 2, 4 };

	/* Four of one user come before two of another: one at a time, as each has its end. */
	for (size_t i = 0; i < 6; i++) {
		wait_add(errands, &waits[i], ERRAND_NAMES, i >= 4);
		errands_add(errands, &waits[i].errand);
	}
	errands_pause(errands, ERRAND_NAMES, true);
	run_all(errands);
	assert_int_equal(begun, 0);
	errands_pause(errands, ERRAND_NAMES, false);
	run_all(errands);
	/* No user has the last of four, while there is nobody else or not. */
	assert_int_equal(count_running(waits, 6), 4);
	for (size_t i = 0; i < 6; i++) {
		for (size_t j = 0; j < 6; j++) {
			if (waits[j].errand.is_running) {
				turn_end(errands, &waits[j]);
				run_all(errands);
				break;
			}
		}
	}
	for (size_t i = 0; i < 6; i++) {
		assert_has(&waits[i], order, order[i], turns, 1, status, -EPROTO);
		assert_false(errand_is_busy(&waits[i].errand));
	}
	assert_int_equal(errands_patience_ms(errands), -1);
}

/* A user with many errands leaves room for others, and so does each kind of errand. */
ERRAND_TEST(test_nobody_takes_all)
{
	struct wait waits[14];

	for (size_t i = 0; i < 12; i++)
		wait_add(errands, &waits[i], ERRAND_OPEN, 1000);
	run_all(errands);
	assert_int_equal(count_running(waits, 12), 4);
	assert_all(!errands_are_idle(errands, ERRAND_OPEN, 0),
		   errands_are_idle(errands, ERRAND_TABLE, UINT64_MAX));
	wait_add(errands, &waits[12], ERRAND_OPEN, 1001);
	wait_add(errands, &waits[13], ERRAND_TABLE, 1000);
	run_all(errands);
	assert_true(waits[12].errand.is_running && waits[13].errand.is_running);
	/* No errand has the number of another. */
	for (size_t i = 0; i < 14; i++) {
		for (size_t j = 0; j < i; j++)
			assert_true(!waits[i].errand.is_running || !waits[j].errand.is_running ||
				    waits[i].errand.number != waits[j].errand.number);
	}
	waits_remove(errands, waits, 14);
	assert_true(errands_are_idle(errands, ERRAND_OPEN, UINT64_MAX));
}

ERRAND_TEST(test_a_queue_that_has_an_end)
{
	struct wait waits[64];
	size_t nr = 0;

	while (errands_have_room(errands, ERRAND_FETCH, 1000))
		wait_add(errands, &waits[nr++], ERRAND_FETCH, 1000);
	assert_int_equal(nr, 28);
	/* The other half is for others. */
	assert_true(errands_have_room(errands, ERRAND_FETCH, 1001));
	waits_remove(errands, waits, nr);
	assert_true(errands_have_room(errands, ERRAND_FETCH, 1000));
}

/* An errand that is overdue is killed, and nobody has waited for it. */
ERRAND_TEST(test_a_deadline)
{
	struct wait wait;

	wait_add(errands, &wait, ERRAND_TABLE, 0);
	errands_run(errands);
	assert_all(wait.errand.is_running, errands_patience_ms(errands) > 0);
	wait.errand.child.deadline_ns = clock_mono_ns();
	errands_run(errands);
	while (errand_is_busy(&wait.errand)) {
		struct pollfd list = { .fd = errands_fd(errands), .events = POLLIN };

		assert_int_equal(poll(&list, 1, errands_patience_ms(errands)), 1);
		errands_run(errands);
	}
	assert_int_equal(wait.status, -ETIMEDOUT);
}

static void await_end(struct errands *errands, pid_t pid)
{
	while (!kill(pid, 0)) {
		usleep(1000);
		errands_run(errands);
	}
}

static void child_hide(struct child *child)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	close(child->pidfd);
	child->pidfd = ends[0];
	/* Its other end stays open: nothing is ever to be read there. */
}

/* Nobody's place is kept by children that do not even end when they are killed. */
ERRAND_TEST(test_a_child_that_does_not_end)
{
	struct wait waits[5];
	pid_t pids[3];

	for (size_t i = 0; i < ARRAY_SIZE(waits); i++)
		wait_add(errands, &waits[i], ERRAND_TABLE, 1000);
	run_all(errands);
	assert_int_equal(count_running(waits, 5), 3);
	for (size_t i = 0; i < 3; i++) {
		child_hide(&waits[i].errand.child);
		pids[i] = waits[i].errand.child.pid;
		waits[i].errand.child.deadline_ns = clock_mono_ns();
	}
	errands_run(errands);
	/* It has a while to end in. */
	for (size_t i = 0; i < 3; i++) {
		assert_true(waits[i].errand.is_running && waits[i].errand.child.is_stopped);
		waits[i].errand.child.deadline_ns = clock_mono_ns();
	}
	errands_run(errands);
	run_all(errands);
	for (size_t i = 0; i < 3; i++) {
		assert_false(errand_is_busy(&waits[i].errand));
		assert_int_equal(waits[i].status, -ETIMEDOUT);
	}
	assert_true(waits[3].errand.is_running && waits[4].errand.is_running);
	/* They are reaped when they have ended. */
	for (size_t i = 0; i < 3; i++)
		await_end(errands, pids[i]);
	errands_remove(errands, &waits[3].errand);
	errands_remove(errands, &waits[4].errand);
}

#define NR_HANGING 3

/* Starts a few of a user, which hang; returns whether they were left, and adds them to the children. */
static bool user_hangs(struct errands *errands, uint32_t user, struct wait *waits, pid_t *pids,
		       size_t *nr_pids)
{
	for (size_t i = 0; i < NR_HANGING; i++)
		wait_add(errands, &waits[i], ERRAND_TABLE, user);
	run_all(errands);
	assert_int_equal(count_running(waits, NR_HANGING), NR_HANGING);
	for (size_t i = 0; i < NR_HANGING; i++) {
		pids[i] = waits[i].errand.child.pid;
		/* It looks as if the killed child had not ended in time. */
		waits[i].errand.child.is_stopped = true;
		waits[i].errand.child.deadline_ns = clock_mono_ns();
	}
	*nr_pids += NR_HANGING;
	errands_run(errands);
	return !count_running(waits, NR_HANGING);
}

/* How many tasks the service may have. */
static size_t tasks_max(void)
{
	static const char name[] = "TasksMax=";
	FILE *file __cleanup(fclosep) = fopen("systemd/bpftruss.service", "re");
	size_t max = 0;
	char line[256];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (!strncmp(line, name, strlen(name)))
			max = strtoul(line + strlen(name), NULL, 10);
	}
	return max;
}

/* All that run and all that are left have room in the service, so that no user takes it from others. */
ERRAND_TEST(test_as_many_children_as_there_can_be)
{
	struct wait left[16][NR_HANGING], running[NR_ERRAND_KIND * MAX_RUNNING_ERRANDS];
	size_t nr_left = 0, nr_users = 0, nr_running;
	pid_t pids[64];

	/* One user has half of the places, others the rest; then errands wait for what they have. */
	for (uint32_t user = 1000; nr_left < 32; user++) {
		if (user_hangs(errands, user, left[nr_users++], pids + nr_left, &nr_left)) {
			assert_true(nr_left <= 31);
			user -= user == 1000;
			continue;
		}
		assert_int_equal(nr_left, user == 1000 ? 18 : 34);
		assert_int_equal(count_running(left[nr_users - 1], NR_HANGING), 2);
		waits_remove(errands, left[nr_users - 1], NR_HANGING);
		nr_left -= 2;
	}
	for (size_t i = 0; i < ARRAY_SIZE(running); i++)
		wait_add(errands, &running[i], i / MAX_RUNNING_ERRANDS, 2000 + (uint32_t)i);
	run_all(errands);
	nr_running = count_running(running, ARRAY_SIZE(running));
	assert_int_equal(nr_running, 23);
	/* The daemon, and whoever checks its configuration before it is read again. */
	assert_in_range(tasks_max(), 2 + nr_left + nr_running, 256);
	waits_remove(errands, running, ARRAY_SIZE(running));
	for (size_t i = 0; i < nr_left; i++)
		kill(pids[i], SIGKILL);
}

/* If no child can be started, one errand at a time tries, and each has its turn later. */
ERRAND_TEST(test_no_child_can_be_started)
{
	struct wait waits[12];

	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		wait_init(&waits[i], i % 2 ? ERRAND_TABLE : ERRAND_OPEN, 1000 + (uint32_t)i);
		waits[i].is_refused = true;
		errands_add(errands, &waits[i].errand);
	}
	errands_run(errands);
	assert_int_equal(begun, 1);
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		assert_true(waits[i].errand.is_waiting);
		waits[i].is_refused = false;
	}
	while (errands_patience_ms(errands))
		poll(NULL, 0, errands_patience_ms(errands));
	run_all(errands);
	assert_int_equal(count_running(waits, ARRAY_SIZE(waits)), 10);
	waits_remove(errands, waits, ARRAY_SIZE(waits));
}

/* The soonest is the first; of those that are due together it is who came first. */
ERRAND_TEST(test_in_order_of_what_is_due)
{
	static const uint64_t due_ns[] = { 30, 10, UINT64_MAX / 2, 20, 10 };
	static const unsigned int order[] = { 4, 1, 0, 3, 2 };
	struct wait waits[5];

	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		wait_init(&waits[i], ERRAND_OPEN, 1000);
		waits[i].errand.due_ns = due_ns[i];
		errands_add(errands, &waits[i].errand);
	}
	run_all(errands);
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		assert_has(&waits[i], turns, order[i] != 0, order, order[i]);
		errands_remove(errands, &waits[i].errand);
	}
}

/* A child ends with its errand, and is reaped. */
ERRAND_TEST(test_cancelled)
{
	struct wait wait;
	pid_t pid;

	wait_add(errands, &wait, ERRAND_TABLE, 0);
	errands_run(errands);
	pid = wait.errand.child.pid;
	errands_remove(errands, &wait.errand);
	assert_false(errand_is_busy(&wait.errand));
	await_end(errands, pid);
	/* It may be added anew. */
	errands_add(errands, &wait.errand);
	errands_run(errands);
	assert_int_equal(wait.turns, 2);
	errands_remove(errands, &wait.errand);
}

/* Another turn comes when it is due, and may be of another kind. */
ERRAND_TEST(test_again)
{
	struct wait wait;

	wait_init(&wait, ERRAND_NAMES, 0);
	wait.wanted = 2;
	wait.next = ERRAND_FETCH;
	errands_add(errands, &wait.errand);
	errands_run(errands);
	wait.errand.due_ns = clock_mono_ns() + 3600 * NS_PER_SEC;
	turn_end(errands, &wait);
	assert_true(wait.errand.is_waiting);
	assert_int_equal(wait.turns, 1);
	assert_in_range(errands_patience_ms(errands), 3500000, 3600000);
	assert_all(errands_are_idle(errands, ERRAND_FETCH, clock_mono_ns()),
		   !errands_are_idle(errands, ERRAND_FETCH, UINT64_MAX));
	errands_set_due(errands, &wait.errand, 0);
	errands_run(errands);
	assert_int_equal(wait.turns, 2);
	errands_remove(errands, &wait.errand);
}

TEST(test_back_off)
{
	static const uint64_t seconds[] = { 4, 16, 64, 256, 600, 600 };

	for (unsigned int i = 0; i < ARRAY_SIZE(seconds); i++) {
		uint64_t before_ns = clock_mono_ns(), retry_ns = errand_retry_ns(i + 1);

		assert_in_range(retry_ns, before_ns + seconds[i] * NS_PER_SEC,
				clock_mono_ns() + seconds[i] * NS_PER_SEC);
	}
}

TEST(test_a_process_is_the_one_that_it_was_said_to_be)
{
	int process __cleanup(closep) = process_open((uint32_t)getpid());
	int first __cleanup(closep) = process_open(1);
	struct process_id id;

	assert_true(process_identify(process, (uint32_t)getpid(), &id));
	assert_has(&id, pid, getpid(), layout, 0);
	assert_true(process_is(process, &id));
	assert_false(process_is(first, &id));
	assert_false(process_identify(-1, 1, &id));
}
