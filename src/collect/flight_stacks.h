/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The user stacks of threads that sleep. They are not stopped: their memory is copied, and the copy counts
 * only if the thread has slept on, by the kernel's count of its context switches.
 */
#pragma once

#include "model/in_flight.h"

/* The stacks of so many threads are taken: the first of each kind of wait, then the other ones. */
#define MAX_FLIGHT_STACKS 1024

struct flight_stacks;

/*
 * Copies the stacks of the first of those threads of a list that are wanted. The list, which was just
 * made, stays as it is until they have names. 0 or -ENOMEM.
 */
int flight_stacks_take(struct in_flight *list, struct flight_stacks **ret);
void flight_stacks_free(struct flight_stacks *stacks);
CLEANUP_OF(flight_stacks, flight_stacks_free)

/*
 * Walks up the stacks that were taken, takes and walks the others, and names their frames; names that
 * take longer than some seconds are left out. 0 or -ENOMEM.
 */
int flight_stacks_name(struct flight_stacks *stacks, struct in_flight *list);
