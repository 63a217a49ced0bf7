/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps each task's CPU clock: CLOCK_MONOTONIC, but standing still while the task is off the CPU.
 * It begins at record->start_ns. on_sched_switch() stops it and lets it go.
 *
 * A switch may go unseen: a program does not run at each one. The stopped clock of a task that runs shows
 * that it came in so. When that was, the scheduler knows, by the clock of the run queue; how far
 * that is from CLOCK_MONOTONIC was found out at a switch that was seen, if possible on the same CPU.
 * bpftruss itself wakes up at least once a second, so there always is one.
 */
#pragma once

#include "kernel_types.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include "bpftruss/abi.h"
#include "arch.bpf.h"
#include "losses.bpf.h"
#include "task_fields.bpf.h"
#include "tasks.bpf.h"

/* The two clocks are compared so often, and what they differed by is believed for so long. */
#define COMPARE_PAUSE_NS 10000000ULL
#define COMPARE_VALID_NS 2000000000ULL

/* The scheduler reads its clock some microseconds before a program reads its own. */
#define ARRIVAL_SLACK_NS 20000

/* A task is not preempted more often within some instructions. */
#define CLOCK_TRIES 4

/* To adopt a task takes less. */
#define ADOPTION_NS 1000000

/* Counts a time that did not add up. Returns 0, for one that would be negative. Out of line, as it is rare. */
LOOKED_AT_ONCE int time_clamp(void)
{
	loss_add(LOSS_TIME_CLAMPED);
	return 0;
}

/* Keeps what was found out last on any CPU: on most machines all have the same clock. */
struct run_queue_clock last_clock __attribute__((aligned(64))) SEC(".data.clock");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct run_queue_clock);
} run_queue_clocks SEC(".maps");

/* How far two comparisons may be apart whose times are: clocks are slewed by 500 ppm at most. */
static __always_inline u64 compare_slack_ns(u64 age_ns)
{
	return ARRIVAL_SLACK_NS + (age_ns >> 11);
}

/* Notes what was found out on one CPU for all, unless another has told something else just now. */
static __always_inline void last_clock_set(u64 behind_ns, u64 now)
{
	u64 age_ns = now - last_clock.compared_ns, differs_ns = behind_ns - last_clock.behind_ns;

	if ((s64)differs_ns < 0)
		differs_ns = -differs_ns;
	last_clock.behind_ns = behind_ns;
	/* Two that differ are not to be trusted: as if they were long ago. */
	last_clock.compared_ns =
		age_ns < COMPARE_VALID_NS && differs_ns > compare_slack_ns(age_ns) ? 0 : now;
}

/* Compares the clocks by a task that came in at in_ns and leaves now. */
static __always_inline void clocks_compare(struct task_struct *task, u64 in_ns, u64 now)
{
	u32 zero = 0;
	struct run_queue_clock *clock = bpf_map_lookup_elem(&run_queue_clocks, &zero);
	u64 behind_ns, age_ns;

	if (!clock || !bpf_core_field_exists(task->sched_info.last_arrival))
		return;
	age_ns = now - clock->compared_ns;
	if (age_ns < COMPARE_PAUSE_NS)
		return;
	behind_ns = in_ns - task->sched_info.last_arrival;
	/* An arrival that the scheduler did not note is that of an earlier switch. */
	if (age_ns < COMPARE_VALID_NS &&
	    (s64)(behind_ns - clock->behind_ns) > (s64)compare_slack_ns(age_ns))
		return;
	clock->behind_ns = behind_ns;
	clock->compared_ns = now;
	last_clock_set(behind_ns, now);
}

static __always_inline u32 task_arrivals(struct task_struct *task)
{
	return bpf_core_field_exists(task->sched_info.pcount) ? task->sched_info.pcount : 0;
}

/* When a task that left at left_ns came in, by one comparison of the clocks; 0: not known. */
static __always_inline u64 arrival_by(const struct run_queue_clock *clock, struct task_struct *task,
				      u64 left_ns, u64 now)
{
	u64 arrival_ns;

	if (!bpf_core_field_exists(task->sched_info.last_arrival) ||
	    now - clock->compared_ns > COMPARE_VALID_NS)
		return 0;
	arrival_ns = task->sched_info.last_arrival + clock->behind_ns;
	if (arrival_ns + ARRIVAL_SLACK_NS < left_ns || arrival_ns > now + ARRIVAL_SLACK_NS)
		return 0;
	if (arrival_ns < left_ns)
		return left_ns;
	return arrival_ns < now ? arrival_ns : now;
}

/* When the current task, which left at left_ns, came back to this CPU; 0: not known. */
static __always_inline u64 clocks_arrival(struct task_struct *task, u64 left_ns, u64 now)
{
	u32 zero = 0;
	struct run_queue_clock *clock = bpf_map_lookup_elem(&run_queue_clocks, &zero);

	if (!clock)
		return 0;
	if (now - clock->compared_ns > COMPARE_VALID_NS)
		clock = &last_clock;
	return arrival_by(clock, task, left_ns, now);
}

/*
 * The clock of the current task stands still: lets it go as of when the task came in. If it came and
 * went more than once meanwhile, nobody knows for how long it ran.
 */
LOOKED_AT_ONCE u64 clock_mend(struct task_record *record, u64 stopped, u64 now)
{
	struct task_struct *task = current_task();
	u64 arrival_ns = 0;
	u32 arrivals;

	if (!record)
		return 0;
	arrivals = task_arrivals(task) - record->arrivals;
	if (arrivals == 1)
		arrival_ns = clocks_arrival(task, record->switch_ns, now);
	/* It came in while it was adopted: later, the scheduler would have noted it. */
	else if (!arrivals &&
		 (record->flags & RECORD_AWAIT_EXEC ||
		  (record->flags & RECORD_OPEN_EARLY && now - record->switch_ns < ADOPTION_NS)))
		arrival_ns = record->switch_ns;
	if (!arrival_ns) {
		loss_add(LOSS_SWITCH_UNSEEN);
		arrival_ns = now;
	}
	/* No switch-in was seen; before the clock goes, since where programs can be preempted a switch asks. */
	*(volatile u64 *)&record->switch_ns = 0;
	record->arrivals = task_arrivals(task) - 1;
	/* Unless such a switch has let it go already. */
	word_replace(&record->clock, stopped, arrival_ns - (stopped & ~CLOCK_STOPPED));
	return *(volatile u64 *)&record->clock;
}

/* What the clocks of the current task show at one moment. */
struct clocks {
	u64 now;
	u64 cpu;      /* its CPU clock */
	u64 delay_ns; /* its run-queue time */
};

/* False if its CPU clock stands still, or changed meanwhile: since 7.2 a program may be preempted. */
static __always_inline bool clocks_take(struct task_struct *task, struct task_record *record,
					struct clocks *clocks)
{
	u64 clock = *(volatile u64 *)&record->clock;

	clocks->now = bpf_ktime_get_ns();
	clocks->delay_ns = task_run_delay(task);
	barrier_var(clocks->delay_ns);
	clocks->cpu = clocks->now - clock;
	return !(clock & CLOCK_STOPPED) && *(volatile u64 *)&record->clock == clock;
}

/* Lets a CPU clock that stands still go, and reads the clocks again. Out of line, as it is rare. */
LOOKED_AT_ONCE int clocks_take_again(struct task_record *record, struct clocks *clocks)
{
	struct task_struct *task = current_task();
	u64 clock;

	if (!record || !clocks)
		return 0;
#pragma unroll
	for (int i = 0; i < CLOCK_TRIES; i++) {
		clock = *(volatile u64 *)&record->clock;
		if (clock & CLOCK_STOPPED)
			clock_mend(record, clock, bpf_ktime_get_ns());
		if (clocks_take(task, record, clocks))
			return 0;
	}
	loss_add(LOSS_SWITCH_UNSEEN);
	clocks->cpu = record->mark_cpu_ns;
	return 0;
}

/* Reads the clocks of the current task. A second reading has a place of its own: the first stays in registers. */
static __always_inline struct clocks clocks_read(struct task_struct *task,
						 struct task_record *record)
{
	struct clocks clocks, again = {};

	if (clocks_take(task, record, &clocks))
		return clocks;
	clocks_take_again(record, &again);
	return again;
}

/* Works like clocks_take_again(), on a stack of its own. */
LOOKED_AT_ONCE u64 cpu_clock_again(struct task_record *record)
{
	struct clocks clocks = {};

	clocks_take_again(record, &clocks);
	return clocks.cpu;
}

/* Reads only the CPU clock of the current task. */
static __always_inline u64 cpu_clock(struct task_record *record)
{
	u64 clock = *(volatile u64 *)&record->clock, now = bpf_ktime_get_ns();

	if (!(clock & CLOCK_STOPPED) && *(volatile u64 *)&record->clock == clock)
		return now - clock;
	return cpu_clock_again(record);
}

/* The current task leaves its CPU. */
static __always_inline void clock_stop(struct task_struct *task, struct task_record *record,
				       u64 now)
{
	u64 clock = record->clock, in_ns = record->switch_ns, cpu;
	u32 arrivals = task_arrivals(task);

	if (clock & CLOCK_STOPPED)
		clock = clock_mend(record, clock, now);
	/* It has left and come back unseen: its clock went on. */
	else if (arrivals - record->arrivals > 1)
		loss_add(LOSS_SWITCH_UNSEEN);
	else if (in_ns && arrivals != record->arrivals)
		clocks_compare(task, in_ns, now);
	cpu = now - clock;
	if ((s64)(cpu - record->mark_cpu_ns) < 0) {
		time_clamp();
		cpu = record->mark_cpu_ns;
	}
	record->clock = cpu | CLOCK_STOPPED;
	record->switch_ns = now;
	record->arrivals = arrivals;
}

/* The CPU clock of a task that has left unseen: as when it was last known to run. */
static __always_inline u64 clock_last_known(const struct task_record *record, u64 clock)
{
	u64 cpu = record->mark_cpu_ns;

	if (record->switch_ns && record->switch_ns - clock > cpu)
		cpu = record->switch_ns - clock;
	return cpu;
}

/* A task comes in whose leaving was not seen; returns its CPU clock. */
static __noinline u64 clock_stop_unseen(struct task_record *record)
{
	/* Before it was seen at all, it may have left while it was being adopted. */
	if (record->mark_cpu_ns == record->start_ns && record->switch_ns <= record->start_ns)
		return record->mark_cpu_ns;
	loss_add(LOSS_SWITCH_UNSEEN);
	return clock_last_known(record, record->clock);
}

/* Names a switch that was not seen, and takes it for seen unless another one was meanwhile. */
static __always_inline void arrivals_make_up(struct task_record *record, u32 known, u32 arrivals)
{
	__sync_val_compare_and_swap(&record->arrivals, known, arrivals);
	loss_add(LOSS_SWITCH_UNSEEN);
}

/* Lets the clock of a task that came in unseen go, as of then, unless the task has done so itself. */
static __always_inline void clock_go_late(struct task_struct *task, struct task_record *record,
					  u64 stopped)
{
	u32 known = *(volatile u32 *)&record->arrivals, arrivals = task_arrivals(task);
	u64 now = bpf_ktime_get_ns(), arrival_ns = 0, clock;

	if (arrivals - known == 1)
		arrival_ns = arrival_by(&last_clock, task, record->switch_ns, now);
	clock = (arrival_ns ?: now) - (stopped & ~CLOCK_STOPPED);
	/* Before the clock goes: no switch-in was seen. */
	*(volatile u64 *)&record->switch_ns = 0;
	if (__sync_val_compare_and_swap(&record->clock, stopped, clock) == stopped && !arrival_ns)
		arrivals_make_up(record, known, arrivals - 1);
}

/* Stops the clock of a task that left unseen, unless it has come in again. */
static __always_inline void clock_stop_late(struct task_struct *task, struct task_record *record,
					    u64 clock)
{
	u32 known = *(volatile u32 *)&record->arrivals, arrivals = task_arrivals(task);
	u64 stopped = clock_last_known(record, clock) | CLOCK_STOPPED;

	if (__sync_val_compare_and_swap(&record->clock, clock, stopped) == clock)
		arrivals_make_up(record, known, arrivals);
}

/* Finds out whether a task came and left unseen, or left and came back, unless it was switched just now. */
static __always_inline void clock_recount(struct task_struct *task, struct task_record *record,
					  u64 clock, bool has_cpu)
{
	u32 known = *(volatile u32 *)&record->arrivals, arrivals = task_arrivals(task);

	if ((s32)(arrivals - known) > has_cpu && *(volatile u64 *)&record->clock == clock)
		arrivals_make_up(record, known, arrivals - has_cpu);
}

/*
 * Compares the clock of a task with what the scheduler knows, before its times are read: if its last
 * switch went unseen, nobody else would know before the next one. Only while counting, since then each
 * switch is to be seen. A task that comes in is rq->curr before its clock goes, one that leaves keeps
 * on_cpu until its clock stands still. Without cfs_rq this is not known.
 */
static __always_inline void clock_check(struct task_struct *task, struct task_record *record)
{
	u64 clock = *(volatile u64 *)&record->clock;
	bool stands = clock & CLOCK_STOPPED, has_cpu = task_has_cpu(task);

	if (!bpf_core_field_exists(task->se.cfs_rq) || record->flags & RECORD_AWAIT_EXEC)
		return;
	barrier();
	if (!task->on_cpu == has_cpu)
		return;
	/* Stores of another CPU may arrive in another order, but do so at once. */
	if (__sync_fetch_and_add(&record->clock, 0) != clock || task_has_cpu(task) != has_cpu)
		return;
	if (has_cpu != stands)
		clock_recount(task, record, clock, has_cpu);
	else if (has_cpu)
		clock_go_late(task, record, clock);
	else
		clock_stop_late(task, record, clock);
}

/* A task comes in to its CPU. */
static __always_inline void clock_go(struct task_record *record, u64 now)
{
	u64 cpu = record->clock;

	if (!(cpu & CLOCK_STOPPED))
		cpu = clock_stop_unseen(record);
	cpu &= ~CLOCK_STOPPED;
	/* Another CPU may have made its record since the time was read. */
	record->clock = now > cpu ? now - cpu : 0;
	record->switch_ns = now;
}

/* The clock of a task that begins to be counted, and may be on a CPU. */
static __always_inline void clock_start(struct task_struct *task, struct task_record *record,
					bool on_cpu, u64 now)
{
	/* As of its last leaving: a task on a CPU has arrived since. */
	record->arrivals = task_arrivals(task) - on_cpu;
	record->start_ns = now;
	record->mark_cpu_ns = now;
	record->clock = on_cpu ? 0 : now | CLOCK_STOPPED;
	record->switch_ns = on_cpu ? 0 : now;
}

/*
 * The time outside of calls goes on from mark_cpu_ns. Other CPUs have to see that first: whoever has stored it
 * has ordered its stores.
 */
static __always_inline void user_clock_go(struct task_record *record)
{
	u64 user = record->user_clock;

	if (user & USER_STOPPED)
		record->user_clock = record->mark_cpu_ns - (user & ~USER_STOPPED);
}

/* The time outside of calls stands still as of cpu, a reading of the CPU clock. */
static __always_inline void user_clock_stop(struct task_record *record, u64 cpu)
{
	u64 user = record->user_clock;

	if ((s64)(cpu - record->mark_cpu_ns) < 0) {
		time_clamp();
		cpu = record->mark_cpu_ns;
	}
	record->mark_cpu_ns = cpu;
	if (!(user & USER_STOPPED))
		record->user_clock = (cpu - user) | USER_STOPPED;
}

/*
 * Checks the clock of a task that was adopted, now that on_sched_switch() knows its record: the task
 * may have been switched in or out just before. Whether it has a CPU, its run queue knows first.
 */
static __always_inline void clock_recheck(struct task_struct *task, struct task_record *record)
{
	u64 stopped = record->start_ns | CLOCK_STOPPED, clock = *(volatile u64 *)&record->clock;

	if (!task_has_cpu(task)) {
		if (clock & CLOCK_STOPPED)
			return;
		record->arrivals = task_arrivals(task);
		record->switch_ns = record->start_ns;
		/* Unless it has come in just now. */
		word_replace(&record->clock, clock, stopped);
	} else if (clock == stopped) {
		/* Before the clock goes: no switch-in was seen. */
		*(volatile u64 *)&record->switch_ns = 0;
		word_replace(&record->clock, stopped, 0);
	} else if (!record->switch_ns && task_arrivals(task) - record->arrivals > 1) {
		/* It was switched out and in again, and its clock went on. */
		loss_add(LOSS_SWITCH_UNSEEN);
	}
}

/* Whether it is bpftruss itself, which is not counted, but tells how the clocks differ. */
static __always_inline bool task_is_ours(const struct task_ref *ref)
{
	return ref && !ref->record && ref->flags & TASK_IGNORED;
}

/* The scheduler notes the arrival after this. */
static __noinline int ours_comes(struct task_struct *task, struct task_ref *ref)
{
	ref->arrivals = task_arrivals(task);
	ref->in_ns = bpf_ktime_get_ns();
	return 0;
}

static __noinline int ours_leaves(struct task_struct *task, struct task_ref *ref)
{
	/* If it left and came back unseen, the arrival that the scheduler noted is another one. */
	if (ref->in_ns && task_arrivals(task) - ref->arrivals == 1)
		clocks_compare(task, ref->in_ns, bpf_ktime_get_ns());
	/* Its next coming in may go unseen. */
	ref->in_ns = 0;
	return 0;
}
