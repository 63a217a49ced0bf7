// SPDX-License-Identifier: BSD-2-Clause
/*
 * What becomes of a target whose end nobody sees, as where the kernel skips programs.
 *
 * usage: blind PID. Counts that process, its children too; lets go of the program at the end of
 * tasks, prints "counting", waits until nothing is counted any more and prints the JSON report.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "collect/collector.h"
#include "collect/collector_private.h"
#include "report/report.h"

static int count(struct collector *collector, pid_t pid, struct diag *d)
{
	struct pollfd poll_fd = { .fd = collector_fd(collector), .events = POLLIN };
	const struct target_options target = { .follow = true };
	int err = collector_add_target(collector, pid, &target, d) ?: collector_start(collector, d);

	if (err)
		return err;
	bpf_link__destroy(collector->skel->links.on_exit);
	collector->skel->links.on_exit = NULL;
	puts("counting");
	fflush(stdout);
	while (!err && collector_live(collector)) {
		poll(&poll_fd, 1, collector_patience_ms(collector));
		err = collector_reclaim(collector);
	}
	return err ? diag_set(d, DIAG_FAILED, -err, "cannot follow the processes") : 0;
}

int main(int argc, char **argv)
{
	__cleanup(collector_freep) struct collector *collector = NULL;
	__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
	const struct collector_options options = { .verbose = false };
	struct diag d;

	if (argc != 2 || collector_open(&options, &collector, &d) ||
	    count(collector, atoi(argv[1]), &d))
		return 1;
	collector_stop(collector);
	if (collector_read(collector, &snapshot, &d))
		return 1;
	return report_json(snapshot, stdout) ? 1 : 0;
}
