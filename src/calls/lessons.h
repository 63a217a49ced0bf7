/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Says how a call changes descriptors; private to lessons.c and lesson_sockets.c. A record may hold
 * anything: if it does not tell enough, the descriptor must be asked for, and never gets a wrong
 * name.
 */
#pragma once

#include "calls/descriptors_private.h"

/* One call, and the parts of it that matter here. */
struct lesson {
	struct descriptors *d;
	struct fd_process *process;
	const struct call_record *record;
	const struct taught *taught;
};

enum teaching {
	TEACHES_RESULT, /* what a result is */
	TEACHES_CHANGE, /* what has changed, when the call succeeded */
	TEACHES_ALWAYS, /* whether it succeeded or not */
};

/* A row of the table of calls. Indexes of arguments are -1 if there is none. */
struct taught {
	const char *call;
	void (*learn)(const struct lesson *lesson);
	enum teaching teaching;
	int8_t folder, path; /* arguments */
	int8_t flags;        /* the argument with the flag to close on exec */
	uint32_t on_exec; /* that flag; without an argument, anything but 0 says that it is set */
	const char *text; /* what it makes */
};

static inline int fd_argument(const struct lesson *lesson, size_t i)
{
	return (int)lesson->record->arguments[i];
}

static inline int fd_result(const struct lesson *lesson)
{
	return (int)lesson->record->result;
}

static inline uint32_t exec_flag(bool closes)
{
	return closes ? ENTRY_CLOSES_ON_EXEC : ENTRY_STAYS_ON_EXEC;
}

static inline uint32_t exec_flag_of(const struct lesson *lesson)
{
	const struct taught *taught = lesson->taught;

	if (taught->flags < 0)
		return exec_flag(taught->on_exec);
	return exec_flag(lesson->record->arguments[taught->flags] & taught->on_exec);
}

/* Bytes of a call's memory. */
struct memory {
	const char *bytes;
	size_t size;
	unsigned int flags; /* enum piece_flag */
};

/* Finds the bytes that an argument points at; false: all of them were not read. */
bool memory_find(const struct call_record *record, unsigned int argument, struct memory *ret);

/* Finds a part (enum piece_part) of them; memory_find() is for PART_SELF. */
bool memory_find_part(const struct call_record *record, unsigned int argument, unsigned int part,
		      struct memory *ret);

/* The two descriptors that pipe() and socketpair() write. */
bool pair_find(const struct lesson *lesson, unsigned int argument, int fds[2]);

/* Forgets what was known of a descriptor. */
void stage_unknown(const struct lesson *lesson, int fd);

/* --- of lesson_sockets.c: stage what a call does to sockets --- */

void learn_socket(const struct lesson *lesson);
void learn_socketpair(const struct lesson *lesson);
void learn_accept(const struct lesson *lesson);
void learn_connect(const struct lesson *lesson);
void learn_socketcall(const struct lesson *lesson);

/* bind() and getsockname(); getpeername(). */
void learn_local_end(const struct lesson *lesson);
void learn_peer(const struct lesson *lesson);
