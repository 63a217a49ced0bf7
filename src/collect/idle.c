/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the counters of threads that sleep. All times that grow while a thread sleeps are kept as of
 * the time 0, modulo 2^64: those of a reading differ from them by its time for each thread. The sums of
 * a process can be less one thread's counters, but its minima and maxima are for good: a thread that
 * leaves takes them to its next reading, or to what has ended.
 */
#include "collect/idle.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* All of a record but the index of its slots. */
#define HEAD_BYTES offsetof(struct task_record, ordinal_of)

struct idle_thread {
	struct idle_process *process;
	struct idle_thread *next, **link; /* of its process; link is what points to it */
	struct process counts;            /* without threads_ns */
	uint64_t start_ns;                /* threads_ns of a reading is its time less this */
	struct row **rows;                /* sorted */
	size_t nr_rows, bytes;
	bool is_first; /* of its process, which is called as it is */
	bool is_unknown;
	_Alignas(uint64_t) unsigned char head[HEAD_BYTES]; /* of its record */
};

struct idle_process {
	struct process sum; /* of all threads; first, since processes are sorted by it */
	uint64_t start_ns;  /* of all threads, added up */
	struct row **rows;  /* sorted sums */
	size_t nr_rows, max_rows;
	struct idle_thread *threads;
	bool has_first;
};

/* The oldest of the calls that a row has in flight has left: see row_find_oldest(). */
#define OLDEST_LEFT 0

/* What is known of each record. */
struct place {
	struct idle_thread *thread; /* NULL: it is not kept */
	uint64_t clock, switch_ns;  /* as of the last look */
};

struct idle {
	struct place *places;
	size_t nr_places;
	void *processes; /* tree of struct idle_process */
	size_t bytes, max_bytes;
	uint64_t threads_unknown;
	_Alignas(uint64_t) unsigned char candidate[HEAD_BYTES]; /* of the record looked at last */
};

int idle_new(struct idle **ret, size_t max_bytes)
{
	struct idle *idle = calloc(1, sizeof(*idle));

	if (!idle)
		return -ENOMEM;
	idle->max_bytes = max_bytes;
	*ret = idle;
	return 0;
}

static void rows_unref(struct row **rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		row_unref(rows[i]);
	free(rows);
}

static void thread_free(struct idle_thread *thread)
{
	rows_unref(thread->rows, thread->nr_rows);
	free(thread);
}

static void process_free(void *node)
{
	struct idle_process *process = node;

	rows_unref(process->rows, process->nr_rows);
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
	struct idle_process *process, **found = tfind(identity, &idle->processes, process_compare);

	if (found)
		return *found;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->sum.pid = identity->pid;
	process->sum.boot_ns = identity->boot_ns;
	if (!tsearch(process, &idle->processes, process_compare)) {
		free(process);
		return NULL;
	}
	return process;
}

/* Where the sum of a row is, or belongs. */
static size_t process_row_place(const struct idle_process *process, const struct row *row)
{
	size_t low = 0, high = process->nr_rows;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (row_compare(process->rows[middle], row) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int process_insert_row(struct idle_process *process, size_t at, struct row *row)
{
	size_t more = process->max_rows * 2 ?: 16;
	struct row **grown;

	if (process->nr_rows == process->max_rows) {
		grown = reallocarray(process->rows, more, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		process->rows = grown;
		process->max_rows = more;
	}
	memmove(&process->rows[at + 1], &process->rows[at],
		(process->nr_rows - at) * sizeof(*process->rows));
	process->rows[at] = row_ref(row);
	process->nr_rows++;
	return 0;
}

static int process_add_row(struct idle_process *process, struct row *row)
{
	size_t at = process_row_place(process, row);
	struct row **sum;

	if (at == process->nr_rows || row_compare(process->rows[at], row))
		return process_insert_row(process, at, row);
	sum = &process->rows[at];
	return row_unshare(sum) ?: row_merge(*sum, row);
}

static void process_drop_row(struct idle_process *process, size_t at)
{
	row_unref(process->rows[at]);
	process->nr_rows--;
	memmove(&process->rows[at], &process->rows[at + 1],
		(process->nr_rows - at) * sizeof(*process->rows));
}

/* Subtracts a row that was added. */
static int process_subtract_row(struct idle_process *process, const struct row *row)
{
	size_t at = process_row_place(process, row);
	struct row **sum = &process->rows[at];
	int err;

	if (*sum == row) {
		process_drop_row(process, at);
		return 0;
	}
	err = row_unshare(sum) ?: row_take_out(*sum, row);
	if (err)
		return err;
	if (row->in_flight && row->oldest_start_ns == (*sum)->oldest_start_ns)
		(*sum)->oldest_start_ns = OLDEST_LEFT;
	if (!(*sum)->calls && !(*sum)->in_flight)
		process_drop_row(process, at);
	return 0;
}

/* Looks among the threads for the oldest call that a row has in flight. */
static void row_find_oldest(struct row *sum, const struct idle_process *process)
{
	sum->oldest_start_ns = UINT64_MAX;
	for (const struct idle_thread *thread = process->threads; thread; thread = thread->next) {
		for (size_t i = 0; i < thread->nr_rows; i++) {
			const struct row *row = thread->rows[i];

			if (row->in_flight && row->oldest_start_ns < sum->oldest_start_ns &&
			    !row_compare(row, sum))
				sum->oldest_start_ns = row->oldest_start_ns;
		}
	}
}

/* --- threads -------------------------------------------------------------------------------------- */

static void thread_link(struct idle_thread *thread, struct idle_process *process)
{
	thread->process = process;
	thread->next = process->threads;
	thread->link = &process->threads;
	if (thread->next)
		thread->next->link = &thread->next;
	process->threads = thread;
}

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
	if (thread->is_first || !process->has_first) {
		memcpy(process->sum.comm, thread->counts.comm, sizeof(process->sum.comm));
		process->sum.uid = thread->counts.uid;
		process->sum.cgroup_id = thread->counts.cgroup_id;
	}
	process->has_first |= thread->is_first;
	thread_link(thread, process);
	idle->threads_unknown += thread->is_unknown;
	idle->bytes += thread->bytes;
	return 0;
}

static void thread_unlink(struct idle_thread *thread)
{
	*thread->link = thread->next;
	if (thread->next)
		thread->next->link = thread->link;
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
	process->has_first &= !thread->is_first;
	thread_unlink(thread);
	idle->threads_unknown -= thread->is_unknown;
	idle->bytes -= thread->bytes;
	if (!process->threads) {
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

static int idle_reserve(struct idle *idle, uint32_t index)
{
	size_t more = idle->nr_places * 2 > index ? idle->nr_places * 2 : (size_t)index + 1;
	struct place *grown;

	if (index < idle->nr_places)
		return 0;
	grown = reallocarray(idle->places, more, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(&grown[idle->nr_places], 0, (more - idle->nr_places) * sizeof(*grown));
	idle->places = grown;
	idle->nr_places = more;
	return 0;
}

/* While its task sleeps, all that a live record has grows with time alone, or not at all. */
static bool record_sleeps(const struct task_record *record)
{
	return record->state == RECORD_LIVE && record->clock & CLOCK_STOPPED &&
	       !(record->flags & RECORD_AWAIT_EXEC);
}

int idle_look(struct idle *idle, uint32_t index, const struct task_record *record)
{
	const struct task_record *now = (const struct task_record *)idle->candidate;
	int err = idle_reserve(idle, index);
	struct place *place;
	bool is_same;

	if (err)
		return err;
	place = &idle->places[index];
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
	return is_same && record_sleeps(now) && idle->bytes < idle->max_bytes ? IDLE_CANDIDATE
									      : IDLE_AWAKE;
}

/* Makes times that grow those of the time 0, or those of another time again. */
static void row_shift(struct row *row, uint64_t ns)
{
	uint64_t shift = (row->in_flight - row->in_flight_early) * ns;

	row->open_wall_ns = (int64_t)((uint64_t)row->open_wall_ns + shift);
	row->open_off_ns = (int64_t)((uint64_t)row->open_off_ns + shift);
}

static struct idle_thread *thread_new(const struct task_record *record,
				      const struct process *process, uint64_t now_ns)
{
	struct idle_thread *thread = calloc(1, sizeof(*thread));

	if (!thread)
		return NULL;
	memcpy(thread->head, record, HEAD_BYTES);
	thread->counts = *process;
	thread->start_ns = now_ns - process->usage.threads_ns;
	thread->counts.usage.threads_ns = 0;
	thread->is_first = record->tid == record->pid;
	return thread;
}

static void thread_take_rows(struct idle_thread *thread, struct snapshot *snapshot, uint64_t now_ns)
{
	thread->nr_rows = snapshot->nr_rows;
	thread->rows = steal_ptr(&snapshot->rows);
	snapshot->nr_rows = 0;
	thread->bytes = sizeof(*thread);
	for (size_t i = 0; i < thread->nr_rows; i++) {
		row_shift(thread->rows[i], -now_ns);
		thread->bytes += row_bytes(thread->rows[i]);
	}
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
	thread = thread_new(before, &snapshot->processes[0], now_ns);
	if (!thread)
		return -ENOMEM;
	thread_take_rows(thread, snapshot, now_ns);
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

static int row_read_sum(struct row *sum, uint64_t now_ns, struct builder *builder)
{
	struct row copy;
	int err;

	/* Nothing grows: readings may share it. */
	if (sum->in_flight == sum->in_flight_early)
		return builder_share_row(builder, sum);
	if (row_copy(&copy, sum))
		return -ENOMEM;
	row_shift(&copy, now_ns);
	err = builder_move_row(builder, &copy);
	row_done(&copy);
	return err;
}

struct idle_reading {
	uint64_t now_ns;
	struct builder *builder;
	int err;
};

static int process_read(const struct idle_process *process, const struct idle_reading *reading)
{
	struct process now = process->sum;
	int err;

	now.usage.threads_ns = now.threads * reading->now_ns - process->start_ns;
	err = builder_add_process(reading->builder, &now, process->has_first);
	for (size_t i = 0; i < process->nr_rows && !err; i++) {
		struct row *row = process->rows[i];

		if (row->oldest_start_ns == OLDEST_LEFT)
			row_find_oldest(row, process);
		err = row_read_sum(row, reading->now_ns, reading->builder);
	}
	return err;
}

static void read_process(const void *node, VISIT visit, void *closure)
{
	struct idle_reading *reading = closure;

	if ((visit == postorder || visit == leaf) && !reading->err)
		reading->err = process_read(*(struct idle_process *const *)node, reading);
}

int idle_read(struct idle *idle, uint64_t now_ns, struct builder *builder)
{
	struct idle_reading reading = { now_ns, builder, 0 };

	twalk_r(idle->processes, read_process, &reading);
	return reading.err;
}
