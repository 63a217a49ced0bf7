/* SPDX-License-Identifier: BSD-2-Clause */
/* Ended processes that are added up: within a budget, for good, and so that nothing is lost. */
#include "fixture.h"

#include "model/diff.h"

#define BUDGET (64 * 1024)

struct state {
	struct builder *ended;
	uint64_t serial, calls;
	uint64_t processes;
	uint32_t next_pid;
	size_t max_bytes;
	uint32_t paths;   /* by so many of them rows of odd numbers are split; 0: they are not */
	uint64_t unsplit; /* calls that lost that */
};

static void begin(struct state *state, size_t max_bytes)
{
	*state = (struct state){ builder_make(), FOLDED_FIRST, 0, 0, 100, max_bytes, 0, 0 };
}

static void done(struct state *state)
{
	builder_free(state->ended);
}

#define FOLD_TEST(name) TEST_OF(name, struct state, state, done, begin, BUDGET)

static void add_process(struct state *state, const char *comm, uint32_t uid, int first_nr,
			int nr_rows)
{
	struct process process = process_make(state->next_pid++, comm, strlen(comm));
	struct row row;

	process.uid = uid;
	process.ended_ns = process.pid;
	process.user_ns = 7;
	state->processes++;
	assert_int_equal(builder_add_process(state->ended, &process, true), 0);
	for (int nr = first_nr; nr < first_nr + nr_rows; nr++) {
		row_init_for(&row, process.pid, ABI_X86_64, nr);
		row_add_calls(&row, 3, 100, 0, 0);
		if (state->paths && nr % 2) {
			row.split = SPLIT_PATH;
			row.split_value = ARGUMENT_FIRST + process.pid % state->paths;
		}
		state->calls += 3;
		builder_take_row(state->ended, &row);
	}
}

/* Groups of serial numbers below that are retired. */
static bool folds_all_but_hundredth(const struct process *process, const void *closure)
{
	const uint64_t *retire_below = closure;

	return process->pid ? process->pid % 100
			    : process->boot_ns < *retire_below && process->uid != UID_NONE;
}

static void fold_and_retire(struct state *state, uint64_t retire_below)
{
	const struct fold_options options = { .folds = folds_all_but_hundredth,
					      .closure = &retire_below,
					      .max_bytes = state->max_bytes,
					      .serial = &state->serial,
					      .unsplit = &state->unsplit };
	__cleanup(snapshot_freep) struct snapshot *all = snapshot_take(state->ended);

	state->ended = builder_make();
	assert_int_equal(snapshot_fold(all, &options, state->ended), 0);
}

static void fold(struct state *state)
{
	fold_and_retire(state, 0);
}

static uint64_t calls_of(const struct snapshot *snapshot, const char *comm, int64_t nr)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < snapshot->nr_rows; i++) {
		const struct row *row = snapshot->rows[i];
		const struct process *process =
			snapshot_find_process(snapshot, row->pid, row->boot_ns);

		if (process && !strcmp(process->comm, comm) && row->nr == nr)
			calls += row->calls;
	}
	return calls;
}

static size_t group_bytes(const struct snapshot *snapshot, uint32_t uid)
{
	size_t bytes = 0;

	for (size_t i = 0; i < snapshot->nr_rows; i++) {
		const struct row *row = snapshot->rows[i];
		const struct process *process =
			snapshot_find_process(snapshot, row->pid, row->boot_ns);

		if (!row->pid && process->uid == uid)
			bytes += row_bytes(row);
	}
	return bytes;
}

/* Between two readings nothing was called but by who was added; everything is there. */
static void must_differ_by(const struct state *state, const struct snapshot *before, uint64_t calls,
			   uint64_t processes)
{
	__cleanup(snapshot_freep) struct snapshot *after = snapshot_read(state->ended);
	__cleanup(snapshot_freep) struct snapshot *diff = NULL;
	uint64_t all = 0;

	for (size_t i = 0; i < after->nr_processes; i++)
		all += after->processes[i].pid ? 1 : after->processes[i].nr_folded;
	assert_int_equal(snapshot_sum(after).calls, state->calls);
	assert_int_equal(snapshot_user_ns(after), 7 * state->processes);
	assert_int_equal(all, state->processes);
	assert_int_equal(snapshot_diff(before, after, &diff), 0);
	assert_int_equal(snapshot_sum(diff).calls, calls);
	assert_int_equal(snapshot_user_ns(diff), 7 * processes);
	if (!calls)
		assert_true(losses_none(&diff->losses));
}

/* Folding is no event: between a reading before and one after it nothing was called. */
static void fold_changes_nothing(struct state *state)
{
	__cleanup(snapshot_freep) struct snapshot *before = snapshot_read(state->ended);

	fold(state);
	must_differ_by(state, before, 0, 0);
}

FOLD_TEST(test_kinds_are_added_up)
{
	__cleanup(snapshot_freep) struct snapshot *after = NULL;
	struct losses losses = { 0 };

	for (int i = 0; i < 50; i++) {
		add_process(state, "one", 0, 0, 4);
		add_process(state, "two", 0, 2, 4);
	}
	fold_changes_nothing(state);
	after = snapshot_read(state->ended);
	/* Pid 100 is kept. */
	assert_int_equal(after->nr_processes, 3);
	assert_int_equal(calls_of(after, "one", 3), 150);
	assert_int_equal(calls_of(after, "two", 3), 150);
	assert_int_equal(calls_of(after, "two", 1), 0);
	snapshot_count_folded(after, &losses);
	assert_true(losses_none(&losses));
}

/* A user who makes up names takes half of the room; others find the other half. */
FOLD_TEST(test_a_user_takes_half_of_the_room)
{
	__cleanup(snapshot_freep) struct snapshot *after = NULL;
	struct losses losses = { 0 };
	char comm[PROCESS_COMM_SIZE];

	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 100; i++) {
			snprintf(comm, sizeof(comm), "n%d-%d", round, i);
			add_process(state, comm, 1000, i, 7);
		}
		fold_changes_nothing(state);
	}
	add_process(state, "nginx", 33, 0, 5);
	add_process(state, "nginx", 33, 0, 5);
	fold_changes_nothing(state);
	after = snapshot_read(state->ended);
	assert_all(group_bytes(after, 1000) <= BUDGET / 2 + 1024,
		   group_bytes(after, 1000) > BUDGET / 4);
	assert_int_equal(calls_of(after, "nginx", 4), 6);
	assert_true(calls_of(after, "[others]", 50) > 0);
	snapshot_count_folded(after, &losses);
	assert_in_range(losses.count[LOSS_KIND_FOLDED], 1000, 2000);
}

/* Groups that are there when the room is spent take new numbers as none. */
FOLD_TEST(test_rows_of_groups_keep_to_the_room)
{
	__cleanup(snapshot_freep) struct snapshot *after = NULL;
	struct losses losses = { 0 };

	for (uint32_t uid = 0; uid < 10; uid++)
		add_process(state, "grows", uid, 0, 3);
	fold_changes_nothing(state);
	for (int round = 0; round < 20; round++) {
		for (uint32_t uid = 0; uid < 10; uid++)
			add_process(state, "grows", uid, round * 20, 30);
		fold_changes_nothing(state);
	}
	after = snapshot_read(state->ended);
	assert_int_equal(calls_of(after, "grows", 1), 10 * 2 * 3);
	assert_true(calls_of(after, "grows", ROW_NR_OTHER) > 0);
	snapshot_count_folded(after, &losses);
	assert_has(&losses, count[LOSS_NUMBER_FOLDED], calls_of(after, "grows", ROW_NR_OTHER),
		   count[LOSS_KIND_FOLDED], 0);
}

/* Rows by path take half of the room; then they become those of whole calls, which find the other half. */
FOLD_TEST(test_rows_by_path_leave_room_for_whole_calls)
{
	__cleanup(snapshot_freep) struct snapshot *after = NULL;
	struct losses losses = { 0 };
	uint64_t unsplit = 0;

	state->paths = 5000;
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 100; i++)
			add_process(state, "paths", 0, 1, 1);
		fold_changes_nothing(state);
	}
	state->paths = 0;
	for (int i = 0; i < 2; i++)
		add_process(state, "late", 0, 0, 10);
	fold_changes_nothing(state);
	after = snapshot_read(state->ended);
	assert_int_equal(calls_of(after, "late", 9), 6);
	snapshot_count_folded(after, &losses);
	assert_true(losses_none(&losses));
	for (size_t i = 0; i < after->nr_rows; i++) {
		if (after->rows[i]->nr == 1 && after->rows[i]->split == SPLIT_NONE)
			unsplit += after->rows[i]->calls;
	}
	assert_int_equal(unsplit, state->unsplit + 6);
	assert_true(state->unsplit > 3000 && state->unsplit < 6000);
}

/* Any order of names, users and numbers, and budgets that are spent somewhere in between. */
TEST(test_any_order)
{
	char comm[PROCESS_COMM_SIZE];
	uint64_t random = 1;

	for (size_t budget = 1; budget < 1 << 20; budget *= 2) {
		struct state state __cleanup(done);

		begin(&state, budget);
		state.paths = (uint32_t)(budget % 7) * 9;
		for (int round = 0; round < 12; round++) {
			__cleanup(snapshot_freep) struct snapshot *before =
				snapshot_read(state.ended);
			uint64_t calls = state.calls, processes = state.processes;

			/* First of all some are retired; then more are folded, and more. */
			for (int i = 0; i < 60; i++) {
				if (i % 20 == 0)
					fold_and_retire(&state, i ? 0 : state.serial - round % 5);
				random = random * 6364136223846793005u + 1442695040888963407u;
				snprintf(comm, sizeof(comm), "c%d", (int)(random >> 33) % 40);
				add_process(&state, comm, (uint32_t)(random >> 40) % 3,
					    (int)(random >> 45) % 30, (int)(random >> 55) % 9);
			}
			fold(&state);
			must_differ_by(&state, before, state.calls - calls,
				       state.processes - processes);
		}
	}
}

/* There is room again for kinds that come later, and what was retired has no name any more. */
FOLD_TEST(test_retired_groups_make_room)
{
	__cleanup(snapshot_freep) struct snapshot *before = NULL, *after = NULL;
	char comm[PROCESS_COMM_SIZE];

	for (int i = 0; i < 400; i++) {
		snprintf(comm, sizeof(comm), "n%d", i);
		add_process(state, comm, 1000, 0, 7);
	}
	fold(state);
	before = snapshot_read(state->ended);
	fold_and_retire(state, UINT64_MAX);
	add_process(state, "late", 1000, 0, 2);
	add_process(state, "n3", 1000, 0, 2);
	add_process(state, "more", 1000, 0, 2);
	fold(state);
	must_differ_by(state, before, 18, 3);
	after = snapshot_read(state->ended);
	assert_int_equal(calls_of(after, "late", 1), 3);
	assert_int_equal(calls_of(after, "n3", 1), 3);
	assert_int_equal(calls_of(after, "n4", 1), 0);
}

/* Rows of nobody have no process, and stay. */
FOLD_TEST(test_nobody)
{
	__cleanup(snapshot_freep) struct snapshot *after = NULL;
	struct losses losses = { 0 };
	struct row row;

	row_init_for(&row, 0, ABI_X86_64, ROW_NR_OTHER);
	row_forget_owner(&row);
	row_add_calls(&row, 7, 100, 0, 0);
	builder_take_row(state->ended, &row);
	state->calls += 7;
	add_process(state, "one", 0, 0, 4);
	add_process(state, "one", 0, 0, 4);
	fold_changes_nothing(state);
	after = snapshot_read(state->ended);
	assert_has(after->rows[0], boot_ns, 0, calls, 7);
	assert_int_equal(calls_of(after, "one", 2), 6);
	snapshot_count_folded(after, &losses);
	assert_true(losses_none(&losses));
}
