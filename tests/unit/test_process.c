/* SPDX-License-Identifier: BSD-2-Clause */
/* What a copy of this process brings home, and when a process has ended: when its last thread has. */
#include "fixture.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/child.h"
#include "base/process.h"

static void assert_no_children(void)
{
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
	assert_int_equal(answer.numbers[3], 9);
	assert_int_equal(answer.nr_fds, MAX_COPY_FDS);
	for (int i = 0; i < MAX_COPY_FDS; i++) {
		assert_int_equal(pread(answer.fds[i], text, 1, 0), 1);
		assert_int_equal(atoi(text), i);
		assert_true(fcntl(answer.fds[i], F_GETFD) & FD_CLOEXEC);
	}
	assert_no_children();
}

/* At our limit the kernel leaves out descriptors: the answer is none. */
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
		/* Those that came are closed, and so are those of the copy. */
		opened = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
		close(opened);
		assert_true(opened <= lowest);
	}
	assert_no_children();
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
	assert_no_children();
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
	assert_int_equal(answer.numbers[0], 1);
	assert_int_equal(answer.numbers[1], 0);
	assert_int_equal(answer.numbers[2], 1);
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
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
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
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(ends[0]);
	close(ends[1]);
}
