// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* Programs that do nothing show whether attaching works here, and what the kernel takes for it. */
#include "kernel_types.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* These tell the kernel that a tracepoint of calls is in use: threads take the slow path. */
#define WORK_TRACEPOINT (1UL << 1)
#define TIF_TRACEPOINT  (1UL << 10) /* arm64 */

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("tp_btf/sys_enter")
int BPF_PROG(empty_enter, struct pt_regs *regs, long nr)
{
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(empty_exit, struct pt_regs *regs, long result)
{
	return 0;
}

/* Attached to nothing: user space runs it as a test, in its own thread. */
SEC("raw_tp")
int calls_are_traced(void *context)
{
	const struct task_struct *task = (const struct task_struct *)bpf_get_current_task();

	if (bpf_core_field_exists(task->thread_info.syscall_work))
		return !!(BPF_CORE_READ(task, thread_info.syscall_work) & WORK_TRACEPOINT);
#ifdef __TARGET_ARCH_arm64
	return !!(BPF_CORE_READ(task, thread_info.flags) & TIF_TRACEPOINT);
#else
	return 0;
#endif
}
