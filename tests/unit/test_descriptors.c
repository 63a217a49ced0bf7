/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests what descriptors are called, before and after each call of a script, and when /proc is asked. */
#include "descriptor_fixture.h"

#include <linux/close_range.h>
#include <linux/sched.h>

/* --- files -------------------------------------------------------------------------------------- */

PROC_TEST(test_open_and_close)
{
	call_openat(proc, 1, AT_FDCWD, "/srv/www/index.html", O_RDONLY, 3);
	assert_made(proc, 3, "/srv/www/index.html");
	call(proc, 1, "read", 10, 3, 0x1000, 10);
	assert_used(proc, 3, "/srv/www/index.html");
	call(proc, 1, "close", 0, 3, 0, 0);
	assert_used(proc, 3, "/srv/www/index.html");
	call_openat(proc, 1, AT_FDCWD, "/etc/passwd", O_RDONLY, 3);
	assert_made(proc, 3, "/etc/passwd");
	call(proc, 1, "read", 10, 3, 0x1000, 10);
	assert_used(proc, 3, "/etc/passwd");
	assert_asked(proc, 0);
}

/* An answer of /proc is certain for calls that began since, until something changes it. */
PROC_TEST(test_what_proc_said_becomes_certain)
{
	LINKS(proc, { 1, 3, "/srv/log" });
	call(proc, 1, "read", 10, 3, 0x1000, 10);
	assert_late(proc, 3, "/srv/log");
	call(proc, 1, "read", 10, 3, 0x1000, 10);
	assert_late(proc, 3, "/srv/log");
	proc->now_ns = clock_mono_ns() + NS_PER_SEC;
	call(proc, 1, "read", 10, 3, 0x1000, 10);
	assert_used(proc, 3, "/srv/log");
	assert_asked(proc, 1);
}

PROC_TEST(test_failures_teach_nothing)
{
	call_openat(proc, 1, AT_FDCWD, "/a", O_RDONLY, 3);
	call_openat(proc, 1, AT_FDCWD, "/b", O_RDONLY, -ENOENT);
	call(proc, 1, "dup2", -EBADF, 9, 3, 0);
	call(proc, 1, "close", -EBADF, 3, 0, 0);
	call(proc, 1, "read", 0, 3, 0, 0);
	assert_used(proc, 3, "/a");
	/* But an error of close() does not leave it open. */
	call(proc, 1, "close", -EIO, 3, 0, 0);
	assert_used(proc, 3, "/a");
	call(proc, 1, "read", -EBADF, 3, 0, 0);
	assert_used(proc, 3, NULL);
	assert_asked(proc, 0);
}

PROC_TEST(test_paths)
{
	LINKS(proc, { 1, DESCRIPTOR_CWD, "/home/me" }, { 1, 7, "pipe:[5]" }, { 1, 8, "/tmp/x" });
	char longest[1500];

	call_openat(proc, 1, AT_FDCWD, "/a//b/./c/", O_RDONLY, 3);
	assert_made(proc, 3, "/a/b/c");
	call_openat(proc, 1, 3, "d/../e", O_RDONLY, 4);
	assert_made(proc, 4, "/a/b/c/d/../e");
	call_openat(proc, 1, AT_FDCWD, "/", O_RDONLY, 5);
	assert_made(proc, 5, "/");
	call_openat(proc, 1, 5, "./etc", O_RDONLY, 6);
	assert_made(proc, 6, "/etc");
	/* Relative to what only /proc knows, and once. */
	call_openat(proc, 1, AT_FDCWD, "x", O_RDONLY, 9);
	assert_named(proc, 1, 9, DESCRIPTOR_MADE, "/home/me/x", DESCRIPTOR_LATE);
	call_openat(proc, 1, AT_FDCWD, "y", O_RDONLY, 9);
	assert_named(proc, 1, 9, DESCRIPTOR_MADE, "/home/me/y", DESCRIPTOR_LATE);
	assert_asked(proc, 1);
	/* A pipe has no files; a path that is too long, or has no name, is asked for. */
	call_openat(proc, 1, 7, "x", O_RDONLY, 8);
	assert_named(proc, 1, 8, DESCRIPTOR_MADE, "/tmp/x", DESCRIPTOR_LATE);
	memset(longest, 'x', sizeof(longest));
	*longest = '/';
	longest[sizeof(longest) - 1] = 0;
	call_openat(proc, 1, AT_FDCWD, longest, O_RDONLY, 8);
	assert_named(proc, 1, 8, DESCRIPTOR_MADE, "/tmp/x", DESCRIPTOR_LATE);
	call_openat(proc, 1, AT_FDCWD, "/tmp", O_TMPFILE | O_RDWR, 8);
	assert_named(proc, 1, 8, DESCRIPTOR_MADE, "/tmp/x", DESCRIPTOR_LATE);
}

/* Memory that was not read, or only after the call, proves nothing. */
PROC_TEST(test_pieces)
{
	LINKS(proc, { 1, 3, "/proc" });
	struct call call = call_of(proc, 1, "open", 3);
	struct call_piece *piece = (struct call_piece *)call.bytes;

	follow(proc, &call);
	assert_named(proc, 1, 3, DESCRIPTOR_MADE, "/proc", DESCRIPTOR_LATE);
	add_piece(&call, 0, "/a", 2);
	piece->flags = PIECE_CUT;
	follow(proc, &call);
	assert_named(proc, 1, 3, DESCRIPTOR_MADE, "/proc", DESCRIPTOR_LATE);
	piece->flags = PIECE_AT_EXIT;
	follow(proc, &call);
	assert_named(proc, 1, 3, DESCRIPTOR_MADE, "/a", DESCRIPTOR_LATE);
	/* The later piece counts. */
	piece->flags = PIECE_UNREADABLE;
	add_piece(&call, 0, "/b", 2);
	follow(proc, &call);
	assert_made(proc, 3, "/b");
	/* Pieces that end behind the record. */
	for (uint16_t size = 3; size; size = (uint16_t)(size * 2)) {
		piece[2].size = size;
		follow(proc, &call);
		descriptors_name(proc->d, 1, 3, DESCRIPTOR_MADE, &(struct descriptor_name){ 0 });
	}
	/* One that a tracer answered was not made at all. */
	call = call_of(proc, 1, "open", 3);
	add_piece(&call, 0, "/b", 2);
	follow(proc, &call);
	assert_made(proc, 3, "/b");
	call.record.flags |= CALL_DENIED;
	follow(proc, &call);
	assert_named(proc, 1, 3, DESCRIPTOR_MADE, "/proc", DESCRIPTOR_LATE);
}

PROC_TEST(test_working_directory)
{
	LINKS(proc, { 1, DESCRIPTOR_CWD, "/up" });
	struct call chdir = call_of(proc, 1, "chdir", 0);

	add_piece(&chdir, 0, "/srv", 4);
	follow(proc, &chdir);
	assert_made(proc, DESCRIPTOR_CWD, "/srv");
	call_openat(proc, 1, AT_FDCWD, "www", O_RDONLY, 3);
	assert_used(proc, DESCRIPTOR_CWD, "/srv");
	assert_made(proc, 3, "/srv/www");
	call(proc, 1, "fchdir", 0, 3, 0, 0);
	assert_used(proc, DESCRIPTOR_CWD, "/srv");
	call_openat(proc, 1, AT_FDCWD, "a", O_RDONLY, 4);
	assert_made(proc, 4, "/srv/www/a");
	chdir = call_of(proc, 1, "chdir", 0);
	add_piece(&chdir, 0, "b/", 2);
	follow(proc, &chdir);
	call_openat(proc, 1, AT_FDCWD, "c", O_RDONLY, 5);
	assert_made(proc, 5, "/srv/www/b/c");
	assert_asked(proc, 0);
	/* A symbolic link decides where ".." leads. */
	chdir = call_of(proc, 1, "chdir", 0);
	add_piece(&chdir, 0, "..", 2);
	follow(proc, &chdir);
	call_openat(proc, 1, AT_FDCWD, "d", O_RDONLY, 6);
	assert_named(proc, 1, 6, DESCRIPTOR_MADE, "/up/d", DESCRIPTOR_LATE);
}

/* --- copies ------------------------------------------------------------------------------------- */

PROC_TEST(test_copies)
{
	call_openat(proc, 1, AT_FDCWD, "/a", O_RDONLY, 3);
	call_openat(proc, 1, AT_FDCWD, "/b", O_RDONLY, 4);
	call(proc, 1, "dup", 5, 3, 0, 0);
	assert_made(proc, 5, "/a");
	call(proc, 1, "dup2", 4, 5, 4, 0);
	assert_used(proc, 5, "/a");
	assert_used(proc, 4, "/b");
	assert_made(proc, 4, "/a");
	call(proc, 1, "close", 0, 3, 0, 0);
	call(proc, 1, "fcntl", 10, 4, F_DUPFD, 10);
	assert_used(proc, 4, "/a");
	assert_made(proc, 10, "/a");
	call(proc, 1, "dup3", 11, 10, 11, O_CLOEXEC);
	assert_made(proc, 11, "/a");
	/* It is a copy of itself, and stays what it is. */
	call(proc, 1, "dup2", 11, 11, 11, 0);
	call(proc, 1, "fcntl", 1, 11, F_GETFD, 0);
	assert_used(proc, 11, "/a");
	assert_asked(proc, 0);
}

PROC_TEST(test_close_range)
{
	LINKS(proc, { 1, 12, NULL }, { 1, 13, NULL }, { 1, 14, NULL });

	for (int fd = 11; fd < 16; fd++)
		call_openat(proc, 1, AT_FDCWD, "/a", O_RDONLY, fd);
	call(proc, 1, "close_range", 0, 12, 14, 0);
	assert_used(proc, 13, "/a");
	call(proc, 1, "getpid", 1, 0, 0, 0);
	assert_used(proc, 11, "/a");
	for (int fd = 12; fd < 15; fd++)
		assert_used(proc, fd, NULL);
	assert_used(proc, 15, "/a");
	call(proc, 1, "close_range", 0, 0, UINT32_MAX, 0);
	call(proc, 1, "read", -EBADF, 11, 0, 0);
	assert_used(proc, 11, NULL);
}

/* --- what has no path --------------------------------------------------------------------------- */

PROC_TEST(test_anonymous)
{
	struct call memfd = call_of(proc, 1, "memfd_create", 9);

	call(proc, 1, "epoll_create1", 3, 0, 0, 0);
	assert_made(proc, 3, "anon_inode:[eventpoll]");
	call(proc, 1, "eventfd2", 4, 0, 0, 0);
	assert_made(proc, 4, "anon_inode:[eventfd]");
	call(proc, 1, "timerfd_create", 5, 0, 0, 0);
	assert_made(proc, 5, "anon_inode:[timerfd]");
	call(proc, 1, "inotify_init", 6, 0, 0, 0);
	assert_made(proc, 6, "anon_inode:inotify");
	call(proc, 1, "signalfd4", 7, UINT64_MAX, 0, 8);
	assert_made(proc, 7, "anon_inode:[signalfd]");
	add_piece(&memfd, 0, "hello", 5);
	follow(proc, &memfd);
	assert_made(proc, 9, "/memfd:hello (deleted)");
	assert_asked(proc, 0);
}

/* A call says that there is a pipe, and /proc its number; unless that is another file by now. */
PROC_TEST(test_pipes)
{
	LINKS(proc, { 1, 3, "pipe:[77]" }, { 1, 4, "pipe:[77]" }, { 1, 5, "/etc/passwd" },
	      { 1, 6, NULL });

	call_pair(proc, 1, "pipe2", 0, 0, 3, 4);
	assert_named(proc, 1, 3, DESCRIPTOR_MADE, "pipe:[77]", DESCRIPTOR_LATE);
	call(proc, 1, "read", 1, 3, 0, 0);
	assert_late(proc, 3, "pipe:[77]");
	assert_late(proc, 4, "pipe:[77]");
	assert_asked(proc, 2);
	call_pair(proc, 1, "pipe", 0, 0, 5, 6);
	assert_made(proc, 5, "pipe");
	call(proc, 1, "read", 1, 5, 0, 0);
	assert_used(proc, 5, "pipe");
	assert_used(proc, 6, "pipe");
	assert_asked(proc, 4);
}

/* --- /proc -------------------------------------------------------------------------------------- */

PROC_TEST(test_asked_once)
{
	LINKS(proc, { 1, 0, "/dev/pts/0" }, { 1, 4, "socket:[44]" }, { 1, 5, NULL });

	proc->socket = "TCP 127.0.0.1:80->127.0.0.1:4711";
	for (int i = 0; i < 10; i++) {
		call(proc, 1, "read", 1, 0, 0, 0);
		assert_late(proc, 0, "/dev/pts/0");
		assert_late(proc, 4, "TCP 127.0.0.1:80->127.0.0.1:4711");
		assert_late(proc, 5, NULL);
		assert_late(proc, 6, NULL);
		assert_named(proc, 2, 0, DESCRIPTOR_USED, NULL, 0);
	}
	assert_asked(proc, 5);
	assert_int_equal(proc->sockets_asked, 1);
	assert_late(proc, -1, NULL);
	assert_asked(proc, 5);
}

/* /proc would name another file for a descriptor that was closed, replaced or not open. */
PROC_TEST(test_not_asked_too_late)
{
	LINKS(proc, { 1, 3, "/wrong" }, { 1, 4, "/right" });

	call(proc, 1, "close", 0, 3, 0, 0);
	assert_used(proc, 3, NULL);
	call(proc, 1, "dup2", 3, 4, 3, 0);
	assert_late(proc, 4, "/right");
	assert_used(proc, 3, NULL);
	assert_named(proc, 1, 3, DESCRIPTOR_MADE, "/right", DESCRIPTOR_LATE);
	call(proc, 1, "fstat", -EBADF, 5, 0, 0);
	assert_used(proc, 5, NULL);
	assert_asked(proc, 1);
}

/* After unseen calls, names are looked up again; those that are still right stay certain. */
PROC_TEST(test_unseen_calls)
{
	LINKS(proc, { 1, 3, "/a" }, { 1, 4, "/other" }, { 1, 5, "socket:[9]" }, { 1, 6, NULL });
	struct call call;

	proc->socket = "TCP 127.0.0.1:80";
	call_openat(proc, 1, AT_FDCWD, "/a", O_RDONLY, 3);
	call_openat(proc, 1, AT_FDCWD, "/b", O_RDONLY, 4);
	call_openat(proc, 1, AT_FDCWD, "/c", O_RDONLY, 6);
	call_openat(proc, 1, AT_FDCWD, "/d", O_RDONLY, 7);
	assert_late(proc, 5, "TCP 127.0.0.1:80");
	assert_asked(proc, 1);
	call = call_of(proc, 1, "getpid", 1);
	descriptors_follow(proc->d, &call.record, true);
	for (int i = 0; i < 2; i++) {
		assert_used(proc, 3, "/a");
		assert_late(proc, 4, "/other");
		assert_late(proc, 5, "TCP 127.0.0.1:80");
		assert_used(proc, 6, NULL);
		/* Nobody can tell: this process is gone. */
		assert_late(proc, 7, "/d");
	}
	assert_asked(proc, 6);
	assert_int_equal(proc->sockets_asked, 1);
	/* The name of a closed one is as before, but no more certain. */
	descriptors_follow(proc->d, &call.record, true);
	call_openat(proc, 1, AT_FDCWD, "/e", O_RDONLY, 8);
	descriptors_follow(proc->d, &call.record, true);
	call = call_of(proc, 1, "close", 0);
	call.record.arguments[0] = 8;
	descriptors_follow(proc->d, &call.record, false);
	assert_late(proc, 8, "/e");
	assert_asked(proc, 6);
}

/* --- processes ---------------------------------------------------------------------------------- */

PROC_TEST(test_child_has_copies)
{
	call_openat(proc, 1, AT_FDCWD, "/a", O_RDONLY, 3);
	call(proc, 1, "fork", 2, 0, 0, 0);
	call(proc, 2, "close", 0, 3, 0, 0);
	assert_named(proc, 2, 3, DESCRIPTOR_USED, "/a", 0);
	call(proc, 1, "read", 0, 3, 0, 0);
	assert_used(proc, 3, "/a");
	/* A thread is no child. */
	call(proc, 1, "clone", 3, CLONE_THREAD | CLONE_FILES | CLONE_FS | CLONE_VM, 0, 0);
	call(proc, 1, "getpid", 1, 0, 0, 0);
	assert_used(proc, 3, "/a");
	assert_named(proc, 3, 3, DESCRIPTOR_USED, NULL, 0);
	/* The same pid is another process's later on. */
	call(proc, 1, "clone", 2, SIGCHLD, 0, 0);
	call(proc, 2, "read", 0, 3, 0, 0);
	assert_named(proc, 2, 3, DESCRIPTOR_USED, "/a", 0);
}

/* A child of vfork() runs first: what it did is not undone. */
PROC_TEST(test_vfork)
{
	struct call vfork;

	call_openat(proc, 1, AT_FDCWD, "/a", O_RDONLY, 3);
	call_openat(proc, 2, AT_FDCWD, "/b", O_RDONLY, 3);
	call(proc, 2, "execve", 0, 0, 0, 0);
	vfork = call_of(proc, 1, "vfork", 2);
	vfork.record.wall_ns = 5000;
	follow(proc, &vfork);
	call(proc, 2, "read", 0, 3, 0, 0);
	assert_named(proc, 2, 3, DESCRIPTOR_USED, "/b", 0);
}

/* A read in which another thread has slept since before what happened in the last steps. */
static void old_read(struct proc *proc, int fd, uint64_t steps)
{
	struct call read = call_of(proc, 1, "read", 1);

	read.record.tid = 2;
	read.record.wall_ns = steps * 1000;
	read.record.arguments[0] = (uint64_t)fd;
	follow(proc, &read);
}

/* While one thread slept in a read, another one closed the descriptor and opened another file: which is not read. */
PROC_TEST(test_what_is_opened_during_a_call_is_not_its_file)
{
	LINKS(proc, { 1, 3, "/new" });
	call_openat(proc, 1, AT_FDCWD, "/old", O_RDONLY, 3);
	old_read(proc, 3, 1);
	assert_used(proc, 3, "/old");
	call(proc, 1, "close", 0, 3, 0, 0);
	call_openat(proc, 1, AT_FDCWD, "/new", O_RDONLY, 3);
	old_read(proc, 3, 3);
	assert_used(proc, 3, NULL);
	old_read(proc, 3, 1);
	assert_used(proc, 3, "/new");
	/* One that sleeps, of which no record comes. */
	descriptors_begin(proc->d, proc->now_ns - 2500);
	assert_used(proc, 3, NULL);
	descriptors_begin(proc->d, proc->now_ns);
	assert_used(proc, 3, "/new");
	assert_asked(proc, 0);
}

/* The first call of a process that another one has made; 0: nobody knows which. */
static void first_call(struct proc *proc, uint32_t pid, uint32_t parent)
{
	struct call call = call_of(proc, pid, "close", 0);

	call.record.number = 1;
	call.record.left_out = (uint64_t)parent << CALL_PARENT_SHIFT;
	call.record.arguments[0] = 3;
	follow(proc, &call);
}

/* A child of vfork() begins with its maker's descriptors, before the vfork has returned. */
PROC_TEST(test_vfork_inherits)
{
	call_openat(proc, 1, AT_FDCWD, "/a", O_RDONLY, 3);
	call_openat(proc, 1, AT_FDCWD, "/b", O_RDONLY | O_CLOEXEC, 4);
	first_call(proc, 2, 1);
	assert_named(proc, 2, 3, DESCRIPTOR_USED, "/a", 0);
	assert_named(proc, 2, 4, DESCRIPTOR_USED, "/b", 0);
	descriptors_forget(proc->d, 2);
	first_call(proc, 2, 0);
	assert_named(proc, 2, 4, DESCRIPTOR_USED, NULL, 0);
	descriptors_forget(proc->d, 2);
	first_call(proc, 2, 1000);
	assert_named(proc, 2, 4, DESCRIPTOR_USED, NULL, 0);
}

/* In a container, a child's pid is not the one that we see. */
PROC_TEST(test_foreign_pids)
{
	proc->has_own_pids = true;
	call_openat(proc, 1, AT_FDCWD, "/a", O_RDONLY, 3);
	call(proc, 1, "fork", 2, 0, 0, 0);
	call(proc, 2, "read", 0, 3, 0, 0);
	assert_named(proc, 2, 3, DESCRIPTOR_USED, NULL, 0);
}

/* Two processes with one table: neither knows what the other does. */
PROC_TEST(test_shared_table)
{
	LINKS(proc, { 1, 3, "/theirs" });

	call_openat(proc, 1, AT_FDCWD, "/a", O_RDONLY, 3);
	call(proc, 1, "clone", 2, CLONE_FILES | SIGCHLD, 0, 0);
	call(proc, 1, "read", 0, 3, 0, 0);
	assert_late(proc, 3, "/theirs");
}

PROC_TEST(test_exec)
{
	LINKS(proc, { 1, 0, "/dev/null" }, { 1, 4, NULL }, { 1, 5, NULL }, { 1, 8, NULL });

	call_openat(proc, 1, AT_FDCWD, "/a", O_RDONLY, 3);
	call_openat(proc, 1, AT_FDCWD, "/b", O_RDONLY | O_CLOEXEC, 4);
	call_openat(proc, 1, AT_FDCWD, "/c", O_RDONLY, 5);
	call(proc, 1, "fcntl", 0, 5, F_SETFD, FD_CLOEXEC);
	call_openat(proc, 1, AT_FDCWD, "/d", O_RDONLY | O_CLOEXEC, 6);
	call(proc, 1, "dup2", 7, 6, 7, 0);
	call(proc, 1, "dup3", 8, 6, 8, O_CLOEXEC);
	assert_late(proc, 0, "/dev/null");
	assert_asked(proc, 1);
	call(proc, 1, "execve", 0, 0, 0, 0);
	assert_used(proc, 4, "/b");
	call(proc, 1, "brk", 0, 0, 0, 0);
	assert_used(proc, 3, "/a");
	assert_used(proc, 7, "/d");
	assert_asked(proc, 1);
	assert_used(proc, 4, NULL);
	assert_used(proc, 5, NULL);
	assert_used(proc, 8, NULL);
	/* Whether that was closed was not known. */
	assert_late(proc, 0, "/dev/null");
	assert_asked(proc, 5);
	/* The other descriptor was closed for certain, even if nobody can be asked any more. */
	call_openat(proc, 2, AT_FDCWD, "/a", O_RDONLY | O_CLOEXEC, 3);
	call(proc, 2, "execve", 0, 0, 0, 0);
	call(proc, 2, "brk", 0, 0, 0, 0);
	assert_named(proc, 2, 3, DESCRIPTOR_USED, NULL, 0);
}

PROC_TEST(test_end)
{
	struct call end = call_of(proc, 1, "exit_group", 0);

	call_openat(proc, 1, AT_FDCWD, "/a", O_RDONLY, 3);
	end.record.flags = 0;
	follow(proc, &end);
	assert_used(proc, 3, "/a");
	call(proc, 2, "getpid", 2, 0, 0, 0);
	assert_named(proc, 1, 3, DESCRIPTOR_USED, NULL, 0);
}

/* Nobody said that a process had ended; but its numbers begin again, so its pid is another one's. */
PROC_TEST(test_pid_used_again)
{
	struct call call = call_of(proc, 1, "open", 3);

	add_piece(&call, 0, "/a", 2);
	call.record.number = 7;
	follow(proc, &call);
	call = call_of(proc, 1, "read", 0);
	call.record.number = 8;
	follow(proc, &call);
	assert_used(proc, 3, "/a");
	/* A call of another thread of the process. */
	call.record.tid = 5;
	call.record.number = 1;
	follow(proc, &call);
	assert_used(proc, 3, "/a");
	call.record.tid = 1;
	call.record.number = 2;
	follow(proc, &call);
	assert_used(proc, 3, NULL);
}

/* --- limits ------------------------------------------------------------------------------------- */

/* Whatever one process opens, it is bounded, and half of the room is for others. */
PROC_TEST(test_million_descriptors)
{
	char path[1000];

	call_openat(proc, 1, AT_FDCWD, "/first", O_RDONLY, 3);
	call_openat(proc, 2, AT_FDCWD, "/other", O_RDONLY, 3);
	for (int fd = 4; fd < 300000; fd++)
		call_openat(proc, 1, AT_FDCWD, "/a", O_RDONLY, fd);
	assert_named(proc, 2, 3, DESCRIPTOR_USED, "/other", 0);
	assert_made(proc, 299999, "/a");
	assert_used(proc, 299998, "/a");
	assert_used(proc, 3, NULL);
	assert_true(descriptors_evicted(proc->d) >= 200000);
	assert_in_range(descriptors_bytes(proc->d), 1, DESCRIPTORS_BYTES);
	memset(path, 'x', sizeof(path));
	*path = '/';
	path[sizeof(path) - 1] = 0;
	for (int fd = 4; fd < 30000; fd++)
		call_openat(proc, 1, AT_FDCWD, path, O_RDONLY, fd);
	assert_named(proc, 2, 3, DESCRIPTOR_USED, "/other", 0);
	assert_made(proc, 29999, path);
	assert_in_range(descriptors_bytes(proc->d), 1, DESCRIPTORS_BYTES);
}

/* Descriptors of which nothing is known take room, too. */
PROC_TEST(test_many_unknown)
{
	call_openat(proc, 2, AT_FDCWD, "/other", O_RDONLY, 3);
	call(proc, 2, "getpid", 2, 0, 0, 0);
	for (int fd = 0; fd < 100000; fd++)
		assert_used(proc, fd, NULL);
	assert_named(proc, 2, 3, DESCRIPTOR_USED, "/other", 0);
	assert_in_range(descriptors_bytes(proc->d), 1, DESCRIPTORS_BYTES);
}

/* The processes that were quiet longest are forgotten. */
PROC_TEST(test_many_processes)
{
	char path[1000];

	memset(path, 'x', sizeof(path));
	*path = '/';
	path[sizeof(path) - 1] = 0;
	for (uint32_t pid = 1; pid <= 20000; pid++) {
		for (int fd = 3; fd < 8; fd++)
			call_openat(proc, pid, AT_FDCWD, path, O_RDONLY, fd);
		if (pid % 100 == 0)
			call(proc, 1, "getpid", 1, 0, 0, 0);
	}
	assert_used(proc, 3, path);
	assert_named(proc, 20000, 3, DESCRIPTOR_USED, path, 0);
	assert_named(proc, 2, 3, DESCRIPTOR_USED, NULL, 0);
	assert_true(descriptors_evicted(proc->d) > 50000);
	assert_in_range(descriptors_bytes(proc->d), 1, DESCRIPTORS_BYTES);
}

/* Calls by chance, of all ABIs, with pieces that make no sense; the sanitizers see to it. */
PROC_TEST(test_anything)
{
	uint64_t seed = 15;
	struct descriptor_name name;

	for (size_t step = 0; step < 200000; step++) {
		struct call call = call_of(proc, 1 + (uint32_t)random_below(&seed, 5), "read",
					   (int64_t)random_below(&seed, 8) - 1);

		call.record.abi = (uint16_t)random_below(&seed, NR_SYSCALL_ABI + 1);
		call.record.nr = (int)random_below(&seed, 700) - 5;
		for (size_t i = 0; i < CALL_ARGUMENTS; i++)
			call.record.arguments[i] = random_ns(&seed, 64) >> random_below(&seed, 64);
		for (size_t i = 0; i < 3; i++)
			add_piece(&call, (uint8_t)random_below(&seed, 4), "/a/../b\0\1\0\0\0\0\0\0",
				  random_below(&seed, 16));
		for (size_t i = 0; i < 4; i++)
			call.bytes[random_below(&seed, 48)] = (unsigned char)random_u64(&seed);
		call.record.size -= (uint32_t)random_below(&seed, 12);
		call.record.flags = (uint16_t)random_below(&seed, 16);
		descriptors_follow(proc->d, &call.record, !random_below(&seed, 50));
		for (int fd = -1; fd < 8; fd++)
			descriptors_name(proc->d, call.record.pid, fd,
					 (enum descriptor_moment)random_below(&seed, 2), &name);
	}
	assert_in_range(descriptors_bytes(proc->d), 1, DESCRIPTORS_BYTES);
}

static void call_of_thread(struct proc *proc, uint32_t pid, const char *name, uint64_t first,
			   uint64_t third)
{
	struct call call = call_of(proc, pid, name, 0);

	call.record.tid = pid + 1000;
	call.record.arguments[0] = first;
	call.record.arguments[1] = 200;
	call.record.arguments[2] = third;
	follow(proc, &call);
}

/* A thread that has descriptors or a folder of its own: what /proc says is what another one has. */
PROC_TEST(test_threads_that_share_no_longer)
{
	static const struct {
		const char *call;
		uint64_t first, third;
		bool differ;
	} cases[] = {
		{ "unshare", CLONE_NEWUTS, 0, false },
		{ "close_range", 100, 0, false },
		{ "clone", CLONE_THREAD | CLONE_FILES | CLONE_FS, 0, false },
		{ "clone", CLONE_FS | SIGCHLD, 0, false },
		{ "unshare", CLONE_FILES, 0, true },
		{ "unshare", CLONE_FS, 0, true },
		{ "unshare", CLONE_NEWNS, 0, true },
		{ "close_range", 100, CLOSE_RANGE_UNSHARE, true },
		{ "clone", CLONE_THREAD | CLONE_FILES, 0, true },
	};
	struct link links[ARRAY_SIZE(cases)];

	for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++)
		links[i] = (struct link){ 10 + i, 3, "/a" };
	proc->links = links;
	proc->count = ARRAY_SIZE(links);
	for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
		call_openat(proc, 10 + i, AT_FDCWD, "/a", O_RDONLY, 3);
		call_of_thread(proc, 10 + i, cases[i].call, cases[i].first, cases[i].third);
		call(proc, 10 + i, "write", 10, 3, 0, 0);
		assert_named(proc, 10 + i, 3, DESCRIPTOR_USED, "/a",
			     cases[i].differ ? DESCRIPTOR_LATE : 0);
	}
	/* Alone, there is nobody to part from. */
	call_openat(proc, 1, AT_FDCWD, "/b", O_RDONLY, 3);
	call(proc, 1, "unshare", 0, CLONE_FILES | CLONE_NEWNS, 0, 0);
	call(proc, 1, "write", 10, 3, 0, 0);
	assert_used(proc, 3, "/b");
}
