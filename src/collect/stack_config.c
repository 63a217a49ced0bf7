/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns what --stacks adds to the BPF object: without it none of its maps exists. */

#include "collect/collector_private.h"
#include "collect/features.h"

static int leave_out(const struct truss_bpf *skel)
{
	struct bpf_map *const maps[] = {
		skel->maps.unwind_slabs,  skel->maps.unwind_pages,  skel->maps.unwind_rules,
		skel->maps.unwind_files,  skel->maps.unwind_inodes, skel->maps.unwind_cache,
		skel->maps.walks,         skel->maps.stack_events,  skel->maps.stacks_sent,
		skel->maps.stack_index,   skel->maps.stack_entries, skel->maps.returned_stacks,
		skel->maps.stacked_calls,
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		err |= bpf_map__set_autocreate(maps[i], false);
	return err;
}

int collector_configure_stacks(struct collector *c, const struct collector_options *options)
{
	uint32_t count = (options->max_stacks ?: DEFAULT_MAX_STACKS) + 1;
	struct truss_bpf *skel = c->skel;
	bool tables = options->stacks && !options->frame_pointers && features_have_unwinding();
	int err = 0;

	bpf_program__set_autoload(skel->progs.list_code, tables);
	bpf_program__set_autoload(skel->progs.identify_code, tables);
	if (!options->stacks)
		return leave_out(skel);
	skel->rodata->stacks = true;
	skel->rodata->stacks_of_some = options->calls != NULL;
	skel->rodata->frame_pointers = options->frame_pointers;
	skel->rodata->kernel_stacks = options->kernel_stacks;
	skel->data_pools->pools[POOL_STACKS].limit = count;
	skel->data_pools->pools[POOL_FILES].limit = MAX_UNWIND_FILES;
	skel->data_pools->pools[POOL_SENT].limit = count;
	err |= bpf_map__set_max_entries(skel->maps.stacks_sent, count);
	err |= bpf_map__set_max_entries(skel->maps.stack_index, count);
	err |= bpf_map__set_max_entries(skel->maps.stack_entries, count);
	err |= bpf_map__set_max_entries(skel->maps.returned_stacks, count);
	return err;
}
