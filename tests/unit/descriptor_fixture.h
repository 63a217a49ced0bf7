/* SPDX-License-Identifier: BSD-2-Clause */
/* A script of calls, and what /proc says while it runs: what are its descriptors called? */
#pragma once

#include "test.h"

#include <sys/socket.h>

#include "base/clock.h"
#include "calls/descriptors.h"
#include "syscalls/names.h"

/* An answer of /proc in these tests. */
struct link {
	uint32_t pid;
	int fd;
	const char *text; /* NULL: there is no such descriptor */
};

struct proc {
	struct descriptors *d;
	const struct link *links;
	size_t count;
	bool has_own_pids;
	const char *socket; /* what sockets are */
	uint64_t sockets_asked;
	uint64_t now_ns;
};

static inline ssize_t link_read(void *context, uint32_t pid, int fd, char *buf, size_t size)
{
	const struct proc *proc = context;

	for (size_t i = 0; i < proc->count; i++) {
		const struct link *link = &proc->links[i];

		if (link->pid == pid && link->fd == fd)
			return link->text ? snprintf(buf, size, "%s", link->text) : -ENOENT;
	}
	return -ESRCH;
}

static inline ssize_t socket_read(void *context, uint32_t pid, int fd, uint64_t inode, char *buf,
				  size_t size)
{
	struct proc *proc = context;

	assert_all(pid, fd >= 0, inode);
	proc->sockets_asked++;
	return proc->socket ? snprintf(buf, size, "%s", proc->socket) : -ENOENT;
}

static inline bool pids_are_ours(void *context, __attribute__((unused)) uint32_t pid)
{
	return !((const struct proc *)context)->has_own_pids;
}

static inline void proc_begin(struct proc *proc)
{
	const struct descriptor_source source = { proc, link_read, socket_read, pids_are_ours };

	*proc = (struct proc){ .now_ns = 1000 };
	assert_int_equal(descriptors_new(&source, &proc->d), 0);
}

static inline void proc_done(struct proc *proc)
{
	descriptors_free(proc->d);
}

#define PROC_TEST(name) TEST_OF(name, struct proc, proc, proc_done, proc_begin)

#define LINKS(proc, ...)                                            \
	static const struct link links_of_test[] = { __VA_ARGS__ }; \
	(proc)->links = links_of_test;                              \
	(proc)->count = ARRAY_SIZE(links_of_test)

/* --- calls -------------------------------------------------------------------------------------- */

/* A call with room for what it points at. */
struct call {
	struct call_record record;
	unsigned char bytes[4096];
};

static inline struct call call_of(struct proc *proc, uint32_t pid, const char *name, int64_t result)
{
	proc->now_ns += 1000;
	return (struct call){ .record = { .size = sizeof(struct call_record),
					  .abi = ABI_X86_64,
					  .flags = CALL_RETURNED | CALL_TIMED,
					  .nr = syscall_find(ABI_X86_64, name),
					  .pid = pid,
					  .tid = pid,
					  .end_ns = proc->now_ns,
					  .wall_ns = 10,
					  .result = result } };
}

static inline void add_part(struct call *call, uint8_t argument, uint8_t part, const void *bytes,
			    size_t size)
{
	const struct call_piece piece = { .argument = argument,
					  .part = part,
					  .size = (uint16_t)size };
	unsigned char *at = (unsigned char *)call + call->record.size;

	memcpy(at, &piece, sizeof(piece));
	memcpy(at + sizeof(piece), bytes, size);
	call->record.size += (uint32_t)(sizeof(piece) + ((size + 7) & ~7UL));
	call->record.arguments[argument] = 0x7f0000000000;
}

static inline void add_piece(struct call *call, uint8_t argument, const void *bytes, size_t size)
{
	add_part(call, argument, PART_SELF, bytes, size);
}

static inline void follow(struct proc *proc, const struct call *call)
{
	descriptors_follow(proc->d, &call->record, false);
}

/* A call of numbers alone. */
static inline void call(struct proc *proc, uint32_t pid, const char *name, int64_t result,
			uint64_t a, uint64_t b, uint64_t c)
{
	struct call call = call_of(proc, pid, name, result);

	call.record.arguments[0] = a;
	call.record.arguments[1] = b;
	call.record.arguments[2] = c;
	follow(proc, &call);
}

static inline void call_openat(struct proc *proc, uint32_t pid, int folder, const char *path,
			       int flags, int64_t result)
{
	struct call call = call_of(proc, pid, "openat", result);

	call.record.arguments[0] = (uint32_t)folder;
	add_piece(&call, 1, path, strlen(path));
	call.record.arguments[2] = (uint32_t)flags;
	follow(proc, &call);
}

static inline void call_pair(struct proc *proc, uint32_t pid, const char *name, uint8_t argument,
			     uint64_t flags, int first, int second)
{
	struct call call = call_of(proc, pid, name, 0);
	const int fds[2] = { first, second };

	call.record.arguments[0] = AF_UNIX;
	call.record.arguments[1] = flags;
	add_piece(&call, argument, fds, sizeof(fds));
	follow(proc, &call);
}

/* --- names -------------------------------------------------------------------------------------- */

/* NULL: it has none. */
static inline void assert_named(struct proc *proc, uint32_t pid, int fd,
				enum descriptor_moment moment, const char *text, unsigned int flags)
{
	struct descriptor_name name = { .text = "" };
	bool found = descriptors_name(proc->d, pid, fd, moment, &name);

	if (!text && found)
		fail_msg("%d of %u is %s", fd, pid, name.text);
	if (!text)
		return;
	if (!found)
		fail_msg("%d of %u is not known to be %s", fd, pid, text);
	assert_string_equal(name.text, text);
	assert_int_equal(name.length, strlen(text));
	assert_int_equal(name.flags, flags);
}

static inline void assert_used(struct proc *proc, int fd, const char *text)
{
	assert_named(proc, 1, fd, DESCRIPTOR_USED, text, 0);
}

static inline void assert_made(struct proc *proc, int fd, const char *text)
{
	assert_named(proc, 1, fd, DESCRIPTOR_MADE, text, 0);
}

/* Checks a name that comes from /proc. */
static inline void assert_late(struct proc *proc, int fd, const char *text)
{
	assert_named(proc, 1, fd, DESCRIPTOR_USED, text, DESCRIPTOR_LATE);
}

static inline void assert_asked(const struct proc *proc, uint64_t times)
{
	assert_int_equal(descriptors_asked(proc->d), times);
}
