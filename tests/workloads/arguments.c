// SPDX-License-Identifier: BSD-2-Clause
/*
 * arguments WHAT: calls whose arguments nobody likes, made raw and known to the test. Each begins with
 * getuid() and ends with getgid(), which nothing else calls.
 *
 *   paths     names with newlines, escapes, quotes, bytes that are no UTF-8; of 0, 255, 256, 257 and 10,000 bytes
 *   pointers  addresses where nothing is, or only the beginning of what is asked for
 *   fresh     names in a page of a file that nobody has touched, and in one that was taken out of memory
 *   changes   20,000 names that another thread changes all the time, between two of 200 bytes
 *   vectors   an iovec of 1024 parts, one of 1025, which fails, and one that is nowhere
 *   reuse     one number, 50, for files, pipes and sockets, one after the other
 *   starts    execve that fails, and children by vfork, fork and posix_spawn that execute /bin/true
 *   i386      calls of the 32-bit ABI with names and addresses below 4 GiB
 *   sleeps    a sleep of two seconds, and a read that ends with the process in another thread's exit
 */
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "table.h"

#define PAGE     4096UL
#define NOWHERE  ((char *)8)
#define NO_ENTRY "/no/such/folder/"

/* Elsewhere there are no such calls, and the test is skipped. */
#ifndef MAP_32BIT
#define MAP_32BIT 0
#endif

static char long_path[10001];

static long try_open(const char *path)
{
	return raw_call(SYS_openat, AT_FDCWD, path, O_RDONLY, 0);
}

static void paths(void)
{
	static const char *const names[] = {
		"new\nline",
		"\033]0;title\007\033[2J",
		"quo\"te\\back",
		"\377\376\x80",
		"tab\tret\rx",
		"csi\302\2332J",
		"rtl\342\200\256evil",
		"%s%n%x",
		"\0011",
		"\x7f",
		"… 9 calls of thread 1 not shown",
	};
	static const int lengths[] = { 0, 255, 256, 257, 10000 };

	for (int i = 0; i < COUNT(names); i++)
		try_open(names[i]);
	for (int i = 0; i < COUNT(lengths); i++) {
		memset(long_path, 'x', sizeof(long_path));
		long_path[lengths[i]] = 0;
		try_open(long_path);
	}
}

/* Two pages, of which the second one is not there. */
static char *edge(void)
{
	char *pages =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(pages + PAGE, PAGE);
	memset(pages, 'e', PAGE);
	return pages + PAGE;
}

static void pointers(void)
{
	char *end = edge();

	try_open(NULL);
	try_open(NOWHERE);
	try_open((char *)-1L);
	try_open((char *)0x8000000000000000UL);
	try_open(end - 4);
	raw_call(SYS_write, 1, NOWHERE, 10);
	raw_call(SYS_write, -1, end - 4, 4);
	raw_call(SYS_write, -1, end - 4, 5);
	raw_call(SYS_writev, -1, end - sizeof(struct iovec), 2);
	raw_call(SYS_execve, NOWHERE, NOWHERE, NOWHERE);
	raw_call(SYS_connect, -1, NOWHERE, 16);
	raw_call(SYS_nanosleep, NOWHERE, NULL);
	memcpy(end - 5, "edge", 5);
	try_open(end - 5);
}

static void fresh(void)
{
	int fd = memfd_create("names", 0), file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	char *page;

	for (int i = 0; i < 2; i++) {
		int from = i ? file : fd;

		if (ftruncate(from, PAGE) || pwrite(from, NO_ENTRY "fresh", 22, 0) != 22)
			exit(77);
		fsync(from);
		page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, from, 0);
		madvise(page, PAGE, MADV_RANDOM);
		try_open(page);
		madvise(page, PAGE, MADV_PAGEOUT);
		try_open(page);
	}
}

static struct thread changer;
static char changing[256];
static volatile bool is_over;

static int change(void *closure)
{
	while (!is_over) {
		memset(changing, 'A', 200);
		__asm__ volatile("" ::: "memory");
		memset(changing, 'b', 200);
		__asm__ volatile("" ::: "memory");
	}
	raw_exit();
}

static void changes(void)
{
	memset(changing, 'b', 200);
	thread_start(&changer, 0, change);
	for (int i = 0; i < 20000; i++)
		try_open(changing);
	is_over = true;
	thread_join(&changer);
}

static void vectors(void)
{
	static struct iovec parts[1025];
	int fd = memfd_create("vectors", 0);

	for (int i = 0; i < COUNT(parts); i++)
		parts[i] = (struct iovec){ "part", 4 };
	raw_call(SYS_writev, fd, parts, 1024);
	raw_call(SYS_writev, fd, parts, 1025);
	raw_call(SYS_writev, fd, NOWHERE, 3);
	parts[1].iov_base = NOWHERE;
	raw_call(SYS_writev, fd, parts, 3);
	parts[0].iov_len = -1UL;
	raw_call(SYS_writev, fd, parts, 1);
}

static void reuse(void)
{
	int pair[2];

	raw_call(SYS_dup3, open("/dev/null", O_RDWR), 50, 0);
	raw_call(SYS_write, 50, "a", 1);
	raw_call(SYS_close, 50);
	raw_call(SYS_dup3, open("/dev/zero", O_RDWR), 50, 0);
	raw_call(SYS_write, 50, "b", 1);
	pipe(pair);
	raw_call(SYS_dup3, pair[1], 50, 0);
	raw_call(SYS_write, 50, "c", 1);
	raw_call(SYS_dup3, socket(AF_INET, SOCK_DGRAM, 0), 50, 0);
	raw_call(SYS_write, 50, "d", 1);
	raw_call(SYS_close, 50);
	raw_call(SYS_write, 50, "e", 1);
	raw_call(SYS_fcntl, open("/dev/full", O_RDWR), F_DUPFD, 50);
	raw_call(SYS_write, 50, "f", 1);
}

static void starts(void)
{
	char *argv[] = { "/bin/true", "one", "two", NULL }, *none[] = { NULL };
	char *missing[] = { "missing", "a\nb", NULL };
	int pid;

	raw_call(SYS_execve, "/no/such/program", missing, none);
	if (!vfork())
		raw_call(SYS_execve, "/bin/true", argv, none);
	wait(NULL);
	/* The page of this name is not in the memory of a child that has not touched it. */
	if (!fork())
		raw_call(SYS_execve, "/bin/true", argv, none);
	wait(NULL);
	posix_spawn(&pid, "/bin/true", NULL, NULL, argv, none);
	wait(NULL);
}

static void i386(void)
{
	char *low = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	uint32_t *vector = (uint32_t *)(low + 64);

	strcpy(low, NO_ENTRY "i386");
	raw_i386(5, (long)low, O_RDONLY, 0);
	raw_i386(4, -1, (long)low, 4);
	vector[0] = (uint32_t)(uintptr_t)low;
	vector[1] = 3;
	raw_i386(146, -1, (long)vector, 1);
	raw_i386(6, -1, 0, 0);
}

static int wait_for_ever(void *closure)
{
	int pair[2];
	char byte;

	pipe(pair);
	raw_call(SYS_read, pair[0], &byte, 1);
	return 0;
}

static void sleeps(void)
{
	thread_start(&changer, 0, wait_for_ever);
	raw_sleep_ns(2000000000);
}

static const struct {
	const char *name;
	void (*run)(void);
} all[] = {
	{ "paths", paths },     { "pointers", pointers }, { "fresh", fresh },
	{ "changes", changes }, { "vectors", vectors },   { "reuse", reuse },
	{ "starts", starts },   { "i386", i386 },         { "sleeps", sleeps },
};

/* A host that is short of memory reclaims pages that calls name but never touch. */
__attribute__((constructor)) static void keep_pages(void)
{
	mlockall(MCL_CURRENT);
}

WORKLOAD(argc, argv)
{
	raw_call(SYS_getuid, 0);
	for (int i = 0; i < COUNT(all); i++) {
		if (!strcmp(arg_text(argc, argv, 1), all[i].name))
			all[i].run();
	}
	raw_call(SYS_getgid, 0);
}
