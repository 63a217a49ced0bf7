/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Serves the measured programs: a batch is as many repetitions as take about the time asked for,
 * its figure the nanoseconds of one. Batches are short, so that most of them stay undisturbed, and
 * the median of many is a good measure even on a busy machine.
 */
#pragma once

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MAX_BATCHES 1000

/* A line of stdin asks for one measurement. */
struct request {
	unsigned int threads;
	unsigned int batches;
	unsigned int batch_us;
};

static inline int request_read(struct request *ret)
{
	struct request request;

	if (scanf("%u %u %u", &request.threads, &request.batches, &request.batch_us) != 3)
		return -1;
	if (request.batches < 1 || request.batches > MAX_BATCHES)
		return -1;
	*ret = request;
	return 0;
}

static inline double time_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

/* Nanoseconds that count repetitions take. */
static inline double batch_run(void (*repeat)(void *, unsigned int), void *arg, unsigned int count)
{
	double start = time_ns();

	repeat(arg, count);
	return time_ns() - start;
}

/* How many repetitions fill a batch. */
static inline unsigned int batch_size(void (*repeat)(void *, unsigned int), void *arg,
				      unsigned int batch_us)
{
	double want = batch_us * 1e3, took;
	unsigned int count = 2;

	while ((took = batch_run(repeat, arg, count)) < want / 4)
		count *= 2;
	count = count * want / took;
	return count ? count : 1;
}

static inline int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The answer to a request: the median batch. Sorts ns. */
static inline void batches_print(double *ns, unsigned int count)
{
	qsort(ns, count, sizeof(*ns), compare_doubles);
	printf("%.2f\n", ns[count / 2]);
	fflush(stdout);
}

/* Keeps the caller on one CPU, the last one first: the first serves most interrupts. */
static inline int cpu_pin(unsigned int from_last)
{
	cpu_set_t allowed, one;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return -1;
	for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--) {
		if (!CPU_ISSET(cpu, &allowed) || from_last--)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		return sched_setaffinity(0, sizeof(one), &one);
	}
	return -1;
}
