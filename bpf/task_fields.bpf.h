/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads what several fields of a task say together, or what not every kernel has. */
#pragma once

#include "kernel_types.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

struct comm_text {
	char bytes[COMM_SIZE];
};

static __always_inline struct task_struct *current_task(void)
{
	return bpf_get_current_task_btf();
}

/*
 * Byte by byte: the verifier checks each load against the array's element size. Zeroed after the
 * first NUL, since older kernels leave the end of a longer name there.
 */
static __always_inline void comm_copy(struct comm_text *comm, struct task_struct *task)
{
	s32 ended = 0;

#pragma unroll
	for (int i = 0; i < COMM_SIZE; i++) {
		s32 c = (u8)task->comm[i];

		ended |= (c - 1) >> 31;
		comm->bytes[i] = c & ~ended;
	}
}

/*
 * Whether a task has a CPU. A switch sets the task of the run queue before the tracepoint, but
 * on_cpu some microseconds after it.
 */
static __always_inline bool task_has_cpu(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->se.cfs_rq) || !bpf_core_field_exists(struct cfs_rq, rq))
		return task->on_cpu;
	return BPF_CORE_READ(task, se.cfs_rq, rq, curr) == task;
}

/*
 * How long a task has slept at least; 0: not known. A task stays with its CPU until it is woken, and both
 * times are of that CPU's clock, which never goes faster than time does.
 */
static __always_inline u64 task_slept_ns(struct task_struct *task)
{
	u64 since, now;

	if (!bpf_core_field_exists(task->se.cfs_rq) || !bpf_core_field_exists(struct cfs_rq, rq) ||
	    !bpf_core_field_exists(struct rq, clock_task) || task->on_cpu || task->on_rq)
		return 0;
	since = task->se.exec_start;
	now = BPF_CORE_READ(task, se.cfs_rq, rq, clock_task);
	return since && now > since ? now - since : 0;
}

/* 0 where the kernel does not know it. */
static __always_inline u64 task_run_delay(struct task_struct *task)
{
	return bpf_core_field_exists(task->sched_info.run_delay) ? task->sched_info.run_delay : 0;
}
