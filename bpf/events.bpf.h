/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the ring buffer that wakes user space. Losing an event loses no count. */
#pragma once

#include "kernel_types.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include "bpftruss/abi.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024); /* some two thousand cgroups, should we be late */
} events SEC(".maps");

static __always_inline void event_send(u32 kind, u32 record, u32 signal)
{
	struct task_event event = { kind, record, signal, 0 };

	bpf_ringbuf_output(&events, &event, sizeof(event), 0);
}

/* Without room user space looks for the name later, as long as the cgroup is there. */
static __always_inline void event_send_cgroup(struct cgroup *cgroup, const char *path)
{
	struct cgroup_event event = { .kind = EVENT_CGROUP_MADE };
	long length;

	if (BPF_CORE_READ(cgroup, root, hierarchy_id))
		return;
	event.id = BPF_CORE_READ(cgroup, kn, id);
	length = bpf_probe_read_kernel_str(event.path, sizeof(event.path), path);
	/* A path that was cut would name another unit. */
	if (length <= 0 || length >= CGROUP_PATH_SIZE)
		return;
	bpf_ringbuf_output(&events, &event, offsetof(struct cgroup_event, path) + length, 0);
}
