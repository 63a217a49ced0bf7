// SPDX-License-Identifier: BSD-2-Clause
/*
 * spawn RATE SECONDS: makes RATE processes a second that end at once, by as many parents as there are
 * CPUs; 0: as many as they can. Says how many a second they were.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000L

static long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* vfork(), as shells and make(1) start programs: no copy of the memory. */
static void spawn(void)
{
	pid_t pid = vfork();

	if (!pid)
		_exit(0);
	if (pid < 0)
		abort();
	waitpid(pid, NULL, 0);
}

static long spawn_at(long rate, long seconds)
{
	long start = now_ns(), end = start + seconds * NS_PER_S, made = 0, now;

	while ((now = now_ns()) < end) {
		if (rate && made * NS_PER_S >= (now - start) * rate) {
			usleep(200);
			continue;
		}
		spawn();
		made++;
	}
	return made;
}

int main(int argc, char **argv)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN), sum = 0;
	long *made = mmap(NULL, (size_t)cpus * sizeof(*made), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (argc != 3 || made == MAP_FAILED) {
		fputs("usage: spawn RATE SECONDS\n", stderr);
		return 2;
	}
	for (long i = 0; i < cpus; i++) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		made[i] = spawn_at(atol(argv[1]) / cpus, atol(argv[2]));
		return 0;
	}
	while (wait(NULL) > 0)
		;
	for (long i = 0; i < cpus; i++)
		sum += made[i];
	printf("%ld\n", sum / atol(argv[2]));
	return 0;
}
