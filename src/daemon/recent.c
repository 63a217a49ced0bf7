/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps the list of differences. Invariant: parts are adjacent, the last ends at the last reading. */
#include "daemon/recent.h"

#include "base/process.h"
#include "model/builder.h"
#include "model/diff.h"

/* Marks that clients made; beyond, the oldest of them goes and its two parts become one. */
#define MAX_CLIENT_MARKS 64

/* A day of minutes, and the marks of clients. */
#define MAX_PARTS (1440 + MAX_CLIENT_MARKS)

/* The serial numbers of groups made here begin above those of the collector's groups. */
#define FIRST_SERIAL (FOLDED_FIRST + FOLDED_FIRST / 2)

/* malloc() adds this to each name. */
#define PIECE_BYTES 16

void recent_init(struct recent *recent, size_t max_bytes)
{
	*recent = (struct recent){ .max_bytes = max_bytes, .serial = FIRST_SERIAL };
}

void recent_clear(struct recent *recent)
{
	for (size_t i = 0; i < recent->nr_parts; i++)
		snapshot_free(recent->parts[i].counts);
	recent->nr_parts = 0;
	recent->bytes = 0;
	recent->has_forgotten = true;
}

void recent_done(struct recent *recent)
{
	recent_clear(recent);
	free(recent->parts);
}

static size_t names_bytes(const struct id_name *names, size_t count)
{
	size_t sum = count * (sizeof(*names) + PIECE_BYTES);

	for (size_t i = 0; i < count; i++)
		sum += strlen(names[i].name) + 1;
	return sum;
}

static size_t snapshot_bytes(const struct snapshot *snapshot)
{
	size_t sum = sizeof(*snapshot) + snapshot->nr_processes * sizeof(struct process) +
		     names_bytes(snapshot->users, snapshot->nr_users) +
		     names_bytes(snapshot->cgroups, snapshot->nr_cgroups);

	for (size_t i = 0; i < snapshot->nr_rows; i++)
		sum += row_bytes(snapshot->rows[i]);
	return sum;
}

static void part_remove(struct recent *recent, size_t index)
{
	recent->bytes -= recent->parts[index].bytes;
	snapshot_free(recent->parts[index].counts);
	recent->nr_parts--;
	memmove(&recent->parts[index], &recent->parts[index + 1],
		(recent->nr_parts - index) * sizeof(*recent->parts));
}

/* Makes one part of count parts, the last of which keeps its mark. */
static int parts_join(struct recent *recent, size_t first, size_t count)
{
	struct recent_part *last = &recent->parts[first + count - 1];
	const struct snapshot **all __cleanup(freep) =
		calloc(count, sizeof(const struct snapshot *));
	struct snapshot *joined;

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		all[i] = recent->parts[first + i].counts;
	if (snapshot_join(all, count, last->counts, &joined))
		return -ENOMEM;
	snapshot_free(last->counts);
	last->counts = joined;
	last->start_mark = recent->parts[first].start_mark;
	recent->bytes -= last->bytes;
	last->bytes = snapshot_bytes(joined);
	recent->bytes += last->bytes;
	while (--count)
		part_remove(recent, first);
	return 0;
}

/* It counts in no later part under its pid. */
static bool process_is_gone(const struct process *process, const void *closure)
{
	(void)closure;
	return process->pid && process->ended_ns && pid_is_free((pid_t)process->pid);
}

/* Adds up the processes of a part that are gone, by name, user and cgroup. */
static int part_fold(struct recent *recent, struct recent_part *part)
{
	uint64_t unsplit = 0;
	const struct fold_options options = { .folds = process_is_gone,
					      .max_bytes = recent->max_bytes / 4,
					      .serial = &recent->serial,
					      .unsplit = &unsplit };
	struct builder *builder __cleanup(builder_freep) = NULL;
	struct snapshot *counts = part->counts;
	struct losses before = { 0 };

	snapshot_count_folded(counts, &before);
	if (builder_new(&builder) || snapshot_fold(counts, &options, builder))
		return -ENOMEM;
	free(steal_ptr(&counts->rows));
	free(steal_ptr(&counts->processes));
	counts->nr_rows = counts->nr_processes = 0;
	if (builder_finish(builder, counts))
		return -ENOMEM;
	snapshot_count_folded(counts, &counts->losses);
	losses_subtract(&counts->losses, &before);
	counts->losses.count[LOSS_SPLIT_TABLE_FULL] += unsplit;
	snapshot_keep_counts(counts);
	recent->bytes -= part->bytes;
	part->bytes = snapshot_bytes(counts);
	recent->bytes += part->bytes;
	recent->fold_at = recent->bytes + recent->max_bytes / 2;
	return 0;
}

/* Marks since the last tick go when memory does: the sum of their parts is still needed. */
static int recent_limit_memory(struct recent *recent)
{
	size_t droppable = recent->nr_parts;

	/* Parts up to the last tick are in the history, or were tried; later ones are only here. */
	while (droppable && recent->parts[droppable - 1].mark != MARK_TICK)
		droppable--;
	for (; droppable && (recent->bytes > recent->max_bytes || recent->nr_parts > MAX_PARTS);
	     droppable--) {
		part_remove(recent, 0);
		recent->has_forgotten = true;
	}
	/* All at once, as each join reads all of what it joins. */
	if (recent->bytes > recent->max_bytes && recent->nr_parts > 1 &&
	    parts_join(recent, 0, (recent->nr_parts + 2) / 2))
		return -ENOMEM;
	/* The rest may belong to live processes: folding it again on each call brings nothing. */
	if (recent->bytes <= recent->max_bytes)
		recent->fold_at = 0;
	return recent->nr_parts == 1 && recent->bytes > recent->max_bytes &&
			       recent->bytes >= recent->fold_at
		       ? part_fold(recent, &recent->parts[0])
		       : 0;
}

int recent_limit(struct recent *recent)
{
	size_t count = 0, oldest = 0;
	int err = recent_limit_memory(recent);

	if (err)
		return err;
	for (size_t i = recent->nr_parts; i-- > 0;) {
		if (recent->parts[i].mark != MARK_GIVEN)
			continue;
		oldest = i;
		count++;
	}
	/* The latest mark ends no two parts yet. */
	return count > MAX_CLIENT_MARKS && oldest + 1 < recent->nr_parts
		       ? parts_join(recent, oldest, 2)
		       : 0;
}

/* Makes room for a part of so many bytes, as far as there is anything to join or to fold. */
static int recent_make_room(struct recent *recent, size_t bytes)
{
	size_t nr_parts, held;

	do {
		if ((recent->bytes + bytes) / 2 <= recent->max_bytes)
			return 0;
		nr_parts = recent->nr_parts;
		held = recent->bytes;
		if (recent_limit(recent))
			return -ENOMEM;
	} while (recent->nr_parts < nr_parts || recent->bytes < held);
	return 0;
}

int recent_add(struct recent *recent, struct snapshot *difference, enum recent_mark mark)
{
	struct recent_part *grown = NULL;
	size_t bytes, count;

	snapshot_keep_counts(difference);
	bytes = snapshot_bytes(difference);
	if (!recent_make_room(recent, bytes))
		grown = reallocarray(recent->parts, recent->nr_parts + 1, sizeof(*grown));
	count = recent->nr_parts;
	if (!grown) {
		snapshot_free(difference);
		return -ENOMEM;
	}
	recent->parts = grown;
	grown[recent->nr_parts++] = (struct recent_part){
		.counts = difference,
		.start_mark = difference->end_mono_ns - difference->elapsed_ns,
		.end_mark = difference->end_mono_ns,
		.bytes = bytes,
		.mark = mark,
	};
	recent->bytes += bytes;
	/* A part whose end nobody knows of is joined with the one that comes next. */
	if (count && grown[count - 1].mark == MARK_PASSING)
		return parts_join(recent, count - 1, 2);
	return 0;
}

bool recent_find(const struct recent *recent, uint64_t mark, size_t *ret)
{
	for (size_t i = 0; i < recent->nr_parts; i++) {
		if (recent->parts[i].start_mark == mark) {
			*ret = i;
			return true;
		}
	}
	*ret = recent->nr_parts;
	return recent->nr_parts && recent->parts[recent->nr_parts - 1].end_mark == mark;
}

bool recent_find_before(const struct recent *recent, uint64_t mark, size_t *ret)
{
	for (size_t i = recent->nr_parts; i-- > 0;) {
		if (recent->parts[i].start_mark <= mark) {
			*ret = i;
			return true;
		}
	}
	return false;
}

int recent_sum(const struct recent *recent, size_t first, const struct snapshot *now,
	       struct snapshot **ret)
{
	size_t count = recent->nr_parts - first;
	const struct snapshot **parts __cleanup(freep) = calloc(count + 1, sizeof(*parts));

	if (!parts)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		parts[i] = recent->parts[first + i].counts;
	return snapshot_join(parts, count, now, ret);
}
