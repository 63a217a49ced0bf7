// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * The least that a tool can cost: programs that do nothing, programs that only read the clock, programs
 * that count calls, errors and latencies of each thread, and one that takes the user stack as the kernel
 * itself does, by frame pointers.
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

SEC("tp_btf/sched_switch")
int BPF_PROG(empty_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
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

/* Holds the least that tells calls, errors and latencies by thread and system call, in one place. */
#define CALLS   64
#define BUCKETS 64

struct counts {
	u64 enter_ns;
	s64 nr;
	struct {
		u64 calls, errors, wall_ns, min_inverted_ns, max_ns;
		u32 latencies[BUCKETS]; /* by magnitude */
	} of[CALLS];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct counts);
} counts_of SEC(".maps");

static __always_inline u32 magnitude(u64 value)
{
	u32 bits = 0;

	for (int half = 32; half > 0; half /= 2) {
		if (value >> half) {
			value >>= half;
			bits += half;
		}
	}
	return bits;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(counting_enter, struct pt_regs *regs, long nr)
{
	struct counts *counts = bpf_task_storage_get(&counts_of, bpf_get_current_task_btf(), NULL,
						     BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!counts)
		return 0;
	counts->nr = nr;
	counts->enter_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(counting_exit, struct pt_regs *regs, long result)
{
	struct counts *counts =
		bpf_task_storage_get(&counts_of, bpf_get_current_task_btf(), NULL, 0);
	u64 wall_ns;
	u32 at;

	if (!counts || !counts->enter_ns)
		return 0;
	wall_ns = bpf_ktime_get_ns() - counts->enter_ns;
	at = counts->nr & (CALLS - 1);
	counts->of[at].calls++;
	if (result < 0)
		counts->of[at].errors++;
	counts->of[at].wall_ns += wall_ns;
	if (~wall_ns > counts->of[at].min_inverted_ns)
		counts->of[at].min_inverted_ns = ~wall_ns;
	if (wall_ns > counts->of[at].max_ns)
		counts->of[at].max_ns = wall_ns;
	counts->of[at].latencies[magnitude(wall_ns) & (BUCKETS - 1)]++;
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
