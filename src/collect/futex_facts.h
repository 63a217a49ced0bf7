/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells for which thread of its process a thread waits: the holder of a mutex, or one that is to end. Nothing
 * is said that is not certain.
 */
#pragma once

#include "collect/flight_memory.h"
#include "model/in_flight.h"

/* Wants the memory that futex_read() reads. */
void futex_want(struct thread_memory *memory);

/* Keeps what is at the futex that a thread waits at, if the thread slept until it was taken. */
void futex_read(const struct thread_memory *memory, struct flight *flight);

/* Finds out what each futex is. It precedes in_flight_fold(). 0 or -ENOMEM. */
int futex_waits_find(struct in_flight *list);

/* Adds to threads that are shown for whom they wait. */
void futex_facts_add(struct in_flight *list);
