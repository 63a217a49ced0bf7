/* SPDX-License-Identifier: BSD-2-Clause */
/* Ended processes keep to their memory: some keep rows, others are folded, some are not taken in. */
#include "fixture.h"

#include "collect/collector_private.h"
#include "model/diff.h"

#include "collect/ended.c"

/* No record is in use. */
void *map_array_at(struct map_array *array, uint32_t index)
{
	static struct task_record free_record;

	(void)array, (void)index;
	return &free_record;
}

/* No process has a pid as high. */
#define FIRST_PID (1u << 23)

#define KIB 1024

struct state {
	struct collector collector;
	struct truss_bpf skel;
	typeof(*((struct truss_bpf *)0)->data_pools) pools;
	struct process base;
	uint32_t next_pid;
};

static void start(struct state *state, size_t keep_bytes, size_t max_stay_bytes)
{
	*state = (struct state){ .next_pid = FIRST_PID, .base = { .pid = 1, .boot_ns = 1 } };
	state->skel.data_pools = &state->pools;
	state->collector = (struct collector){
		.skel = &state->skel,
		.keep_exited = DEFAULT_KEEP_EXITED,
		.keep_bytes = keep_bytes,
		.max_stay_bytes = max_stay_bytes,
		.fold_serial = FOLDED_FIRST,
		.base = &state->base,
		.nr_base = 1,
	};
	state->collector.ended = builder_make();
	state->collector.ended_threads = calloc(1, sizeof(*state->collector.ended_threads));
	assert_non_null(state->collector.ended_threads);
}

static void done(struct state *state)
{
	builder_free(state->collector.ended);
	snapshot_free(state->collector.ended_threads);
}

static void add_rows(struct state *state, const struct process *process, int first_nr, int count)
{
	struct row row;

	assert_int_equal(builder_add_process(state->collector.ended, process, true), 0);
	for (int nr = first_nr; nr < first_nr + count; nr++) {
		row_init(&row);
		row.pid = process->pid;
		row.boot_ns = process->boot_ns;
		row.nr = nr;
		row_add_calls(&row, 3, 100, 0, 0);
		builder_take_row(state->collector.ended, &row);
	}
}

/* A process that ended, all of it, after those before it. */
static void add_ended(struct state *state, const char *comm, uint64_t cgroup_id, int nr_rows)
{
	struct process process = process_make(state->next_pid, comm, strlen(comm));

	process.cgroup_id = cgroup_id;
	process.ended_ns = state->next_pid++;
	add_rows(state, &process, 0, nr_rows);
	assert_int_equal(ended_fold(&state->collector), 0);
}

static size_t with_pid(const struct snapshot *snapshot)
{
	size_t count = 0;

	for (size_t i = 0; i < snapshot->nr_processes; i++)
		count += snapshot->processes[i].pid != 0;
	return count;
}

#define ENDED_TEST(name, ...) LARGE_TEST_OF(name, struct state, state, done, start, __VA_ARGS__)

/* However many end, they never are a reason to take no more in. */
ENDED_TEST(test_processes_that_are_gone, 4096 * KIB, 4096 * KIB)
{
	__cleanup(snapshot_freep) struct snapshot *all = NULL;

	for (int i = 0; i < 5000; i++) {
		add_ended(state, i % 2 ? "odd" : "even", 1, 28);
		assert_all(!state->collector.ended_is_full,
			   builder_bytes(state->collector.ended) < (4096 + 2048 + 1024) * KIB);
	}
	all = snapshot_read(state->collector.ended);
	assert_int_equal(snapshot_sum(all).calls, 5000 * 28 * 3);
	assert_true(with_pid(all) > 100);
	assert_int_equal(all->processes[0].pid, 0);
}

ENDED_TEST(test_small_ones_keep_their_pids, 4096 * KIB, 4096 * KIB)
{
	__cleanup(snapshot_freep) struct snapshot *all = NULL;

	for (int i = 0; i < 2500; i++)
		add_ended(state, "small", 1, 2);
	all = snapshot_read(state->collector.ended);
	assert_true(with_pid(all) >= 1000 && with_pid(all) <= 2000);
}

/* Threads that end leave to their process what cannot be folded: in the end no more is taken. */
ENDED_TEST(test_processes_that_stay, 64 * KIB, 256 * KIB)
{
	struct process own = process_make((uint32_t)getpid(), "stays", 5);
	const struct task_record its = { .pid = own.pid }, of_another = { .pid = FIRST_PID };
	int nr = 0;

	while (!state->collector.ended_is_full && nr < 10000) {
		assert_true(ended_takes(&state->collector, &its));
		add_rows(state, &own, nr, 10);
		nr += 10;
		assert_int_equal(ended_fold(&state->collector), 0);
	}
	assert_in_range(nr, 500, 1500);
	assert_all(!ended_takes(&state->collector, &its),
		   ended_takes(&state->collector, &of_another), ended_pauses(&state->collector));
	/* The latest that ended keep their rows beside it. */
	state->collector.full_until_ns = 0;
	add_ended(state, "gone", 1, 5);
	assert_true(state->collector.ended_is_full);
}

/* A timer's unit is a new cgroup each time: there is room for the next one after each reading. */
ENDED_TEST(test_new_kinds_find_room_after_a_reading, 512 * KIB, 4096 * KIB)
{
	uint64_t cgroup = 1;

	for (int reading = 0; reading < 100; reading++) {
		__cleanup(snapshot_freep) struct snapshot *before =
			snapshot_read(state->collector.ended);
		__cleanup(snapshot_freep) struct snapshot *after = NULL, *diff = NULL;

		state->collector.has_folded = false;
		for (int i = 0; i < 40; i++)
			add_ended(state, "timer", cgroup++, 20);
		after = snapshot_read(state->collector.ended);
		assert_int_equal(snapshot_sum(after).calls, cgroup * 20 * 3 - 20 * 3);
		assert_int_equal(snapshot_diff(before, after, &diff), 0);
		assert_int_equal(snapshot_sum(diff).calls, 40 * 20 * 3);
		assert_true(losses_none(&diff->losses));
	}
}
