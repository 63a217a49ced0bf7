/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads what the arguments of a call stand for: files and their locks, texts, timeouts, children. */
#include "collect/call_facts.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>

#include "base/text.h"
#include "syscalls/arguments.h"
#include "syscalls/names.h"

/* Copies memory of a process without stopping it; returns how much was there. */
static size_t memory_read(uint32_t pid, uint64_t address, void *to, size_t size)
{
	struct iovec local = { to, size };
	struct iovec remote = { (void *)(uintptr_t)address, size }; /* NOLINT */
	ssize_t got = address ? process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0) : 0;

	return got > 0 ? (size_t)got : 0;
}

static char *format(const char *format, ...) __attribute__((format(printf, 1, 2)));

static char *format(const char *format, ...)
{
	va_list arguments;
	char *text;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	return length < 0 ? NULL : text;
}

/* Reads page by page: what follows the path may not be there. */
static void add_path(struct flight *flight, uint64_t address)
{
	char text[PATH_MAX + 1];
	size_t size = 0, got = 1;

	while (got && size < PATH_MAX && !memchr(text, 0, size)) {
		got = min_u64(PATH_MAX - size, 4096 - ((address + size) & 4095));
		got = memory_read(flight->thread.pid, address + size, text + size, got);
		size += got;
	}
	text[size] = 0;
	if (size)
		flight_add_fact(flight, "path", strdup(text));
}

/* Whether the end of the wait is a moment of some clock, and not a span. */
static bool timeout_is_moment(const struct listed_thread *thread)
{
	const char *name = syscall_find_name(thread->abi, thread->nr);

	if (!strcmp(name, "futex"))
		return (thread->arguments[1] & 127) != 0;                   /* FUTEX_WAIT */
	return strcmp(name, "clock_nanosleep") || thread->arguments[1] & 1; /* TIMER_ABSTIME */
}

static void add_timeout(struct flight *flight, enum argument_kind kind, uint64_t value)
{
	struct {
		int64_t seconds, parts;
	} span;
	/* The programs of other ABIs have other structures. */
	bool known = flight->thread.abi == ABI_X86_64 || flight->thread.abi == ABI_ARM64;

	if (kind == ARGUMENT_MS) {
		flight_add_fact(flight, "timeout",
				(int)value < 0 ? strdup("none") : format("%d ms", (int)value));
		return;
	}
	if (!value)
		flight_add_fact(flight, "timeout", strdup("none"));
	if (!known || memory_read(flight->thread.pid, value, &span, sizeof(span)) != sizeof(span))
		return;
	if (kind == ARGUMENT_UNTIL && timeout_is_moment(&flight->thread))
		flight_add_fact(flight, "until",
				format("%" PRId64 ".%09" PRId64 " s of its clock", span.seconds,
				       span.parts));
	else
		flight_add_fact(flight, "timeout",
				format("%" PRId64 ".%0*" PRId64 " s", span.seconds,
				       kind == ARGUMENT_TIMEVAL ? 6 : 9, span.parts));
}

/* --- files -------------------------------------------------------------------------------------- */

/* Adds who holds locks on a file; /proc/locks knows it by device and inode. */
static void add_locks(struct flight *flight, int process, const char *fd_path)
{
	FILE *locks __cleanup(fclosep) = fopen("/proc/locks", "re");
	char line[256], kind[16], access[16], who[64];
	unsigned int major, minor;
	unsigned long inode;
	struct stat st;
	int pid;

	if (!locks || fstatat(process, fd_path, &st, 0))
		return;
	while (fgets(line, sizeof(line), locks)) {
		/* Those that wait have an arrow there. */
		if (sscanf(line, "%*d: %15s %*s %15s %d %x:%x:%lu", kind, access, &pid, &major,
			   &minor, &inode) != 6)
			continue;
		if (inode != st.st_ino || major != major(st.st_dev) || minor != minor(st.st_dev))
			continue;
		if (pid > 0)
			process_describe((uint32_t)pid, who, sizeof(who));
		else
			snprintf(who, sizeof(who), "an open file without a process");
		flight_add_fact(flight, "lock_held_by", format("%s: %s, %s", who, kind, access));
	}
}

/* An epoll instance lists what it watches. */
static void add_watched(struct flight *flight, int process, int fd)
{
	char path[64], line[256];
	FILE *info __cleanup(fclosep) = NULL;
	size_t count = 0;

	snprintf(path, sizeof(path), "fdinfo/%d", fd);
	info = process_file(process, path);
	while (info && fgets(line, sizeof(line), info))
		count += !strncmp(line, "tfd:", 4);
	if (info)
		flight_add_fact(flight, "watches", format("%zu file%s", count, plural(count)));
}

/* Whoever may end the wait for a pipe has it open the other way. */
static void want_other_end(struct flight *flight, int process, const char *fd_path,
			   const char *link, struct wanted_ends *ends)
{
	struct wanted_end *end = &ends->items[ends->count];
	struct stat st;

	if (fstatat(process, fd_path, &st, 0) || !S_ISFIFO(st.st_mode) ||
	    ends->count == MAX_WANTED_ENDS || strlen(link) >= sizeof(end->link) ||
	    fstatat(process, fd_path, &st, AT_SYMLINK_NOFOLLOW))
		return;
	/* The link may be read by whom the file may be read by, and so on. */
	*end = (struct wanted_end){ .flight = flight,
				    .mode = st.st_mode & S_IRUSR ? O_WRONLY : O_RDONLY };
	/* Open both ways, it is its own other end. */
	if (st.st_mode & S_IRUSR && st.st_mode & S_IWUSR)
		return;
	memcpy(end->link, link, strlen(link) + 1);
	ends->count++;
}

static void add_file(struct flight *flight, int process, int fd, struct wanted_ends *ends)
{
	const char *name = syscall_find_name(flight->thread.abi, flight->thread.nr) ?: "";
	char path[64], link[PATH_MAX];
	unsigned long inode;
	ssize_t length;

	snprintf(path, sizeof(path), "fd/%d", fd);
	length = readlinkat(process, path, link, sizeof(link) - 1);
	if (length < 0) {
		if (errno == ENOENT)
			flight_add_fact(flight, "file", format("none has the number %d", fd));
		return;
	}
	link[length] = 0;
	flight_add_fact(flight, "file", format("%d: %s", fd, link));
	if (sscanf(link, "socket:[%lu]", &inode) == 1)
		socket_facts_add(flight, process, fd, inode, ends);
	else if (!strcmp(link, "anon_inode:[eventpoll]"))
		add_watched(flight, process, fd);
	else
		want_other_end(flight, process, path, link, ends);
	if (!strcmp(name, "flock") || !strcmp(name, "fcntl") || !strcmp(name, "fcntl64"))
		add_locks(flight, process, path);
}

/* --- others ------------------------------------------------------------------------------------- */

#define CHILDREN_NAMED 3

/* The children of the thread that waits, or of a certain pid. */
static void add_children(struct flight *flight, int process, int pid)
{
	char path[64], who[64], *text = NULL;
	FILE *file __cleanup(fclosep) = NULL;
	size_t size = 0, count = 0;
	FILE *out;
	uint32_t child;

	if (pid > 0) {
		process_describe((uint32_t)pid, who, sizeof(who));
		flight_add_fact(flight, "child", strdup(who));
		return;
	}
	snprintf(path, sizeof(path), "task/%u/children", flight->thread.tid);
	file = process_file(process, path);
	out = file ? open_memstream(&text, &size) : NULL;
	while (out && fscanf(file, "%u", &child) == 1) {
		if (count++ >= CHILDREN_NAMED)
			continue;
		process_describe(child, who, sizeof(who));
		fprintf(out, "%s%s", count == 1 ? "" : ", ", who);
	}
	if (out && count > CHILDREN_NAMED)
		fprintf(out, " and %zu more", count - CHILDREN_NAMED);
	if (out)
		fclose(out);
	if (size)
		flight_add_fact(flight, "any_child", text);
	else
		free(text);
}

static void add_address(struct flight *flight, uint64_t address, uint64_t size)
{
	char bytes[128] = "";
	size_t got = memory_read(flight->thread.pid, address, bytes, min_u64(size, 128));

	if (got)
		flight_add_fact(flight, "to", socket_address_text(bytes, got));
}

void call_facts_add(struct flight *flight, int process, struct wanted_ends *ends)
{
	const struct listed_thread *thread = &flight->thread;
	const char *kinds = call_arguments(thread->abi, thread->nr);

	/* A kernel that shows no arguments has no stack pointer, either. */
	for (size_t i = 0; kinds[i] && thread->sp; i++) {
		uint64_t value = thread->arguments[i];

		if (kinds[i] == ARGUMENT_FD)
			add_file(flight, process, (int)value, ends);
		else if (kinds[i] == ARGUMENT_PATH)
			add_path(flight, value);
		else if (kinds[i] == ARGUMENT_CHILD)
			add_children(flight, process, (int)value);
		else if (kinds[i] == ARGUMENT_ADDRESS)
			add_address(flight, value, (uint32_t)thread->arguments[i + 1]);
		else if (strchr("mtTv", kinds[i]))
			add_timeout(flight, (enum argument_kind)kinds[i], value);
	}
}
