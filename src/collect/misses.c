/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the count of program runs that the kernel skipped because one was already running. */
#include <bpf/bpf.h>
#include <string.h>

#include "collect/collector_private.h"

static uint64_t program_misses(const struct bpf_program *program)
{
	struct bpf_prog_info info;
	__u32 size = sizeof(info);

	memset(&info, 0, sizeof(info));
	if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
		return 0;
	return info.recursion_misses;
}

void misses_read(const struct collector *c, struct losses *losses)
{
	const struct truss_bpf *skel = c->skel;

	losses->count[LOSS_ENTER_MISSED] = program_misses(skel->progs.on_sys_enter);
	losses->count[LOSS_LEAVE_MISSED] = program_misses(skel->progs.on_sys_exit);
	losses->count[LOSS_SWITCH_MISSED] = program_misses(skel->progs.on_sched_switch);
	losses->count[LOSS_LIFECYCLE_MISSED] = program_misses(skel->progs.on_fork) +
					       program_misses(skel->progs.on_exec) +
					       program_misses(skel->progs.on_exit);
}
