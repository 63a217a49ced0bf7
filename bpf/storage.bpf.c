// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Tests whether the kernel takes a program that keeps something with each task, and swaps it in one
 * step.
 */
#include "kernel_types.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u64);
} of_tasks SEC(".maps");

SEC("raw_tp/sys_enter")
int uses_task_storage(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 *value = bpf_task_storage_get(&of_tasks, task, NULL, 0);

	return value ? __sync_lock_test_and_set(value, 1) != 0 : 0;
}
