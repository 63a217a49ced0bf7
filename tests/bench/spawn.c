// SPDX-License-Identifier: BSD-2-Clause
/*
 * spawn RATE SECONDS: makes RATE processes a second that end at once, by as many parents as there are
 * CPUs; 0: as many as they can. Says how many a second they were.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "batches.h"

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
	double start = time_ns(), took_s;
	long made = 0;

	while ((took_s = (time_ns() - start) / 1e9) < seconds) {
		if (rate && made >= took_s * rate) {
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
