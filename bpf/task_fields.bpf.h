/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns how a task's fields are read. Kernels before 5.11 give a program the current task as a mere
 * address: what is at it has to be copied. All others let the program follow the pointer.
 */
#ifndef BPFTRUSS_TASK_FIELDS_BPF_H
#define BPFTRUSS_TASK_FIELDS_BPF_H

#include "kernel_types.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

struct comm_text {
	char bytes[COMM_SIZE];
};

#ifdef OLD_KERNEL

#define task_field(task, field) BPF_CORE_READ(task, field)

static __always_inline struct task_struct *current_task(void)
{
	return (struct task_struct *)bpf_get_current_task();
}

/* Zeroed after the first NUL. */
static __always_inline void comm_copy(struct comm_text *comm, struct task_struct *task)
{
	struct comm_text copy = {};

	BPF_CORE_READ_STR_INTO(&copy.bytes, task, comm);
	*comm = copy;
}

#else

#define task_field(task, field) ((task)->field)

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

#endif

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

/* 0 where the kernel does not know it. */
static __always_inline u64 task_run_delay(struct task_struct *task)
{
	return bpf_core_field_exists(task->sched_info.run_delay)
		       ? task_field(task, sched_info.run_delay)
		       : 0;
}

#endif
