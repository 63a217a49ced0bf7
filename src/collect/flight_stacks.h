/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The user stacks of threads that sleep. They are not stopped: their memory is copied, and the copy counts
 * only if the thread has slept on, by the kernel's count of its context switches.
 */
#pragma once

#include "model/in_flight.h"

/* The stacks of the first threads shown are taken, at most this many. */
#define MAX_FLIGHT_STACKS 256

struct flight_stacks;

/* Copies the stacks of the first threads of a list, which was just made. 0 or -ENOMEM. */
int flight_stacks_take(struct in_flight *list, size_t top, struct flight_stacks **ret);
void flight_stacks_free(struct flight_stacks *stacks);
CLEANUP_OF(flight_stacks, flight_stacks_free)

/*
 * Walks up the stacks that were taken, and names their frames; names that take longer than some
 * seconds are left out. 0 or -ENOMEM.
 */
int flight_stacks_name(struct flight_stacks *stacks, struct in_flight *list);
