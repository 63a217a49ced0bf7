/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists functions of glibc and musl with the calls that they make, on any architecture and in any version. */
#include "syscalls/families.h"

static const struct family {
	const char *function;
	const char *calls;
} families[] = {
	{ "_exit", "exit exit_group" },
	{ "accept", "accept accept4" },
	{ "access", "access faccessat faccessat2" },
	{ "chmod", "chmod fchmodat fchmodat2" },
	{ "chown", "chown fchownat" },
	{ "creat", "creat open openat" },
	{ "dup2", "dup2 dup3" },
	{ "dup", "dup dup2 dup3" },
	{ "epoll_create", "epoll_create epoll_create1" },
	{ "epoll_wait", "epoll_wait epoll_pwait epoll_pwait2" },
	{ "eventfd", "eventfd eventfd2" },
	{ "execve", "execve execveat" },
	{ "exec", "execve execveat" },
	{ "exit", "exit exit_group" },
	{ "fork", "fork vfork clone clone3" },
	{ "fstat", "fstat newfstatat statx" },
	{ "getdents", "getdents getdents64" },
	{ "getrlimit", "getrlimit ugetrlimit prlimit64" },
	{ "inotify_init", "inotify_init inotify_init1" },
	{ "lchown", "lchown fchownat" },
	{ "link", "link linkat" },
	{ "lseek", "lseek _llseek" },
	{ "lstat", "lstat newfstatat statx fstatat64" },
	{ "mkdir", "mkdir mkdirat" },
	{ "mknod", "mknod mknodat" },
	{ "mmap", "mmap mmap2" },
	{ "nanosleep", "nanosleep clock_nanosleep" },
	{ "open", "open openat openat2" },
	{ "pipe", "pipe pipe2" },
	{ "poll", "poll ppoll" },
	{ "preadv", "preadv preadv2" },
	{ "pread", "pread64" },
	{ "pthread_create", "clone clone3" },
	{ "pwritev", "pwritev pwritev2" },
	{ "pwrite", "pwrite64" },
	{ "readdir", "getdents getdents64" },
	{ "readlink", "readlink readlinkat" },
	{ "recv", "recv recvfrom" },
	{ "rename", "rename renameat renameat2" },
	{ "rmdir", "rmdir unlinkat" },
	{ "select", "select pselect6 _newselect" },
	{ "semop", "semop semtimedop" },
	{ "send", "send sendto" },
	{ "setrlimit", "setrlimit prlimit64" },
	{ "sigaction", "sigaction rt_sigaction" },
	{ "signalfd", "signalfd signalfd4" },
	{ "signal", "signal rt_sigaction" },
	{ "sigpending", "sigpending rt_sigpending" },
	{ "sigprocmask", "sigprocmask rt_sigprocmask" },
	{ "sigreturn", "sigreturn rt_sigreturn" },
	{ "sigsuspend", "sigsuspend rt_sigsuspend" },
	{ "sigtimedwait", "rt_sigtimedwait" },
	{ "sleep", "nanosleep clock_nanosleep" },
	{ "stat", "stat newfstatat statx fstatat64" },
	{ "symlink", "symlink symlinkat" },
	{ "umount", "umount umount2" },
	{ "unlink", "unlink unlinkat" },
	{ "usleep", "nanosleep clock_nanosleep" },
	{ "utimes", "utimes futimesat utimensat" },
	{ "utime", "utime utimes futimesat utimensat" },
	{ "vfork", "vfork clone clone3" },
	{ "wait3", "wait4" },
	{ "waitpid", "wait4 waitid waitpid" },
	{ "wait", "wait4 waitid waitpid" },
};

const char *family_of(const char *function)
{
	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		if (!strcmp(families[i].function, function))
			return families[i].calls;
	}
	return NULL;
}

const char *family_name(size_t index)
{
	return index < ARRAY_SIZE(families) ? families[index].function : NULL;
}

bool name_is_variant(const char *call, const char *name)
{
	static const char *const endings[] = { "", "64", "32", "_time64" };
	size_t length = strlen(name);

	if (strncmp(call, name, length) != 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		if (!strcmp(call + length, endings[i]))
			return true;
	}
	return false;
}

bool name_is_of_family(const char *call, const char *function)
{
	const char *names = family_of(function) ?: function;
	char name[64];

	for (size_t length; *names; names += length + (names[length] == ' ')) {
		length = strcspn(names, " ");
		snprintf(name, sizeof(name), "%.*s", (int)length, names);
		if (name_is_variant(call, name))
			return true;
	}
	return false;
}
