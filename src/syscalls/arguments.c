/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists the arguments of calls that may wait, by name: one table serves every ABI. */
#include "syscalls/arguments.h"

#include "syscalls/names.h"

static const struct {
	const char *name, *arguments;
} calls[] = {
	{ "accept", "fxx" },
	{ "accept4", "fxxx" },
	{ "clock_nanosleep", "nxTx" },
	{ "close", "f" },
	{ "connect", "faz" },
	{ "epoll_pwait", "fxnmx" },
	{ "epoll_pwait2", "fxntx" },
	{ "epoll_wait", "fxnm" },
	{ "exit", "n" },
	{ "fcntl", "fnx" },
	{ "fdatasync", "f" },
	{ "flock", "fn" },
	{ "fsync", "f" },
	{ "futex", "uxxTux" },
	{ "futex_wait", "uxxxTn" },
	{ "io_getevents", "xnnxt" },
	{ "io_uring_enter", "fzzxxz" },
	{ "ioctl", "fxx" },
	{ "mq_timedreceive", "fxzxT" },
	{ "mq_timedsend", "fxzxT" },
	{ "msgrcv", "nxznx" },
	{ "msgsnd", "nxzx" },
	{ "nanosleep", "tx" },
	{ "open", "sxx" },
	{ "openat", "dsxx" },
	{ "openat2", "dsxz" },
	{ "pause", "" },
	{ "poll", "xzm" },
	{ "ppoll", "xztxz" },
	{ "pread64", "fxzz" },
	{ "preadv", "fxzz" },
	{ "pselect6", "nxxxtx" },
	{ "pwrite64", "fxzz" },
	{ "pwritev", "fxzz" },
	{ "read", "fxz" },
	{ "readv", "fxz" },
	{ "recvfrom", "fxzxxx" },
	{ "recvmmsg", "fxzxt" },
	{ "recvmsg", "fxx" },
	{ "restart_syscall", "" },
	{ "rt_sigsuspend", "xz" },
	{ "rt_sigtimedwait", "xxtz" },
	{ "select", "nxxxv" },
	{ "semop", "nxz" },
	{ "semtimedop", "nxzt" },
	{ "sendfile", "ffxz" },
	{ "sendmmsg", "fxzx" },
	{ "sendmsg", "fxx" },
	{ "sendto", "fxzxaz" },
	{ "splice", "fxfxzx" },
	{ "stat", "sx" },
	{ "sync", "" },
	{ "vmsplice", "fxzx" },
	{ "wait4", "cxxx" },
	{ "waitid", "ncxxx" },
	{ "write", "fxz" },
	{ "writev", "fxz" },
};

const char *call_arguments(enum syscall_abi abi, int nr)
{
	const char *name = syscall_find_name(abi, nr);

	for (size_t i = 0; name && i < ARRAY_SIZE(calls); i++) {
		if (!strcmp(calls[i].name, name))
			return calls[i].arguments;
	}
	return "xxxxxx";
}
