// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* Programs that do nothing show whether attaching works here, and what the kernel takes for it. */
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
