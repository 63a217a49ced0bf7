/* SPDX-License-Identifier: BSD-2-Clause */
/* Decides which calls of a recording are shown, as the programs decide it of calls that they send. */
#pragma once

#include <sys/types.h>

#include "base/mem.h"
#include "bpftruss/call_abi.h"
#include "syscalls/syscall_set.h"

/* All borrowed. All zero: each call. */
struct call_filter {
	const struct syscall_set *calls; /* NULL: all */
	const char *path;                /* a glob; NULL: any, or none */
	/* The programs check the conditions that follow. */
	const struct call_conditions *conditions; /* NULL: none; their path is not looked at */
	uint64_t slower_ns;                       /* that it took at least; 0: anything */
	const pid_t *pids;                        /* of processes or threads */
	size_t nr_pids;
	const char *const *names; /* globs, of threads; with pids, one of either will do */
	size_t nr_names;
};

/*
 * Whether a call meets conditions; their path is not looked at. A call that has not returned has neither
 * failed nor succeeded.
 */
bool call_conditions_hold(const struct call_conditions *conditions,
			  const struct call_record *record);

/* Whether the thread that made a call is one of those that are meant. */
bool call_filter_has_thread(const struct call_filter *filter, const struct call_record *record);

bool call_filter_passes(const struct call_filter *filter, const struct call_record *record);
