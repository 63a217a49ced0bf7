/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes a snapshot of all that was counted: rows, losses, and what users and cgroups are called. */
#include <bpf/bpf.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "collect/collector.h"
#include "collect/collector_private.h"

/* --- losses ------------------------------------------------------------------------------------- */

void misses_read(const struct collector *c, struct losses *losses)
{
	const struct truss_bpf *skel = c->skel;
	const struct {
		const struct bpf_program *program;
		enum model_loss loss;
	} programs[] = {
		{ skel->progs.on_sys_enter, LOSS_ENTER_MISSED },
		{ skel->progs.on_sys_exit, LOSS_LEAVE_MISSED },
		{ skel->progs.on_enter_plain, LOSS_ENTER_MISSED },
		{ skel->progs.on_exit_plain, LOSS_LEAVE_MISSED },
		{ skel->progs.on_sched_switch, LOSS_SWITCH_MISSED },
		{ skel->progs.on_fork, LOSS_LIFECYCLE_MISSED },
		{ skel->progs.on_exec, LOSS_LIFECYCLE_MISSED },
		{ skel->progs.on_exit, LOSS_LIFECYCLE_MISSED },
		{ skel->progs.on_rename, LOSS_CHANGE_MISSED },
		{ skel->progs.on_cgroup_attach, LOSS_CHANGE_MISSED },
		{ skel->progs.on_cgroup_made, LOSS_CHANGE_MISSED },
	};

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		struct bpf_prog_info info = { 0 };
		__u32 size = sizeof(info);

		if (!bpf_obj_get_info_by_fd(bpf_program__fd(programs[i].program), &info, &size))
			losses->count[programs[i].loss] += info.recursion_misses;
	}
}

/* Adds what the programs have lost on each CPU. 0 or -errno. */
static int kernel_losses_read(const struct collector *c, struct losses *losses)
{
	return map_add_cpus(c->skel->maps.losses, 0, losses->count, NR_LOSS);
}

/* --- the whole ----------------------------------------------------------------------------------- */

static char *read_boot_id(void)
{
	FILE *file __cleanup(fclosep) = fopen("/proc/sys/kernel/random/boot_id", "re");
	char id[64] = "";

	if (file && fgets(id, sizeof(id), file))
		id[strcspn(id, "\n")] = 0;
	return strdup(id);
}

static int snapshot_describe(const struct collector *c, struct snapshot *snapshot)
{
	struct utsname names;

	uname(&names);
	snapshot->host = strdup(names.nodename);
	snapshot->kernel = strdup(names.release);
	snapshot->boot_id = read_boot_id();
	snapshot->start_ns = c->start_real_ns;
	snapshot->end_ns = c->stop_ns ? c->stop_real_ns : clock_real_ns();
	snapshot->end_mono_ns = c->stop_ns ?: clock_mono_ns();
	snapshot->elapsed_ns = snapshot->end_mono_ns - c->start_ns;
	snapshot->has_runq = c->kernel.has_runq;
	snapshot->slower_than_ns = c->skel->rodata->slower_than_ns;
	snapshot->user_includes_calls = c->skel->rodata->some_calls;
	snapshot->caller_pidns = c->skel->rodata->pidns_inum != 0;
	snapshot->targets = calloc(c->nr_targets + 1, sizeof(*snapshot->targets));
	if (!snapshot->host || !snapshot->kernel || !snapshot->boot_id || !snapshot->targets)
		return -ENOMEM;
	if (c->nr_targets)
		memcpy(snapshot->targets, c->targets, c->nr_targets * sizeof(*c->targets));
	snapshot->nr_targets = c->nr_targets;
	return 0;
}

static int snapshot_read_losses(const struct collector *c, struct losses *losses)
{
	const uint32_t *unseen = &c->skel->data_membership->membership.unseen;
	struct losses misses = c->misses_at_stop;
	int err = kernel_losses_read(c, losses);

	losses->count[LOSS_TASK_UNTRACKED] += c->left_out;
	losses->count[LOSS_SPLIT_TABLE_FULL] += c->unsplit;
	if (!c->stop_ns)
		misses_read(c, &misses);
	losses_subtract(&misses, &c->misses_at_start);
	/* The kernel mostly knows why, and has counted it already. */
	misses.count[LOSS_LIFECYCLE_MISSED] = max_u64(misses.count[LOSS_LIFECYCLE_MISSED],
						      __atomic_load_n(unseen, __ATOMIC_ACQUIRE));
	losses_merge(losses, &misses);
	return err;
}

/* Those that have come since the rows began to be read are late. */
static int snapshot_add_losses(const struct collector *c, const struct losses *before,
			       struct snapshot *snapshot)
{
	int err = snapshot_read_losses(c, &snapshot->losses_late);

	losses_merge(&snapshot->losses, &snapshot->losses_late);
	losses_subtract(&snapshot->losses_late, before);
	return err;
}

/* Adds the ended threads that have rows; the rows of those that were folded are their group's. */
static int ended_threads_read(const struct collector *c, struct snapshot *snapshot)
{
	int err = 0;

	for (size_t i = 0; i < c->ended_threads->nr_threads && !err; i++)
		err = snapshot_add_thread(snapshot, &c->ended_threads->threads[i]);
	return err;
}

static int collector_read_rows(const struct collector *c, struct snapshot *snapshot)
{
	struct builder *builder __cleanup(builder_freep) = NULL;
	struct reading reading = { .now_ns = snapshot->end_mono_ns };
	struct losses lost = { 0 };
	int err = builder_new(&builder);

	reading.builder = builder;
	reading.threads = c->by_thread ? snapshot : NULL;
	err = err ?: records_read(c, &reading) ?: ended_threads_read(c, snapshot);
	/* Most often no call was ever counted in an overflow row. */
	if (!err && (kernel_losses_read(c, &lost) || lost.count[LOSS_TASK_TABLE_FULL] ||
		     lost.count[LOSS_SLOT_TABLE_FULL] || lost.count[LOSS_FOREIGN_TABLE_FULL]))
		err = overflow_read(c, builder);
	snapshot->losses.count[LOSS_TORN_READ] = reading.torn_rows;
	snapshot->threads_unknown = reading.threads_unknown;
	err = err ?: builder_finish(builder, snapshot);
	if (err)
		return err;
	snapshot_sort_threads(snapshot);
	snapshot_count_folded(snapshot, &snapshot->losses);
	return 0;
}

/* Says what users and cgroups of the processes are called. */
static int snapshot_name_ids(struct collector *c, struct snapshot *s)
{
	for (size_t i = 0; i < s->nr_processes; i++) {
		const struct process *process = &s->processes[i];
		const char *path, *name = NULL;

		if (process->uid == UID_NONE)
			continue;
		if (!id_names_find(s->users, s->nr_users, process->uid))
			name = user_names_find(&c->users, process->uid, clock_mono_ns());
		if (name && id_names_add(&s->users, &s->nr_users, process->uid, name))
			return -ENOMEM;
		if (id_names_find(s->cgroups, s->nr_cgroups, process->cgroup_id))
			continue;
		path = collector_cgroup(c, process->cgroup_id, process->pid);
		/* A cgroup that nobody knows any more has no name. */
		if (path && !*path)
			continue;
		if (!path || id_names_add(&s->cgroups, &s->nr_cgroups, process->cgroup_id, path))
			return -ENOMEM;
	}
	return 0;
}

int collector_read(struct collector *c, struct snapshot **ret, struct diag *d)
{
	struct snapshot *snapshot __cleanup(snapshot_freep) = calloc(1, sizeof(*snapshot));
	struct losses before = { 0 };
	int err = snapshot ? collector_reclaim(c) : -ENOMEM;

	if (!err)
		err = c->stop_ns ? c->stop_err : object_pass(c->skel->links.read_usage);
	err = err ?: snapshot_describe(c, snapshot);
	err = err ?: snapshot_read_losses(c, &before);
	err = err ?: collector_read_rows(c, snapshot);
	/* After the rows: a loss that they show is counted. */
	err = err ?: snapshot_add_losses(c, &before, snapshot);
	err = err ?: snapshot_name_ids(c, snapshot);
	if (!err && c->arguments)
		err = arguments_read(c->arguments, c->skel, &snapshot->arguments);
	if (err)
		return diag_set(d, DIAG_FAILED, -err, "cannot read the counters: %s",
				strerror(-err));
	if (c->stacks) {
		snapshot->stacks = call_stacks_table(c->stacks);
		names_were_read(call_stacks_names(c->stacks));
	}
	/* A target may have changed its name since it was chosen; a command always has. */
	for (size_t i = 0; i < snapshot->nr_targets; i++) {
		for (size_t j = 0; j < snapshot->nr_processes; j++) {
			if (snapshot->processes[j].pid == snapshot->targets[i].pid)
				snapshot->targets[i] = snapshot->processes[j];
		}
	}
	*ret = steal_ptr(&snapshot);
	return 0;
}
