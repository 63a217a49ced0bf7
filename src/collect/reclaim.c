/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the end of records: their rows move into the totals of what has ended, their memory is
 * zeroed and given back. A record that is RECORD_ENDED belongs to user space alone.
 */
#include <errno.h>
#include <string.h>

#include "collect/collector_private.h"

static int give_back(struct bpf_map *pool, uint32_t index)
{
	return bpf_map__update_elem(pool, NULL, 0, &index, sizeof(index), BPF_ANY);
}

static void tallies_free(struct collector *c, uint32_t index)
{
	struct tally *tally;
	uint32_t next;

	for (; index; index = next) {
		tally = &c->arrays.tallies[index];
		next = tally->next;
		memset(tally, 0, sizeof(*tally));
		give_back(c->skel->maps.returned_tallies, index);
	}
}

static void slot_key(const struct collector *c, uint32_t record, const struct call_slot *slot,
		     struct foreign_key *key)
{
	*key = (struct foreign_key){ .record = record, .abi = slot->abi, .nr = slot->nr };
	for (uint32_t index = slot->first_tally; index; index = c->arrays.tallies[index].next) {
		if (c->arrays.tallies[index].what != TALLY_ARG0)
			continue;
		key->has_arg0 = 1;
		key->arg0 = c->arrays.tallies[index].count;
	}
}

/* A record that is zeroed finds no slot any more, but the hash would. */
static void slot_forget(struct collector *c, uint32_t record, const struct call_slot *slot)
{
	struct foreign_key key;

	if (!c->arrays.records[record].foreign_slots)
		return;
	slot_key(c, record, slot, &key);
	bpf_map__delete_elem(c->skel->maps.foreign_slots, &key, sizeof(key), 0);
}

static void slots_free(struct collector *c, uint32_t record, uint32_t index)
{
	struct call_slot *slot;
	uint32_t next;

	for (; index; index = next) {
		slot = &c->arrays.slots[index];
		next = slot->next;
		slot_forget(c, record, slot);
		tallies_free(c, slot->first_tally);
		memset(slot, 0, sizeof(*slot));
		give_back(c->skel->maps.returned_slots, index);
	}
}

static void record_free(struct collector *c, uint32_t index)
{
	struct task_record *record = &c->arrays.records[index];

	slots_free(c, index, record->first_slot);
	memset(record, 0, sizeof(*record));
	give_back(c->skel->maps.returned_records, index);
}

int collector_reclaim(struct collector *c)
{
	uint32_t used = records_used(c);
	struct reading reading = { .builder = c->ended };
	int err;

	ring_buffer__consume(c->events);
	err = collector_complete_joins(c);
	if (err)
		return err;
	for (uint32_t i = 1; i < used; i++) {
		if (__atomic_load_n(&c->arrays.records[i].state, __ATOMIC_ACQUIRE) != RECORD_ENDED)
			continue;
		if (record_read(c, i, &reading) ||
		    !cgroup_names_find(&c->cgroups, c->arrays.records[i].cgroup_id))
			return -ENOMEM;
		record_free(c, i);
	}
	return ended_fold(c);
}
