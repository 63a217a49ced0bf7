/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Errands: all that is asked of children (base/child.h), in one list. An errand waits for its turn, then
 * for one child after the other, and nobody waits for it. Users take turns, however many errands each of
 * them has caused; a child that is overdue is killed; what has failed is tried again, the more seldom the
 * more often it has failed.
 *
 *	errand_init(&errand, ERRAND_NAMES, step, closure);
 *	errands_add(errands, &errand);
 *	poll(errands_fd(errands), errands_patience_ms(errands));
 *	errands_run(errands);
 */
#pragma once

#include <sys/queue.h>

#include "base/child.h"

enum errand_kind {
	ERRAND_OPEN,    /* opens a file of code */
	ERRAND_NAMES,   /* reads names of a file */
	ERRAND_TABLE,   /* makes the unwind table of a file */
	ERRAND_FETCH,   /* asks servers for a debug file */
	ERRAND_PROCESS, /* reads what a process has mapped, and its perf map */
	NR_ERRAND_KIND,
};

/* The number of errands of a kind that may have children at a time. */
#define MAX_RUNNING_ERRANDS 8

enum errand_turn {
	ERRAND_OVER,  /* it is off the list */
	ERRAND_RUNS,  /* it waits for its child */
	ERRAND_AGAIN, /* it waits for another turn, of its kind, from due_ns on */
	/* No child could be started: it waits for another turn, and no errand begins one for 100 ms. */
	ERRAND_REFUSED,
};

struct errand {
	enum errand_kind kind;
	uint32_t user;      /* who has caused it */
	uint64_t due_ns;    /* it has no turn before: see errands_set_due() */
	struct child child; /* that it waits for; without a pid: none */
	/* Called at its turn, and whenever its child has ended. */
	enum errand_turn (*step)(void *closure);
	void *closure;
	/* The list's own: */
	TAILQ_ENTRY(errand) queue; /* of those that wait */
	bool is_waiting, is_running;
	unsigned int number; /* no other one that runs has it; of kinds in their order */
};

struct errands;

/* 0 or -errno. */
int errands_new(struct errands **ret);

/* NULL is fine. All errands have been removed; waits up to 100 ms for the end of killed children. */
void errands_free(struct errands *errands);

void errand_init(struct errand *errand, enum errand_kind kind,
		 enum errand_turn (*step)(void *closure), void *closure);

/* Adds it; one that waits or runs is left as it is. */
void errands_add(struct errands *errands, struct errand *errand);

/* Says when it has its turn at the soonest: the member is not to be changed while it waits. */
void errands_set_due(struct errands *errands, struct errand *errand, uint64_t due_ns);

/* Takes it off the list. Its child is killed, and nobody waits for its end. */
void errands_remove(struct errands *errands, struct errand *errand);

static inline bool errand_is_busy(const struct errand *errand)
{
	return errand->is_waiting || errand->is_running;
}

/* Errands of a kind begin no turn until that is taken back. */
void errands_pause(struct errands *errands, enum errand_kind kind, bool is_paused);

/* Whether one more errand of a user may wait: nobody fills a queue that has an end. */
bool errands_have_room(const struct errands *errands, enum errand_kind kind, uint32_t user);

/* Whether errands of a kind that one user has caused go before those of another. */
bool errands_prefer(const struct errands *errands, enum errand_kind kind, uint32_t user,
		    uint32_t other);

/* Whether none of a kind runs, or will begin before some moment. */
bool errands_are_idle(const struct errands *errands, enum errand_kind kind, uint64_t until_ns);

/* Readable when errands_run() has something to do. */
int errands_fd(const struct errands *errands);

/* How long at most to wait for that: milliseconds as poll() takes them, -1 for ever. */
int errands_patience_ms(const struct errands *errands);

/* Goes on with errands whose children have ended, and begins a few others. */
void errands_run(struct errands *errands);

/* Returns when to try again after so many failures in a row. */
uint64_t errand_retry_ns(unsigned int failures);

/* Pauses grow this many times, up to 10 minutes, and then stay as long. */
#define MAX_RETRY_STEP 4
