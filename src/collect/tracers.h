/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds out who else traces system calls now, and what it costs every process that anybody does. */
#pragma once

#include "base/diag.h"

/*
 * A note with the names of who else looks at system calls, or stops processes at theirs; all is
 * well if nobody does. What it may not look at is left out.
 */
void tracers_check(struct finding *f);

/* Tells what attaching costs every call of every process, in ns. */
struct slow_path_cost {
	double bare_ns;     /* a getppid with nothing attached by us */
	double attached_ns; /* with empty programs on enter and exit */
	bool traced; /* by others all the time: bare_ns has their cost, and the slow path's */
};

/*
 * Measures it by attaching some times, for about a fifth of a second. Returns 0 or -errno: -EAGAIN if
 * others began or ended to trace calls meanwhile, -EBUSY if this process is traced itself.
 */
int tracers_measure_slow_path(struct slow_path_cost *ret, struct diag *d);
