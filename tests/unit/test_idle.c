/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Readings that take sleeping threads from what is kept, next to readings that take every thread anew:
 * threads wake up, make calls, change, end, and give their records to others, in any order.
 */
#include "fixture.h"

#include "collect/idle.h"
#include "model/diff.h"

#define NR_THREADS 120
#define NR_CALLS   6
#define ROUNDS     400

struct counted_thread {
	struct task_record record;
	uint64_t user_ns;
	struct row rows[NR_CALLS]; /* of calls that ended */
};

struct world {
	uint64_t seed, now_ns, lives;
	uint32_t nr_processes;
	bool immortal; /* no thread ends */
	struct counted_thread threads[NR_THREADS];
	struct builder *ended; /* of threads that are gone */
	struct idle *idle;
	size_t kept, read; /* threads that were taken from each, in all readings */
};

/* --- threads ------------------------------------------------------------------------------------ */

static void thread_begin(struct world *world, struct counted_thread *thread)
{
	uint32_t pid = 1 + (uint32_t)random_below(&world->seed, world->nr_processes);
	uint32_t index = (uint32_t)(thread - world->threads);
	/* Nobody counts the first thread of the other processes. */
	bool is_first = index > 0 && index <= world->nr_processes / 2;

	if (is_first)
		pid = index;
	thread->record =
		(struct task_record){ .state = RECORD_LIVE,
				      .pid = pid,
				      .tid = is_first ? pid : 1000 + (uint32_t)++world->lives,
				      .boot_ns = pid * 1000ULL,
				      .start_ns = world->now_ns };
	thread->record.own_share = pid % 3;
	thread->record.uid = thread->record.tid;
	/* A thread may have an empty name. */
	if (pid % 4)
		snprintf(thread->record.comm, sizeof(thread->record.comm), "name-%u",
			 thread->record.tid);
	for (int i = 0; i < NR_CALLS; i++)
		row_init_for(&thread->rows[i], pid, ABI_X86_64, i);
}

/* It runs for a while: makes calls, and may be in one at the end, as before. */
static void thread_run(struct world *world, struct counted_thread *thread)
{
	struct task_record *record = &thread->record;
	uint64_t *seed = &world->seed;

	for (uint64_t calls = random_below(seed, 4); calls > 0; calls--) {
		uint64_t wall_ns = random_ns(seed, 40), off_ns = random_below(seed, wall_ns + 1);
		struct row *row = &thread->rows[random_below(seed, NR_CALLS)];

		row_add_calls(row, 1, wall_ns, off_ns, random_below(seed, off_ns + 1));
		row->result_sum += random_below(seed, 100);
		if (!random_below(seed, 3))
			row_add_errors(row, 1 + (int)random_below(seed, 40), 1);
	}
	/* A call from before the counting is over, which is in no count. */
	if (!random_below(seed, 4)) {
		struct row *row = &thread->rows[random_below(seed, NR_CALLS)];

		row->open_wall_ns += (int64_t)(1 + random_ns(seed, 40));
		row->open_off_ns = row->open_wall_ns / 2;
	}
	thread->user_ns += random_below(seed, 1000);
	if (!random_below(seed, 20)) {
		record->changes[CHANGED_CGROUP]++;
		record->uid++;
	}
	record->switch_ns = world->now_ns - random_below(seed, 100);
	record->clock = thread->user_ns | (random_below(seed, 8) ? CLOCK_STOPPED : 0);
	record->enter_ns = record->switch_ns - random_below(seed, 50);
	record->nr = (int)random_below(seed, NR_CALLS);
	record->flags = random_below(seed, 3) ? RECORD_CALL_OPEN : 0;
}

static struct process thread_process(const struct world *world, const struct counted_thread *thread)
{
	const struct task_record *record = &thread->record;
	struct process process = { .pid = record->pid,
				   .boot_ns = record->boot_ns,
				   .uid = record->uid,
				   .cgroup_id = record->uid / 2,
				   .named_by = record->tid == record->pid ? 0 : record->tid,
				   .named_ns = record->start_ns,
				   .user_ns = thread->user_ns,
				   .threads = record->state == RECORD_LIVE,
				   .ended_ns = record->state == RECORD_LIVE ? 0 : world->now_ns };

	memcpy(process.comm, record->comm, sizeof(process.comm));
	process.usage.threads_ns = world->now_ns - record->start_ns;
	process.changes[CHANGED_CGROUP] = record->changes[CHANGED_CGROUP];
	return process;
}

/* The call that it is in: an even number began before the counting. */
static void thread_add_call(const struct world *world, const struct counted_thread *thread,
			    struct builder *builder)
{
	const struct task_record *record = &thread->record;
	struct row row;

	row_init_for(&row, record->pid, ABI_X86_64, record->nr);
	row.in_flight = 1;
	row.in_flight_early = record->nr % 2 == 0;
	row.oldest_start_ns = record->enter_ns;
	row.open_wall_ns = (int64_t)(world->now_ns - record->enter_ns);
	row.open_off_ns = (int64_t)(world->now_ns - record->switch_ns);
	builder_take_row(builder, &row);
}

/* Reads a thread as the reader of records does. */
static void thread_read(const struct world *world, const struct counted_thread *thread,
			struct builder *builder)
{
	const struct task_record *record = &thread->record;
	struct process process = thread_process(world, thread);

	for (int i = 0; i < NR_CALLS; i++) {
		if (thread->rows[i].calls || thread->rows[i].open_wall_ns)
			assert_int_equal(builder_add_row(builder, &thread->rows[i]), 0);
	}
	if (record->state == RECORD_LIVE && record->flags & RECORD_CALL_OPEN)
		thread_add_call(world, thread, builder);
	assert_int_equal(builder_add_process(builder, &process, record->tid == record->pid), 0);
}

static void thread_end(struct world *world, struct counted_thread *thread)
{
	thread->record.state = RECORD_ENDED;
	thread_read(world, thread, world->ended);
	rows_done(thread->rows, NR_CALLS);
	thread_begin(world, thread);
}

/* --- readings ----------------------------------------------------------------------------------- */

static struct snapshot *world_read_anew(const struct world *world)
{
	struct builder *builder = builder_make();

	assert_int_equal(builder_merge(builder, world->ended), 0);
	for (size_t i = 0; i < NR_THREADS; i++)
		thread_read(world, &world->threads[i], builder);
	return snapshot_take(builder);
}

static bool world_keep(struct world *world, uint32_t index)
{
	const struct counted_thread *thread = &world->threads[index];
	__cleanup(snapshot_freep) struct snapshot *own = NULL;
	struct builder *builder = builder_make();
	int taken;

	thread_read(world, thread, builder);
	own = snapshot_take(builder);
	taken = idle_add(world->idle, index, &thread->record, own, world->now_ns,
			 thread->record.tid % 5 == 0);
	assert_true(taken >= 0);
	return taken;
}

static struct snapshot *world_read(struct world *world)
{
	struct builder *builder = builder_make();

	assert_int_equal(builder_merge(builder, world->ended), 0);
	for (uint32_t i = 0; i < NR_THREADS; i++) {
		int state = idle_look(world->idle, i, &world->threads[i].record);

		assert_true(state >= 0);
		world->kept += state == IDLE_KNOWN;
		if (state == IDLE_KNOWN || (state == IDLE_CANDIDATE && world_keep(world, i)))
			continue;
		world->read++;
		thread_read(world, &world->threads[i], builder);
	}
	assert_int_equal(builder_settle(builder), 0);
	assert_int_equal(idle_read(world->idle, world->now_ns, builder), 0);
	return snapshot_take(builder);
}

static void assert_readings_equal(const struct snapshot *a, const struct snapshot *b)
{
	assert_snapshot_equal(a, b);
	for (size_t i = 0; i < a->nr_rows; i++)
		assert_same(a->rows[i], b->rows[i], open_wall_ns, open_off_ns);
	for (size_t i = 0; i < a->nr_processes; i++) {
		const struct process *one = &a->processes[i], *other = &b->processes[i];

		assert_same(one, other, threads, uid, cgroup_id, ended_ns);
		assert_memory_equal(one->comm, other->comm, sizeof(one->comm));
		for (size_t j = 0; j < NR_PROCESS_COUNTS; j++)
			assert_int_equal(process_count(one, j), process_count(other, j));
	}
}

static void world_step(struct world *world, uint64_t awake_of_100)
{
	world->now_ns += 1000000 + random_below(&world->seed, 1000);
	for (size_t i = 0; i < NR_THREADS; i++) {
		if (random_below(&world->seed, 100) >= awake_of_100)
			continue;
		if (world->immortal || i <= world->nr_processes || random_below(&world->seed, 8))
			thread_run(world, &world->threads[i]);
		else
			thread_end(world, &world->threads[i]);
	}
}

static void world_init(struct world *world, uint32_t nr_processes, size_t max_bytes)
{
	/* Long after boot: sums of the times of many threads are beyond 63 bits. */
	*world = (struct world){ .seed = 5,
				 .now_ns = 2000000000000000000,
				 .nr_processes = nr_processes,
				 .ended = builder_make() };
	assert_int_equal(idle_new(&world->idle, NR_THREADS, max_bytes), 0);
	for (size_t i = 0; i < NR_THREADS; i++)
		thread_begin(world, &world->threads[i]);
}

static void world_done(struct world *world)
{
	for (size_t i = 0; i < NR_THREADS; i++)
		rows_done(world->threads[i].rows, NR_CALLS);
	builder_free(world->ended);
	idle_free(world->idle);
}

static void world_run(struct world *world, int rounds)
{
	/* Readings share rows: earlier ones stay as they were. */
	struct snapshot *last = NULL, *last_anew = NULL;

	for (int i = 0; i < rounds; i++) {
		__cleanup(snapshot_freep) struct snapshot *earlier = last;
		__cleanup(snapshot_freep) struct snapshot *earlier_anew = last_anew;
		__cleanup(snapshot_freep) struct snapshot *one = NULL, *other = NULL;

		world_step(world, i % 10 == 9 ? 60 : 5);
		last = world_read(world);
		last_anew = world_read_anew(world);
		assert_readings_equal(last, last_anew);
		if (!earlier)
			continue;
		assert_readings_equal(earlier, earlier_anew);
		/* And what came between two readings is the same in both ways to read. */
		assert_int_equal(snapshot_diff(earlier, last, &one), 0);
		assert_int_equal(snapshot_diff(earlier_anew, last_anew, &other), 0);
		assert_readings_equal(one, other);
	}
	snapshot_free(last);
	snapshot_free(last_anew);
}

#define WORLD_TEST(name, ...) \
	LARGE_TEST_OF(name, struct world, world, world_done, world_init, __VA_ARGS__)

WORLD_TEST(test_readings_are_as_if_all_threads_were_read, 7, SIZE_MAX)
{
	world_run(world, ROUNDS);
	assert_true(world->kept > world->read);
}

/* No rows of threads that have ended are added to theirs, so readings share some. */
WORLD_TEST(test_threads_of_one_process_that_stay, 1, SIZE_MAX)
{
	world->immortal = true;
	world_run(world, ROUNDS);
	assert_true(world->kept > world->read);
}

WORLD_TEST(test_what_has_no_room_is_read_each_time, 7, 40000)
{
	world_run(world, ROUNDS / 4);
	assert_all(world->kept > 0, world->read > world->kept);
}

/* They wake up all together, and sleep again. */
WORLD_TEST(test_a_user_leaves_room, 1, 100000)
{
	size_t kept[2];

	for (int i = 0; i < 2; i++) {
		for (size_t j = 0; j < NR_THREADS; j++) {
			world->now_ns++;
			world->threads[j].record.switch_ns = world->now_ns;
			world->threads[j].record.clock = CLOCK_STOPPED;
		}
		for (int j = 0; j < 2; j++)
			snapshot_free(world_read(world));
		world->kept = 0;
		snapshot_free(world_read(world));
		kept[i] = world->kept;
	}
	assert_in_range(kept[0], 30, NR_THREADS / 2);
	assert_int_equal(kept[0], kept[1]);
}

WORLD_TEST(test_threads_that_nobody_knows_about_are_counted, 7, SIZE_MAX)
{
	uint64_t expected = 0;

	for (size_t i = 0; i < NR_THREADS; i++) {
		thread_run(world, &world->threads[i]);
		world->threads[i].record.clock |= CLOCK_STOPPED;
		expected += world->threads[i].record.tid % 5 == 0;
	}
	for (int i = 0; i < 2; i++)
		snapshot_free(world_read(world));
	assert_int_equal(idle_threads_unknown(world->idle), expected);
	for (size_t i = 0; i < NR_THREADS; i++)
		thread_end(world, &world->threads[i]);
	snapshot_free(world_read(world));
	assert_int_equal(idle_threads_unknown(world->idle), 0);
}

/* It wakes up between the look and the reading: its rows may be of either moment. */
WORLD_TEST(test_a_thread_that_wakes_up_while_it_is_read_is_not_kept, 7, SIZE_MAX)
{
	struct counted_thread *thread = &world->threads[0];

	thread_run(world, thread);
	thread->record.clock |= CLOCK_STOPPED;
	assert_int_equal(idle_look(world->idle, 0, &thread->record), IDLE_AWAKE);
	assert_int_equal(idle_look(world->idle, 0, &thread->record), IDLE_CANDIDATE);
	thread->record.enter_ns++;
	assert_false(world_keep(world, 0));
	thread->record.flags = RECORD_AWAIT_EXEC;
	assert_int_equal(idle_look(world->idle, 0, &thread->record), IDLE_AWAKE);
}
