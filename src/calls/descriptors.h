/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Knows what each descriptor of each process refers to: learns it from the calls that make, change
 * and close descriptors, and asks /proc once for those that were open before. Invariants: a name is
 * what the descriptor was when its call used it, as far as every call before was seen, and is
 * marked if that is not certain; memory never exceeds DESCRIPTORS_BYTES, whatever programs open.
 * Changes that are no calls of the process, as with io_uring, are not seen.
 */
#pragma once

#include "base/mem.h"
#include "bpftruss/call_abi.h"

#define DESCRIPTORS_BYTES (8UL << 20)

/* A working directory is asked for as if it were a descriptor. */
#define DESCRIPTOR_CWD (-100)

/*
 * Supplies names that no call has told. Each function may be NULL, and may be slow: nobody asks it
 * for the same descriptor again before that changes, or calls go unseen.
 */
struct descriptor_source {
	void *context;

	/*
	 * Reads the link /proc/PID/fd/FD, or /proc/PID/cwd of DESCRIPTOR_CWD. Returns its length, which
	 * is less than size; -ENOENT: the process has no such descriptor; or another -errno: it is
	 * gone (-ESRCH), or nobody may know.
	 */
	ssize_t (*read_link)(void *context, uint32_t pid, int fd, char *buf, size_t size);

	/*
	 * Describes a socket: "TCP 127.0.0.1:80->127.0.0.1:4711", with an end that is not known as "*";
	 * no "->" if it has no peer. Returns the length, or -errno.
	 */
	ssize_t (*read_socket)(void *context, uint32_t pid, int fd, uint64_t inode, char *buf,
			       size_t size);

	/* Whether the pids that a process sees are those that records have. */
	bool (*sees_our_pids)(void *context, uint32_t pid);
};

enum descriptor_flag {
	/*
	 * It was found out after the call, or before calls that were not seen: by then the number may have been
	 * another file's.
	 */
	DESCRIPTOR_LATE = 1 << 0,
};

struct descriptor_name {
	const char *text; /* untrusted bytes; valid until the next call of any function here */
	size_t length;
	unsigned int flags; /* enum descriptor_flag */
};

/* A call replaces descriptors: dup2(3, 4) uses one 4 and returns another. */
enum descriptor_moment {
	DESCRIPTOR_USED, /* as an argument */
	DESCRIPTOR_MADE, /* as a result, or in what the kernel wrote: the two of pipe() */
};

struct descriptors;

/* 0 or -ENOMEM. */
int descriptors_new(const struct descriptor_source *source, struct descriptors **ret);
void descriptors_free(struct descriptors *d);
CLEANUP_OF(descriptors, descriptors_free)

/*
 * Takes a record, each of them, in order, before names for its line are asked for. unseen: calls of its thread
 * before it were not seen, lost or left out, so that the process may have other descriptors by now.
 */
void descriptors_follow(struct descriptors *d, const struct call_record *record, bool unseen);

/*
 * Names are wanted of a call that is not followed, as it has not ended, and began then (CLOCK_MONOTONIC): not of
 * files that were opened since. descriptors_follow() sets the same of its record.
 */
void descriptors_begin(struct descriptors *d, uint64_t begin_ns);

/*
 * The name of a descriptor of the process whose record was followed last: "/srv/www/index.html",
 * "TCP 127.0.0.1:80->127.0.0.1:4711", "socket:[123]", "pipe:[77]", "anon_inode:[eventpoll]"; a path is as
 * the program named it, but absolute. False: nobody knows, or there is no such descriptor; or its number has
 * become this file's since the call began.
 */
bool descriptors_name(struct descriptors *d, uint32_t pid, int fd, enum descriptor_moment moment,
		      struct descriptor_name *ret);

/* Looks up a descriptor that a process has inherited, before its first call. */
void descriptors_inherit(struct descriptors *d, uint32_t pid, int fd);

/* Forgets a process, which has ended: its pid may be another's from now on. */
void descriptors_forget(struct descriptors *d, uint32_t pid);

/* Returns how many names were forgotten for lack of room. */
uint64_t descriptors_evicted(const struct descriptors *d);

/* How often /proc was asked. */
uint64_t descriptors_asked(const struct descriptors *d);

/* Memory in use: at most DESCRIPTORS_BYTES. */
size_t descriptors_bytes(const struct descriptors *d);
