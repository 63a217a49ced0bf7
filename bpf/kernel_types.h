/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every field that the programs read of the kernel itself, and no other. Offsets are relocated at load
 * time (CO-RE), so these definitions name fields but fix nothing; the build needs no kernel BTF. No
 * type of a module may stand here: libbpf may not look for it without CAP_SYS_ADMIN, and libbpf 1.1
 * then gives up. features.c finds out where such a field is.
 */
#pragma once

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

/* task_struct.flags has it from before sched_process_exit on. */
#define PF_EXITING     0x00000004
#define PF_KTHREAD     0x00200000
/* Threads that the kernel runs inside a process; they make no system calls. */
#define PF_IO_WORKER   0x00000010
#define PF_USER_WORKER 0x00004000 /* since 6.4; another bit before */

/* task_struct.exit_code has the signal there; the rest is what exit() was given. */
#define EXIT_SIGNAL 0x7f

/* task_struct.__state has these in sleep. Stopped, traced and runnable tasks have neither. */
#define TASK_SLEEPS        0x00000003
#define TASK_STOPS         0x0000000c
#define TASK_DEAD          0x00000080
/* task_struct.jobctl has it in a task frozen by its cgroup, outside any call. */
#define JOBCTL_TRAP_FREEZE (1UL << 23)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_info {
	unsigned long flags;        /* arm64: TIF_32BIT */
	u32 status;                 /* x86: TS_COMPAT */
	unsigned long syscall_work; /* x86 */
};

struct sched_info {
	unsigned long pcount;            /* how often it was given a CPU */
	unsigned long long run_delay;    /* ns spent runnable but waiting for a CPU */
	unsigned long long last_arrival; /* on a CPU, by the clock of its run queue */
};

typedef struct {
	unsigned int val;
} kuid_t;

struct user_namespace {
	struct user_namespace *parent;
	int level; /* 0: the initial one */
	kuid_t owner;
};

struct cred {
	kuid_t uid;
	kuid_t euid;
	struct user_namespace *user_ns;
};

struct kernfs_node {
	const char *name;
	u64 id;
};

struct cgroup_subsys_state {
	struct cgroup_subsys_state *parent;
};

struct cgroup_root {
	int hierarchy_id; /* 0: version 2 */
};

struct cgroup {
	struct cgroup_subsys_state self; /* first: a pointer to it is one to the cgroup */
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

struct css_set {
	struct cgroup *dfl_cgrp; /* in the version 2 hierarchy */
};

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct super_block {
	u32 s_dev;
	unsigned long s_magic;
};

struct timespec64 {
	s64 tv_sec;
	long tv_nsec;
};

struct inode {
	unsigned short i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
	u32 i_generation;
	s64 i_mtime_sec; /* since 6.11 */
	u32 i_mtime_nsec;
};

struct inode___6_7 {
	struct timespec64 __i_mtime;
};

struct inode___before_6_7 {
	struct timespec64 i_mtime;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent; /* itself at the root of a file system */
	struct qstr d_name;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent; /* itself at the root of a namespace */
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt; /* what a path points at */
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct fs_struct {
	struct path root;
};

struct file {
	struct inode *f_inode;
	struct path f_path;
	void *private_data; /* of a socket: struct socket */
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct in6_addr {
	u8 bytes[16];
};

struct sock_common {
	unsigned short skc_family;
	u32 skc_daddr, skc_rcv_saddr;
	u16 skc_dport, skc_num;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr; /* only with IPv6 */
};

struct sock {
	struct sock_common __sk_common;
	u16 sk_protocol;
};

struct socket {
	struct sock *sk;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	unsigned long vm_flags;
	unsigned long vm_pgoff;
	struct file *vm_file;
};

typedef struct {
	void *vdso; /* x86: where it is mapped */
} mm_context_t;

struct linux_binprm {
	const char *filename;
	const char *interp; /* the same, unless it is a script or the like: that changes argv */
};

struct mm_struct {
	struct {
		int counter;
	} mm_users;
	unsigned long exec_vm; /* pages of code */
	unsigned long start_code, start_stack;
	unsigned long arg_start, arg_end, env_start, env_end;
	mm_context_t context;
};

typedef struct {
	unsigned long sig[1];
} sigset_t;

struct sigpending {
	sigset_t signal;
};

struct signal_struct {
	int nr_threads;
};

struct rq {
	struct task_struct *curr;
	u64 clock_task; /* as of its last event; it lacks interrupts and what a hypervisor took */
};

struct cfs_rq {
	struct rq *rq;
};

struct sched_entity {
	u64 exec_start; /* by clock_task: last time its use of a CPU was booked, as when it fell asleep */
	struct cfs_rq *cfs_rq; /* of the CPU that it is on or waits for, whatever its policy */
};

struct task_struct {
	struct thread_info thread_info;
	struct sched_entity se;
	unsigned int on_rq; /* a byte since 7.2, as on_cpu is */
	struct signal_struct *signal;
	struct sigpending pending; /* of this thread alone */
	sigset_t blocked;
	void *stack;
	struct mm_struct *mm;
	struct fs_struct *fs;
	struct files_struct *files;
	const struct cred *real_cred; /* not those that the kernel lends it for a while */
	struct css_set *cgroups;
	struct pid *thread_pid;
	unsigned int __state; /* since 5.14 */
	unsigned long jobctl;
	unsigned int on_cpu; /* a byte since 7.2; libbpf widens what has no sign */
	unsigned int flags;  /* PF_EXITING */
	int exit_code;       /* while it exits */
	int pid;
	int tgid;
	u64 start_boottime;
	struct task_struct *group_leader;
	struct sched_info sched_info;
	int *clear_child_tid; /* in user space */
	u64 utime, stime;
	unsigned long nvcsw, nivcsw, min_flt, maj_flt;
	char comm[COMM_SIZE];
	void *bpf_storage; /* NULL for every task that no BPF program has state for */
};

struct task_struct___before_5_14 {
	long state;
};

struct kernel_clone_args {
	u32 user_worker; /* since 6.4 */
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_iter__task_vma {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	struct vm_area_struct *vma;
};

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long bx, cx, dx, si, di, bp; /* arguments of an i386 call, the first in bx */
	unsigned long r8, r9, r10;            /* of others: di, si, dx, r10, r8, r9 */
	unsigned long orig_ax;
	unsigned long ip, cs, sp, ss;
};
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	u64 regs[31];
	u64 sp, pc, pstate;
	u64 orig_x0;   /* first argument, before the result takes its place */
	s32 syscallno; /* -1 outside of any call */
};
#endif

#pragma clang attribute pop
