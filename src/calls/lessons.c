/* SPDX-License-Identifier: BSD-2-Clause */
/* Knows how calls change descriptors, and has the table of these calls. */
#include "calls/lessons.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <sys/ioctl.h>

#include "base/text.h"
#include "syscalls/names.h"

/* --- memory ------------------------------------------------------------------------------------- */

bool memory_find(const struct call_record *record, unsigned int argument, struct memory *ret)
{
	return memory_find_part(record, argument, PART_SELF, ret);
}

bool memory_find_part(const struct call_record *record, unsigned int argument, unsigned int part,
		      struct memory *ret)
{
	size_t left = record->size - sizeof(*record), size;
	const char *at = (const char *)(record + 1);
	struct call_piece piece;
	bool found = false;

	for (; left >= sizeof(piece); at += size, left -= size) {
		memcpy(&piece, at, sizeof(piece));
		if (left - sizeof(piece) < piece.size)
			break;
		if (piece.argument == argument && piece.part == part) {
			*ret = (struct memory){ at + sizeof(piece), piece.size, piece.flags };
			found = !(piece.flags & (PIECE_UNREADABLE | PIECE_CUT));
		}
		size = sizeof(piece) + ((piece.size + 7UL) & ~7UL);
		if (size > left)
			break;
	}
	return found;
}

/* The two that pipe() and socketpair() write. */
bool pair_find(const struct lesson *lesson, unsigned int argument, int fds[2])
{
	struct memory memory;

	if (!memory_find(lesson->record, argument, &memory) || memory.size < 2 * sizeof(int))
		return false;
	memcpy(fds, memory.bytes, 2 * sizeof(int));
	return true;
}

/* --- staging ------------------------------------------------------------------------------------ */

static void stage_text(const struct lesson *lesson, int fd, const char *text, size_t length,
		       uint32_t flags)
{
	struct fd_name *name = fd_name_new(&lesson->d->table, lesson->process, text, length);

	change_stage(lesson->d, fd, name, name ? flags : 0);
}

void stage_unknown(const struct lesson *lesson, int fd)
{
	change_stage(lesson->d, fd, NULL, 0);
}

static void stage_range(const struct lesson *lesson, bool closes, uint32_t first, uint32_t last)
{
	struct staged *staged = &lesson->d->staged;

	*(closes ? &staged->closes : &staged->marks) = true;
	staged->first = first;
	staged->last = last;
}

/* --- paths -------------------------------------------------------------------------------------- */

/* Adds the parts of a path without "." and empty ones. Returns the length; 0: it is too long. */
static size_t path_append(char buf[MAX_NAME + 1], size_t length, const char *path, size_t size)
{
	const char *end = path + strnlen(path, size);

	while (path < end) {
		const char *slash = memchr(path, '/', (size_t)(end - path)) ?: end;
		size_t part = (size_t)(slash - path);

		if (part && !(part == 1 && *path == '.')) {
			if (length + 1 + part > MAX_NAME)
				return 0;
			buf[length] = '/';
			memcpy(buf + length + 1, path, part);
			length += 1 + part;
		}
		path = slash < end ? slash + 1 : end;
	}
	if (!length)
		buf[length++] = '/';
	buf[length] = 0;
	return length;
}

/* Whether a path has "..", which leads elsewhere after a symbolic link. */
static bool path_climbs(const char *path, size_t length)
{
	return strstr(path, "/../") || (length >= 3 && !strcmp(path + length - 3, "/.."));
}

/* Makes the path that a call was given absolute. Returns its length, 0 if unknown; adds flags. */
static size_t path_build(const struct lesson *lesson, char buf[MAX_NAME + 1], uint32_t *flags)
{
	const struct taught *taught = lesson->taught;
	const struct fd_entry *folder;
	struct memory path;
	size_t length = 0;

	if (!memory_find(lesson->record, (unsigned int)taught->path, &path) || !path.size)
		return 0;
	/* Another thread may have changed it in the meantime. */
	*flags |= path.flags & PIECE_AT_EXIT ? ENTRY_LATE : 0;
	if (*path.bytes != '/') {
		folder =
			entry_get(lesson->d, lesson->process,
				  taught->folder < 0 ? DESCRIPTOR_CWD
						     : fd_argument(lesson, (size_t)taught->folder));
		if (!folder || !folder->name || *folder->name->text != '/')
			return 0;
		*flags |= folder->flags & ENTRY_LATE;
		if (folder->name->length > 1)
			length = folder->name->length;
		memcpy(buf, folder->name->text, length);
	}
	return path_append(buf, length, path.bytes, path.size);
}

/* A file without a name, in a folder; the bit is the same everywhere, O_TMPFILE is not. */
#define TMPFILE_BIT 020000000

static void learn_open(const struct lesson *lesson)
{
	const struct taught *taught = lesson->taught;
	char text[MAX_NAME + 1];
	struct memory how;
	uint64_t open_flags = 0;
	uint32_t flags;
	size_t length;

	if (taught->flags >= 0)
		open_flags = lesson->record->arguments[taught->flags];
	if (!strcmp(taught->call, "openat2")) {
		if (!memory_find(lesson->record, 2, &how) || how.size < sizeof(open_flags)) {
			stage_unknown(lesson, fd_result(lesson));
			return;
		}
		memcpy(&open_flags, how.bytes, sizeof(open_flags));
	}
	flags = exec_flag(open_flags & O_CLOEXEC);
	length = open_flags & TMPFILE_BIT ? 0 : path_build(lesson, text, &flags);
	if (length)
		stage_text(lesson, fd_result(lesson), text, length, flags);
	else
		stage_unknown(lesson, fd_result(lesson));
}

static void learn_chdir(const struct lesson *lesson)
{
	char text[MAX_NAME + 1];
	uint32_t flags = 0;
	size_t length = path_build(lesson, text, &flags);

	if (length && !path_climbs(text, length))
		stage_text(lesson, DESCRIPTOR_CWD, text, length, flags);
	else
		stage_unknown(lesson, DESCRIPTOR_CWD);
}

static void learn_fchdir(const struct lesson *lesson)
{
	const struct fd_entry *entry =
		entry_get(lesson->d, lesson->process, fd_argument(lesson, 0));

	if (entry && entry->name && *entry->name->text == '/')
		change_stage(lesson->d, DESCRIPTOR_CWD, fd_name_ref(entry->name),
			     entry->flags & ENTRY_LATE);
	else
		stage_unknown(lesson, DESCRIPTOR_CWD);
}

/* --- copies, and the end ------------------------------------------------------------------------ */

/* The result is what an argument is. */
static void stage_copy(const struct lesson *lesson, int from, uint32_t flags)
{
	const struct fd_entry *entry = entry_get(lesson->d, lesson->process, from);

	if (entry && entry->name)
		change_stage(lesson->d, fd_result(lesson), fd_name_ref(entry->name),
			     flags | (entry->flags & (ENTRY_LATE | ENTRY_INCOMPLETE)));
	else
		stage_unknown(lesson, fd_result(lesson));
}

static void learn_dup(const struct lesson *lesson)
{
	/* dup2(3, 3) does nothing. */
	if (fd_argument(lesson, 0) == fd_result(lesson))
		return;
	stage_copy(lesson, fd_argument(lesson, 0), exec_flag_of(lesson));
	stage_range(lesson, true, (uint32_t)fd_result(lesson), (uint32_t)fd_result(lesson));
}

/* Changes the flag of a descriptor that is known. */
static void learn_exec_flag(const struct lesson *lesson, bool closes)
{
	struct fd_entry *entry = entry_known(lesson->d, lesson->process, fd_argument(lesson, 0));

	if (entry)
		entry->flags = (entry->flags & ~(ENTRY_CLOSES_ON_EXEC | ENTRY_STAYS_ON_EXEC)) |
			       exec_flag(closes);
}

static void learn_fcntl(const struct lesson *lesson)
{
	const struct call_record *record = lesson->record;

	if ((int)record->arguments[1] == F_SETFD)
		learn_exec_flag(lesson, record->arguments[2] & FD_CLOEXEC);
	else if ((int)record->arguments[1] == F_DUPFD ||
		 (int)record->arguments[1] == F_DUPFD_CLOEXEC)
		stage_copy(lesson, fd_argument(lesson, 0),
			   exec_flag((int)record->arguments[1] == F_DUPFD_CLOEXEC));
}

static void learn_ioctl(const struct lesson *lesson)
{
	uint32_t request = (uint32_t)lesson->record->arguments[1];

	if (request == FIOCLEX || request == FIONCLEX)
		learn_exec_flag(lesson, request == FIOCLEX);
}

/* Even if close() fails, the number is free, unless it was free before. */
static void learn_close(const struct lesson *lesson)
{
	const struct call_record *record = lesson->record;

	if (record->flags & CALL_RETURNED && record->result != -EBADF)
		stage_range(lesson, true, (uint32_t)record->arguments[0],
			    (uint32_t)record->arguments[0]);
}

/* One thread of a process has descriptors or a folder of its own from now on; its numbers do not tell which. */
static void threads_part(struct fd_process *process)
{
	process->threads_differ |= process->has_threads;
}

static void learn_close_range(const struct lesson *lesson)
{
	const struct call_record *record = lesson->record;

	if (record->arguments[2] & CLOSE_RANGE_UNSHARE)
		threads_part(lesson->process);
	stage_range(lesson, !(record->arguments[2] & CLOSE_RANGE_CLOEXEC),
		    (uint32_t)record->arguments[0], (uint32_t)record->arguments[1]);
}

/* --- what has no path --------------------------------------------------------------------------- */

static void learn_text(const struct lesson *lesson)
{
	const char *text = lesson->taught->text;

	stage_text(lesson, fd_result(lesson), text, strlen(text), exec_flag_of(lesson));
}

static void learn_unknown(const struct lesson *lesson)
{
	/* Other requests to such calls return small numbers, which may be no descriptors. */
	if (fd_result(lesson) > STDERR_FILENO)
		stage_unknown(lesson, fd_result(lesson));
}

/* No name is longer. */
#define MAX_MEMFD_NAME 249

static void learn_memfd(const struct lesson *lesson)
{
	char text[MAX_NAME + 1];
	struct memory name;
	int length;

	if (!memory_find(lesson->record, 0, &name) || name.size > MAX_MEMFD_NAME) {
		stage_unknown(lesson, fd_result(lesson));
		return;
	}
	length = snprintf(text, sizeof(text), "/memfd:%.*s (deleted)", (int)name.size, name.bytes);
	stage_text(lesson, fd_result(lesson), text, (size_t)length, exec_flag_of(lesson));
}

/* Only /proc knows the number of a pipe. */
static void learn_pipe(const struct lesson *lesson)
{
	int fds[2];

	if (!pair_find(lesson, 0, fds)) {
		lesson->process->generation++;
		return;
	}
	for (size_t i = 0; i < 2; i++)
		stage_text(lesson, fds[i], "pipe", 4, exec_flag_of(lesson) | ENTRY_INCOMPLETE);
}

/* --- processes ---------------------------------------------------------------------------------- */

static void learn_fork(const struct lesson *lesson)
{
	const struct call_record *record = lesson->record;
	struct staged *staged = &lesson->d->staged;
	struct memory how;
	uint64_t flags = 0;

	if (!strcmp(lesson->taught->call, "clone"))
		flags = record->arguments[0];
	if (!strcmp(lesson->taught->call, "clone3")) {
		/* Most often that is a thread. */
		if (!memory_find(record, 0, &how) || how.size < sizeof(flags))
			return;
		memcpy(&flags, how.bytes, sizeof(flags));
	}
	if (flags & CLONE_THREAD) {
		lesson->process->has_threads = true;
		lesson->process->threads_differ |= !(flags & CLONE_FILES) || !(flags & CLONE_FS);
	}
	if (flags & CLONE_THREAD || record->result <= 0)
		return;
	staged->child = (uint32_t)record->result;
	staged->child_ns = above(record->end_ns, record->wall_ns);
	staged->child_shares = flags & CLONE_FILES;
	staged->child_shares_folder = flags & CLONE_FS;
	lesson->process->shares |= staged->child_shares;
	lesson->process->shares_folder |= staged->child_shares_folder;
}

static void learn_unshare(const struct lesson *lesson)
{
	/* Who has a mount namespace alone has a folder alone, too. */
	if (lesson->record->arguments[0] & (CLONE_FILES | CLONE_FS | CLONE_NEWNS))
		threads_part(lesson->process);
}

static void learn_exec(const struct lesson *lesson)
{
	lesson->d->staged.execs = true;
}

static void learn_end(const struct lesson *lesson)
{
	lesson->d->staged.ends = true;
}

/* --- which call teaches what -------------------------------------------------------------------- */

#define ON_EXEC 02000000 /* O_CLOEXEC, and SOCK_CLOEXEC and so on */

#define OPENS(call, folder, path, flags) \
	{ call, learn_open, TEACHES_RESULT, folder, path, flags, ON_EXEC, NULL }
#define MAKES(call, learn, flags, on_exec, text) \
	{ call, learn, TEACHES_RESULT, -1, -1, flags, on_exec, text }
#define CHANGES(call, learn, flags, on_exec) \
	{ call, learn, TEACHES_CHANGE, -1, -1, flags, on_exec, NULL }
#define ALWAYS(call, learn) { call, learn, TEACHES_ALWAYS, -1, -1, -1, 0, NULL }
#define UNKNOWN(call)       MAKES(call, learn_unknown, -1, 0, NULL)

static const struct taught calls[] = {
	OPENS("creat", -1, 0, -1),
	OPENS("open", -1, 0, 1),
	OPENS("openat", 0, 1, 2),
	OPENS("openat2", 0, 1, -1),
	MAKES("accept", learn_accept, -1, 0, NULL),
	MAKES("accept4", learn_accept, 3, ON_EXEC, NULL),
	MAKES("dup", learn_dup, -1, 0, NULL),
	MAKES("dup2", learn_dup, -1, 0, NULL),
	MAKES("dup3", learn_dup, 2, ON_EXEC, NULL),
	MAKES("epoll_create", learn_text, -1, 0, "anon_inode:[eventpoll]"),
	MAKES("epoll_create1", learn_text, 0, ON_EXEC, "anon_inode:[eventpoll]"),
	MAKES("eventfd", learn_text, -1, 0, "anon_inode:[eventfd]"),
	MAKES("eventfd2", learn_text, 1, ON_EXEC, "anon_inode:[eventfd]"),
	MAKES("fanotify_init", learn_text, 0, 1, "anon_inode:[fanotify]"),
	MAKES("inotify_init", learn_text, -1, 0, "anon_inode:inotify"),
	MAKES("inotify_init1", learn_text, 0, ON_EXEC, "anon_inode:inotify"),
	MAKES("io_uring_setup", learn_text, -1, 1, "anon_inode:[io_uring]"),
	MAKES("memfd_create", learn_memfd, 1, 1, NULL),
	MAKES("memfd_secret", learn_text, 0, ON_EXEC, "/secretmem (deleted)"),
	MAKES("perf_event_open", learn_text, 4, 8, "anon_inode:[perf_event]"),
	MAKES("pidfd_open", learn_text, -1, 1, "anon_inode:[pidfd]"),
	MAKES("signalfd", learn_text, -1, 0, "anon_inode:[signalfd]"),
	MAKES("signalfd4", learn_text, 3, ON_EXEC, "anon_inode:[signalfd]"),
	MAKES("socket", learn_socket, 1, ON_EXEC, NULL),
	MAKES("timerfd_create", learn_text, 1, ON_EXEC, "anon_inode:[timerfd]"),
	MAKES("userfaultfd", learn_text, 0, ON_EXEC, "anon_inode:[userfaultfd]"),
	UNKNOWN("bpf"),
	UNKNOWN("fsmount"),
	UNKNOWN("fsopen"),
	UNKNOWN("fspick"),
	UNKNOWN("landlock_create_ruleset"),
	UNKNOWN("mq_open"),
	UNKNOWN("open_by_handle_at"),
	UNKNOWN("open_tree"),
	UNKNOWN("open_tree_attr"),
	UNKNOWN("pidfd_getfd"),
	UNKNOWN("seccomp"),
	CHANGES("bind", learn_local_end, -1, 0),
	CHANGES("clone", learn_fork, -1, 0),
	CHANGES("clone3", learn_fork, -1, 0),
	CHANGES("close_range", learn_close_range, -1, 0),
	CHANGES("execve", learn_exec, -1, 0),
	CHANGES("execveat", learn_exec, -1, 0),
	CHANGES("fchdir", learn_fchdir, -1, 0),
	CHANGES("fcntl", learn_fcntl, -1, 0),
	CHANGES("fcntl64", learn_fcntl, -1, 0),
	CHANGES("fork", learn_fork, -1, 0),
	CHANGES("getpeername", learn_peer, -1, 0),
	CHANGES("getsockname", learn_local_end, -1, 0),
	CHANGES("ioctl", learn_ioctl, -1, 0),
	CHANGES("pipe", learn_pipe, -1, 0),
	CHANGES("pipe2", learn_pipe, 1, ON_EXEC),
	CHANGES("socketcall", learn_socketcall, -1, 0),
	CHANGES("socketpair", learn_socketpair, 1, ON_EXEC),
	CHANGES("unshare", learn_unshare, -1, 0),
	CHANGES("vfork", learn_fork, -1, 0),
	{ "chdir", learn_chdir, TEACHES_CHANGE, -1, 0, -1, 0, NULL },
	ALWAYS("close", learn_close),
	ALWAYS("connect", learn_connect),
	ALWAYS("exit_group", learn_end),
};

void lessons_find(uint8_t lesson_of[NR_SYSCALL_ABI][LESSON_NUMBERS])
{
	_Static_assert(ARRAY_SIZE(calls) < UINT8_MAX, "an index has one byte");

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		for (unsigned int abi = 0; abi < NR_SYSCALL_ABI; abi++) {
			int nr = syscall_find(abi, calls[i].call);

			if (nr >= 0 && nr < LESSON_NUMBERS)
				lesson_of[abi][nr] = (uint8_t)(i + 1);
		}
	}
}

void lesson_learn(struct descriptors *d, struct fd_process *process,
		  const struct call_record *record)
{
	bool known = record->abi < NR_SYSCALL_ABI && record->nr >= 0 && record->nr < LESSON_NUMBERS;
	unsigned int index = known ? d->lesson_of[record->abi][record->nr] : 0;
	const struct taught *taught = &calls[index - !!index];
	const struct lesson lesson = { d, process, record, taught };
	bool succeeded = record->flags & CALL_RETURNED && record->result >= 0;

	if (!index || (!succeeded && taught->teaching != TEACHES_ALWAYS))
		return;
	/* The result of a refused call may come from whoever refused it. */
	if (record->flags & CALL_DENIED && taught->teaching == TEACHES_RESULT)
		learn_unknown(&lesson);
	else if (!(record->flags & CALL_DENIED))
		taught->learn(&lesson);
}
