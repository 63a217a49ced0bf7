/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What may wait for a disk, a network or somebody else's file system is done by a copy of this process,
 * which can be killed: nobody here waits for it.
 *
 *	errand_start(search, &question, descriptors, nr_descriptors, &errand);
 *	poll(errand_fd(errand), errand_timeout_ms(errand));
 *	errand_finish(steal_ptr(&errand), &answer);
 */
#ifndef BPFTRUSS_ERRAND_H
#define BPFTRUSS_ERRAND_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#define MAX_ERRAND_FDS     6
#define MAX_ERRAND_NUMBERS 8

/* A copy brings this back. All zero: nothing. */
struct errand_answer {
	int fds[MAX_ERRAND_FDS];
	size_t nr_fds;
	uint64_t numbers[MAX_ERRAND_NUMBERS];
	char text[PATH_MAX];
	char name[NAME_MAX + 1];
};

/* Closes what nobody has taken: descriptors of -1 are nobody's. */
void errand_answer_done(struct errand_answer *answer);

/* Runs in the copy, which has all memory as it was. Returns 0 or -errno. */
typedef int (*errand_function)(void *closure, struct errand_answer *ret);

struct errand;

/* Of our descriptors the copy has those that are named, and 0 to 2. 0 or -errno. */
int errand_start(errand_function function, void *closure, const int *fds, size_t nr_fds,
		 struct errand **ret);

/* Readable when it is over. */
int errand_fd(const struct errand *errand);

/* Until it has taken too long; 0: stop it. */
int errand_timeout_ms(const struct errand *errand);

/* Kills it without waiting for its end: then errand_fd() is readable, and it has failed. */
void errand_stop(struct errand *errand);

/* Frees it. What the function returned, or -ETIMEDOUT or -EPROTO: it did not get so far. */
int errand_finish(struct errand *errand, struct errand_answer *ret);

/* Kills it; NULL is fine. */
void errand_free(struct errand *errand);

static inline void errand_freep(struct errand **errand)
{
	errand_free(*errand);
}

#endif
