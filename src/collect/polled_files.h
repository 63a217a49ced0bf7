/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the descriptors that poll, select and their like wait for from a thread's memory. */
#pragma once

#include "collect/flight_memory.h"
#include "model/in_flight.h"

/* Wants the memory that polled_files_read() reads. */
void polled_files_want(struct thread_memory *memory);

/* Keeps the descriptors, if the thread slept until they were taken. */
void polled_files_read(const struct thread_memory *memory, struct flight *flight);
