// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* The least that a tool can cost: programs that do nothing, and programs that only read the clock. */
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
