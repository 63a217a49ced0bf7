// SPDX-License-Identifier: BSD-2-Clause
/*
 * states MILLISECONDS: nine threads, three each that compute, touch new memory, and wait: for a lock,
 * in a sleep, and off and on. Prints what the kernel has booked for all of them while they did, and
 * stays until the test writes another line:
 * {"utime_ns", "stime_ns", "run_ns", "delay_ns", "minflt", "nvcsw", "nivcsw", "wall_ns"}.
 */
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "table.h"

#define NR_THREADS  9
#define TOUCH_BYTES (4 << 20)
#define PAGE_BYTES  4096

static struct thread threads[NR_THREADS];
static volatile int done, lock;
static atomic_int nr_over; /* threads that have done all */

static void run_compute(void)
{
	while (!done)
		;
}

static void run_touch(void)
{
	while (!done) {
		char *memory = mmap(NULL, TOUCH_BYTES, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		for (size_t i = 0; i < TOUCH_BYTES; i += PAGE_BYTES)
			memory[i] = 1;
		munmap(memory, TOUCH_BYTES);
	}
}

static void run_lock(void)
{
	while (!done)
		raw_call(SYS_futex, &lock, FUTEX_WAIT, 0, 0, 0, 0);
}

static void run_sleep(void)
{
	while (!done)
		raw_sleep_ns(50000000);
}

static void run_nap(void)
{
	while (!done) {
		raw_sleep_ns(500000);
		burn_us(500);
	}
}

static void (*const jobs[NR_THREADS])(void) = {
	run_compute, run_compute, run_compute, run_touch, run_touch,
	run_touch,   run_lock,    run_sleep,   run_nap,
};

static int run(void *arg)
{
	jobs[((struct thread *)arg)->index]();
	nr_over++;
	/* Its numbers are to be read. */
	while (done < 2)
		raw_call(SYS_futex, &done, FUTEX_WAIT, 1, 0, 0, 0);
	raw_exit();
}

struct booked {
	unsigned long run_ns, delay_ns;
	struct rusage usage;
	uint64_t wall_ns;
};

static void booked_add_thread(struct booked *booked, int tid)
{
	unsigned long run_ns = 0, delay_ns = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", tid);
	file = fopen(path, "r");
	if (!file || fscanf(file, "%lu %lu", &run_ns, &delay_ns) != 2)
		abort();
	fclose(file);
	booked->run_ns += run_ns;
	booked->delay_ns += delay_ns;
}

static struct booked booked_read(void)
{
	struct booked booked = { .wall_ns = clock_ns(CLOCK_MONOTONIC) };

	getrusage(RUSAGE_SELF, &booked.usage);
	booked_add_thread(&booked, getpid());
	for (int i = 0; i < NR_THREADS && threads[i].running; i++)
		booked_add_thread(&booked, threads[i].running);
	return booked;
}

int main(int argc, char **argv)
{
	struct booked before, after;

	table_start(&argc, &argv);
	before = booked_read();
	threads_start(threads, NR_THREADS, run);
	usleep(arg_number(argc, argv, 1, 2000) * 1000);
	done = 1;
	/* Threads that still wait for a CPU have waited for longer than the kernel has booked. */
	while (nr_over < NR_THREADS) {
		raw_call(SYS_futex, &lock, FUTEX_WAKE, 1, 0, 0, 0);
		usleep(1000);
	}
	usleep(100000);
	after = booked_read();
	printf("{\"utime_ns\":%lu,\"stime_ns\":%lu,\"run_ns\":%lu,\"delay_ns\":%lu,\"minflt\":%ld,"
	       "\"nvcsw\":%ld,\"nivcsw\":%ld,\"wall_ns\":%lu}\n",
	       timeval_ns(after.usage.ru_utime) - timeval_ns(before.usage.ru_utime),
	       timeval_ns(after.usage.ru_stime) - timeval_ns(before.usage.ru_stime),
	       after.run_ns - before.run_ns, after.delay_ns - before.delay_ns,
	       after.usage.ru_minflt - before.usage.ru_minflt,
	       after.usage.ru_nvcsw - before.usage.ru_nvcsw,
	       after.usage.ru_nivcsw - before.usage.ru_nivcsw, after.wall_ns - before.wall_ns);
	fflush(stdout);
	counted_line(END_OK);
	table_finish(0);
}
