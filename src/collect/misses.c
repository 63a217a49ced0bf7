/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts the runs of programs that the kernel skipped because one was already running. */
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
	const struct {
		const struct bpf_program *program;
		enum model_loss loss;
	} programs[] = {
		{ skel->progs.on_sys_enter, LOSS_ENTER_MISSED },
		{ skel->progs.on_sys_exit, LOSS_LEAVE_MISSED },
		{ skel->progs.on_sched_switch, LOSS_SWITCH_MISSED },
		{ skel->progs.on_fork, LOSS_LIFECYCLE_MISSED },
		{ skel->progs.on_exec, LOSS_LIFECYCLE_MISSED },
		{ skel->progs.on_exit, LOSS_LIFECYCLE_MISSED },
		{ skel->progs.on_rename, LOSS_CHANGE_MISSED },
		{ skel->progs.on_cgroup_attach, LOSS_CHANGE_MISSED },
		{ skel->progs.on_cgroup_made, LOSS_CHANGE_MISSED },
	};

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		losses->count[programs[i].loss] += program_misses(programs[i].program);
}
