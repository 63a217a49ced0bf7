// SPDX-License-Identifier: BSD-2-Clause
/*
 * Threads that wait for each other for ever: locks KIND [NUMBER]. Each is called what it does; a holder
 * sleeps, a waiter wants a mutex that a holder has. The first thread waits for the end of a holder: with
 * pthread_join(), or, if KIND is "shared" or "private", at such a futex of its own.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct work {
	char name[16];
	pthread_t thread;
	pthread_mutex_t mutex, *wanted;
	pthread_cond_t never;
	int is_held, futex; /* when the kernel ends the thread, it wakes that */
};

static bool has_own_futex;

static pthread_t work_start(struct work *work, void *(*run)(void *), const char *name)
{
	pthread_attr_t small;

	snprintf(work->name, sizeof(work->name), "%s", name);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 1 << 16);
	if (pthread_create(&work->thread, &small, run, work))
		exit(2);
	return work->thread;
}

static void *hold(void *closure)
{
	struct work *work = closure;

	pthread_setname_np(pthread_self(), work->name);
	if (has_own_futex)
		syscall(SYS_set_tid_address, &work->futex);
	pthread_mutex_lock(&work->mutex);
	__atomic_store_n(&work->is_held, 1, __ATOMIC_RELEASE);
	for (;;)
		sleep(1000);
	return NULL;
}

static void *want(void *closure)
{
	struct work *work = closure;

	pthread_setname_np(pthread_self(), work->name);
	pthread_mutex_lock(work->wanted);
	return NULL;
}

/* Each has a condition of its own. */
static void *idle(void *closure)
{
	struct work *work = closure;

	pthread_setname_np(pthread_self(), work->name);
	pthread_mutex_lock(&work->mutex);
	for (;;)
		pthread_cond_wait(&work->never, &work->mutex);
	return NULL;
}

static void mutex_make(pthread_mutex_t *mutex, const char *kind)
{
	pthread_mutexattr_t how;

	pthread_mutexattr_init(&how);
	if (!strcmp(kind, "pi"))
		pthread_mutexattr_setprotocol(&how, PTHREAD_PRIO_INHERIT);
	if (!strcmp(kind, "robust"))
		pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
	if (!strcmp(kind, "recursive"))
		pthread_mutexattr_settype(&how, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(mutex, &how);
}

/* Twice a holder and a waiter, whose stacks are the same. */
static __attribute__((noinline)) void hold_all(const char *kind)
{
	static struct work holders[2], waiters[2];
	int how = strcmp(kind, "private") ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE;
	char name[16];

	has_own_futex = how == FUTEX_WAIT_PRIVATE || !strcmp(kind, "shared");
	for (int i = 0; i < 2; i++) {
		mutex_make(&holders[i].mutex, kind);
		snprintf(name, sizeof(name), "holder%d", i);
		work_start(&holders[i], hold, name);
		while (!__atomic_load_n(&holders[i].is_held, __ATOMIC_ACQUIRE))
			usleep(1000);
		waiters[i].wanted = &holders[i].mutex;
		snprintf(name, sizeof(name), "waiter%d", i);
		work_start(&waiters[i], want, name);
	}
	if (has_own_futex)
		syscall(SYS_futex, &holders[0].futex, how, 0, NULL);
	else
		pthread_join(holders[0].thread, NULL);
}

int main(int argc, char **argv)
{
	int number = argc > 2 ? atoi(argv[2]) : 0;
	struct work *idlers = calloc(number + 1, sizeof(*idlers));
	char name[16];

	if (argc < 2 || !idlers)
		return 2;
	for (int i = 0; i < number; i++) {
		pthread_cond_init(&idlers[i].never, NULL);
		mutex_make(&idlers[i].mutex, "");
		snprintf(name, sizeof(name), "idle%d", i);
		work_start(&idlers[i], idle, name);
	}
	if (strcmp(argv[1], "idle") != 0)
		hold_all(argv[1]);
	for (;;)
		pause();
}
