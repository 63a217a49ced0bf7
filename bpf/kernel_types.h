/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every kernel field the programs read, and no other. Offsets are relocated at load time (CO-RE),
 * so these definitions name fields but fix nothing; the build needs no kernel BTF.
 */
#ifndef BPFTRUSS_KERNEL_TYPES_H
#define BPFTRUSS_KERNEL_TYPES_H

#include <linux/types.h>
#include <linux/bpf.h>
#include <stdbool.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

#define COMM_SIZE 16

/* In task_struct.flags from before sched_process_exit on. */
#define PF_EXITING 0x00000004

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_info {
	unsigned long flags; /* arm64: TIF_32BIT */
	u32 status;          /* x86: TS_COMPAT */
};

struct sched_info {
	unsigned long long run_delay; /* ns spent runnable but waiting for a CPU */
};

struct task_struct {
	struct thread_info thread_info;
	int on_cpu;
	unsigned int flags; /* PF_EXITING */
	int pid;
	int tgid;
	u64 start_boottime;
	struct task_struct *group_leader;
	struct sched_info sched_info;
	char comm[COMM_SIZE];
	void *bpf_storage; /* NULL for every task that no BPF program has state for */
};

struct linux_binprm;
struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long orig_ax;
};
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	s32 syscallno;
};
#endif

#pragma clang attribute pop

#endif
