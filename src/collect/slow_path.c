/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the measurement of what any tool on raw_syscalls costs: while a program is attached, every
 * call of every process takes the kernel's slow entry path.
 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/features.h"
#include "probe.skel.h"

#define BATCHES     40
#define BATCH_CALLS 2000

/* The fastest of many short batches: what disturbs a batch only makes it slower. */
static double getppid_ns(void)
{
	uint64_t best = UINT64_MAX, start, took;

	for (int i = 0; i < BATCHES; i++) {
		start = clock_mono_ns();
		for (int j = 0; j < BATCH_CALLS; j++)
			syscall(SYS_getppid);
		took = clock_mono_ns() - start;
		best = took < best ? took : best;
	}
	return (double)best / BATCH_CALLS;
}

int features_measure_slow_path(struct slow_path_cost *ret, struct diag *d)
{
	struct probe_bpf *probe = probe_bpf__open_and_load();
	struct slow_path_cost cost;
	int err;

	cost.bare_ns = getppid_ns();
	err = probe ? probe_bpf__attach(probe) : -errno;
	if (!err)
		cost.attached_ns = getppid_ns();
	probe_bpf__destroy(probe);
	if (err)
		return diag_set(d, DIAG_UNSUPPORTED, -err, "cannot attach empty programs: %s",
				strerror(-err));
	*ret = cost;
	return 0;
}
