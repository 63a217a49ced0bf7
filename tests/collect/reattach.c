// SPDX-License-Identifier: BSD-2-Clause
/*
 * reattach ROUNDS PID: counts a process ROUNDS times, each time with a collector of its own: opens,
 * attaches, reads, detaches. After each round it says on a line what this process holds then:
 * round, calls counted, file descriptors, mappings of BPF maps, KiB of resident memory.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "collect/collector.h"

struct holdings {
	int fds, mappings;
	long resident_kib;
};

static int count_fds(void)
{
	glob_t found;
	int count = glob("/proc/self/fd/*", 0, NULL, &found) ? -1 : (int)found.gl_pathc;

	globfree(&found);
	return count;
}

/* Lines of a file of /proc that begin with this, or hold it; the number behind the last one. */
static int count_lines(const char *path, const char *text, long *number)
{
	FILE *file __cleanup(fclosep) = fopen(path, "re");
	char line[512], *found;
	int count = 0;

	while (file && fgets(line, sizeof(line), file)) {
		found = strstr(line, text);
		if (!found)
			continue;
		count++;
		*number = strtol(found + strlen(text), NULL, 10);
	}
	return count;
}

static void holdings_take(struct holdings *ret)
{
	long ignored;

	ret->fds = count_fds();
	ret->mappings = count_lines("/proc/self/maps", "bpf-map", &ignored);
	count_lines("/proc/self/status", "VmRSS:", &ret->resident_kib);
}

static int read_calls(struct collector *collector, uint64_t *calls, struct diag *d)
{
	__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
	int err = collector_read(collector, &snapshot, d);

	*calls = 0;
	for (size_t i = 0; !err && i < snapshot->nr_rows; i++)
		*calls += snapshot->rows[i]->calls;
	return err;
}

/* Counts until the process has made calls; whoever never makes one is no target for this. */
static int count_once(pid_t pid, uint64_t *calls, struct diag *d)
{
	__cleanup(collector_freep) struct collector *collector = NULL;
	const struct collector_options options = { .max_tasks = 64, .max_rows = 1000 };
	const struct target_options target = { .follow = true };
	int err = collector_open(&options, &collector, d)
		  ?: collector_add_target(collector, pid, &target, d)
		  ?: collector_start(collector, d);

	for (*calls = 0; !err && !*calls;) {
		usleep(1000);
		err = read_calls(collector, calls, d);
	}
	if (err)
		return err;
	collector_stop(collector);
	return read_calls(collector, calls, d);
}

int main(int argc, char **argv)
{
	int rounds = argc == 3 ? atoi(argv[1]) : 0;
	struct holdings holdings = { .fds = 0 };
	uint64_t calls;
	struct diag d;

	for (int i = 1; i <= rounds; i++) {
		if (count_once(atoi(argv[2]), &calls, &d)) {
			fprintf(stderr, "round %d: %s\n", i, d.text);
			return 1;
		}
		holdings_take(&holdings);
		printf("%d %lu %d %d %ld\n", i, calls, holdings.fds, holdings.mappings,
		       holdings.resident_kib);
		fflush(stdout);
	}
	return 0;
}
