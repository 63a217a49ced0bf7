/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Says what threads do at one moment: the answer of --in-flight. Threads of one process that wait
 * for the same thing are one item, represented by the thread that has waited longest.
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

#define MAX_FLIGHT_FACTS 12

struct flight {
	struct listed_thread thread;
	uint64_t others; /* threads that wait like it */
	bool apart;      /* each of them for a futex of its own */

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
 * Merges threads that wait alike, and sorts: the longest wait first; threads in no call, whose age
 * is unknown, last.
 */
void in_flight_fold(struct in_flight *list);

/* Takes a value over, which may be NULL. No call has more than MAX_FLIGHT_FACTS. */
void flight_add_fact(struct flight *flight, const char *key, char *value);

/* Writes arguments such as "3, 0x7f01, 4096"; those without room are left out. */
#define FLIGHT_ARGUMENTS_MAX 640
void flight_arguments(const struct flight *flight, char *buf, size_t size);
