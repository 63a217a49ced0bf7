// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * The least that a tool can cost: programs that do nothing, programs that only read the clock, and
 * one that takes the user stack as the kernel itself does, by frame pointers.
 */
#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

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

SEC("tp_btf/sys_enter")
int BPF_PROG(timestamp_enter, struct pt_regs *regs, long nr)
{
	bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(timestamp_exit, struct pt_regs *regs, long result)
{
	bpf_ktime_get_ns();
	return 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 16384);
	__uint(key_size, sizeof(u32));
	__uint(value_size, 127 * sizeof(u64));
} stacks SEC(".maps");

SEC("tp_btf/sys_exit")
int BPF_PROG(stackid_exit, struct pt_regs *regs, long result)
{
	bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK);
	return 0;
}
