// SPDX-License-Identifier: BSD-2-Clause
/*
 * getppid() in a loop, on one thread or on several at once, each on a CPU of its own. The threads
 * exist from the start, so that a tool which attaches once sees them all. A batch of several
 * threads is as slow as its slowest.
 *
 * usage: spin THREADS [FRAMES [PATH]]; the first thread calls from below so many frames. With PATH it
 * tries to open that, which is not there. Then lines "THREADS BATCHES MICROSECONDS" on stdin, each
 * answered by the nanoseconds of a call. The first line of output is the pid.
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "batches.h"

#define MAX_THREADS 8

struct team {
	struct request request;
	const char *path; /* to open; NULL: getppid() */
	atomic_uint arrived;
};

struct worker {
	struct team *team;
	pthread_t thread;
	unsigned int number;
	sem_t go, done;
	double ns[MAX_BATCHES];
};

static void call_repeat(void *arg, unsigned int count)
{
	const char *path = arg;

	while (count--)
		if (path)
			syscall(SYS_openat, AT_FDCWD, path, O_RDONLY);
		else
			syscall(SYS_getppid);
}

/* Spins until all threads are here for the nth time: they start together, and nobody sleeps. */
static void team_meet(struct team *team, unsigned int nth)
{
	atomic_fetch_add(&team->arrived, 1);
	while (atomic_load(&team->arrived) < team->request.threads * nth)
		;
}

static void worker_measure(struct worker *worker)
{
	struct team *team = worker->team;
	unsigned int count;

	team_meet(team, 1);
	count = batch_size(call_repeat, (void *)team->path, team->request.batch_us);
	for (unsigned int i = 0; i < team->request.batches; i++) {
		team_meet(team, i + 2);
		worker->ns[i] = batch_run(call_repeat, (void *)team->path, count) / count;
	}
}

/* Measures at the end of a long way down. */
static __attribute__((noinline)) void worker_descend(struct worker *worker, unsigned int frames)
{
	volatile char used_later = 0;

	if (frames)
		worker_descend(worker, frames - 1);
	else
		worker_measure(worker);
	(void)used_later;
}

static void *worker_main(void *arg)
{
	struct worker *worker = arg;

	if (cpu_pin(worker->number))
		abort();
	sem_post(&worker->done);
	for (;;) {
		while (sem_wait(&worker->go))
			;
		worker_measure(worker);
		sem_post(&worker->done);
	}
	return NULL;
}

static int workers_start(struct worker *workers, struct team *team, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		workers[i].team = team;
		workers[i].number = i;
		sem_init(&workers[i].go, 0, 0);
		sem_init(&workers[i].done, 0, 0);
		if (i == 0)
			continue; /* the main thread */
		if (pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]))
			return -1;
		sem_wait(&workers[i].done);
	}
	return cpu_pin(0);
}

static void team_measure(struct team *team, struct worker *workers, unsigned int frames)
{
	atomic_store(&team->arrived, 0);
	for (unsigned int i = 1; i < team->request.threads; i++)
		sem_post(&workers[i].go);
	worker_descend(&workers[0], frames);
	for (unsigned int i = 1; i < team->request.threads; i++) {
		sem_wait(&workers[i].done);
		for (unsigned int j = 0; j < team->request.batches; j++)
			if (workers[i].ns[j] > workers[0].ns[j])
				workers[0].ns[j] = workers[i].ns[j];
	}
	batches_print(workers[0].ns, team->request.batches);
}

int main(int argc, char **argv)
{
	unsigned int threads = argc > 1 ? atoi(argv[1]) : 0, frames = argc > 2 ? atoi(argv[2]) : 0;
	static struct worker workers[MAX_THREADS];
	struct team team = { .path = argc > 3 ? argv[3] : NULL };

	if (threads < 1 || threads > MAX_THREADS) {
		fprintf(stderr, "usage: spin THREADS [FRAMES [PATH]]\n");
		return 2;
	}
	if (workers_start(workers, &team, threads)) {
		fprintf(stderr, "spin: there are not %u CPUs\n", threads);
		return 1;
	}
	printf("%d\n", getpid());
	fflush(stdout);
	while (!request_read(&team.request) && team.request.threads >= 1 &&
	       team.request.threads <= threads)
		team_measure(&team, workers, frames);
	return 0;
}
