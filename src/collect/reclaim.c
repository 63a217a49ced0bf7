/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ends records: moves their rows into the totals of what has ended, zeroes their memory and gives it
 * back. A record that is RECORD_ENDED belongs to user space alone.
 */
#include <errno.h>
#include <string.h>

#include "collect/collector_private.h"

/* Lets others have these elements. If that failed the tables would fill up, which is said. */
static void give_back_all(struct collector *c)
{
	struct truss_bpf__data_given *data = c->skel->data_given;

	if (data->given.count)
		object_run(c->skel->progs.take_back);
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

bool slot_arg0(const struct collector *c, const struct call_slot *slot, uint64_t *ret)
{
	uint32_t index = slot->first_tally;

	for (int i = 0; index && i < TALLIES_PER_SLOT; i++) {
		const struct tally *tally = tally_at(c, index);

		if (tally && tally->what == TALLY_ARG0) {
			*ret = tally->count;
			return true;
		}
		index = tally ? tally->next : 0;
	}
	return false;
}

static void slot_key(const struct collector *c, uint32_t record, const struct call_slot *slot,
		     struct foreign_key *key)
{
	uint64_t arg0 = 0;

	*key = (struct foreign_key){ .record = record, .abi = slot->abi, .nr = slot->nr };
	key->has_arg0 = slot_arg0(c, slot, &arg0);
	key->arg0 = arg0;
}

/* A record that is zeroed finds no slot any more, but the hash would. */
static void slot_forget(struct collector *c, uint32_t record, const struct call_slot *slot)
{
	struct foreign_key key;

	if (!record_at(c, record)->foreign_slots)
		return;
	slot_key(c, record, slot, &key);
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

static void record_free(struct collector *c, uint32_t index)
{
	struct task_record *record = record_at(c, index);
	uint32_t share = record->own_share;

	slots_free(c, index, record->first_slot);
	memset(record, 0, sizeof(*record));
	give_back(c, POOL_RECORDS, share, index);
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

/* Gives a record back if its task has ended. */
static int record_reclaim(struct collector *c, uint32_t index)
{
	const struct task_record *record = record_at(c, index);
	struct reading reading = { .builder = c->ended };

	if (!record)
		return -ENOMEM;
	if (record_state(record) != RECORD_ENDED || !ended_takes(c, record))
		return 0;
	/* Nobody can take out again what is added in part. */
	c->is_broken = true;
	if (record_read(c, index, &reading) || !collector_cgroup(c, record->cgroup_id))
		return -ENOMEM;
	c->is_broken = false;
	record_free(c, index);
	c->reclaimed++;
	return 0;
}

/* Those that events told of. */
static int reclaim_told(struct collector *c)
{
	int err = 0;

	for (size_t i = 0; i < c->nr_ended_records && !err; i++) {
		if (c->ended_records[i] < records_used(c))
			err = record_reclaim(c, c->ended_records[i]);
	}
	c->nr_ended_records = 0;
	return err;
}

static int reclaim_all(struct collector *c)
{
	int err = 0;

	for (uint32_t i = 1; i < records_used(c) && !err; i++)
		err = record_reclaim(c, i);
	return err;
}

static bool records_have_ended(const struct collector *c)
{
	return __atomic_load_n(&c->skel->data_membership->membership.ended, __ATOMIC_ACQUIRE) !=
	       c->reclaimed;
}

static int reclaim_records(struct collector *c)
{
	int err;

	/* Looking for a cgroup's name may bring more events: nothing else would wake us for them. */
	do {
		err = reclaim_told(c);
		if (!err && records_have_ended(c) && !ended_pauses(c))
			err = reclaim_all(c);
	} while (!err && c->nr_ended_records);
	give_back_all(c);
	return err;
}

int collector_reclaim(struct collector *c)
{
	int err;

	if (c->is_broken)
		return -ENOMEM;
	ring_buffer__consume(c->events);
	cgroup_names_begin(&c->cgroups);
	err = collector_complete_joins(c);
	if (!err && c->stacks)
		err = call_stacks_follow(c->stacks);
	if (err)
		return err;
	unseen_ends_look(c);
	err = reclaim_records(c);
	if (err)
		return err;
	err = cgroup_names_are_many(&c->cgroups) ? forget_cgroups(c) : 0;
	return err ?: ended_fold(c);
}
