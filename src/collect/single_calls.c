/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers what the collector is asked about single calls. */
#include "base/clock.h"
#include "base/process.h"
#include "collect/collector.h"
#include "collect/collector_private.h"

int collector_take_calls(struct collector *c, uint64_t horizon_ns, call_taker *take, void *context)
{
	return call_rings_take(c->rings, horizon_ns, take, context);
}

int collector_take_last_calls(struct collector *c, call_taker *take, void *context)
{
	for (uint32_t i = 1; i < records_used(c); i++) {
		const struct task_record *record = record_at(c, i);

		if (record && record_state(record) != RECORD_FREE)
			call_rings_note_last(c->rings, i, record);
	}
	return collector_take_calls(c, UINT64_MAX, take, context);
}

/* Room for an open call and what was read of it. */
struct sleeper {
	struct call_record call;
	uint8_t bytes[sizeof(((struct open_call *)0)->bytes)];
};

/* Copies the call that a thread is in, unless that has changed meanwhile. */
static bool sleeper_copy(const struct collector *c, uint32_t index, uint64_t started_ns,
			 struct sleeper *ret)
{
	const struct task_record *record = record_at(c, index);
	const struct open_call *open = call_rings_open_call(c->rings, index);
	uint64_t enter_ns, now_ns = clock_mono_ns();
	uint32_t used;

	if (!record || !open || record_state(record) != RECORD_LIVE)
		return false;
	enter_ns = __atomic_load_n(&record->enter_ns, __ATOMIC_ACQUIRE);
	if (__atomic_load_n(&record->flags, __ATOMIC_ACQUIRE) != RECORD_CALL_OPEN ||
	    enter_ns >= started_ns)
		return false;
	used = open->used < sizeof(ret->bytes) ? open->used : sizeof(ret->bytes);
	ret->call = open->call;
	/* Still that of the call before. */
	ret->call.result = 0;
	memcpy(ret->bytes, open->bytes, used);
	ret->call.size = (uint32_t)sizeof(ret->call) + used;
	ret->call.flags = 0;
	ret->call.record = index;
	ret->call.pid = record->pid;
	ret->call.tid = record->tid;
	memcpy(ret->call.comm, record->comm, sizeof(ret->call.comm));
	ret->call.number = open->number + 1;
	ret->call.end_ns = now_ns;
	ret->call.wall_ns = now_ns - enter_ns;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&record->enter_ns, __ATOMIC_ACQUIRE) == enter_ns &&
	       __atomic_load_n(&record->flags, __ATOMIC_ACQUIRE) == RECORD_CALL_OPEN &&
	       ret->call.nr == record->nr && ret->call.abi == record->abi;
}

int collector_take_sleepers(const struct collector *c, uint64_t started_ns, call_taker *take,
			    void *context)
{
	struct sleeper sleeper;
	int err = 0;

	for (uint32_t i = 1; i < records_used(c) && !err; i++) {
		if (sleeper_copy(c, i, started_ns, &sleeper))
			err = take(context, &sleeper.call);
	}
	return err;
}

/* At most this many are examined at a time, as the rings must not wait. */
#define EARLY_SLEEPERS 256

/* Whether a thread sleeps in the call in which it did when it began to be counted. */
static bool is_early_sleeper(const struct task_record *record, uint64_t started_ns)
{
	return record && record_state(record) == RECORD_LIVE && record->start_ns < started_ns &&
	       __atomic_load_n(&record->flags, __ATOMIC_ACQUIRE) == RECORD_OPEN_EARLY &&
	       RECORD_IN_EARLY_CALL(record);
}

/* Asks /proc for the arguments; false: it has another call by now. */
static bool early_sleeper_read(const struct task_record *record, uint32_t index,
			       struct call_record *ret)
{
	int process __cleanup(closep) = process_open(record->pid);
	uint64_t now_ns = clock_mono_ns();
	struct process_call call;

	if (process < 0 || !process_call_read(process, record->tid, &call) || call.nr != record->nr)
		return false;
	*ret = (struct call_record){
		.size = sizeof(*ret),
		.abi = record->abi,
		.nr = record->nr,
		.record = index,
		.pid = record->pid,
		.tid = record->tid,
		.number = 1,
		.end_ns = now_ns,
		.wall_ns = now_ns - record->start_ns + record->slept_ns,
	};
	memcpy(ret->comm, record->comm, sizeof(ret->comm));
	memcpy(ret->arguments, call.arguments, sizeof(ret->arguments));
	return is_early_sleeper(record, UINT64_MAX);
}

int collector_take_early_sleepers(const struct collector *c, uint64_t started_ns,
				  const struct syscall_set *wanted, bool only_new, call_taker *take,
				  void *context, uint32_t *ret_left)
{
	uint32_t room = EARLY_SLEEPERS;
	struct call_record call;
	int err = 0;

	*ret_left = 0;
	for (uint32_t i = 1; i < records_used(c) && !err; i++) {
		const struct task_record *record = record_at(c, i);

		if (!is_early_sleeper(record, started_ns) ||
		    !syscall_set_has(wanted, record->abi, record->nr) ||
		    (only_new && call_rings_knows_early(c->rings, i, record->start_ns)))
			continue;
		if (!room) {
			++*ret_left;
			continue;
		}
		room--;
		if (only_new && !call_rings_note_early(c->rings, i, record->start_ns))
			continue;
		if (early_sleeper_read(record, i, &call))
			err = take(context, &call);
	}
	return err;
}

void collector_begin_slowest(const struct collector *c)
{
	const struct pool *pool = (const struct pool *)&c->skel->data_pools->pools[POOL_SLOTS];
	const uint32_t mark = pool->mark < pool->limit ? pool->mark : pool->limit;

	/* A call that ends just now may be told, though a slower one was before. */
	for (uint32_t i = 1; i < mark; i++) {
		struct call_slot *slot = slot_at(c, i);

		if (slot)
			__atomic_store_n(&slot->told_ns, 0, __ATOMIC_RELAXED);
	}
}

int collector_call_totals(const struct collector *c, struct call_totals *ret)
{
	*ret = (struct call_totals){ 0 };
	return map_add_cpus(c->skel->maps.call_totals, 0, (uint64_t *)ret,
			    sizeof(*ret) / sizeof(ret->sent));
}

uint64_t collector_signals(const struct collector *c)
{
	return c->nr_signalled;
}

const struct stack_table *collector_stacks(const struct collector *c)
{
	return c->stacks ? call_stacks_table(c->stacks) : NULL;
}
