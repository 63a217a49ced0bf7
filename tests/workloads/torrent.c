// SPDX-License-Identifier: BSD-2-Clause
/*
 * torrent WHAT NUMBER [SLEEPERS]: calls that are meant to be too much for who watches them.
 *
 *   large    from a process for each CPU, NUMBER calls whose texts are longer than anybody keeps, and which fail
 *   masses   SLEEPERS threads sleep in read; then a hundred others make NUMBER calls each, of getppid, and
 *            sleep a millisecond behind every tenth. All of them end with the process
 *   lull     the same, but that the sleepers begin late, and that they alone are there for 1.5 seconds
 */
#include <sys/uio.h>

#include "table.h"

#define AWAKE        100
#define MAX_SLEEPERS 6000
#define PARTS        8

static struct {
	int running;
	char stack[4096] __attribute__((aligned(16)));
} sleepers[MAX_SLEEPERS];
static struct thread awake[AWAKE];
static char text[4096];
static int number, cpus, pair[2], asleep;

static void make_large(void)
{
	struct iovec parts[PARTS];

	for (int i = 0; i < PARTS; i++)
		parts[i] = (struct iovec){ text, sizeof(text) };
	for (int i = 0; i < number; i++) {
		if (i % 2)
			raw_call(SYS_openat, AT_FDCWD, text, O_RDONLY);
		else
			raw_call(SYS_writev, -1, parts, PARTS);
	}
	table_add_many(SYS_openat, -ENAMETOOLONG, END_OK, number / 2);
	table_add_many(SYS_writev, -EBADF, END_OK, (number + 1) / 2);
	counted_exit(SYS_exit_group, 0);
}

static void large(void)
{
	memset(text, '\033', sizeof(text) - 1);
	for (int i = 0; i < cpus; i++) {
		if (!counted_fork())
			make_large();
	}
	counted_waits(cpus);
}

static int sleep_for_ever(void *closure)
{
	char byte;

	__atomic_fetch_add(&asleep, 1, __ATOMIC_RELAXED);
	for (;;)
		raw_call(SYS_read, pair[0], &byte, 1);
}

static int work(void *closure)
{
	for (int i = 0; i < number; i++) {
		raw_call(SYS_getppid, 0);
		if (i % 10 == 9)
			raw_sleep_ns(1000000);
	}
	table_add_many(SYS_getppid, 1, END_OK, number);
	raw_exit();
}

static void start_sleepers(int count)
{
	int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;

	for (int i = 0; i < count; i++) {
		if (clone(sleep_for_ever, sleepers[i].stack + sizeof(sleepers[i].stack), flags, NULL) < 0)
			exit(77);
	}
	while (__atomic_load_n(&asleep, __ATOMIC_RELAXED) < count)
		raw_sleep_ns(1000000);
}

int main(int argc, char **argv)
{
	bool wait = table_init(&argc, &argv), is_large = !strcmp(arg_text(argc, argv, 1), "large");
	bool has_lull = !strcmp(arg_text(argc, argv, 1), "lull");
	int count = arg_number(argc, argv, 3, 10);

	cpus = sysconf(_SC_NPROCESSORS_ONLN);
	number = arg_number(argc, argv, 2, 100);
	if (pipe(pair))
		return 1;
	if (!is_large && !has_lull)
		start_sleepers(count);
	if (wait)
		table_barrier();
	if (is_large) {
		large();
		table_finish(0);
	}
	if (has_lull) {
		start_sleepers(count);
		raw_sleep_ns(1500000000);
	}
	threads_start(awake, AWAKE, work);
	threads_join(awake, AWAKE);
	table_finish(0);
}
