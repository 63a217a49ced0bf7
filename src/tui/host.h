/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads from /proc/stat what all CPUs of the host did in an interval, for all processes. */
#pragma once

#include "base/mem.h"

/* Shares of the time of a CPU, in percent; they add up to 100. */
struct host_cpu {
	unsigned int number;
	double user, system, idle, stolen;
	double switches, migrations; /* per second; below 0: unknown */
};

struct host {
	struct host_cpu *cpus; /* owned */
	unsigned int nr_cpus;  /* 0: unknown */
	struct host_cpu all;
	unsigned int running;         /* threads that run or wait for a CPU */
	struct host_reading *reading; /* owned: the last one */
};

void host_done(struct host *host);

/* Takes another reading; the first one tells nothing yet. What cannot be read stays unknown. */
void host_update(struct host *host);
