/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Merges snapshots. Hosts have clocks of their own: what is told in monotonic time is moved so that the time of day
 * of a past call, and the age of one in flight at the end of its part, stay what they were. Invariant: what comes
 * out depends on what is merged, not on its order.
 */
#include "model/merge.h"

#include "base/clock.h"
#include "base/text.h"
#include "model/builder.h"
#include "model/kind_list.h"
#include "model/merge_parts.h"
#include "model/merge_stacks.h"

struct input {
	struct merge_input given;
	uint32_t *hosts;       /* owned: by its own index of a host, the index in the result */
	bool *is_latest;       /* owned: by the same, whether no other one of that host is later */
	bool is_latest_of_all; /* of each host that it has */
	uint64_t age_shift_ns, time_shift_ns; /* to be added to monotonic times */
};

struct merge {
	struct input *inputs; /* owned, in order of time */
	size_t count;
	struct merge_parts parts;       /* owned */
	struct argument_texts *cgroups; /* owned; their order numbers them */
	struct kind_list
		kinds; /* owned; of groups of pid 0, whose own numbers say nothing to others */
	struct merged_stacks *stacks; /* owned */
	struct builder *builder;      /* owned */
	struct snapshot *out;         /* owned */
};

static void merge_done(struct merge *m)
{
	for (size_t i = 0; i < m->count; i++) {
		free(m->inputs[i].hosts);
		free(m->inputs[i].is_latest);
	}
	free(m->inputs);
	merge_parts_done(&m->parts);
	argument_texts_free(m->cgroups);
	kind_list_done(&m->kinds);
	merged_stacks_free(m->stacks);
	builder_free(m->builder);
	snapshot_free(m->out);
}

/* The index of a host of an input in the result. */
static uint32_t host_of(const struct input *input, uint32_t host)
{
	return host == HOST_ALL ? HOST_ALL : input->hosts[host];
}

/*
 * Whether nothing later is known of it. A sum of hosts has calls in flight of all of them, so each of these must be
 * the latest: else some would count twice, or though they have ended.
 */
static bool is_latest(const struct input *input, uint32_t host)
{
	return host == HOST_ALL ? input->is_latest_of_all : input->is_latest[host];
}

/* --- what is merged ------------------------------------------------------------------------------ */

/* Nobody has counted anything. */
static bool is_nothing(const struct snapshot *snapshot)
{
	return merge_is_empty(snapshot) && !snapshot->elapsed_ns && losses_none(&snapshot->losses);
}

static int compare_inputs(const void *x, const void *y)
{
	const struct snapshot *a = ((const struct input *)x)->given.snapshot;
	const struct snapshot *b = ((const struct input *)y)->given.snapshot;

	return compare_u64((uint64_t)a->end_ns, (uint64_t)b->end_ns)
		       ?: compare_u64((uint64_t)a->start_ns, (uint64_t)b->start_ns)
		       ?: strcmp(a->host ?: "", b->host ?: "")
		       ?: strcmp(a->boot_id ?: "", b->boot_id ?: "")
		       ?: compare_u64(a->end_mono_ns, b->end_mono_ns);
}

/* Takes the inputs over that have anything; if none has, all of them. */
static int take_inputs(struct merge *m, const struct merge_input *inputs, size_t count)
{
	bool all = true;

	for (size_t i = 0; i < count; i++)
		all &= is_nothing(inputs[i].snapshot);
	m->inputs = calloc(count + 1, sizeof(*m->inputs));
	if (!m->inputs)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct input *input = &m->inputs[m->count];
		size_t hosts = merge_count_parts(inputs[i].snapshot);

		if (!all && is_nothing(inputs[i].snapshot))
			continue;
		m->count++;
		input->given = inputs[i];
		input->hosts = calloc(hosts, sizeof(*input->hosts));
		input->is_latest = calloc(hosts, sizeof(*input->is_latest));
		if (!input->hosts || !input->is_latest)
			return -ENOMEM;
	}
	qsort(m->inputs, m->count, sizeof(*m->inputs), compare_inputs);
	return 0;
}

static int list_parts(struct merge *m)
{
	for (size_t i = 0; i < m->count; i++) {
		if (merge_parts_add(&m->parts, i, &m->inputs[i].given))
			return -ENOMEM;
	}
	return 0;
}

/* --- what does not fit --------------------------------------------------------------------------- */

/* All that have anything are compared with the first of them that has. */
static int check_fit(const struct merge *m, struct diag *d)
{
	const struct merge_input *first = NULL;
	int err = 0;

	for (size_t i = 0; i < m->count && !err; i++) {
		const struct merge_input *given = &m->inputs[i].given;

		if (merge_is_empty(given->snapshot))
			continue;
		if (first)
			err = merge_check_pair(first, given, d);
		first = first ?: given;
	}
	return err;
}

/* --- where and when ------------------------------------------------------------------------------ */

/* A host has the index of its first part. */
static void number_hosts(struct merge *m)
{
	const struct merge_part *list = m->parts.list;
	size_t first = 0;

	for (size_t i = 0; i < m->count; i++)
		m->inputs[i].is_latest_of_all = true;
	for (size_t i = 0; i < m->parts.count; i++) {
		struct input *input = &m->inputs[list[i].input];

		if (!origin_same_boot(&list[first].origin, &list[i].origin))
			first = i;
		input->hosts[list[i].index] = (uint32_t)first;
		input->is_latest[list[i].index] = list[i].is_latest;
		input->is_latest_of_all &= list[i].is_latest;
	}
}

static int copy_origins(struct merge *m)
{
	int err = origins_new(&m->out->origins);

	for (size_t i = 0; i < m->parts.count && !err; i++) {
		struct origin origin = m->parts.list[i].origin;

		origin.version = origin.version ?: BPFTRUSS_VERSION;
		err = origins_add(m->out->origins, &origin);
	}
	return err;
}

/* The text of the first part, if all of them have it. */
static char *common_text(const struct merge *m, size_t member)
{
	const struct origin *origins = m->out->origins->items;
	const char *first = *(char *const *)((const char *)&origins[0] + member);

	for (size_t i = 1; i < m->parts.count; i++) {
		if (strcmp(first, *(char *const *)((const char *)&origins[i] + member)) != 0)
			return strdup("");
	}
	return strdup(first);
}

/* When a part began, by the time for which it was counted: all pauses are taken to be before that. */
static int64_t counted_from_ns(const struct origin *origin)
{
	int64_t from;

	return __builtin_sub_overflow(origin->end_ns, (int64_t)origin->elapsed_ns, &from)
		       ? INT64_MIN
		       : from;
}

static int compare_starts(const void *a, const void *b)
{
	const int64_t x = counted_from_ns(a), y = counted_from_ns(b);

	return (x > y) - (x < y);
}

/* Adds up the time in which at least one part was counted. */
static int set_elapsed(struct merge *m)
{
	struct origin *list __cleanup(freep) = calloc(m->parts.count, sizeof(*list));
	uint64_t elapsed_ns = 0;
	int64_t until_ns = INT64_MIN;

	if (!list)
		return -ENOMEM;
	memcpy(list, m->out->origins->items, m->parts.count * sizeof(*list));
	qsort(list, m->parts.count, sizeof(*list), compare_starts);
	for (size_t i = 0; i < m->parts.count; i++) {
		int64_t from_ns = counted_from_ns(&list[i]);

		from_ns = from_ns > until_ns ? from_ns : until_ns;
		if (list[i].end_ns <= from_ns)
			continue;
		elapsed_ns += (uint64_t)list[i].end_ns - (uint64_t)from_ns;
		until_ns = list[i].end_ns;
	}
	m->out->elapsed_ns = elapsed_ns;
	return 0;
}

/*
 * The merged clock is that of the host that runs the longest, as of the latest end: no shift goes
 * below zero.
 */
static int set_clock(struct merge *m, struct diag *d)
{
	struct snapshot *out = m->out;
	uint64_t now_ns;

	out->start_ns = INT64_MAX;
	out->end_ns = INT64_MIN;
	for (size_t i = 0; i < m->parts.count; i++) {
		const struct origin *origin = &m->parts.list[i].origin;

		out->start_ns = origin->start_ns < out->start_ns ? origin->start_ns : out->start_ns;
		out->end_ns = origin->end_ns > out->end_ns ? origin->end_ns : out->end_ns;
	}
	for (size_t i = 0; i < m->count; i++) {
		const struct merge_input *given = &m->inputs[i].given;
		uint64_t since_ns = (uint64_t)out->end_ns - (uint64_t)given->snapshot->end_ns;

		if (__builtin_add_overflow(given->snapshot->end_mono_ns, since_ns, &now_ns) ||
		    now_ns > INT64_MAX)
			return diag_set(d, DIAG_FAILED, EINVAL,
					"%.200s ends centuries before another one: its times are "
					"wrong",
					given->name);
		out->end_mono_ns = max_u64(out->end_mono_ns, now_ns);
	}
	for (size_t i = 0; i < m->count; i++) {
		struct input *input = &m->inputs[i];
		const struct snapshot *snapshot = input->given.snapshot;

		input->age_shift_ns = out->end_mono_ns - snapshot->end_mono_ns;
		input->time_shift_ns =
			input->age_shift_ns - ((uint64_t)out->end_ns - (uint64_t)snapshot->end_ns);
	}
	return 0;
}

static int describe(struct merge *m, struct diag *d)
{
	struct snapshot *out = m->out;

	number_hosts(m);
	if (copy_origins(m))
		return diag_oom(d);
	out->host = common_text(m, offsetof(struct origin, host));
	out->boot_id = common_text(m, offsetof(struct origin, boot_id));
	out->kernel = common_text(m, offsetof(struct origin, kernel));
	if (!out->host || !out->boot_id || !out->kernel || set_elapsed(m))
		return diag_oom(d);
	return set_clock(m, d);
}

/* --- what was counted ---------------------------------------------------------------------------- */

/* Numbers the texts that any snapshot has: paths of cgroups, or what rows are split by. */
static int number_texts(const struct merge *m, bool of_cgroups, struct argument_texts **ret)
{
	char **list __cleanup(freep) = NULL;
	size_t count = 0;

	for (size_t i = 0; i < m->count; i++) {
		const struct snapshot *s = m->inputs[i].given.snapshot;
		size_t most = of_cgroups ? s->nr_cgroups : s->arguments ? s->arguments->count : 0;

		for (size_t j = 0; j < most; j++) {
			if (!array_grow(&list, count, sizeof(*list)))
				return -ENOMEM;
			list[count++] =
				of_cgroups ? s->cgroups[j].name : s->arguments->items[j].text;
		}
	}
	return argument_texts_number(list, count, ret);
}

/* The id of a cgroup in the result; 0: its path is not known. */
static uint64_t cgroup_id_of(const struct merge *m, const char *path)
{
	return path ? argument_texts_key(m->cgroups, path) - ARGUMENT_FIRST + 1 : 0;
}

static bool is_group(const struct process *process)
{
	return !process->pid && process->boot_ns;
}

/* A process of an input as the result has it. */
static struct process process_move(const struct merge *m, const struct input *input,
				   const struct process *process)
{
	struct process moved = *process;

	moved.host = host_of(input, process->host);
	moved.cgroup_id =
		cgroup_id_of(m, snapshot_cgroup(input->given.snapshot, process->cgroup_id));
	moved.named_by = 0;
	if (is_group(process) && m->kinds.count)
		moved.boot_ns = kind_list_number(&m->kinds, &moved);
	return moved;
}

/* Groups of ended processes are numbered as each counting meets them. */
static int number_kinds(struct merge *m)
{
	struct kind_list kinds = { 0 };
	int err = 0;

	for (size_t i = 0; i < m->count; i++) {
		const struct snapshot *from = m->inputs[i].given.snapshot;

		for (size_t j = 0; j < from->nr_processes && !err; j++) {
			const struct process moved =
				process_move(m, &m->inputs[i], &from->processes[j]);

			err = is_group(&moved) ? kind_list_add(&kinds, &moved) : 0;
		}
	}
	kind_list_sort(&kinds);
	m->kinds = kinds;
	return err;
}

static int add_names(struct merge *m, const struct input *input, const struct process *process,
		     const struct process *added)
{
	const struct snapshot *from = input->given.snapshot;
	const char *user = snapshot_user(from, process);
	const char *cgroup = snapshot_cgroup(from, process->cgroup_id);
	struct snapshot *out = m->out;

	if (user && id_names_add(&out->users, &out->nr_users, process_user_id(added), user))
		return -ENOMEM;
	return cgroup ? id_names_add(&out->cgroups, &out->nr_cgroups, added->cgroup_id, cgroup) : 0;
}

/* What a process is grouped by may have changed since an earlier part, and not within this one. */
static void note_changes(struct process *process, const struct process *before)
{
	const bool differs[NR_PROCESS_CHANGE] = {
		[CHANGED_USER] = process->uid != before->uid,
		[CHANGED_CGROUP] = process->cgroup_id && before->cgroup_id &&
				   process->cgroup_id != before->cgroup_id,
		[CHANGED_COMM] = memcmp(process->comm, before->comm, sizeof(before->comm)) != 0,
	};

	for (int i = 0; i < NR_PROCESS_CHANGE && process->pid; i++)
		process->changes[i] += differs[i] && !process->changes[i];
}

static int add_processes(struct merge *m, const struct input *input)
{
	const struct snapshot *from = input->given.snapshot;

	for (size_t i = 0; i < from->nr_processes; i++) {
		struct process added = process_move(m, input, &from->processes[i]);
		const bool is_now = is_latest(input, from->processes[i].host);
		const struct process *before;

		if (!is_now)
			added.threads = 0;
		before = builder_find_process(m->builder, &added);
		if (before)
			note_changes(&added, before);
		if (builder_add_process(m->builder, &added, true) ||
		    add_names(m, input, &from->processes[i], &added))
			return -ENOMEM;
		/* It may have lived before, and ended now. */
		if (is_now)
			builder_find_process(m->builder, &added)->ended_ns = added.ended_ns;
	}
	return 0;
}

static int add_threads(struct merge *m, const struct input *input)
{
	const struct snapshot *from = input->given.snapshot;

	for (size_t i = 0; i < from->nr_threads; i++) {
		struct thread added = from->threads[i];

		if (!is_latest(input, added.its.host))
			continue;
		added.its.host = host_of(input, added.its.host);
		if (snapshot_add_thread(m->out, &added))
			return -ENOMEM;
	}
	return 0;
}

/* Gives a row's stacks the ids of the merged table; what the row borrows becomes its own. */
static int map_stacks(const struct merge *m, size_t input, struct row *row)
{
	const size_t count = row->nr_stacks;
	struct stack_count *mapped __cleanup(freep) = calloc(count + 1, sizeof(*mapped));

	for (size_t i = 0; i < count && mapped; i++) {
		mapped[i] = row->stacks[i];
		if (mapped[i].id != STACK_OTHERS)
			mapped[i].id = merged_stacks_id(m->stacks, input, mapped[i].id);
	}
	row->stacks = NULL;
	row->nr_stacks = 0;
	return mapped ? row_add_stacks(row, mapped, count) : -ENOMEM;
}

/* Moves the times of a row to the merged clock; unless it is of now, nothing is in flight any more. */
static void row_move(struct row *row, const struct input *input, bool is_now)
{
	const uint64_t end_ns = input->given.snapshot->end_mono_ns;

	if (row->max_start_ns)
		row->max_start_ns += input->time_shift_ns;
	if (!is_now)
		row->in_flight = row->in_flight_early = 0;
	row->oldest_start_ns = row->in_flight
				       ? min_u64(row->oldest_start_ns, end_ns) + input->age_shift_ns
				       : UINT64_MAX;
}

static int add_row(struct merge *m, size_t at, const struct row *from)
{
	const struct input *input = &m->inputs[at];
	struct row row = *from; /* borrows what the row owns, but for its stacks */
	const struct process *process = snapshot_process_of(input->given.snapshot, from);
	const char *argument;
	int err;

	row.host = host_of(input, from->host);
	if (process && is_group(process))
		row.boot_ns = process_move(m, input, process).boot_ns;
	row_move(&row, input, is_latest(input, from->host));
	if (!row.calls && !row.in_flight && !row.open_wall_ns && !row.open_off_ns)
		return 0;
	argument = row.split >= SPLIT_PATH
			   ? argument_texts_find(input->given.snapshot->arguments, row.split_value)
			   : NULL;
	if (argument)
		row.split_value = argument_texts_key(m->out->arguments, argument);
	err = map_stacks(m, at, &row) ?: builder_add_row(m->builder, &row);
	free(row.stacks);
	return err;
}

static int compare_targets(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return compare_u64(x->pid, y->pid) ?: strncmp(x->comm, y->comm, sizeof(x->comm));
}

static int add_targets(struct snapshot *out, const struct snapshot *from)
{
	struct process *grown =
		reallocarray(out->targets, out->nr_targets + from->nr_targets + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	out->targets = grown;
	for (size_t i = 0; i < from->nr_targets; i++)
		grown[out->nr_targets++] = from->targets[i];
	qsort(grown, out->nr_targets, sizeof(*grown), compare_targets);
	return 0;
}

static int add_input(struct merge *m, size_t at)
{
	const struct snapshot *from = m->inputs[at].given.snapshot;
	struct snapshot *out = m->out;
	int err = add_processes(m, &m->inputs[at]) ?: add_threads(m, &m->inputs[at]);

	for (size_t i = 0; i < from->nr_rows && !err; i++)
		err = add_row(m, at, from->rows[i]);
	if (err || add_targets(out, from))
		return -ENOMEM;
	losses_merge(&out->losses, &from->losses);
	out->threads_unknown = add_bounded(out->threads_unknown, from->threads_unknown);
	out->caller_pidns |= from->caller_pidns;
	out->user_includes_calls |= from->user_includes_calls;
	out->selected |= from->selected;
	if (merge_is_empty(from))
		return 0;
	out->has_runq &= from->has_runq;
	out->slower_than_ns = from->slower_than_ns;
	return 0;
}

static int check_totals(const struct merge *m, struct diag *d)
{
	struct merge_totals totals = { .histograms = 0 };

	for (size_t i = 0; i < m->count; i++)
		merge_totals_add(&totals, m->inputs[i].given.snapshot);
	return merge_totals_check(&totals, d);
}

static int add_up(struct merge *m, struct diag *d)
{
	struct snapshot *out = m->out;
	bool any = false, has_runq = false;

	for (size_t i = 0; i < m->count; i++) {
		any |= !merge_is_empty(m->inputs[i].given.snapshot);
		has_runq |= m->inputs[i].given.snapshot->has_runq;
	}
	out->has_runq = any || has_runq;
	if (number_texts(m, true, &m->cgroups) || number_texts(m, false, &out->arguments) ||
	    number_kinds(m))
		return diag_oom(d);
	for (size_t i = 0; i < m->count; i++) {
		if (add_input(m, i))
			return diag_oom(d);
	}
	if (!out->arguments->count) {
		argument_texts_free(out->arguments);
		out->arguments = NULL;
	}
	snapshot_sort_threads(out);
	if (builder_finish(m->builder, out))
		return diag_oom(d);
	return 0;
}

static int merge_stacks(struct merge *m)
{
	const struct snapshot **list __cleanup(freep) = calloc(m->count, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < m->count; i++)
		list[i] = m->inputs[i].given.snapshot;
	return merged_stacks_new(list, m->count, &m->stacks);
}

int snapshot_merge(const struct merge_input *inputs, size_t count, struct snapshot **ret,
		   struct stack_table **ret_stacks, struct diag *d)
{
	struct merge m __cleanup(merge_done) = { .out = calloc(1, sizeof(*m.out)) };
	int err;

	if (!m.out || take_inputs(&m, inputs, count) || list_parts(&m) || merge_stacks(&m) ||
	    builder_new(&m.builder))
		return diag_oom(d);
	err = merge_parts_settle(&m.parts, d) ?: check_fit(&m, d) ?: check_totals(&m, d) ?: describe(&m, d)
		      ?: add_up(&m, d);
	if (err)
		return err;
	*ret_stacks = merged_stacks_take(m.stacks);
	m.out->stacks = *ret_stacks;
	*ret = steal_ptr(&m.out);
	return 0;
}
