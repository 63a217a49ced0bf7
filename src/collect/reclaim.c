/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ends records: moves their rows into the totals of what has ended, zeroes their memory and gives it
 * back. A record that is RECORD_ENDED belongs to user space alone.
 */
#include <bpf/bpf.h>

#include "base/clock.h"
#include "collect/collector.h"
#include "collect/collector_private.h"

/* Lets others have these elements. If that failed the tables would fill up, which is said. */
static void give_back_all(struct collector *c)
{
	struct truss_bpf__data_given *data = c->skel->data_given;
	LIBBPF_OPTS(bpf_test_run_opts, run);

	if (data->given.count)
		bpf_prog_test_run_opts(bpf_program__fd(c->skel->progs.take_back), &run);
	data->given.count = 0;
}

static void give_back(struct collector *c, enum pool_kind kind, uint32_t share, uint32_t index)
{
	struct truss_bpf__data_given *data = c->skel->data_given;
	uint32_t at = data->given.count++;

	data->given.elements[at].index = index;
	data->given.elements[at].kind = (uint16_t)kind;
	data->given.elements[at].share = (uint16_t)share;
	if (data->given.count == MAX_GIVEN)
		give_back_all(c);
}

static void stacks_free(struct collector *c, uint32_t share, uint32_t index)
{
	struct stack_entry *entry;
	uint32_t next;

	for (; index; index = next) {
		struct stack_key key = { 0 };

		entry = &c->tables.stacks[index];
		next = entry->next;
		key.id = entry->id;
		key.slot = entry->slot;
		bpf_map__delete_elem(c->skel->maps.stack_index, &key, sizeof(key), 0);
		memset(entry, 0, sizeof(*entry));
		give_back(c, POOL_STACKS, share, index);
	}
}

static void tallies_free(struct collector *c, uint32_t share, uint32_t index)
{
	struct tally *tally;
	uint32_t next;

	for (; index; index = next) {
		tally = tally_at(c, index);
		/* It was mapped when it was read. */
		if (!tally)
			return;
		next = tally->next;
		if (tally->what == TALLY_STACKS)
			stacks_free(c, share, (uint32_t)tally->count);
		memset(tally, 0, sizeof(*tally));
		give_back(c, POOL_TALLIES, share, index);
	}
}

static void lines_free(struct collector *c, const struct call_slot *slot)
{
	for (int i = 0; i < HIST_LINES; i++) {
		struct hist_line *line = slot->lines[i] ? line_at(c, slot->lines[i]) : NULL;

		/* It was mapped when it was read. */
		if (!line)
			continue;
		memset(line, 0, sizeof(*line));
		give_back(c, POOL_LINES, slot->share, slot->lines[i]);
	}
}

bool slot_split(const struct collector *c, const struct call_slot *slot, uint64_t *ret)
{
	uint32_t index = slot->first_tally;

	for (int i = 0; index && i < TALLIES_PER_SLOT; i++) {
		const struct tally *tally = tally_at(c, index);

		if (tally && tally->what == TALLY_SPLIT) {
			*ret = tally->count;
			return true;
		}
		index = tally ? tally->next : 0;
	}
	return false;
}

/* A record that is zeroed finds no slot any more, but the hash would. */
static void slot_forget(struct collector *c, uint32_t record, const struct call_slot *slot)
{
	struct foreign_key key = { .record = record, .abi = slot->abi, .nr = slot->nr };
	uint64_t split = 0;

	if (!record_at(c, record)->foreign_slots)
		return;
	key.is_split = slot_split(c, slot, &split);
	key.split = split;
	if (bpf_map__delete_elem(c->skel->maps.foreign_slots, &key, sizeof(key), 0))
		return;
	__atomic_sub_fetch(&c->skel->data_pools->pools[POOL_FOREIGN].used, 1, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&c->skel->data_shares->shares[slot->share].used[POOL_FOREIGN], 1,
			   __ATOMIC_RELAXED);
}

static void slots_free(struct collector *c, uint32_t record, uint32_t index)
{
	struct call_slot *slot;
	uint32_t next, share;

	for (; index; index = next) {
		slot = slot_at(c, index);
		/* It was mapped when it was read. */
		if (!slot)
			return;
		next = slot->next;
		slot_forget(c, record, slot);
		tallies_free(c, slot->share, slot->first_tally);
		lines_free(c, slot);
		share = slot->share;
		memset(slot, 0, sizeof(*slot));
		give_back(c, POOL_SLOTS, share, index);
	}
}

/* The cgroups of live records and of processes that have ended. */
struct id_list {
	uint64_t *ids;
	size_t count;
};

static int id_list_add(void *closure, const struct process *process)
{
	struct id_list *list = closure;

	list->ids[list->count++] = process->cgroup_id;
	return 0;
}

static int forget_cgroups(struct collector *c)
{
	uint32_t used = records_used(c);
	struct id_list list = { .count = 0 };

	list.ids = calloc(used + builder_processes(c->ended), sizeof(*list.ids));
	if (!list.ids)
		return -ENOMEM;
	for (uint32_t i = 1; i < used; i++) {
		const struct task_record *record = record_at(c, i);

		if (record)
			list.ids[list.count++] = record->cgroup_id;
	}
	builder_visit_processes(c->ended, id_list_add, &list);
	cgroup_names_prune(&c->cgroups, list.ids, list.count);
	free(list.ids);
	return 0;
}

const char *collector_cgroup(struct collector *c, uint64_t id, uint32_t pid)
{
	/* It was made before its first process was: what tells of it is in the ring by now. */
	if (!cgroup_names_know(&c->cgroups, id))
		ring_buffer__consume(c->events);
	return cgroup_names_find(&c->cgroups, id, pid);
}

/* Gives a record back if its task has ended. */
static int record_reclaim(struct collector *c, uint32_t index)
{
	struct task_record *record = record_at(c, index);
	struct reading reading = { .builder = c->ended, .threads = ended_threads_room(c) };
	uint32_t share;

	if (!record)
		return -ENOMEM;
	if (record_state(record) != RECORD_ENDED || !ended_takes(c, record))
		return 0;
	/* Nobody can take out again what is added in part. */
	c->is_broken = true;
	if (record_read(c, index, &reading) || !collector_cgroup(c, record->cgroup_id, record->pid))
		return -ENOMEM;
	c->is_broken = false;
	share = record->own_share;
	if (c->rings)
		call_rings_note_last(c->rings, index, record);
	slots_free(c, index, record->first_slot);
	memset(record, 0, sizeof(*record));
	give_back(c, POOL_RECORDS, share, index);
	c->reclaimed++;
	return 0;
}

/* Reclaims the records that events told of, and keeps in mind those whose tasks still exit. */
static int reclaim_told(struct collector *c)
{
	const struct task_record *record;
	size_t kept = 0;
	int err = 0;

	c->exit_ns = 0;
	for (size_t i = 0; i < c->nr_ended_records && !err; i++) {
		record = record_at(c, c->ended_records[i]);
		if (record && record_state(record) == RECORD_LIVE &&
		    record->flags & RECORD_EXITING) {
			c->ended_records[kept++] = c->ended_records[i];
			c->exit_ns = max_u64(c->exit_ns, record->enter_ns);
			/* Its cgroup may be gone when it has ended. */
			err = collector_cgroup(c, record->cgroup_id, record->pid) ? 0 : -ENOMEM;
		} else if (record) {
			err = record_reclaim(c, c->ended_records[i]);
		}
	}
	c->nr_ended_records = kept;
	return err;
}

static int reclaim_records(struct collector *c)
{
	const uint32_t *ended = &c->skel->data_membership->membership.ended;
	size_t kept;
	int err;

	/* Looking for a cgroup's name may bring more events: nothing else would wake us for them. */
	do {
		err = reclaim_told(c);
		kept = c->nr_ended_records;
		if (__atomic_load_n(ended, __ATOMIC_ACQUIRE) == c->reclaimed || ended_pauses(c))
			continue;
		for (uint32_t i = 1; i < records_used(c) && !err; i++)
			err = record_reclaim(c, i);
	} while (!err && c->nr_ended_records > kept);
	give_back_all(c);
	return err;
}

/* --- ends that nobody saw -------------------------------------------------------------------------- */

/* Looking at one record takes some microseconds. */
#define LOOK_RECORDS 256
/* A task of the lowest priority may wait so long for a CPU. */
#define STARVED_NS   (10 * NS_PER_SEC)

/* When a task whose end was not seen ended, as far as is known: when it was last seen to exit, or now. */
static uint64_t unseen_end_ns(const struct task_record *record)
{
	if (record->flags & RECORD_EXITING)
		return max_u64(record->enter_ns, record->switch_ns);
	return clock_mono_ns();
}

/* Does what task_end() does, but for an open call: whether it ended is not known. */
static void record_end_unseen(struct collector *c, struct task_record *record)
{
	struct truss_bpf__data_membership *data = c->skel->data_membership;
	uint64_t end_ns = unseen_end_ns(record);
	__u64 task = __atomic_load_n(&record->task, __ATOMIC_ACQUIRE);

	if (!task || !__atomic_compare_exchange_n(&record->task, &task, 0, false, __ATOMIC_ACQ_REL,
						  __ATOMIC_RELAXED))
		return;
	if (!(record->clock & CLOCK_STOPPED))
		record->clock =
			max_u64(above(end_ns, record->clock), record->mark_cpu_ns) | CLOCK_STOPPED;
	record->switch_ns = end_ns;
	__atomic_add_fetch(&data->membership.unseen, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&record->state, RECORD_ENDED, __ATOMIC_RELEASE);
	__atomic_add_fetch(&data->membership.ended, 1, __ATOMIC_RELEASE);
	__atomic_sub_fetch(&data->membership.live, 1, __ATOMIC_RELEASE);
}

/*
 * Whether a task is gone although its record says that it lives. A thread of a process that lives is not
 * looked for unless it was seen to exit: one in an exec has, for a while, no id of its own. One that
 * exits is gone a moment before its last context switch: it has to be so at two looks, or for long if it
 * was seen to wait for a CPU.
 */
static bool record_is_left(struct task_record *record, pid_t pid, uint64_t now_ns)
{
	bool exits = __atomic_load_n(&record->flags, __ATOMIC_ACQUIRE) & RECORD_EXITING;
	bool is_gone = process_has_ended(pid) || (exits && thread_is_gone(pid, (pid_t)record->tid));

	if (!is_gone || !(__atomic_load_n(&record->flags, __ATOMIC_ACQUIRE) & RECORD_EXITING))
		return is_gone;
	if (record->clock & CLOCK_STOPPED && above(now_ns, record->switch_ns) < STARVED_NS)
		return false;
	return exits &&
	       __atomic_fetch_or(&record->flags, RECORD_GONE, __ATOMIC_RELAXED) & RECORD_GONE;
}

/*
 * The safety net below on_exit and on_sched_switch: where the kernel skipped these programs, nobody has
 * ended the record of a task, and we would wait for its end for ever. Once a second, records of tasks
 * that are gone are ended here, and counted as LOSS_LIFECYCLE_MISSED.
 */
static void unseen_ends_look(struct collector *c)
{
	uint32_t used = records_used(c), pid;
	uint64_t now_ns = clock_mono_ns();
	struct task_record *record;

	if (!collector_live(c) || now_ns - c->last_look_ns < LOOK_PAUSE_MS * NS_PER_MS)
		return;
	c->last_look_ns = now_ns;
	for (uint32_t i = 0; i < LOOK_RECORDS && i + 1 < used; i++) {
		if (++c->looked_at >= used)
			c->looked_at = 1;
		record = record_at(c, c->looked_at);
		pid = record ? record->pid : 0;
		/* 0: of no namespace that is ours. */
		if (!pid || record_state(record) != RECORD_LIVE ||
		    !record_is_left(record, (pid_t)pid, now_ns))
			continue;
		/* Its end may have been seen since. */
		if (record_state(record) == RECORD_LIVE && record->pid == pid)
			record_end_unseen(c, record);
	}
}

int collector_reclaim(struct collector *c)
{
	int err = 0;

	if (c->is_broken)
		return -ENOMEM;
	ring_buffer__consume(c->events);
	/* The tree may have changed. */
	c->cgroups.learned = false;
	/* After the stop no thread joins any more, and no end is to be seen. */
	if (!c->stop_ns) {
		unseen_ends_look(c);
		err = collector_complete_joins(c);
	}
	if (!err && c->stacks)
		err = call_stacks_follow(c->stacks);
	if (err)
		return err;
	err = reclaim_records(c);
	if (!err && cgroup_names_are_many(&c->cgroups))
		err = forget_cgroups(c);
	return err ?: ended_fold(c);
}
