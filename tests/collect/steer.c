// SPDX-License-Identifier: BSD-2-Clause
/*
 * A collector that is told what to do: what the command line has no words for, for the live tests.
 *
 * usage: steer PID [stacks | later | RECORDS]. Counts that process; prints "counting", and then a line
 * for each line of stdin: "normal", "no_stacks", "no_errnos" take a step and are answered "ok",
 * "report" by the JSON report, "cost" by what counting costs, as JSON. "hints" is answered by
 * the thread of the record that each CPU used last, 0 for none, and "sets" by how many calls
 * without room each CPU has counted in its set of overflow rows, both as JSON. Also answered
 * "ok": after "blind" no context switch is seen, until "seeing", and after "endless" no end of a task,
 * as where the kernel skips programs; "stop" ends counting, "finish" waits until nothing is counted any
 * more, and ends it. "brim" makes it as if so many calls had ended that two more wrap any bucket in use;
 * the process must sleep. "detach" lets go of everything, up to a next line: then it counts anew, and says so.
 * With "later", it prints "marked" once the process is chosen, and begins to count at the next line.
 */
#include <ctype.h>
#include <poll.h>

#include "base/mem.h"
#include "collect/collector.h"
#include "collect/collector_private.h"
#include "model/label.h"
#include "report/report.h"

static void print_fill(const char *name, const struct table_fill *fill)
{
	printf("\"%s\":[%" PRIu32 ",%" PRIu32 "],", name, fill->used, fill->capacity);
}

static int print_cost(struct collector *collector)
{
	struct collector_cost cost;
	int err = collector_reclaim(collector) ?: collector_cost(collector, &cost);

	if (err)
		return err;
	printf("{");
	print_fill("records", &cost.records);
	print_fill("slots", &cost.slots);
	print_fill("tallies", &cost.tallies);
	print_fill("foreign", &cost.foreign);
	print_fill("stacks", &cost.stacks);
	printf("\"call_ns\":%f,\"call_samples\":%" PRIu64 ",\"switch_ns\":%f,"
	       "\"switch_samples\":%" PRIu64 ",\"programs_ns\":%" PRIu64
	       ",\"kernel_bytes\":%" PRIu64 ",\"threads\":%" PRIu32 ",\"processes\":%" PRIu32 "}\n",
	       cost.call_ns, cost.call_samples, cost.switch_ns, cost.switch_samples,
	       cost.programs_ns, collector_kernel_bytes(collector), cost.threads, cost.processes);
	return 0;
}

static int print_report(struct collector *collector, struct diag *d)
{
	struct snapshot *snapshot __cleanup(snapshot_freep) = NULL;

	return collector_read(collector, &snapshot, d) ?: report_json(snapshot, stdout);
}

static uint64_t set_calls(const struct collector *collector, uint32_t set)
{
	const struct overflow_row *rows = collector->tables.overflow + (size_t)set * OVERFLOW_ROWS;
	uint64_t calls = 0;

	for (int i = 0; i < OVERFLOW_ROWS; i++)
		calls += rows[i].calls;
	return calls;
}

static int print_hints(struct collector *collector)
{
	for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++) {
		uint32_t index = collector->skel->data_hints->hints[cpu].record;

		printf("%c%" PRIu32, cpu ? ',' : '[', index ? record_at(collector, index)->tid : 0);
	}
	puts("]");
	return 0;
}

static int print_sets(struct collector *collector)
{
	const struct overflow_sets *sets =
		&collector->skel->rodata->overflow_sets[LABEL_NATIVE_ABI];

	for (uint32_t set = 0; set <= sets->mask; set++)
		printf("%c%" PRIu64, set ? ',' : '[', set_calls(collector, sets->first + set));
	puts("]");
	return 0;
}

static int be_blind(struct collector *collector)
{
	bpf_link__destroy(collector->skel->links.on_sched_switch);
	collector->skel->links.on_sched_switch = NULL;
	return 0;
}

static int be_endless(struct collector *collector)
{
	bpf_link__destroy(collector->skel->links.on_exit);
	collector->skel->links.on_exit = NULL;
	return 0;
}

static int stop(struct collector *collector)
{
	collector_stop(collector);
	return 0;
}

static int finish(struct collector *collector)
{
	struct pollfd poll_fd = { .fd = collector_fd(collector), .events = POLLIN };

	for (int patience = 0; collector_live(collector);) {
		poll(&poll_fd, 1, patience);
		if (collector_reclaim(collector))
			return -1;
		patience = collector_patience_ms(collector);
	}
	return stop(collector);
}

static int see(struct collector *collector)
{
	collector->skel->links.on_sched_switch =
		bpf_program__attach(collector->skel->progs.on_sched_switch);
	return collector->skel->links.on_sched_switch ? 0 : -1;
}

/* More calls of the mean duration, in the buckets that there are. */
static void slot_fill(struct collector *collector, struct call_slot *slot)
{
	uint64_t timed = slot->calls - slot->untimed - slot->no_return;

	for (unsigned int i = 0; i < HIST_BUCKETS; i++) {
		uint32_t line = slot->lines[i / HIST_LINE_BUCKETS];
		uint32_t *count =
			line ? &line_at(collector, line)->buckets[i % HIST_LINE_BUCKETS] : NULL;
		uint64_t more = count && *count ? UINT32_MAX - 1 - *count : 0;

		if (!more)
			continue;
		slot->wall_ns += more * (timed ? slot->wall_ns / timed : 0);
		timed += more;
		slot->calls += more;
		*count += (uint32_t)more;
	}
	slot->settled = slot->calls;
}

static int fill_to_the_brim(struct collector *collector)
{
	for (uint32_t i = 1; i < records_used(collector); i++) {
		uint32_t index = record_at(collector, i)->first_slot;
		struct call_slot *slot;

		while (index && (slot = slot_at(collector, index))) {
			slot_fill(collector, slot);
			index = slot->next;
		}
	}
	return 0;
}

static const struct order {
	const char *word;
	int (*obey)(struct collector *collector); /* NULL: it is a step to take */
	enum collector_step step;
	bool is_question;
} orders[] = {
	{ "normal", .step = STEP_NORMAL },
	{ "no_stacks", .step = STEP_NO_STACKS },
	{ "no_errnos", .step = STEP_NO_ERRNOS },
	{ "blind", .obey = be_blind },
	{ "seeing", .obey = see },
	{ "endless", .obey = be_endless },
	{ "stop", .obey = stop },
	{ "finish", .obey = finish },
	{ "brim", .obey = fill_to_the_brim },
	{ "cost", .obey = print_cost, .is_question = true },
	{ "hints", .obey = print_hints, .is_question = true },
	{ "sets", .obey = print_sets, .is_question = true },
};

static int obey(struct collector *collector, const char *word, struct diag *d)
{
	const struct order *order = orders, *end = orders + ARRAY_SIZE(orders);

	if (!strcmp(word, "report"))
		return print_report(collector, d);
	while (order < end && strcmp(word, order->word))
		order++;
	if (order == end || (order->obey && order->obey(collector)))
		return -1;
	if (!order->obey)
		collector_step_down(collector, order->step);
	if (!order->is_question)
		puts("ok");
	return 0;
}

/* Says that the target is marked, and waits to be told to go on. */
static int wait_for_word(void)
{
	char word[32];

	puts("marked");
	fflush(stdout);
	return scanf("%31s", word) == 1 ? 0 : -EIO;
}

static int steer(pid_t pid, bool later, const struct collector_options *options, struct diag *d)
{
	struct collector *collector __cleanup(collector_freep) = NULL;
	const struct target_options target = { .follow = true };
	char word[32];
	int err = collector_open(options, &collector, d)
		  ?: collector_add_target(collector, pid, &target, d)
		  ?: (later ? wait_for_word() : 0)
		  ?: collector_start(collector, d);

	if (err)
		return err;
	puts("counting");
	fflush(stdout);
	while (!err && scanf("%31s", word) == 1 && strcmp(word, "detach")) {
		err = obey(collector, word, d);
		fflush(stdout);
	}
	return err;
}

int main(int argc, char **argv)
{
	struct collector_options options = { 0 };
	const char *how = argc > 2 ? argv[2] : "0";
	bool later = !strcmp(how, "later");
	struct diag d = { 0 };
	char word[32];

	options.max_tasks = (uint32_t)atoi(how);
	options.stacks = !strcmp(how, "stacks");
	if (argc < 2 || (!isdigit(*how) && !options.stacks && !later)) {
		fprintf(stderr, "usage: steer PID [stacks | later | RECORDS]\n");
		return 2;
	}
	if (errands_new(&options.errands))
		return 1;
	do {
		if (steer(atoi(argv[1]), later, &options, &d)) {
			fprintf(stderr, "steer: %s\n", d.text);
			return 1;
		}
		puts("ok");
		fflush(stdout);
	} while (scanf("%31s", word) == 1);
	return 0;
}
