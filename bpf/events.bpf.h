/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the ring buffer that wakes user space. Losing an event loses no count. */
#ifndef BPFTRUSS_EVENTS_BPF_H
#define BPFTRUSS_EVENTS_BPF_H

#include "kernel_types.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include "bpftruss/abi.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 32 * 1024);
} events SEC(".maps");

static __always_inline void event_send(u32 kind)
{
	bpf_ringbuf_output(&events, &kind, sizeof(kind), 0);
}

/* Without room user space looks for the name later, as long as the cgroup is there. */
static __always_inline void event_send_cgroup(struct cgroup *cgroup, const char *path)
{
	struct cgroup_event *event;

	if (BPF_CORE_READ(cgroup, root, hierarchy_id))
		return;
	event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	if (!event)
		return;
	event->kind = EVENT_CGROUP_MADE;
	event->pad = 0;
	event->id = BPF_CORE_READ(cgroup, kn, id);
	bpf_probe_read_kernel_str(event->path, sizeof(event->path), path);
	bpf_ringbuf_submit(event, 0);
}

#endif
