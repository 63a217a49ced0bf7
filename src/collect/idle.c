/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the counters of threads that sleep. Times that grow while a thread sleeps are kept as of the
 * time 0, modulo 2^64: a reading adds its own time, once for each thread. Counters of a thread can be
 * subtracted from the sums of its process again. Minima and maxima cannot, but stay true: the thread
 * takes them to its next reading, or to what has ended.
 *
 * A record that is as it was belongs to a thread that has not run: its clocks tell of calls and
 * switches that our programs saw, and what the kernel has booked for it (usage) of those that they did
 * not.
 */
#include "collect/idle.h"

#include <sys/queue.h>

/* The head of a record is all of it but the index of its slots. */
#define HEAD_BYTES offsetof(struct task_record, ordinal_of)

struct idle_thread {
	struct idle_process *process;
	LIST_ENTRY(idle_thread) link; /* of its process */
	struct process counts;        /* without threads_ns */
	uint64_t start_ns;            /* threads_ns of a reading is its time less this */
	struct row **rows;
	const struct row *in_flight; /* the one of them that has its open call; NULL: none */
	size_t nr_rows, bytes;
	uint32_t share; /* of its record */
	bool is_unknown;
	_Alignas(uint64_t) unsigned char head[HEAD_BYTES]; /* of its record */
};

struct idle_process {
	struct process sum; /* of all threads; first, since processes are sorted by it */
	uint64_t start_ns;  /* of all threads, added up */
	void *rows;         /* tree of sums */
	LIST_HEAD(, idle_thread) threads;
	bool oldest_left; /* some row has OLDEST_LEFT */
};

/* Stands for the start of a row's oldest call once that has left. */
#define OLDEST_LEFT 0

/* A node of a tree, with what malloc() adds. */
#define NODE_BYTES ((size_t)48)

/* Tells what is known of a record. */
struct place {
	struct idle_thread *thread; /* NULL: it is not kept */
	uint64_t clock, switch_ns;  /* as of the last look */
};

struct idle {
	struct place *places;
	size_t nr_places;
	void *processes; /* tree of struct idle_process */
	size_t bytes, max_bytes;
	size_t own_bytes[USER_SHARES]; /* of each user */
	uint64_t threads_unknown;
	_Alignas(uint64_t) unsigned char candidate[HEAD_BYTES]; /* of the record looked at last */
};

int idle_new(struct idle **ret, uint32_t nr_records, size_t max_bytes)
{
	struct idle *idle __cleanup(freep) = calloc(1, sizeof(*idle));

	/* Pages that are never used take no memory. */
	if (idle)
		idle->places = calloc(nr_records, sizeof(*idle->places));
	if (!idle || !idle->places)
		return -ENOMEM;
	idle->nr_places = nr_records;
	idle->max_bytes = max_bytes;
	*ret = steal_ptr(&idle);
	return 0;
}

static void thread_free(struct idle_thread *thread)
{
	for (size_t i = 0; i < thread->nr_rows; i++)
		row_unref(thread->rows[i]);
	free(thread->rows);
	free(thread);
}

static void sum_free(void *sum)
{
	row_unref(sum);
}

static void process_free(void *process)
{
	tdestroy(((struct idle_process *)process)->rows, sum_free);
	free(process);
}

/* Forgets everything: the next reading reads all threads. */
static void idle_clear(struct idle *idle)
{
	for (size_t i = 0; i < idle->nr_places; i++) {
		if (idle->places[i].thread)
			thread_free(idle->places[i].thread);
		idle->places[i].thread = NULL;
	}
	tdestroy(idle->processes, process_free);
	idle->processes = NULL;
	idle->bytes = 0;
	memset(idle->own_bytes, 0, sizeof(idle->own_bytes));
	idle->threads_unknown = 0;
}

void idle_free(struct idle *idle)
{
	if (!idle)
		return;
	idle_clear(idle);
	free(idle->places);
	free(idle);
}

/* --- sums of a process ---------------------------------------------------------------------------- */

static struct idle_process *process_get(struct idle *idle, const struct process *identity)
{
	struct idle_process **found = tfind(identity, &idle->processes, process_compare);
	struct idle_process fresh = { .sum = *identity };

	if (found)
		return *found;
	process_clear_counts(&fresh.sum);
	fresh.sum.threads = 0;
	return tree_add(&idle->processes, &fresh, sizeof(fresh), process_compare);
}

static int compare_rows(const void *a, const void *b)
{
	return row_compare(a, b);
}

static int process_add_row(struct idle_process *process, struct row *row)
{
	struct row **sum = tfind(row, &process->rows, compare_rows);

	if (sum)
		return row_unshare(sum) ?: row_merge(*sum, row);
	if (!tsearch(row, &process->rows, compare_rows))
		return -ENOMEM;
	row_ref(row);
	return 0;
}

static void process_drop_row(struct idle_process *process, struct row *sum)
{
	tdelete(sum, &process->rows, compare_rows);
	row_unref(sum);
}

/* Subtracts a row that was added. */
static int process_subtract_row(struct idle_process *process, const struct row *row)
{
	struct row **sum = tfind(row, &process->rows, compare_rows);
	int err;

	if (!sum)
		return -EINVAL;
	if (*sum == row) {
		process_drop_row(process, *sum);
		return 0;
	}
	err = row_unshare(sum) ?: row_take_out(*sum, row);
	if (err)
		return err;
	if (!(*sum)->calls && !(*sum)->in_flight && !(*sum)->open_wall_ns) {
		process_drop_row(process, *sum);
	} else if (row->in_flight && row->oldest_start_ns == (*sum)->oldest_start_ns) {
		(*sum)->oldest_start_ns = OLDEST_LEFT;
		process->oldest_left = true;
	}
	return 0;
}

static void sum_forget_oldest(const void *node, VISIT visit, void *unused)
{
	struct row *sum = *(struct row *const *)node;

	(void)unused;
	if ((visit == postorder || visit == leaf) && sum->oldest_start_ns == OLDEST_LEFT)
		sum->oldest_start_ns = UINT64_MAX;
}

/* Looks among the threads for the oldest call of each row that has lost it. */
static void process_find_oldest(struct idle_process *process)
{
	const struct idle_thread *thread;
	struct row *sum;

	if (!process->oldest_left)
		return;
	twalk_r(process->rows, sum_forget_oldest, NULL);
	LIST_FOREACH(thread, &process->threads, link)
	{
		if (!thread->in_flight)
			continue;
		sum = *(struct row **)tfind(thread->in_flight, &process->rows, compare_rows);
		if (thread->in_flight->oldest_start_ns < sum->oldest_start_ns)
			sum->oldest_start_ns = thread->in_flight->oldest_start_ns;
	}
	process->oldest_left = false;
}

/* --- threads -------------------------------------------------------------------------------------- */

static int thread_join(struct idle *idle, struct idle_thread *thread)
{
	struct idle_process *process = process_get(idle, &thread->counts);
	int err = process ? 0 : -ENOMEM;

	for (size_t i = 0; i < thread->nr_rows && !err; i++)
		err = process_add_row(process, thread->rows[i]);
	if (err)
		return err;
	process_add_counts(&process->sum, &thread->counts);
	process->sum.threads += thread->counts.threads;
	process->start_ns += thread->start_ns;
	/* If that thread wakes up or ends, what is read of it then comes first: see read_process(). */
	process_take_name(&process->sum, &thread->counts, true);
	thread->process = process;
	LIST_INSERT_HEAD(&process->threads, thread, link);
	idle->threads_unknown += thread->is_unknown;
	idle->bytes += thread->bytes;
	idle->own_bytes[thread->share] += thread->bytes;
	return 0;
}

static int thread_leave(struct idle *idle, struct idle_thread *thread)
{
	struct idle_process *process = thread->process;
	int err = 0;

	for (size_t i = 0; i < thread->nr_rows && !err; i++)
		err = process_subtract_row(process, thread->rows[i]);
	if (err)
		return err;
	process_subtract_counts(&process->sum, &thread->counts);
	process->sum.threads -= thread->counts.threads;
	process->start_ns -= thread->start_ns;
	LIST_REMOVE(thread, link);
	idle->threads_unknown -= thread->is_unknown;
	idle->bytes -= thread->bytes;
	idle->own_bytes[thread->share] -= thread->bytes;
	if (LIST_EMPTY(&process->threads)) {
		tdelete(process, &idle->processes, process_compare);
		process_free(process);
	}
	return 0;
}

static int place_clear(struct idle *idle, struct place *place)
{
	struct idle_thread *thread = steal_ptr(&place->thread);
	int err = thread_leave(idle, thread);

	thread_free(thread);
	if (err)
		idle_clear(idle);
	return err;
}

/* --- looking at records --------------------------------------------------------------------------- */

int idle_look(struct idle *idle, uint32_t index, const struct task_record *record)
{
	const struct task_record *now = (const struct task_record *)idle->candidate;
	struct place *place = &idle->places[index];
	bool is_same, sleeps, has_room;
	int err = 0;

	if (place->thread) {
		if (!memcmp(place->thread->head, record, HEAD_BYTES))
			return IDLE_KNOWN;
		err = place_clear(idle, place);
	}
	memcpy(idle->candidate, record, HEAD_BYTES);
	is_same = place->clock == now->clock && place->switch_ns == now->switch_ns;
	place->clock = now->clock;
	place->switch_ns = now->switch_ns;
	if (err)
		return err;
	/* While its task sleeps, all that a live record has grows with time alone, or not at all. */
	sleeps = now->state == RECORD_LIVE && now->clock & CLOCK_STOPPED &&
		 !(now->flags & RECORD_AWAIT_EXEC);
	/* A user may have no more than is left for the others. */
	has_room = idle->bytes < idle->max_bytes &&
		   idle->own_bytes[now->own_share] < idle->max_bytes - idle->bytes;
	return is_same && sleeps && has_room ? IDLE_CANDIDATE : IDLE_AWAKE;
}

/* Makes times that grow those of the time 0, or those of another time again. */
static void row_shift(struct row *row, uint64_t ns)
{
	uint64_t shift = row->in_flight * ns;

	row->open_wall_ns = (int64_t)((uint64_t)row->open_wall_ns + shift);
	row->open_off_ns = (int64_t)((uint64_t)row->open_off_ns + shift);
}

/* Takes the rows of a snapshot of one thread. */
static struct idle_thread *thread_new(const struct task_record *record, struct snapshot *snapshot,
				      uint64_t now_ns)
{
	struct idle_thread *thread = calloc(1, sizeof(*thread));

	if (!thread)
		return NULL;
	memcpy(thread->head, record, HEAD_BYTES);
	thread->counts = snapshot->processes[0];
	thread->start_ns = now_ns - thread->counts.usage.threads_ns;
	thread->counts.usage.threads_ns = 0;
	thread->share = record->own_share;
	thread->nr_rows = snapshot->nr_rows;
	thread->rows = steal_ptr(&snapshot->rows);
	snapshot->nr_rows = 0;
	thread->bytes = sizeof(*thread) + sizeof(struct idle_process) + 2 * NODE_BYTES;
	for (size_t i = 0; i < thread->nr_rows; i++) {
		row_shift(thread->rows[i], -now_ns);
		thread->bytes += row_bytes(thread->rows[i]) + NODE_BYTES;
		if (thread->rows[i]->in_flight)
			thread->in_flight = thread->rows[i];
	}
	return thread;
}

int idle_add(struct idle *idle, uint32_t index, const struct task_record *record,
	     struct snapshot *snapshot, uint64_t now_ns, bool is_unknown)
{
	const struct task_record *before = (const struct task_record *)idle->candidate;
	struct place *place = &idle->places[index];
	struct idle_thread *thread;

	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (memcmp(before, record, HEAD_BYTES) || snapshot->nr_processes != 1)
		return 0;
	thread = thread_new(before, snapshot, now_ns);
	if (!thread)
		return -ENOMEM;
	thread->is_unknown = is_unknown;
	place->thread = thread;
	if (!thread_join(idle, thread))
		return 1;
	idle_clear(idle);
	return -ENOMEM;
}

uint64_t idle_threads_unknown(const struct idle *idle)
{
	return idle->threads_unknown;
}

/* --- reading -------------------------------------------------------------------------------------- */

struct idle_reading {
	uint64_t now_ns;
	struct builder *builder;
	int err;
};

static void read_sum(const void *node, VISIT visit, void *closure)
{
	struct row *sum = *(struct row *const *)node;
	struct idle_reading *reading = closure;
	struct row copy;

	if ((visit != postorder && visit != leaf) || reading->err)
		return;
	/* Nothing grows: readings may share it. */
	if (!sum->in_flight) {
		reading->err = builder_share_row(reading->builder, sum);
		return;
	}
	reading->err = row_copy(&copy, sum);
	if (reading->err)
		return;
	row_shift(&copy, reading->now_ns);
	reading->err = builder_move_row(reading->builder, &copy);
	row_done(&copy);
}

static void read_process(const void *node, VISIT visit, void *closure)
{
	struct idle_process *process = *(struct idle_process *const *)node;
	struct idle_reading *reading = closure;
	struct process now;

	if ((visit != postorder && visit != leaf) || reading->err)
		return;
	process_find_oldest(process);
	now = process->sum;
	now.usage.threads_ns = now.threads * reading->now_ns - process->start_ns;
	reading->err = builder_add_process(reading->builder, &now, false);
	twalk_r(process->rows, read_sum, reading);
}

int idle_read(struct idle *idle, uint64_t now_ns, struct builder *builder)
{
	struct idle_reading reading = { now_ns, builder, 0 };

	twalk_r(idle->processes, read_process, &reading);
	return reading.err;
}
