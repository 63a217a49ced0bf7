/* SPDX-License-Identifier: BSD-2-Clause */
/* A process has ended when its last thread has, and not before. */
#include "test.h"
#include <pthread.h>
#include <sys/syscall.h>

#include "base/process.h"

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

TEST(test_no_process_at_all_is_an_open_question)
{
	/* The kernel says EINVAL, not that it is gone. */
	assert_all(!process_has_ended(0), !process_has_ended(-1));
}
