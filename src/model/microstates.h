/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Splits the time of threads as prstat -m does. A thread is at any moment in one of these:
 *
 *   user    on a CPU, running its program
 *   system  on a CPU, in the kernel: system calls, page faults, interrupts that came meanwhile
 *   runq    runnable, waiting for a CPU
 *   lock    asleep in futex(2)
 *   sleep   asleep in another call, in a page fault, or stopped
 *
 * They add up to the time of all threads. CPU time is measured at each context switch; how much of
 * it was the program's the kernel knows, mostly by looking at each clock tick (utime and stime of
 * /proc/PID/stat). Without a tick it is what went by outside of calls. Run-queue time is that of
 * /proc/PID/schedstat: of a wait that goes on it is known afterwards.
 */
#ifndef BPFTRUSS_MICROSTATES_H
#define BPFTRUSS_MICROSTATES_H

#include "model/snapshot.h"

struct microstates {
	uint64_t user_ns, system_ns, runq_ns, lock_ns, sleep_ns;
};

void microstates_add(struct microstates *into, const struct microstates *from);

/* Sum of the five. */
uint64_t microstates_total_ns(const struct microstates *states);

/* How the threads of a process spent their time, of which lock_ns was slept in futex(2). */
void process_microstates(const struct process *process, uint64_t lock_ns, struct microstates *ret);

/*
 * Splits the time of a row's calls, whether they have ended or not; user_ns is 0. Until a call ends, its
 * run-queue time stands as sleep.
 */
void row_microstates(const struct snapshot *snapshot, const struct row *row,
		     struct microstates *ret);

/* How long the calls of a row slept for a lock. */
uint64_t row_lock_ns(const struct snapshot *snapshot, const struct row *row);

/*
 * The same of all processes together. Returns false if not all calls are in it: then time asleep for a
 * lock is not known from other sleep, and all of it is in sleep_ns.
 */
bool snapshot_microstates(const struct snapshot *snapshot, struct microstates *ret);

#endif
