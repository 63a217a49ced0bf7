/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads /proc/stat, and has the kernel count context switches and migrations of each CPU, which it does
 * where they happen anyway.
 */
#include "tui/host.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

#define MAX_CPUS 1024

enum {
	COUNT_SWITCHES,
	COUNT_MIGRATIONS,
	NR_COUNT,
};

/* Fields of /proc/stat in their order, in ticks. */
enum {
	TICKS_USER,
	TICKS_NICE,
	TICKS_SYSTEM,
	TICKS_IDLE,
	TICKS_IOWAIT,
	TICKS_IRQ,
	TICKS_SOFTIRQ,
	TICKS_STOLEN,
	NR_TICKS,
};

struct cpu_reading {
	unsigned int number;
	uint64_t ticks[NR_TICKS];
	int counters[NR_COUNT]; /* owned: descriptors; -1: none */
	uint64_t counts[NR_COUNT];
};

struct host_reading {
	uint64_t at_ns;
	struct cpu_reading cpus[MAX_CPUS];
	unsigned int nr_cpus;
};

static int counter_open(unsigned int cpu, int what)
{
	static const uint64_t configs[NR_COUNT] = { PERF_COUNT_SW_CONTEXT_SWITCHES,
						    PERF_COUNT_SW_CPU_MIGRATIONS };
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = configs[what] };

	return (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static void counters_close(struct cpu_reading *cpu)
{
	for (int i = 0; i < NR_COUNT; i++) {
		if (cpu->counters[i] >= 0)
			close(cpu->counters[i]);
	}
}

void host_done(struct host *host)
{
	for (unsigned int i = 0; host->reading && i < host->reading->nr_cpus; i++)
		counters_close(&host->reading->cpus[i]);
	free(host->reading);
	free(host->cpus);
	*host = (struct host){ 0 };
}

/* Reads a line such as "cpu0 1 2 3 4 5 6 7 8"; that of all CPUs is none. */
static bool cpu_parse(const char *line, struct cpu_reading *ret)
{
	uint64_t *t = ret->ticks;

	/* "cpu" and a blank is the sum of all. */
	return line[0] == 'c' && line[3] != ' ' &&
	       sscanf(line,
		      "cpu%u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		      " %" SCNu64 " %" SCNu64,
		      &ret->number, &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6],
		      &t[7]) == 1 + NR_TICKS;
}

/* Computes shares from the difference of two readings. */
static struct host_cpu cpu_compare(const struct cpu_reading *before,
				   const struct cpu_reading *after, double seconds)
{
	struct host_cpu cpu = { .number = after->number, .switches = -1, .migrations = -1 };
	double part[NR_TICKS], sum = 0, *rates[NR_COUNT] = { &cpu.switches, &cpu.migrations };

	for (int i = 0; i < NR_TICKS; i++) {
		/* Idle time may step back. */
		part[i] = after->ticks[i] > before->ticks[i]
				  ? (double)(after->ticks[i] - before->ticks[i])
				  : 0;
		sum += part[i];
	}
	for (int i = 0; i < NR_COUNT; i++) {
		if (after->counters[i] >= 0 && seconds > 0)
			*rates[i] = (double)(after->counts[i] - before->counts[i]) / seconds;
	}
	if (sum == 0)
		return cpu;
	cpu.user = (part[TICKS_USER] + part[TICKS_NICE]) * 100 / sum;
	cpu.idle = (part[TICKS_IDLE] + part[TICKS_IOWAIT]) * 100 / sum;
	cpu.stolen = part[TICKS_STOLEN] * 100 / sum;
	cpu.system = 100 - cpu.user - cpu.idle - cpu.stolen;
	return cpu;
}

/* The reading of that CPU, with counters of its own if it is new. */
static struct cpu_reading *reading_cpu(struct host_reading *reading, unsigned int number)
{
	struct cpu_reading *cpu;

	for (unsigned int i = 0; i < reading->nr_cpus; i++) {
		if (reading->cpus[i].number == number)
			return &reading->cpus[i];
	}
	if (reading->nr_cpus == MAX_CPUS)
		return NULL;
	cpu = &reading->cpus[reading->nr_cpus++];
	cpu->number = number;
	for (int i = 0; i < NR_COUNT; i++)
		cpu->counters[i] = counter_open(number, i);
	return cpu;
}

static void host_add(struct host *host, const struct host_cpu *cpu)
{
	struct host_cpu *all = &host->all, *list;

	list = reallocarray(host->cpus, host->nr_cpus + 1, sizeof(*list));
	if (!list)
		return;
	host->cpus = list;
	list[host->nr_cpus++] = *cpu;
	all->user += cpu->user;
	all->system += cpu->system;
	all->idle += cpu->idle;
	all->stolen += cpu->stolen;
	all->switches += cpu->switches;
	all->migrations += cpu->migrations;
}

static void host_take_line(struct host *host, const char *line, double seconds, bool is_first)
{
	struct cpu_reading now = { 0 }, *cpu;
	struct host_cpu compared;

	sscanf(line, "procs_running %u", &host->running);
	if (!cpu_parse(line, &now))
		return;
	cpu = reading_cpu(host->reading, now.number);
	if (!cpu)
		return;
	for (int i = 0; i < NR_COUNT; i++) {
		now.counters[i] = cpu->counters[i];
		if (now.counters[i] >= 0 &&
		    read(now.counters[i], &now.counts[i], sizeof(now.counts[i])) < 0)
			now.counts[i] = cpu->counts[i];
	}
	compared = cpu_compare(cpu, &now, seconds);
	*cpu = now;
	if (!is_first)
		host_add(host, &compared);
}

void host_update(struct host *host)
{
	FILE *file __cleanup(fclosep) = fopen("/proc/stat", "re");
	char *line __cleanup(freep) = NULL;
	uint64_t now_ns = clock_mono_ns();
	bool is_first = !host->reading;
	struct host_cpu *all = &host->all;
	size_t size = 0;
	double seconds;

	if (is_first)
		host->reading = calloc(1, sizeof(*host->reading));
	if (!file || !host->reading)
		return;
	seconds = (double)(now_ns - host->reading->at_ns) / 1e9;
	host->reading->at_ns = now_ns;
	host->nr_cpus = 0;
	*all = (struct host_cpu){ 0 };
	while (getline(&line, &size, file) > 0)
		host_take_line(host, line, seconds, is_first);
	if (!host->nr_cpus)
		return;
	all->user /= host->nr_cpus;
	all->system /= host->nr_cpus;
	all->idle /= host->nr_cpus;
	all->stolen /= host->nr_cpus;
}
