// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls with known paths and descriptors.
 *
 * known N: N threads; thread t calls faccessat() with the paths of below, "/nonexistent/deep" t + 1 times as
 * often as it says there, and getppid() 10 times.
 * many N: faccessat() twice with each of N paths /nonexistent/0, /nonexistent/1, and so on.
 * fresh N: faccessat() once with each of N copies of "/nonexistent/fresh", in memory that nobody has touched.
 * i386: faccessat() 9 times with "/nonexistent/compat" in the 32-bit ABI of x86.
 * files: reads and writes of a file, a pipe and a TCP connection, whose names it prints:
 * {"file":"/tmp/…","pipe":"pipe:[1]","client":"TCP …","server":"TCP …"}.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "table.h"

#define LONG 300

static char long_path[LONG + 1], longer_path[LONG + 2];

static const struct {
	const char *path;
	int times;
} known[] = {
	{ "/dev/null", 11 },
	{ "/nonexistent/deep", 13 },
	{ "/nonexistent/other", 2 },
	{ "/dev/null/below", 5 },
	{ "relative", 3 },
	{ "", 1 },
	{ "[other paths]", 8 },
	{ "/tmp/a\nb\x1b[31m\xff\xc3", 9 },
	{ "/tmp/=cmd,\"quoted\";x", 4 },
	{ long_path, 6 },
	{ longer_path, 2 },
	{ NULL, 7 },
	{ (const char *)1, 12 },
};

static int run_known(void *closure)
{
	const struct thread *thread = closure;

	for (int i = 0; i < COUNT(known); i++) {
		int times = known[i].times * (i == 1 ? thread->index + 1 : 1);

		for (int n = 0; n < times; n++)
			counted_call(SYS_faccessat, AT_FDCWD, known[i].path, 0);
	}
	repeat_call(10, SYS_getppid, 0);
	counted_exit(SYS_exit, 0);
}

static void do_known(int number)
{
	static struct thread threads[16];

	counted_threads(threads, 0, number, run_known);
	threads_join(threads, number);
}

static void do_many(int number)
{
	char path[64];

	for (int i = 0; i < 2 * number; i++) {
		sprintf(path, "/nonexistent/%d", i / 2);
		counted_call(SYS_faccessat, AT_FDCWD, path, 0);
	}
}

#define MAX_FRESH 64

static const char *fresh[MAX_FRESH];

/* A page of a file that is in no page table, whatever the kernel has read ahead. */
static void prepare_fresh(int number)
{
	static const char text[] = "/nonexistent/fresh";
	FILE *file = tmpfile();

	for (int i = 0; i < number; i++)
		pwrite(fileno(file), text, sizeof(text), (long)i * 65536);
	for (int i = 0; i < number; i++)
		fresh[i] = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fileno(file), (long)i * 65536);
}

static void do_fresh(int number)
{
	for (int i = 0; i < number; i++)
		counted_call(SYS_faccessat, AT_FDCWD, fresh[i], 0);
}

static void do_i386(void)
{
#if defined(__x86_64__)
	char *path = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	table_add(SYS_mmap, 1, END_OK);
	strcpy(path, "/nonexistent/compat");
	for (int i = 0; i < 9; i++)
		table_add_abi(TABLE_I386, 307, raw_i386(307, AT_FDCWD, (long)path, 0), END_OK);
#endif
}

/* --- files --- */

static int file, ends[2], listener, client, server;
static char names[512];

static int end_print(char *to, const struct sockaddr_in *end)
{
	return sprintf(to, "127.0.0.1:%u", ntohs(end->sin_port));
}

static void prepare_files(void)
{
	struct sockaddr_in here = { .sin_family = AF_INET }, there;
	char path[] = "/tmp/bpftruss-paths-XXXXXX", *at = names;
	socklen_t size = sizeof(here);
	struct stat st;

	here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	file = mkstemp(path);
	unlink(path);
	if (pipe(ends) || fstat(ends[0], &st))
		abort();
	listener = socket(AF_INET, SOCK_STREAM, 0);
	client = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (void *)&here, sizeof(here)) || listen(listener, 1) ||
	    getsockname(listener, (void *)&here, &size) ||
	    connect(client, (void *)&here, sizeof(here)) ||
	    getsockname(client, (void *)&there, &size))
		abort();
	server = accept(listener, NULL, NULL);
	at += sprintf(at, "{\"file\":\"%s\",\"pipe\":\"pipe:[%lu]\",\"client\":\"TCP ", path,
		      (unsigned long)st.st_ino);
	at += end_print(at, &there);
	at += sprintf(at, "->");
	at += end_print(at, &here);
	at += sprintf(at, "\",\"server\":\"TCP ");
	at += end_print(at, &here);
	at += sprintf(at, "->");
	at += end_print(at, &there);
	sprintf(at, "\"}\n");
}

static void do_files(void)
{
	char buf[1000];

	memset(buf, 'x', sizeof(buf));
	for (int i = 0; i < 10; i++)
		counted_call(SYS_write, file, buf, 100);
	for (int i = 0; i < 4; i++)
		counted_call(SYS_pread64, file, buf, 50, 0);
	for (int i = 0; i < 3; i++) {
		counted_call(SYS_write, ends[1], buf, 7);
		counted_call(SYS_read, ends[0], buf, 7);
	}
	for (int i = 0; i < 5; i++) {
		counted_call(SYS_write, client, buf, 11);
		counted_call(SYS_read, server, buf, 11);
	}
	for (int i = 0; i < 6; i++)
		counted_call(SYS_close, 999);
	counted_call(SYS_close, client);
	counted_call(SYS_close, server);
	counted_call(SYS_close, file);
	counted_call(SYS_write, STDOUT_FILENO, names, strlen(names));
}

int main(int argc, char **argv)
{
	bool waits = table_init(&argc, &argv);
	const char *what = arg_text(argc, argv, 1);
	int number = arg_number(argc, argv, 2, 1);

	memset(long_path, 'x', LONG);
	memset(longer_path, 'x', LONG + 1);
	if (!strcmp(what, "fresh"))
		prepare_fresh(number);
	if (!strcmp(what, "files"))
		prepare_files();
	if (waits)
		table_barrier();
	if (!strcmp(what, "known"))
		do_known(number);
	else if (!strcmp(what, "many"))
		do_many(number);
	else if (!strcmp(what, "fresh"))
		do_fresh(number);
	else if (!strcmp(what, "i386"))
		do_i386();
	else
		do_files();
	table_finish(0);
}
