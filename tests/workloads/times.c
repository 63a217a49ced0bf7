// SPDX-License-Identifier: BSD-2-Clause
/*
 * times WHAT NUMBER: calls whose duration is known from outside. After its table it prints what it
 * measured itself around them: {"outer_ns", "stime_ns", "utime_ns", "run_ns", "delay_ns"}, the
 * last two from the kernel's schedstat of its thread.
 *   sleep     NUMBER nanosleeps of 10 ms          until     as many to an absolute time
 *   latepipe  reads of a pipe whose writer takes its time, 20 ms
 *   random    NUMBER getrandoms of 1 MiB          user      as many times 2 ms in user mode and one
 *                                                            short call
 *   migrate   each time on another CPU than before, some reads and a sleep
 *   dies      NUMBER children one after the other, which write to 16 MiB and end; utime_ns and stime_ns
 *             are theirs
 */
#include <sys/mman.h>
#include <sys/resource.h>

#include "table.h"

#define MS             1000000L
#define ZERO_BYTES     (8 << 20)
#define RANDOM_BYTES   (1 << 20)
#define WRITER_LATE_MS 20
#define CHILD_BYTES    (16 << 20)

struct measure {
	uint64_t outer_ns, stime_ns, utime_ns, run_ns, delay_ns;
};

static unsigned char buf[ZERO_BYTES];
static int zero_fd;
static uint64_t outer_ns;

static void timed_call(int nr, long a, long b, long c, long d)
{
	uint64_t start = clock_ns(CLOCK_MONOTONIC);
	long result = raw_call(nr, a, b, c, d);

	outer_ns += clock_ns(CLOCK_MONOTONIC) - start;
	table_add(nr, result, END_OK);
}

static void sleep_ms(long ms)
{
	struct timespec duration = { .tv_nsec = ms * MS };

	timed_call(SYS_nanosleep, (long)&duration, 0, 0, 0);
}

static void sleep_until(void)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + 10 * MS;
	struct timespec time = { .tv_sec = end / 1000000000, .tv_nsec = end % 1000000000 };

	timed_call(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, (long)&time, 0);
}

/* The writer is another process, which is not counted unless children are followed. */
static void read_late_pipe(int times)
{
	int fds[2], child;
	char byte;

	counted_call(SYS_pipe2, fds, 0);
	child = counted_fork();
	if (!child) {
		for (int i = 0; i < times; i++) {
			raw_sleep_ns(WRITER_LATE_MS * MS);
			raw_call(SYS_write, fds[1], "x", 1);
		}
		raw_call(SYS_exit_group, 0);
	}
	for (int i = 0; i < times; i++)
		timed_call(SYS_read, fds[0], (long)&byte, 1, 0);
	counted_wait(child);
}

static void make_child_that_dies(void)
{
	int child = counted_fork();
	char *memory;

	if (!child) {
		memory = (char *)raw_call(SYS_mmap, 0, CHILD_BYTES, PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		raw_call(SYS_madvise, memory, CHILD_BYTES, MADV_NOHUGEPAGE);
		memset(memory, 1, CHILD_BYTES);
		raw_call(SYS_exit_group, 0);
	}
	counted_wait(child);
}

static void do_calls(const char *what, int number, int cpus)
{
	unsigned long mask;

	if (!strcmp(what, "latepipe"))
		return read_late_pipe(number);
	for (int i = 0; i < number; i++) {
		if (!strcmp(what, "sleep"))
			sleep_ms(10);
		else if (!strcmp(what, "until"))
			sleep_until();
		else if (!strcmp(what, "random"))
			timed_call(SYS_getrandom, (long)buf, RANDOM_BYTES, 0, 0);
		else if (!strcmp(what, "user")) {
			burn_us(2000);
			counted_call(SYS_getppid);
		} else if (!strcmp(what, "dies")) {
			make_child_that_dies();
		} else if (!strcmp(what, "migrate")) {
			mask = 1UL << i % cpus;
			counted_call(SYS_sched_setaffinity, 0, sizeof(mask), &mask);
			/* Enough to outweigh the switches, which only the scheduler books. */
			for (int j = 0; j < 8; j++)
				timed_call(SYS_read, zero_fd, (long)buf, ZERO_BYTES, 0);
			sleep_ms(1);
		} else {
			abort();
		}
	}
}

/* Its own calls enter the table as any other. */
static void measure(int schedstat_fd, int whose, struct measure *ret)
{
	struct rusage usage;
	char text[64] = "";

	counted_call(SYS_getrusage, whose, &usage);
	counted_call(SYS_pread64, schedstat_fd, text, sizeof(text) - 1, 0);
	ret->outer_ns = outer_ns;
	ret->stime_ns = timeval_ns(usage.ru_stime);
	ret->utime_ns = timeval_ns(usage.ru_utime);
	if (sscanf(text, "%lu %lu", &ret->run_ns, &ret->delay_ns) != 2)
		ret->run_ns = ret->delay_ns = 0;
}

int main(int argc, char **argv)
{
	bool wait = table_init(&argc, &argv);
	int whose = argc > 1 && !strcmp(argv[1], "dies") ? RUSAGE_CHILDREN : RUSAGE_SELF;
	int schedstat_fd = open("/proc/thread-self/schedstat", O_RDONLY);
	int cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct measure begin, end;
	char text[256];
	int length;

	zero_fd = open("/dev/zero", O_RDONLY);
	/* Page faults belong to no call. */
	memset(buf, 1, sizeof(buf));
	if (!wait || argc != 3)
		return 1;
	table_barrier();
	measure(schedstat_fd, whose, &begin);
	do_calls(argv[1], atoi(argv[2]), cpus);
	measure(schedstat_fd, whose, &end);
	length = snprintf(text, sizeof(text),
			  "{\"outer_ns\":%lu,\"stime_ns\":%lu,\"utime_ns\":%lu,\"run_ns\":%lu,"
			  "\"delay_ns\":%lu}\n",
			  end.outer_ns - begin.outer_ns, end.stime_ns - begin.stime_ns,
			  end.utime_ns - begin.utime_ns, end.run_ns - begin.run_ns,
			  end.delay_ns - begin.delay_ns);
	counted_call(SYS_write, STDOUT_FILENO, text, length);
	table_finish(0);
}
