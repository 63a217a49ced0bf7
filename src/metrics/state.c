/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps owners and their calls, and the budget of series, and counts intervals. Invariants: the
 * series that could be written never exceed max_series, as each is paid for when its room is made;
 * what finds no room is counted in `other`, which was paid for before. Every name is valid UTF-8
 * without control characters.
 *
 * Every row is added to exactly one call of one owner, which cannot fail: what finds no memory is
 * counted where that goes which finds no room. An owner keeps its place until it has been gone for
 * keep_gone_ns; places that are free go to those with the most calls in the interval. The
 * calls that an owner made before it had a place stay in `other`, which therefore never shrinks.
 */
#include "metrics/state.h"

#include "model/container.h"
#include "model/match.h"
#include "syscalls/names.h"
#include "syscalls/syscall_set.h"

/* --- names -------------------------------------------------------------------------------------- */

#define INFO_OF_CONTAINER                       \
	{ "container_id", VALUE_CONTAINER_ID }, \
	{                                       \
		"pod_uid", VALUE_POD            \
	}

const struct metrics_grouping metrics_groupings[NR_METRICS_GROUP] = {
	[METRICS_BY_UNIT] = { { "unit", VALUE_UNIT },
			      { { "cgroup", VALUE_UNIT_CGROUP }, INFO_OF_CONTAINER } },
	[METRICS_BY_CGROUP] = { { "cgroup", VALUE_CGROUP },
				{ { "unit", VALUE_UNIT }, INFO_OF_CONTAINER } },
	[METRICS_BY_COMM] = { { "comm", VALUE_COMM }, { { .label = NULL } } },
	[METRICS_BY_PID] = { { "pid", VALUE_PID },
			     { { "comm", VALUE_COMM },
			       { "unit", VALUE_UNIT },
			       INFO_OF_CONTAINER } },
	[METRICS_BY_CONTAINER] = { { "container", VALUE_CONTAINER },
				   { { "unit", VALUE_UNIT },
				     INFO_OF_CONTAINER,
				     { "runtime", VALUE_RUNTIME } } },
	[METRICS_BY_POD] = { { "pod_uid", VALUE_POD }, { { "qos", VALUE_QOS } } },
};

/* Labels that no owner of this name may take; calls of one that is called so go to `other`. */
static bool label_is_reserved(const char *label)
{
	/* A label named total would hide in sums, an empty one is none at all. */
	return !*label || !strcmp(label, "total") || !strcmp(label, METRICS_OTHER) ||
	       !strcmp(label, METRICS_UNATTRIBUTED);
}

/* The container that the path of a cgroup names; "-": none. */
static void container_name(const char *path, enum metrics_value what, char name[CONTAINER_NAME_MAX])
{
	struct container container;

	container_find(path, &container);
	if (what == VALUE_RUNTIME)
		strcpy(name, container_runtime_names[container.runtime] ?: "-");
	else if (what == VALUE_QOS)
		strcpy(name, pod_qos_names[container.qos] ?: "-");
	else if (what == VALUE_POD)
		container_write_pod(&container, true, name);
	else
		container_write(&container, what == VALUE_CONTAINER_ID, name);
}

/* A name of a process as a label value; false when it has none. */
static bool process_name(const struct snapshot *snapshot, const struct process *process,
			 enum metrics_value what, char out[METRICS_NAME_MAX])
{
	const char *path = snapshot_cgroup(snapshot, process->cgroup_id), *bytes, *unit;
	char name[CONTAINER_NAME_MAX] = "-";
	size_t size, unit_size;

	/* The group of all further kinds has no name, unit or pid; the other folded ones have no pid. */
	if (!process->pid && (what == VALUE_PID || process->uid == UID_NONE))
		return false;
	if (what == VALUE_PID) {
		snprintf(out, METRICS_NAME_MAX, "%" PRIu32, process->pid);
		return true;
	}
	/* Tables show "-", too: nobody knows, or there is none. */
	bytes = path = path && *path ? path : "-";
	size = strlen(path);
	unit_size = cgroup_unit(path, &unit);
	if (what == VALUE_COMM) {
		bytes = process->comm;
		size = sizeof(process->comm);
	} else if (what == VALUE_UNIT) {
		size = container_shorten(unit, unit_size, name, sizeof(name));
		bytes = name;
	} else if (what == VALUE_UNIT_CGROUP && (unit_size != 1 || *unit != '-')) {
		size = (size_t)(unit - path) + unit_size;
	} else if (what >= VALUE_CONTAINER) {
		container_name(path, what, name);
		size = strlen(name);
		bytes = name;
	}
	text_escape_visible(bytes, min_u64(size, METRICS_NAME_BYTES), out);
	return true;
}

/* Whether a label tells anything of its owner: that it is in no container need not be said. */
static bool value_tells(enum metrics_value what, const char *text)
{
	return what < VALUE_CONTAINER || strcmp(text, "-") != 0;
}

/* --- labels ------------------------------------------------------------------------------------- */

/* Returns the index at which a label is, or belongs. */
static size_t labels_place(const struct labels *labels, const char *label)
{
	size_t at = 0, end = labels->count;

	while (at < end) {
		size_t middle = at + (end - at) / 2;

		if (strcmp(labels->all[middle], label) < 0)
			at = middle + 1;
		else
			end = middle;
	}
	return at;
}

/* NULL when absent. */
static void *labels_find(const struct labels *labels, const char *label)
{
	size_t at = labels_place(labels, label);

	return at < labels->count && !strcmp(labels->all[at], label) ? labels->all[at] : NULL;
}

/* A new element, all zero but for its label; NULL: no memory. */
static void *labels_add(struct labels *labels, const char *label, size_t size)
{
	size_t at = labels_place(labels, label);
	void **grown = reallocarray(labels->all, labels->count + 1, sizeof(*grown));
	void *element = calloc(1, size);

	if (grown)
		labels->all = grown;
	if (!grown || !element) {
		free(element);
		return NULL;
	}
	memmove(&grown[at + 1], &grown[at], (labels->count - at) * sizeof(*grown));
	grown[at] = strcpy(element, label);
	labels->count++;
	return element;
}

/* --- owners ------------------------------------------------------------------------------------- */

/* Buckets, the last without a bound, sum and count. */
#define SERIES_OF_HISTOGRAM (NR_METRICS_BOUND + 3)

/* Its info, its oldest call, the time of its threads, and the rest of its calls with all that these may need. */
#define SERIES_PER_OWNER (2 + NR_METRICS_STATE + 1 + NR_METRICS_EXTRA)

/* No owner may use more than this part of the limit, lest one starve the others. */
#define SHARE_OF_OWNER 4

/* False: there is no room. */
static bool series_take(struct metrics *metrics, struct metrics_owner *owner, size_t series)
{
	size_t limit = metrics->options.max_series;

	if (metrics->series + series > limit || owner->series + series > limit / SHARE_OF_OWNER) {
		metrics->dropped++;
		return false;
	}
	metrics->series += series;
	owner->series += series;
	return true;
}

struct metrics_call *metrics_call_at(struct metrics_owner *owner, size_t index)
{
	if (index < owner->calls.count)
		return owner->calls.all[index];
	return index == owner->calls.count ? &owner->rest : NULL;
}

static void owner_free(struct metrics_owner *owner)
{
	for (size_t i = 0; i < owner->calls.count; i++) {
		row_done(&metrics_call_at(owner, i)->sum);
		free(owner->calls.all[i]);
	}
	for (size_t i = 0; i < METRICS_MAX_INFOS; i++)
		free(owner->infos[i]);
	free(owner->calls.all);
	row_done(&owner->rest.sum);
	free(owner);
}

/* NULL: there is no place, no room for its series, or no memory. The label must be a new one. */
static struct metrics_owner *owner_add(struct metrics *metrics, const char *label)
{
	size_t series = SERIES_PER_OWNER;
	/* `other` and `unattributed` take no place. */
	bool has_place = !metrics->unattributed || metrics->owners.count - 2 < metrics->options.top;
	struct metrics_owner *owner;

	if (!has_place || metrics->series + series > metrics->options.max_series)
		return NULL;
	owner = labels_add(&metrics->owners, label, sizeof(*owner));
	if (!owner)
		return NULL;
	metrics->series += series;
	owner->series = series;
	strcpy(owner->rest.label, METRICS_OTHER);
	for (int i = 0; i < NR_METRICS_EXTRA; i++)
		owner->rest.has_room[i] = true;
	return owner;
}

static void owner_retire(struct metrics *metrics, struct metrics_owner *owner)
{
	struct labels *owners = &metrics->owners;
	const struct metrics_call *call;
	size_t kept = 0;

	for (size_t i = 0; i < owners->count; i++) {
		if (owners->all[i] != owner)
			owners->all[kept++] = owners->all[i];
	}
	owners->count = kept;
	metrics->series -= owner->series;
	for (size_t i = 0; (call = metrics_call_at(owner, i)); i++)
		metrics->retired_calls += call->sum.calls;
	owner_free(owner);
}

/* --- calls -------------------------------------------------------------------------------------- */

static bool call_has_latencies(const struct metrics *metrics, const struct row *row)
{
	return syscall_set_has(metrics->options.histograms ?: metrics->latencies, row->abi,
			       (int)row->nr);
}

/* The counters of a row's call, made when new; the rest of the owner when there is no room for the call. */
static struct metrics_call *call_of_row(struct metrics *metrics, struct metrics_owner *owner,
					const struct row *row)
{
	char label[ROW_LABEL_MAX] = METRICS_UNKNOWN_CALL;
	struct metrics_call *call;
	bool is_named, has_histogram;

	if (row->nr == ROW_NR_OTHER)
		return &owner->rest;
	/* Anybody can make up numbers without a name. */
	is_named = syscall_find_name(row->abi, (int)row->nr);
	has_histogram = is_named && call_has_latencies(metrics, row);
	if (is_named)
		row_label(row, label, sizeof(label));
	call = labels_find(&owner->calls, label);
	if (call || !series_take(metrics, owner, 1 + (has_histogram ? SERIES_OF_HISTOGRAM : 0)))
		return call ?: &owner->rest;
	call = labels_add(&owner->calls, label, sizeof(*call));
	if (call)
		call->has_histogram = has_histogram;
	metrics->has_histograms |= has_histogram;
	return call ?: &owner->rest;
}

/* Finds the row of a count that most calls do not have, or the one for what has no room. */
static struct row *extra_sum(struct metrics *metrics, struct metrics_owner *owner,
			     struct metrics_call *call, enum metrics_extra extra, uint64_t count)
{
	if (count && !call->has_room[extra])
		call->has_room[extra] = series_take(metrics, owner, 1);
	return call->has_room[extra] ? &call->sum : &owner->rest.sum;
}

/* The counter of an errno, made when new; NULL: there is no room. */
static struct errno_count *errno_series(struct metrics *metrics, struct metrics_owner *owner,
					struct row *sum, int err)
{
	for (size_t i = 0; i < sum->nr_errnos; i++) {
		if (sum->errnos[i].err == err)
			return &sum->errnos[i];
	}
	/* A filter of seccomp can make up errors without a name. */
	if (!errno_name(err) || !series_take(metrics, owner, 1) || row_add_errno(sum, err, 0))
		return NULL;
	return errno_series(metrics, owner, sum, err);
}

static void owner_count(struct metrics *metrics, struct metrics_owner *owner, const struct row *row)
{
	struct metrics_call *call = call_of_row(metrics, owner, row);
	uint64_t unnamed = row->errors;
	unsigned int first, end;
	size_t at = 0;

	call->sum.calls += row->calls;
	extra_sum(metrics, owner, call, EXTRA_INTERRUPTED, row->interrupted)->interrupted +=
		row->interrupted;
	extra_sum(metrics, owner, call, EXTRA_IN_FLIGHT, row->in_flight)->in_flight +=
		row->in_flight;
	if (row->in_flight)
		(call->has_room[EXTRA_IN_FLIGHT] ? call : &owner->rest)->was_in_flight = true;
	call->sum.wall_ns += row->wall_ns;
	hist_range(&row->hist, &first, &end);
	for (unsigned int i = first; i < end; i++) {
		while (at < NR_METRICS_BOUND &&
		       hist_bucket_low(i) >= 1ULL << metrics_bounds[at].shift)
			at++;
		call->buckets[at] += hist_count(&row->hist, i);
	}
	for (size_t i = 0; i < row->nr_errnos; i++) {
		struct errno_count *found =
			errno_series(metrics, owner, &call->sum, row->errnos[i].err);

		if (!found)
			continue;
		found->count += row->errnos[i].count;
		unnamed = above(unnamed, row->errnos[i].count);
	}
	extra_sum(metrics, owner, call, EXTRA_ERRORS, unnamed)->errors += unnamed;
}

/* --- all ---------------------------------------------------------------------------------------- */

/*
 * Calls in which a program may wait for a peer or for whoever holds a lock, as long as it takes, besides those
 * in which it waits for work. A disk or a file server that does not answer holds up others, too.
 */
static const char idle_calls[] =
	"read,readv,?preadv2,write,writev,sendto,sendmsg,sendmmsg,recvfrom,recvmsg,recvmmsg,"
	"?recvmmsg_time64,?socketcall,connect,splice,tee,vmsplice,sendfile,?sendfile64,ioctl,fcntl,"
	"?fcntl64,flock,msgrcv,msgsnd,semop,semtimedop,?semtimedop_time64,?ipc,mq_timedreceive,"
	"mq_timedsend,?mq_timedreceive_time64,?mq_timedsend_time64,io_uring_enter,restart_syscall";

int metrics_new(const struct metrics_options *options, struct metrics **ret)
{
	struct metrics *metrics __cleanup(metrics_freep) = calloc(1, sizeof(*metrics));

	if (!metrics)
		return -ENOMEM;
	metrics->options = *options;
	metrics->options.top = options->top ?: DEFAULT_METRICS_TOP;
	metrics->options.keep_gone_ns = max_u64(options->keep_gone_ns, METRICS_KEEP_GONE_NS);
	metrics->options.max_series = (unsigned int)max_u64(
		options->max_series ?: DEFAULT_METRICS_MAX_SERIES, METRICS_MIN_SERIES);
	if (syscall_set_parse(DEFAULT_METRICS_HISTOGRAMS, &metrics->latencies, NULL) ||
	    syscall_set_parse(idle_calls, &metrics->idle, NULL))
		return -ENOMEM;
	metrics->other = owner_add(metrics, METRICS_OTHER);
	metrics->unattributed = owner_add(metrics, METRICS_UNATTRIBUTED);
	if (!metrics->other || !metrics->unattributed)
		return -ENOMEM;
	*ret = steal_ptr(&metrics);
	return 0;
}

void metrics_free(struct metrics *metrics)
{
	if (!metrics)
		return;
	for (size_t i = 0; i < metrics->owners.count; i++)
		owner_free(metrics->owners.all[i]);
	free(metrics->owners.all);
	syscall_set_free(metrics->latencies);
	syscall_set_free(metrics->idle);
	free(metrics);
}

/* --- intervals ---------------------------------------------------------------------------------- */

/* A process of the interval. */
struct member {
	const struct process *process;
	char *label; /* owned; NULL: of `other` */
	uint64_t calls;
	bool active; /* alive, or was when the interval began */
	struct metrics_owner *owner;
};

struct plan {
	struct metrics *metrics;
	const struct snapshot *interval;
	struct member *members;  /* as the processes of the interval */
	const struct row **rows; /* the one with the most calls first */
};

static void plan_done(struct plan *plan)
{
	for (size_t i = 0; plan->members && i < plan->interval->nr_processes; i++)
		free(plan->members[i].label);
	free(plan->members);
	free(plan->rows);
}

/* NULL: nobody's. */
static struct member *plan_member(const struct plan *plan, const struct row *row)
{
	const struct process *process =
		snapshot_find_process(plan->interval, row->pid, row->boot_ns);

	return process ? &plan->members[process - plan->interval->processes] : NULL;
}

/* Names the members, and counts their calls. */
static int plan_find_members(struct plan *plan)
{
	const enum metrics_value what = metrics_groupings[plan->metrics->options.group].owner.what;
	char label[METRICS_NAME_MAX];

	for (size_t i = 0; i < plan->interval->nr_processes; i++) {
		struct member *member = &plan->members[i];

		member->process = &plan->interval->processes[i];
		member->active = member->process->pid && !member->process->ended_ns;
		if (!process_name(plan->interval, member->process, what, label) ||
		    label_is_reserved(label))
			continue;
		member->label = strdup(label);
		if (!member->label)
			return -ENOMEM;
	}
	for (size_t i = 0; i < plan->interval->nr_rows; i++) {
		const struct row *row = plan->interval->rows[i];
		struct member *member = plan_member(plan, row);

		plan->rows[i] = row;
		if (!member)
			continue;
		member->calls += row->calls;
		member->active |= row->calls > 0;
	}
	return 0;
}

/* The owner of a member's label; NULL: none. */
static struct metrics_owner *member_owner(const struct plan *plan, const struct member *member)
{
	return member->label ? labels_find(&plan->metrics->owners, member->label) : NULL;
}

static void plan_retire(struct plan *plan)
{
	struct metrics *metrics = plan->metrics;
	uint64_t now_ns = plan->interval->end_mono_ns;

	for (size_t i = 0; i < plan->interval->nr_processes; i++) {
		const struct member *member = &plan->members[i];
		struct metrics_owner *owner = member_owner(plan, member);

		if (!owner || !member->active)
			continue;
		/* A pid that has come again is another owner. */
		if (metrics->options.group == METRICS_BY_PID &&
		    owner->boot_ns < member->process->boot_ns)
			owner_retire(metrics, owner);
		else
			owner->seen_ns = now_ns;
	}
	for (size_t i = metrics->owners.count; i-- > 0;) {
		struct metrics_owner *owner = metrics->owners.all[i];

		if (owner != metrics->other && owner != metrics->unattributed &&
		    above(now_ns, owner->seen_ns) > metrics->options.keep_gone_ns)
			owner_retire(metrics, owner);
	}
}

/* Puts the latest of the processes of one pid first: it is the one that may live. */
static int compare_candidate_labels(const void *x, const void *y)
{
	const struct member *a = *(struct member *const *)x, *b = *(struct member *const *)y;

	return strcmp(a->label, b->label) ?: compare_u64(b->process->boot_ns, a->process->boot_ns);
}

/* Most calls first. */
static int compare_candidates(const void *x, const void *y)
{
	const struct member *a = *(struct member *const *)x, *b = *(struct member *const *)y;

	return compare_u64(b->calls, a->calls) ?: strcmp(a->label, b->label);
}

/* Places go to labels that have calls but no owner: to those with the most calls of all their members. */
static int plan_admit(struct plan *plan)
{
	struct member **candidates __cleanup(freep) =
		calloc(plan->interval->nr_processes + 1, sizeof(struct member *));
	size_t count = 0, kept = 0;

	if (!candidates)
		return -ENOMEM;
	for (size_t i = 0; i < plan->interval->nr_processes; i++) {
		struct member *member = &plan->members[i];

		if (member->label && member->calls && !member_owner(plan, member))
			candidates[count++] = member;
	}
	qsort(candidates, count, sizeof(*candidates), compare_candidate_labels);
	for (size_t i = 0; i < count; i++) {
		if (kept && !strcmp(candidates[kept - 1]->label, candidates[i]->label))
			candidates[kept - 1]->calls += candidates[i]->calls;
		else
			candidates[kept++] = candidates[i];
	}
	qsort(candidates, kept, sizeof(*candidates), compare_candidates);
	for (size_t i = 0; i < kept; i++) {
		struct metrics_owner *owner = owner_add(plan->metrics, candidates[i]->label);

		if (!owner)
			break;
		owner->boot_ns = candidates[i]->process->boot_ns;
		owner->seen_ns = plan->interval->end_mono_ns;
		owner->start_ns = plan->interval->start_ns;
	}
	return 0;
}

static void plan_find_owners(struct plan *plan)
{
	const enum metrics_group group = plan->metrics->options.group;
	const struct metrics_name *infos = metrics_groupings[group].infos;
	char text[METRICS_NAME_MAX];

	for (size_t i = 0; i < plan->interval->nr_processes; i++) {
		struct member *member = &plan->members[i];
		struct metrics_owner *owner = member_owner(plan, member);

		/* An owner by pid may be outdated by another process of the same number. */
		if (owner && group == METRICS_BY_PID && owner->boot_ns != member->process->boot_ns)
			owner = NULL;
		member->owner = owner ?: plan->metrics->other;
		for (size_t j = 0; owner && j < METRICS_MAX_INFOS && infos[j].label; j++) {
			char *copy;

			/*
			 * A process may change its name; what a group was first seen as, it stays,
			 * lest its info flicker.
			 */
			if ((owner->infos[j] && group != METRICS_BY_PID) ||
			    !process_name(plan->interval, member->process, infos[j].what, text) ||
			    !value_tells(infos[j].what, text))
				continue;
			copy = strdup(text);
			if (!copy)
				continue;
			free(owner->infos[j]);
			owner->infos[j] = copy;
		}
	}
}

/* Sums of the time of the members' threads, by microstate. */
static void plan_count_times(const struct plan *plan)
{
	for (size_t i = 0; i < plan->interval->nr_processes; i++) {
		const struct usage *usage = &plan->interval->processes[i].usage;
		uint64_t *states = plan->members[i].owner->states_ns;

		states[STATE_CPU] += usage->cpu_ns;
		states[STATE_RUNQ] += usage->runq_ns;
		states[STATE_SLEEP] +=
			above(above(usage->threads_ns, usage->cpu_ns), usage->runq_ns);
	}
	plan->metrics->has_runq |= plan->interval->has_runq;
}

/* Whether a call in it may take as long as somebody else likes. */
static bool row_is_idle(const struct metrics *metrics, const struct row *row)
{
	return syscall_waits(NULL, row->abi, (int)row->nr) ||
	       syscall_set_has(metrics->idle, row->abi, (int)row->nr);
}

static int compare_rows(const void *x, const void *y)
{
	const struct row *a = *(const struct row *const *)x, *b = *(const struct row *const *)y;

	return compare_u64(b->calls, a->calls) ?: row_compare(a, b);
}

int metrics_add(struct metrics *metrics, const struct snapshot *interval)
{
	struct plan plan __cleanup(plan_done) = { .metrics = metrics, .interval = interval };
	struct metrics_call *call;

	plan.members = calloc(interval->nr_processes + 1, sizeof(*plan.members));
	plan.rows = calloc(interval->nr_rows + 1, sizeof(*plan.rows));
	if (!plan.members || !plan.rows || plan_find_members(&plan))
		return -ENOMEM;
	plan_retire(&plan);
	if (!metrics->intervals)
		metrics->start_ns = metrics->other->start_ns = metrics->unattributed->start_ns =
			interval->start_ns;
	if (plan_admit(&plan))
		return -ENOMEM;
	plan_find_owners(&plan);
	plan_count_times(&plan);
	for (size_t i = 0; i < metrics->owners.count; i++) {
		struct metrics_owner *owner = metrics->owners.all[i];

		owner->oldest_ns = 0;
		for (size_t j = 0; (call = metrics_call_at(owner, j)); j++)
			call->sum.in_flight = 0;
	}
	/* Frequent calls first: if room ends, it is for the rare ones. */
	qsort(plan.rows, interval->nr_rows, sizeof(*plan.rows), compare_rows);
	for (size_t i = 0; i < interval->nr_rows; i++) {
		const struct row *row = plan.rows[i];
		const struct member *member = plan_member(&plan, row);
		struct metrics_owner *owner = member ? member->owner : metrics->unattributed;

		owner_count(metrics, owner, row);
		if (!row->in_flight || row_is_idle(metrics, row))
			continue;
		owner->had_oldest = true;
		owner->oldest_ns = max_u64(owner->oldest_ns, snapshot_oldest_ns(interval, row));
	}
	metrics->intervals++;
	losses_merge(&metrics->losses, &interval->losses);
	return 0;
}
