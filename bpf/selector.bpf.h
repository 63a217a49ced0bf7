/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the question "is this process one that the user chose?", asked at the start, fork, exec,
 * rename, move and setuid of a process, never at a call.
 */
#pragma once

#include "kernel_types.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include "bpftruss/abi.h"
#include "task_fields.bpf.h"

/* 0: targets are chosen by pid alone, and all that follows from selectors is dead code. */
const volatile __u32 nr_selectors = 0;

/* Only tasks that our own pid namespace knows are chosen, and by the pids that it gives them. */
const volatile __u32 pidns_inum = 0; /* 0: the initial one */

/* Tells whether any selector asks for the user. */
const volatile bool selects_user = false;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_SELECTORS);
	__type(key, u32);
	__type(value, struct selector);
} selectors SEC(".maps");

#define MAX_CGROUP_DEPTH 32
#define MAX_PIDNS_DEPTH  33

/* No branch depends on the text: the verifier would follow each of them at each character. */
static __always_inline bool comm_matches(const struct selector *selector,
					 const struct comm_text *comm)
{
	u32 states = 1, ended = 0;

	for (int i = 0; i < COMM_SIZE; i++) {
		u8 c = comm->bytes[i];

		/* All ones from the final NUL on: the states stay as they are. */
		ended |= (u32)(((s32)c - 1) >> 31);
		states =
			((states & selector->match[c]) << 1) | (states & (selector->loops | ended));
	}
	return states & selector->final;
}

/* The css of a cgroup is its first member, so the parent's css is the parent. */
static __always_inline struct cgroup *cgroup_parent(struct cgroup *cgroup)
{
	return (struct cgroup *)BPF_CORE_READ(cgroup, self.parent);
}

/* Both names are padded with zeros, so that comparing whole words needs no branch either. */
static __always_inline bool unit_name_is(struct cgroup *cgroup, const struct selector *selector)
{
	const char *kernel_name = BPF_CORE_READ(cgroup, kn, name);
	u64 name[SELECTOR_NAME_SIZE / 8] = {}, differs = 0;

	if (bpf_probe_read_kernel_str(name, sizeof(name), kernel_name) <= 0)
		return false;
	for (int i = 0; i < SELECTOR_NAME_SIZE / 8; i++)
		differs |= name[i] ^ selector->name[i];
	return !differs;
}

static __always_inline bool cgroup_matches(struct task_struct *task,
					   const struct selector *selector)
{
	struct cgroup *cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp);

	for (int i = 0; i < MAX_CGROUP_DEPTH && cgroup; i++) {
		if (selector->kind == SELECT_CGROUP
			    ? BPF_CORE_READ(cgroup, kn, id) == selector->cgroup_id
			    : unit_name_is(cgroup, selector))
			return true;
		cgroup = cgroup_parent(cgroup);
	}
	return false;
}

static __always_inline u32 task_uid(struct task_struct *task)
{
	return BPF_CORE_READ(task, real_cred, euid.val);
}

static __noinline bool selector_matches(const struct selector *selector, struct task_struct *task,
					const struct comm_text *comm)
{
	switch (selector->kind) {
	case SELECT_ALL:
		return true;
	case SELECT_COMM:
		return comm_matches(selector, comm);
	case SELECT_USER:
		return task_uid(task) == selector->uid;
	default:
		return cgroup_matches(task, selector);
	}
}

/*
 * The id of a task in our pid namespace, 0 when that does not know it. In the initial one it is
 * the task's own number.
 */
static __noinline u32 pid_here(struct task_struct *task, u32 global)
{
	struct pid *pid;
	struct upid upid;
	u32 level;

	if (!pidns_inum)
		return global;
	pid = BPF_CORE_READ(task, thread_pid);
	level = BPF_CORE_READ(pid, level);
	for (u32 i = 0; i < MAX_PIDNS_DEPTH && i <= level; i++) {
		if (bpf_core_read(&upid, sizeof(upid), &pid->numbers[i]))
			return 0;
		if (BPF_CORE_READ(upid.ns, ns.inum) == pidns_inum)
			return upid.nr;
	}
	return 0;
}

/* Whether any selector matches a process of this name, of which task is a thread. */
static __noinline bool task_selected(struct task_struct *task, const struct comm_text *comm)
{
	struct selector *selector;

	if (task->flags & PF_KTHREAD || !pid_here(task, 1))
		return false;
	for (u32 i = 0; i < MAX_SELECTORS && i < nr_selectors; i++) {
		u32 key = i;

		selector = bpf_map_lookup_elem(&selectors, &key);
		if (selector && selector_matches(selector, task, comm))
			return true;
	}
	return false;
}
