/* SPDX-License-Identifier: BSD-2-Clause */
/* Adds differences up. Invariant: joined with any others, none is counted twice. */
#include "model/join.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/builder.h"

static int join_rows(struct builder *builder, const struct snapshot *part)
{
	for (size_t i = 0; i < part->nr_rows; i++) {
		struct row *from = part->rows[i];
		struct row row = *from; /* borrows what the row owns */

		if (!from->calls)
			continue;
		/* The numbers that add up, without those of the moment. */
		row.in_flight = row.in_flight_early = 0;
		row.oldest_start_ns = UINT64_MAX;
		row.open_wall_ns = row.open_off_ns = 0;
		if (from->in_flight || from->open_wall_ns || from->open_off_ns
			    ? builder_add_row(builder, &row)
			    : builder_share_row(builder, from))
			return -ENOMEM;
	}
	return 0;
}

/* Adds a process under its latest name, with the counts of a part; NULL: without any. */
static int join_process(struct builder *builder, const struct process *from,
			const struct process *latest, const struct process *counts)
{
	struct process process = latest ? *latest : *from;

	process_clear_counts(&process);
	if (counts)
		process_add_counts(&process, counts);
	/* Parts do not keep the time of processes that slept all the time. */
	process.usage = (struct usage){ 0 };
	process.threads = 0;
	return builder_add_process(builder, &process, true);
}

/* As calls in flight are now; a row with nothing else in it. */
static int join_in_flight(struct builder *builder, const struct snapshot *now)
{
	const struct process *latest;
	struct row row;

	for (size_t i = 0; i < now->nr_rows; i++) {
		const struct row *from = now->rows[i];

		if (!from->in_flight)
			continue;
		row_init(&row);
		row_copy_identity(&row, from);
		row.in_flight = from->in_flight;
		row.in_flight_early = from->in_flight_early;
		row.oldest_start_ns = from->oldest_start_ns;
		/* A thread in a call has a row, and a row has a process. */
		latest = snapshot_find_process(now, row.pid, row.boot_ns);
		if (builder_add_row(builder, &row) ||
		    (latest && join_process(builder, latest, latest, NULL)))
			return -ENOMEM;
	}
	return 0;
}

static int join_processes(struct builder *builder, const struct snapshot *part,
			  const struct snapshot *now)
{
	for (size_t i = 0; i < part->nr_processes; i++) {
		const struct process *from = &part->processes[i];

		if (join_process(builder, from,
				 snapshot_find_process(now, from->pid, from->boot_ns), from))
			return -ENOMEM;
	}
	return 0;
}

/* Names of users and cgroups that now has forgotten. */
static int join_names(struct snapshot *out, const struct snapshot *part)
{
	int err = 0;

	for (size_t i = 0; i < part->nr_users && !err; i++)
		err = id_names_add(&out->users, &out->nr_users, part->users[i].id,
				   part->users[i].name);
	for (size_t i = 0; i < part->nr_cgroups && !err; i++)
		err = id_names_add(&out->cgroups, &out->nr_cgroups, part->cgroups[i].id,
				   part->cgroups[i].name);
	return err;
}

int snapshot_join(const struct snapshot *const *parts, size_t count, const struct snapshot *now,
		  struct snapshot **ret)
{
	struct snapshot *out __cleanup(snapshot_freep) = NULL;
	struct builder *builder __cleanup(builder_freep) = NULL;
	const struct process *latest;

	if (snapshot_new_like(now, &out) || builder_new(&builder) || join_in_flight(builder, now))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (join_rows(builder, parts[i]) || join_processes(builder, parts[i], now))
			return -ENOMEM;
	}
	if (builder_finish(builder, out))
		return -ENOMEM;
	for (size_t i = 0; i < out->nr_processes; i++) {
		struct process *process = &out->processes[i];

		latest = snapshot_find_process(now, process->pid, process->boot_ns);
		process->threads = latest ? latest->threads : 0;
	}
	out->start_ns = count ? parts[0]->start_ns : now->end_ns;
	out->elapsed_ns = 0;
	memset(&out->losses, 0, sizeof(out->losses));
	for (size_t i = 0; i < count; i++) {
		out->elapsed_ns += parts[i]->elapsed_ns;
		losses_merge(&out->losses, &parts[i]->losses);
		if (join_names(out, parts[i]))
			return -ENOMEM;
	}
	*ret = steal_ptr(&out);
	return 0;
}

/* Earlier parts may have a process that ended meanwhile as a live one. */
static bool process_is_kept(const struct snapshot *snapshot, const struct process *process,
			    size_t *row)
{
	bool has_rows = false;

	/* Both are in the same order. */
	while (*row < snapshot->nr_rows && process_has_row(process, snapshot->rows[*row])) {
		has_rows = true;
		(*row)++;
	}
	return has_rows || process->user_ns || process->nr_folded ||
	       process->ended_ns > snapshot->end_mono_ns - snapshot->elapsed_ns;
}

static void keep_rows(struct snapshot *difference)
{
	size_t kept = 0;

	for (size_t i = 0; i < difference->nr_rows; i++) {
		struct row *row = difference->rows[i];

		if (row->calls)
			difference->rows[kept++] = row;
		else
			row_unref(row);
	}
	difference->nr_rows = kept;
}

static void keep_processes(struct snapshot *difference)
{
	size_t kept = 0, row = 0;

	/* Rows of nobody, in front, have no process. */
	while (row < difference->nr_rows &&
	       !snapshot_find_process(difference, difference->rows[row]->pid,
				      difference->rows[row]->boot_ns))
		row++;
	for (size_t i = 0; i < difference->nr_processes; i++) {
		if (process_is_kept(difference, &difference->processes[i], &row))
			difference->processes[kept++] = difference->processes[i];
	}
	difference->nr_processes = kept;
}

static size_t keep_names(const struct snapshot *snapshot, struct id_name *names, size_t count,
			 bool of_cgroups)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		bool used = false;

		for (size_t j = 0; j < snapshot->nr_processes && !used; j++) {
			const struct process *process = &snapshot->processes[j];

			used = names[i].id == (of_cgroups ? process->cgroup_id : process->uid);
		}
		if (used)
			names[kept++] = names[i];
		else
			free(names[i].name);
	}
	return kept;
}

/* Where there is no memory to make less of it, the old one stays. */
static void *shrink(void *array, size_t count, size_t size)
{
	return reallocarray(array, count + 1, size) ?: array;
}

void snapshot_keep_counts(struct snapshot *s)
{
	keep_rows(s);
	keep_processes(s);
	s->nr_users = keep_names(s, s->users, s->nr_users, false);
	s->nr_cgroups = keep_names(s, s->cgroups, s->nr_cgroups, true);
	s->rows = shrink(s->rows, s->nr_rows, sizeof(*s->rows));
	s->processes = shrink(s->processes, s->nr_processes, sizeof(*s->processes));
	s->users = shrink(s->users, s->nr_users, sizeof(*s->users));
	s->cgroups = shrink(s->cgroups, s->nr_cgroups, sizeof(*s->cgroups));
}
