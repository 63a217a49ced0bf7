/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks up what arguments of a call refer to: files, locks, texts, timeouts, children. */
#include "collect/call_facts.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "base/text.h"
#include "syscalls/arguments.h"
#include "syscalls/names.h"

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

static void add_path(struct flight *flight, const struct flight_bytes *path)
{
	if (path->size)
		flight_add_fact(flight, "path", strndup(path->bytes, path->size));
}

/* The clock by which a wait ends at a moment; -1: it ends after a span. */
static int timeout_clock(const struct listed_thread *thread)
{
	const char *name = syscall_find_name(thread->abi, thread->nr);
	uint64_t flags = thread->arguments[1];

	if (!strcmp(name, "clock_nanosleep"))
		return flags & TIMER_ABSTIME ? (int)thread->arguments[0] : -1;
	if (!strcmp(name, "futex_wait"))
		return (int)thread->arguments[5];
	if (!strcmp(name, "futex_waitv"))
		return (int)thread->arguments[4];
	if (!strcmp(name, "mq_timedsend") || !strcmp(name, "mq_timedreceive"))
		return CLOCK_REALTIME;
	if (strcmp(name, "futex"))
		return -1;
	if ((flags & FUTEX_CMD_MASK) == FUTEX_WAIT)
		return -1;
	return flags & FUTEX_CLOCK_REALTIME || (flags & FUTEX_CMD_MASK) == FUTEX_LOCK_PI
		       ? CLOCK_REALTIME
		       : CLOCK_MONOTONIC;
}

/* A timespec or a timeval of a 64-bit program. */
struct timeout {
	int64_t seconds, parts;
};

static void add_span(struct flight *flight, const char *key, const char *before, int64_t ns)
{
	char text[AGE_MAX];

	format_long_age(ns > 0 ? (uint64_t)ns : 0, text, sizeof(text));
	flight_add_fact(flight, key, format("%s%s", before, text));
}

/* Returns how long a wait still lasts; a time namespace has clocks of its own. */
static void add_moment(struct flight *flight, int process, int clock, int64_t end_ns)
{
	struct stat ours, theirs;
	struct timespec now;

	if ((clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME) ||
	    clock_gettime(clock, &now))
		return;
	if (clock == CLOCK_REALTIME ||
	    (!stat("/proc/self/ns/time", &ours) && !fstatat(process, "ns/time", &theirs, 0) &&
	     ours.st_ino == theirs.st_ino))
		add_span(flight, "timeout", "in ",
			 end_ns - now.tv_sec * 1000000000LL - now.tv_nsec);
}

static void add_timeout_ms(struct flight *flight, int ms)
{
	if (ms < 0)
		flight_add_fact(flight, "timeout", strdup("none"));
	else
		add_span(flight, "timeout", "after ", ms * 1000000LL);
}

static void add_timeout(struct flight *flight, int process, const char *type, uint64_t value,
			const struct flight_bytes *read)
{
	struct timeout span;
	/* Programs of other ABIs have other structures. */
	bool known = flight->thread.abi == ABI_X86_64 || flight->thread.abi == ABI_ARM64;
	int clock = timeout_clock(&flight->thread);
	int64_t ns;

	if (!value) {
		flight_add_fact(flight, "timeout", strdup("none"));
		return;
	}
	if (!known || read->size != sizeof(span))
		return;
	memcpy(&span, read->bytes, sizeof(span));
	/* A timeval has microseconds. */
	if (!strcmp(type, "timeval"))
		span.parts *= 1000;
	if (span.seconds < 0 || span.seconds > INT32_MAX * 2LL || span.parts < 0 ||
	    span.parts >= 1000000000)
		return;
	ns = span.seconds * 1000000000 + span.parts;
	if (clock < 0)
		add_span(flight, "timeout", "after ", ns);
	else
		add_moment(flight, process, clock, ns);
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

	if (!locks || file_status_known(process, fd_path, &st))
		return;
	while (fgets(line, sizeof(line), locks)) {
		/* Waiting locks have an arrow in that place. */
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

/* A process that has the other end of a pipe open can end the wait. */
static void want_other_end(struct flight *flight, int process, const char *fd_path,
			   const char *link, struct wanted_ends *ends)
{
	struct wanted_end *end = &ends->items[ends->count];
	struct stat file, how;

	/* The link's mode tells how the file is open. */
	if (ends->count == MAX_WANTED_ENDS || strlen(link) >= sizeof(end->link) ||
	    file_status_known(process, fd_path, &file) || !S_ISFIFO(file.st_mode) ||
	    fstatat(process, fd_path, &how, AT_SYMLINK_NOFOLLOW))
		return;
	how.st_mode &= S_IRUSR | S_IWUSR;
	/* A pipe that is open both ways is its own other end. */
	if (how.st_mode == (S_IRUSR | S_IWUSR))
		return;
	*end = (struct wanted_end){ .flight = flight,
				    .mode = how.st_mode == S_IRUSR ? O_WRONLY : O_RDONLY };
	memcpy(end->link, link, strlen(link) + 1);
	wanted_ends_keep(ends);
}

/* events: what is waited for, as text, or "". */
static void add_file(struct flight *flight, int process, int fd, const char *events,
		     struct wanted_ends *ends)
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
	flight_add_fact(flight, "file", format("%d: %s%s", fd, link, events));
	if (sscanf(link, "socket:[%lu]", &inode) == 1)
		socket_facts_add(flight, process, fd, inode, ends);
	else if (!strcmp(link, "anon_inode:[eventpoll]"))
		add_watched(flight, process, fd);
	else
		want_other_end(flight, process, path, link, ends);
	if (!strcmp(name, "flock") || !strcmp(name, "fcntl") || !strcmp(name, "fcntl64"))
		add_locks(flight, process, path);
}

/* Each descriptor of a list, as far as it was read. */
static void add_polled_files(struct flight *flight, int process, struct wanted_ends *ends)
{
	const struct flag_set *set = flag_set_find("poll_events");
	char events[FLAGS_MAX + 2] = ", ";

	for (uint32_t i = 0; i < flight->nr_files; i++) {
		if (set)
			flag_set_write(set, flight->files[i].events, false, events + 2,
				       sizeof(events) - 2);
		add_file(flight, process, flight->files[i].fd,
			 set && flight->files[i].events ? events : "", ends);
	}
	if (flight->more_files)
		flight_add_fact(flight, "more_files", format("%u", flight->more_files));
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

static void add_address(struct flight *flight, const struct flight_bytes *address)
{
	char *text = address->size ? socket_address_text(address->bytes, address->size) : NULL;

	/* A socket that connects has it as its peer already. */
	for (size_t i = 0; text && i < flight->nr_facts; i++) {
		const char *peer = strstr(flight->facts[i].value, " -> ");

		if (peer && !strcmp(flight->facts[i].key, "socket") &&
		    !strncmp(peer + 4, text, strlen(text)) && peer[4 + strlen(text)] == ' ') {
			free(text);
			return;
		}
	}
	flight_add_fact(flight, "to", text);
}

/* Whether the argument limits how long a call waits; other calls take times as well. */
static bool is_timeout(const struct listed_thread *thread, const struct argument *argument)
{
	return argument->kind == ARG_STRUCT && !argument->is_written &&
	       (!strncmp(argument->type, "timespec", strlen("timespec")) ||
		!strcmp(argument->type, "timeval")) &&
	       (strstr(argument->name, "timeout") ||
		syscall_has_trait(thread->abi, thread->nr, TRAIT_WAITS));
}

/* The address of a socket that the caller names. */
static bool is_peer(const struct argument *argument)
{
	return argument->kind == ARG_STRUCT && !argument->is_written &&
	       !strcmp(argument->type, "sockaddr");
}

/* How much of the memory that an argument points at is told. */
static size_t bytes_wanted(const struct listed_thread *thread, const struct argument *argument)
{
	if (argument->kind == ARG_PATH && !argument->is_written)
		return PATH_MAX;
	if (is_timeout(thread, argument))
		return sizeof(struct timeout);
	if (is_peer(argument))
		return min_u64((uint32_t)thread->arguments[argument->length],
			       sizeof(struct sockaddr_storage));
	return 0;
}

void argument_memory_want(struct thread_memory *memory)
{
	const struct listed_thread *thread = memory->thread;
	const struct call_arguments *call = call_arguments(thread->abi, thread->nr);

	for (size_t i = 0; i < call->count; i++) {
		size_t size = bytes_wanted(thread, &call->arguments[i]);

		if (thread->arguments[i] && size)
			thread_memory_want(memory, thread->arguments[i], size);
	}
}

int argument_memory_keep(const struct thread_memory *memory, struct flight *flight)
{
	const struct listed_thread *thread = &flight->thread;
	const struct call_arguments *call = call_arguments(thread->abi, thread->nr);
	char bytes[PATH_MAX];

	for (size_t i = 0; i < call->count && memory->is_still; i++) {
		struct flight_bytes *kept = &flight->pointed[i];
		size_t size = bytes_wanted(thread, &call->arguments[i]);

		size = thread_memory_copy(memory, thread->arguments[i], bytes, size);
		/* A path that was not read to its end is another one. */
		if (call->arguments[i].kind == ARG_PATH && !memchr(bytes, 0, size))
			size = 0;
		kept->bytes = size ? malloc(size) : NULL;
		if (size && !kept->bytes)
			return -ENOMEM;
		kept->size = size;
		if (size)
			memcpy(kept->bytes, bytes, size);
	}
	return 0;
}

static bool waits_for_child(const struct listed_thread *thread)
{
	return !strncmp(syscall_find_name(thread->abi, thread->nr), "wait", strlen("wait"));
}

void call_facts_add(struct flight *flight, int process, struct wanted_ends *ends)
{
	const struct listed_thread *thread = &flight->thread;
	const struct call_arguments *call = call_arguments(thread->abi, thread->nr);

	add_polled_files(flight, process, ends);
	/* A kernel that shows no arguments shows no stack pointer, either. */
	for (size_t i = 0; i < call->count && thread->sp; i++) {
		const struct argument *argument = &call->arguments[i];
		uint64_t value = thread->arguments[i];

		if (argument->kind == ARG_FD && (int)value >= 0)
			add_file(flight, process, (int)value, "", ends);
		else if (argument->kind == ARG_PATH && !argument->is_written)
			add_path(flight, &flight->pointed[i]);
		else if (argument->kind == ARG_PID && waits_for_child(thread))
			add_children(flight, process, (int)value);
		else if (argument->kind == ARG_MS)
			add_timeout_ms(flight, (int)value);
		else if (is_timeout(thread, argument))
			add_timeout(flight, process, argument->type, value, &flight->pointed[i]);
		else if (is_peer(argument))
			add_address(flight, &flight->pointed[i]);
	}
}
