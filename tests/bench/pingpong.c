// SPDX-License-Identifier: BSD-2-Clause
/*
 * Two processes that hand one byte to and fro over pipes, on one CPU: every round trip is two
 * context switches and four system calls.
 *
 * Lines "1 BATCHES MICROSECONDS" on stdin are answered by the nanoseconds of a round trip. The first
 * line of output is both pids.
 */
#include <unistd.h>
#include "batches.h"

struct pair {
	int to[2], from[2];
};

static void trip_repeat(void *arg, unsigned int count)
{
	struct pair *pair = arg;
	char byte = 0;

	while (count--)
		if (write(pair->to[1], &byte, 1) != 1 || read(pair->from[0], &byte, 1) != 1)
			abort();
}

/* Answers until the other side has closed its end. */
static int partner_main(struct pair *pair)
{
	char byte;

	close(pair->to[1]);
	while (read(pair->to[0], &byte, 1) == 1)
		if (write(pair->from[1], &byte, 1) != 1)
			return 1;
	return 0;
}

static void pair_measure(struct pair *pair, const struct request *request)
{
	unsigned int count = batch_size(trip_repeat, pair, request->batch_us);
	double ns[MAX_BATCHES];

	for (unsigned int i = 0; i < request->batches; i++)
		ns[i] = batch_run(trip_repeat, pair, count) / count;
	batches_print(ns, request->batches);
}

int main(void)
{
	struct request request;
	struct pair pair;
	pid_t partner;

	if (cpu_pin(0) || pipe(pair.to) || pipe(pair.from) || (partner = fork()) < 0) {
		perror("pingpong");
		return 1;
	}
	if (partner == 0)
		return partner_main(&pair);
	printf("%d %d\n", getpid(), partner);
	fflush(stdout);
	while (!request_read(&request))
		pair_measure(&pair, &request);
	return 0;
}
