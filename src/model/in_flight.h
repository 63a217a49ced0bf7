/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Says what threads do at one moment: the answer of --in-flight. Threads of one process that wait
 * for the same thing and have the same stack are one item, represented by the one that has waited
 * longest.
 */
#pragma once

#include "base/mem.h"
#include "bpftruss/abi.h"
#include "model/stack.h"

/* Something that was found out about a call; the value is untrusted bytes. */
struct flight_fact {
	const char *key; /* a word of ours: file, peer, timeout, … */
	char *value;     /* owned */
};

#define MAX_FLIGHT_FACTS 40

/* A descriptor that a call such as poll waits for. */
struct flight_file {
	int32_t fd;
	uint32_t events; /* as poll has them */
};

/* The beginning of what an argument points at. */
struct flight_bytes {
	char *bytes; /* owned; untrusted */
	size_t size; /* 0: it was not read */
};

/* The first of them, by which threads are told apart; the others are only counted. */
#define MAX_FLIGHT_FILES_OF_CALL 8

/* A thread that waits like the one that represents it. */
struct flight_member {
	uint32_t tid;
	char comm[16];
};

/* The members of an item that are kept; the others are only counted. */
#define MAX_FLIGHT_MEMBERS 256

enum futex_kind {
	FUTEX_OF_ANYTHING, /* not known */
	FUTEX_OF_MUTEX,
	FUTEX_OF_THREAD, /* which is to end */
};

/* The words at the futex on which a thread waits. */
struct flight_futex {
	uint32_t word, owner; /* its value, and that where a mutex has its owner; 0: not known */
	enum futex_kind kind;
	/* The thread that is waited for; that of a mutex in the innermost pid namespace. 0: not known */
	uint32_t tid;
};

struct flight {
	struct listed_thread thread;
	uint64_t others;               /* threads that wait like it */
	bool apart;                    /* each of them for a futex of its own */
	struct flight_member *members; /* owned: the first of the others, by tid */
	size_t nr_members;

	bool is_wanted;  /* its stack is wanted: it may be among those that are shown */
	bool is_due;     /* what follows is to be looked up */
	bool was_looked; /* it was */
	struct flight_futex futex;
	struct flight_file files[MAX_FLIGHT_FILES_OF_CALL];
	uint32_t nr_files, more_files;  /* of a call that has a list of them */
	struct flight_bytes pointed[6]; /* by argument */
	uint64_t stack_id;              /* the same for equal stacks of a process; 0: not known */

	/* Looked up for those that are shown. */
	char comm[16];    /* of the process */
	bool gone, moved; /* the thread has ended since; it is not in that call any more */
	char *kernel;     /* owned: functions, innermost first, a line each; NULL: not shown */
	char wchan[64];   /* the one in which it sleeps; "": not known */
	char *module;     /* owned: the file of the code that called; NULL: not known */
	uint64_t offset;  /* of the address behind the call, in that file */
	const struct stack *stack; /* of user space, of the list's table; NULL: not known */
	struct flight_fact facts[MAX_FLIGHT_FACTS];
	size_t nr_facts;
};

struct in_flight {
	int64_t real_ns;      /* CLOCK_REALTIME of the look */
	struct flight *items; /* owned */
	size_t count;
	size_t shown;               /* the first of them were looked up */
	uint64_t threads;           /* all */
	struct stack_table *stacks; /* owned; NULL: there are none */
	uint64_t stacks_left_out;   /* threads that are shown, but beyond those whose stacks are */
};

void in_flight_done(struct in_flight *list);

/* Adds a thread. 0 or -ENOMEM. */
int in_flight_add(struct in_flight *list, const struct listed_thread *thread);

/*
 * Sorts threads: the longest wait first; threads in no call, whose age is unknown, last. Those of the
 * first kinds of waits are marked as wanted, and the first of each kind as due. 0 or -ENOMEM.
 */
int in_flight_sort(struct in_flight *list, size_t top);

/*
 * Merges threads that wait alike, sorts as before, and marks those of the first items as due that were
 * not looked at. Threads whose stacks differ are never merged, nor are those with and without a stack.
 */
void in_flight_fold(struct in_flight *list, size_t top);

/* Takes a value over, which may be NULL. No call has more than MAX_FLIGHT_FACTS. */
void flight_add_fact(struct flight *flight, const char *key, char *value);

/* Writes arguments such as "3, 0x7f01, 4096"; those without room are left out. */
#define FLIGHT_ARGUMENTS_MAX 640
void flight_arguments(const struct flight *flight, char *buf, size_t size);
