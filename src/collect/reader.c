/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the mapped arrays into rows of the model. A row that is being written is read again until it
 * is whole; those of threads that sleep are read once.
 */
#include "base/clock.h"
#include "base/text.h"
#include "collect/collector_private.h"

#include <time.h>

/*
 * A writer is done within a microsecond unless its CPU was taken away. Trying that often takes some
 * milliseconds at most.
 */
#define READ_TRIES         1000
#define SLOT_TRIES         20
/* If several tries fail, the host may have stopped the CPU that writes: waits are bounded. */
#define TRIES_WITHOUT_WAIT 3
#define WAIT_NS            200000
#define WAITS_MAX          100

/* How often a call may end while its row is read. */
#define OPEN_TRIES 4

/* Of a thread with many stacks, nothing is read again beyond this many: a hundred take a microsecond or more. */
#define STACKS_AGAIN 20000

/*
 * Copies a slot while its task may write: calls is written first and settled last, so a copy
 * between equal values of both is whole. False: it is not, since the task stands still in between.
 */
static bool slot_copy(const struct call_slot *slot, struct call_slot *copy)
{
	for (int i = 0; i < READ_TRIES; i++) {
		uint64_t settled = __atomic_load_n(&slot->settled, __ATOMIC_ACQUIRE);

		memcpy(copy, slot, sizeof(*copy));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (copy->calls == settled &&
		    __atomic_load_n(&slot->calls, __ATOMIC_RELAXED) == settled)
			return true;
	}
	return false;
}

static int row_read_stacks(const struct collector *c, uint32_t index, struct row *row)
{
	uint32_t limit = c->skel->data_pools->pools[POOL_STACKS].limit;
	struct stack_count *stacks __cleanup(freep) = NULL;
	size_t count = 0;

	for (; index && index < limit && count < limit; count++) {
		const struct stack_entry *entry = &c->tables.stacks[index];

		if (!array_grow(&stacks, count, sizeof(*stacks)))
			return -ENOMEM;
		stacks[count] = (struct stack_count){
			.id = entry->id,
			.calls = entry->calls,
			.errors = entry->errors,
			.wall_ns = entry->wall_ns,
			.off_ns = entry->off_ns,
			.runq_ns = entry->runq_ns,
			.max_ns = entry->max_ns,
		};
		index = entry->next;
	}
	return row_add_stacks(row, stacks, count);
}

static int row_read_tally(const struct collector *c, const struct tally *tally, struct row *row)
{
	struct stack_count others = { .id = STACK_OTHERS, .calls = tally->count };

	switch (tally->what) {
	case TALLY_SPLIT:
		row->split = (enum call_split)c->skel->rodata->split_by;
		row->split_value = tally->count;
		return 0;
	case TALLY_STACKS:
		return row_read_stacks(c, (uint32_t)tally->count, row);
	case TALLY_NO_STACK:
		return row_add_stack(row, &others);
	default:
		if (tally->what < TALLY_WRAP)
			return row_add_errno(row, (int)tally->what, tally->count);
		return hist_add(&row->hist, tally->what - TALLY_WRAP, tally->count << 32);
	}
}

static int row_read_tallies(const struct collector *c, const struct call_slot *slot,
			    struct row *row)
{
	uint32_t index = slot->first_tally;

	for (int i = 0; index && i < TALLIES_PER_SLOT; i++) {
		const struct tally *tally = tally_at(c, index);

		if (!tally || row_read_tally(c, tally, row))
			return -ENOMEM;
		index = tally->next;
	}
	return 0;
}

static void row_fill(struct row *row, const struct call_slot *slot, uint32_t tid)
{
	row->abi = slot->abi;
	row->nr = slot->nr;
	row->calls = slot->calls;
	row->errors = slot->errors;
	row->interrupted = slot->interrupted;
	row->untimed = slot->untimed;
	row->denied = slot->denied;
	row->no_return = slot->no_return;
	row->result_sum = slot->result_sum;
	row->wall_ns = slot->wall_ns;
	row->off_ns = slot->off_ns;
	row->runq_ns = slot->runq_ns;
	row->open_wall_ns = (int64_t)slot->early_wall_ns;
	row->open_off_ns = (int64_t)slot->early_off_ns;
	if (slot->max_ns || slot->min_inverted_ns) {
		row->min_ns = ~slot->min_inverted_ns;
		row->max_ns = slot->max_ns;
		row->max_start_ns = slot->max_start_ns;
		row->max_tid = tid;
	}
}

static int row_read_hist(const struct collector *c, const struct call_slot *slot, struct row *row)
{
	uint32_t counts[HIST_LINES * HIST_LINE_BUCKETS] = { 0 };

	for (int i = 0; i < HIST_LINES; i++) {
		const struct hist_line *line = slot->lines[i] ? line_at(c, slot->lines[i]) : NULL;

		if (slot->lines[i] && !line)
			return -ENOMEM;
		if (line)
			memcpy(&counts[i * HIST_LINE_BUCKETS], line->buckets,
			       sizeof(line->buckets));
	}
	return hist_add_all(&row->hist, counts);
}

/* Whether the thread of a record has rows of its own. */
static bool record_stands_apart(const struct collector *c, const struct task_record *record,
				const struct reading *reading)
{
	return reading->threads && (record->state == RECORD_LIVE || c->keeps_threads);
}

/* Fills in whose row it is. */
static void row_identify(struct row *row, const struct collector *c,
			 const struct task_record *record, const struct reading *reading)
{
	row_init(row);
	row->pid = record->pid;
	row->boot_ns = record->boot_ns;
	if (record_stands_apart(c, record, reading)) {
		row->tid = record->tid;
		row->tid_ns = record->start_ns;
	}
}

/* Calls without a stack of their own have what the others of the row have not. */
static void row_fill_other_stacks(struct row *row)
{
	struct stack_count *others = row->stacks, sum = { 0 };

	if (!row->nr_stacks || others->id != STACK_OTHERS)
		return;
	for (size_t i = 1; i < row->nr_stacks; i++) {
		sum.errors += row->stacks[i].errors;
		sum.wall_ns += row->stacks[i].wall_ns;
		sum.off_ns += row->stacks[i].off_ns;
		sum.runq_ns += row->stacks[i].runq_ns;
	}
	others->errors = above(row->errors, sum.errors);
	others->wall_ns = above(row->wall_ns, sum.wall_ns);
	others->off_ns = above(row->off_ns, sum.off_ns);
	others->runq_ns = above(row->runq_ns, sum.runq_ns);
	others->max_ns = row->max_ns;
}

/* Reads a slot and its tallies, as of the same call if its task lets us: otherwise -EAGAIN. */
static int slot_read_once(const struct collector *c, const struct task_record *record,
			  uint32_t index, const struct reading *reading, struct call_slot *copy,
			  struct row *row)
{
	const struct call_slot *slot = slot_at(c, index);
	bool is_whole;
	int err;

	row_identify(row, c, record, reading);
	if (!slot)
		return -ENOMEM;
	is_whole = slot_copy(slot, copy);
	row_fill(row, copy, record->tid);
	err = row_read_hist(c, copy, row) ?: row_read_tallies(c, copy, row);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (err)
		return err;
	row_fill_other_stacks(row);
	if (is_whole && __atomic_load_n(&slot->calls, __ATOMIC_RELAXED) == copy->calls)
		return 0;
	row_settle(row);
	return -EAGAIN;
}

/*
 * Reads the row of a slot; the caller frees it in any case. One that stays torn is a row all the same:
 * without it, a reading would have less than the one before.
 */
static int slot_read(const struct collector *c, const struct task_record *record, uint32_t index,
		     struct reading *reading, struct row *row)
{
	struct call_slot copy;
	int err = -EAGAIN;

	for (int i = 0; i < SLOT_TRIES && err == -EAGAIN; i++) {
		if (i && reading->stacks > STACKS_AGAIN)
			break;
		if (i)
			row_done(row);
		if (i >= TRIES_WITHOUT_WAIT && reading->waits < WAITS_MAX) {
			nanosleep(&(struct timespec){ .tv_nsec = WAIT_NS }, NULL);
			reading->waits++;
		}
		err = slot_read_once(c, record, index, reading, &copy, row);
		reading->stacks += i ? row->nr_stacks : 0;
	}
	if (err && err != -EAGAIN)
		return err;
	reading->torn_rows += err == -EAGAIN;
	odd_values_apply(c->odd, record->own_share, row);
	return 0;
}

/*
 * The CPU clock of a task, which runs on until now_ns unless it stands still. Its last event may be
 * younger than now_ns: then the clock is read as of that.
 */
static uint64_t record_cpu_clock(const struct task_record *record, uint64_t now_ns)
{
	uint64_t at_ns = record->switch_ns > now_ns ? record->switch_ns : now_ns, cpu_ns;

	if (record->clock & CLOCK_STOPPED)
		return record->clock & ~CLOCK_STOPPED;
	cpu_ns = above(at_ns, record->clock);
	return cpu_ns > record->mark_cpu_ns ? cpu_ns : record->mark_cpu_ns;
}

/* The call a live task is in, as a row of its own. */
static int in_flight_read(const struct collector *c, const struct task_record *record,
			  const struct reading *reading)
{
	const uint64_t now_ns = reading->now_ns;
	struct row row;

	row_identify(&row, c, record, reading);
	row.abi = record->abi;
	row.nr = record->nr;
	row.in_flight = 1;
	if (record->flags & RECORD_CALL_OPEN && c->arguments && record->split) {
		row.split = (enum call_split)c->skel->rodata->split_by;
		row.split_value = record->split;
	}
	if (record->flags & RECORD_CALL_OPEN) {
		row.oldest_start_ns = record->enter_ns;
		/* The call may be younger than now_ns. Its run-queue time is told only once it ends. */
		row.open_wall_ns = (int64_t)above(now_ns, record->enter_ns);
		row.open_off_ns = (int64_t)above(
			(uint64_t)row.open_wall_ns,
			above(record_cpu_clock(record, now_ns), record->mark_cpu_ns));
	} else {
		row.in_flight_early = 1;
		row.oldest_start_ns = above(record->start_ns, record->slept_ns);
		row.open_wall_ns = (int64_t)above(now_ns, record->start_ns);
		row.open_off_ns = (int64_t)above(now_ns, record_cpu_clock(record, now_ns));
	}
	odd_values_apply(c->odd, record->own_share, &row);
	return builder_add_row(reading->builder, &row);
}

static bool record_in_call(const struct task_record *record)
{
	return !(record->flags & RECORD_EXITING) &&
	       (record->flags & RECORD_CALL_OPEN || RECORD_IN_EARLY_CALL(record));
}

/* Whether nobody can tell if a task is in a call: it ran when it was adopted, and still does. */
static bool record_is_unknown(const struct task_record *record)
{
	return record->state == RECORD_LIVE && record->flags & RECORD_OPEN_EARLY &&
	       !RECORD_IN_EARLY_CALL(record);
}

/* CPU time outside system calls, up to now where it still grows. */
static uint64_t record_user_ns(const struct task_record *record, uint64_t now_ns)
{
	if (record->user_clock & USER_STOPPED)
		return record->user_clock & ~USER_STOPPED;
	return above(record_cpu_clock(record, now_ns), record->user_clock);
}

/* Returns what the thread did with its time since counting began. */
static struct usage record_usage(const struct task_record *record, uint64_t now_ns)
{
	const struct task_usage *now = &record->usage, *start = &record->usage_at_start;
	uint64_t end_ns = record->state == RECORD_LIVE ? now_ns : record->switch_ns;

	if (record->flags & RECORD_AWAIT_EXEC)
		return (struct usage){ 0 };
	return (struct usage){
		.threads_ns = above(end_ns, record->start_ns),
		.cpu_ns = above(record_cpu_clock(record, now_ns), record->start_ns),
		.utime_ns = above(now->utime_ns, start->utime_ns),
		.stime_ns = above(now->stime_ns, start->stime_ns),
		.runq_ns = above(now->run_delay_ns, start->run_delay_ns),
		.minor_faults = above(now->min_flt, start->min_flt),
		.major_faults = above(now->maj_flt, start->maj_flt),
		.voluntary_switches = above(now->nvcsw, start->nvcsw),
		.involuntary_switches = above(now->nivcsw, start->nivcsw),
	};
}

/* Copies a record, but not its index of slots, while its task may write. */
static void record_copy(const struct task_record *record, struct task_record *copy)
{
	for (int i = 0; i < READ_TRIES; i++) {
		memcpy(copy, record, offsetof(struct task_record, ordinal_of));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		/* Its task has begun and ended no call, and was not switched, meanwhile. */
		if (__atomic_load_n(&record->mark_cpu_ns, __ATOMIC_RELAXED) == copy->mark_cpu_ns &&
		    __atomic_load_n(&record->enter_ns, __ATOMIC_RELAXED) == copy->enter_ns &&
		    __atomic_load_n(&record->user_clock, __ATOMIC_RELAXED) == copy->user_clock &&
		    __atomic_load_n(&record->flags, __ATOMIC_RELAXED) == copy->flags &&
		    __atomic_load_n(&record->clock, __ATOMIC_RELAXED) == copy->clock)
			return;
	}
}

static struct process record_process(const struct task_record *record, uint64_t now_ns)
{
	struct process process = {
		.pid = record->pid,
		.boot_ns = record->boot_ns,
		.uid = record->uid,
		.cgroup_id = record->cgroup_id,
		.named_by = record->tid == record->pid ? 0 : record->tid,
		.named_ns = record->start_ns,
		.user_ns = record_user_ns(record, now_ns),
		.usage = record_usage(record, now_ns),
		.ended_ns = record->state == RECORD_LIVE ? 0 : clock_mono_ns(),
		.threads = record->state == RECORD_LIVE,
	};

	memcpy(process.comm, record->comm, sizeof(process.comm));
	/* A process is grouped by what its first thread is. */
	for (int i = 0; i < NR_PROCESS_CHANGE && record->tid == record->pid; i++)
		process.changes[i] = record->changes[i];
	return process;
}

/* Whether the open call of a record, if there is one, will be added to this slot once it ends. */
static bool slot_takes_open(const struct collector *c, const struct call_slot *slot,
			    const struct task_record *record)
{
	/* A path that could not be read yet is read when the call ends. */
	const bool is_unknown = c->arguments && record->split == ARGUMENT_UNKNOWN;
	uint64_t split;

	if (record->state != RECORD_LIVE || !record_in_call(record) || slot->nr != record->nr ||
	    slot->abi != record->abi)
		return false;
	return is_unknown || !slot_split(c, slot, &split) || split == record->split;
}

/* The rows that an open call may be added to: that of its own value of a split, or of none. */
struct open_rows {
	struct row *rows;
	size_t count;
};

static void open_rows_empty(struct open_rows *open)
{
	while (open->count)
		row_done(&open->rows[--open->count]);
	free(open->rows);
	open->rows = NULL;
}

static int row_keep(struct open_rows *open, struct row *row, struct reading *reading)
{
	if (!open)
		return builder_move_row(reading->builder, row);
	if (!array_grow(&open->rows, open->count, sizeof(*open->rows)))
		return -ENOMEM;
	open->rows[open->count++] = *row;
	row_init(row);
	return 0;
}

/* Reads the slots that take the open call into open, or without that all others. */
static int record_read_slots(const struct collector *c, const struct task_record *record,
			     struct open_rows *open, struct reading *reading)
{
	uint32_t index = record->first_slot;
	int err = 0;

	for (uint32_t i = 0; index && !err && i < map_array_size(c->tables.arrays[TABLE_SLOTS]);
	     i++) {
		const struct call_slot *slot = slot_at(c, index);
		struct row row;

		if (!slot)
			return -ENOMEM;
		if (slot_takes_open(c, slot, record) == (open != NULL)) {
			err = slot_read(c, record, index, reading, &row);
			if (!err && (row.calls || row.open_wall_ns))
				err = row_keep(open, &row, reading);
			row_done(&row);
		}
		index = slot->next;
	}
	return err;
}

/*
 * Whether a task is still in the call that it was in when its record was copied. In this order: the
 * start of the next call is stored before it is open.
 */
static bool record_is_in_same_call(const struct task_record *record, const struct task_record *copy)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&record->flags, __ATOMIC_ACQUIRE) == copy->flags &&
	       __atomic_load_n(&record->enter_ns, __ATOMIC_RELAXED) == copy->enter_ns;
}

/*
 * Copies a record, and reads the row that its open call will be added to, at one moment: a call is
 * in flight or has ended, never both. A call that ends each time is not in flight.
 */
static int record_read_open(const struct collector *c, uint32_t index, struct task_record *copy,
			    struct reading *reading)
{
	const struct task_record *record = record_at(c, index);
	struct open_rows rows __cleanup(open_rows_empty) = { .count = 0 };
	bool flies = false;
	int err = record ? 0 : -ENOMEM;

	reading->stacks = 0;
	for (int i = 0; i < OPEN_TRIES && !flies && !err && reading->stacks <= STACKS_AGAIN; i++) {
		open_rows_empty(&rows);
		record_copy(record, copy);
		if (copy->state != RECORD_LIVE || !record_in_call(copy))
			return 0;
		err = record_read_slots(c, copy, &rows, reading);
		flies = record_is_in_same_call(record, copy);
	}
	for (size_t i = 0; i < rows.count && !err; i++)
		err = builder_move_row(reading->builder, &rows.rows[i]);
	if (!err && flies)
		err = in_flight_read(c, copy, reading);
	return err;
}

static int compare_pids(const void *a, const void *b)
{
	return compare_u64(((const struct target_thread *)a)->pid,
			   ((const struct target_thread *)b)->pid);
}

int target_thread_compare(const void *a, const void *b)
{
	return compare_pids(a, b)
		       ?: compare_u64(((const struct target_thread *)a)->tid,
				      ((const struct target_thread *)b)->tid);
}

/* Whether a record is of a process that was not given by its threads, or of one of these. */
static bool record_is_wanted(const struct collector *c, const struct task_record *record)
{
	const struct target_thread key = { record->pid, record->tid };

	if (!c->nr_threads || !bsearch(&key, c->threads, c->nr_threads, sizeof(key), compare_pids))
		return true;
	return bsearch(&key, c->threads, c->nr_threads, sizeof(key), target_thread_compare);
}

/* Reads what a process is called, of which only other threads are wanted. */
static int leader_read(const struct task_record *record, struct reading *reading)
{
	struct process process, leader;

	if (record->tid != record->pid)
		return 0;
	process = leader = record_process(record, reading->now_ns);
	process_clear_counts(&process);
	/* Nobody else tells of these. */
	memcpy(process.changes, leader.changes, sizeof(process.changes));
	process.threads = 0;
	return builder_add_process(reading->builder, &process, true);
}

int record_read(const struct collector *c, uint32_t index, struct reading *reading)
{
	const struct task_record *record = record_at(c, index);
	struct task_record copy;
	struct process process;
	int err;

	if (record && !record_is_wanted(c, record))
		return leader_read(record, reading);
	err = record_read_open(c, index, &copy, reading);
	if (err)
		return err;
	process = record_process(&copy, reading->now_ns);
	reading->threads_unknown += record_is_unknown(&copy);
	err = builder_add_process(reading->builder, &process, true);
	if (!err && record_stands_apart(c, &copy, reading))
		err = snapshot_add_thread(reading->threads,
					  &(struct thread){ copy.tid, copy.start_ns, process });
	return err ?: record_read_slots(c, &copy, NULL, reading);
}

/* Reads a record that has slept since the reading before, into what is kept of such. */
static int record_read_idle(const struct collector *c, uint32_t index, struct reading *reading)
{
	struct snapshot *own __cleanup(snapshot_freep) = calloc(1, sizeof(*own));
	struct reading alone = { .now_ns = reading->now_ns };
	struct builder *builder __cleanup(builder_freep) = NULL;
	int taken = own ? builder_new(&builder) : -ENOMEM;

	alone.builder = builder;
	if (!taken)
		taken = record_read(c, index, &alone) ?: builder_finish(builder, own);
	if (!taken && !alone.torn_rows)
		taken = idle_add(c->idle, index, record_at(c, index), own, reading->now_ns,
				 alone.threads_unknown);
	return taken == 0 ? record_read(c, index, reading) : taken < 0 ? taken : 0;
}

/* Reads a record unless all that it has is kept already. */
static int record_read_if_awake(const struct collector *c, uint32_t index, struct reading *reading)
{
	const struct task_record *record = record_at(c, index);
	int state;

	/* Whose other threads alone are wanted is never kept: it has no time of its own. */
	if (record && !record_is_wanted(c, record))
		return record_state(record) == RECORD_FREE ? 0 : leader_read(record, reading);
	state = c->idle && !c->by_thread && record ? idle_look(c->idle, index, record) : IDLE_AWAKE;

	if (state <= IDLE_KNOWN)
		return state;
	if (state == IDLE_CANDIDATE)
		return record_read_idle(c, index, reading);
	return record && record_state(record) == RECORD_FREE ? 0 : record_read(c, index, reading);
}

/* Only those that are awake have to be sorted. */
int records_read(const struct collector *c, struct reading *reading)
{
	struct builder *builder = reading->builder;
	int err = builder_merge(builder, c->ended) ?: builder_settle(builder);
	uint32_t used = records_used(c);

	for (uint32_t i = 1; i < used && !err; i++)
		err = record_read_if_awake(c, i, reading);
	if (err || !c->idle || c->by_thread)
		return err;
	reading->threads_unknown += idle_threads_unknown(c->idle);
	return builder_settle(builder) ?: idle_read(c->idle, reading->now_ns, builder);
}

/*
 * Adds up the sets of an ABI, each from its first row to its last: a CPU may have one. Programs count
 * the call first and its outcome then, so outcomes are read first: they are never more than calls.
 */
static void overflow_sum(const struct overflow_row *rows, const struct overflow_sets *sets,
			 struct overflow_row sums[OVERFLOW_ROWS])
{
	memset(sums, 0, OVERFLOW_ROWS * sizeof(*sums));
	rows += (size_t)sets->first * OVERFLOW_ROWS;
	for (uint32_t set = 0; set <= sets->mask; set++, rows += OVERFLOW_ROWS) {
		for (int i = 0; i < OVERFLOW_ROWS; i++) {
			sums[i].errors += __atomic_load_n(&rows[i].errors, __ATOMIC_ACQUIRE);
			sums[i].interrupted +=
				__atomic_load_n(&rows[i].interrupted, __ATOMIC_ACQUIRE);
			sums[i].calls += __atomic_load_n(&rows[i].calls, __ATOMIC_RELAXED);
		}
	}
}

int overflow_read(const struct collector *c, struct builder *builder)
{
	struct overflow_row sums[OVERFLOW_ROWS];
	struct row row;
	int err = 0;

	for (uint32_t abi = 0; abi < NR_SYSCALL_ABI; abi++) {
		overflow_sum(c->tables.overflow, &c->skel->rodata->overflow_sets[abi], sums);
		for (int i = 0; i < OVERFLOW_ROWS && !err; i++) {
			if (!sums[i].calls)
				continue;
			row_init(&row);
			row.abi = abi;
			row.nr = i < CALLS_INDEXED ? i : ROW_NR_OTHER;
			row.calls = row.untimed = sums[i].calls;
			row.errors = sums[i].errors;
			row.interrupted = sums[i].interrupted;
			err = builder_add_row(builder, &row);
		}
	}
	return err;
}
