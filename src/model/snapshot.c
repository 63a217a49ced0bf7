/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the life and the look-ups of snapshots. Invariant: all its lists are sorted. */
#include "model/snapshot.h"

#include "base/text.h"
#include "syscalls/arguments.h"

static void names_free(struct id_name *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(names[i].name);
	free(names);
}

int snapshot_new_like(const struct snapshot *other, struct snapshot **ret)
{
	struct snapshot *copy __cleanup(snapshot_freep) = malloc(sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	*copy = *other;
	copy->processes = NULL;
	copy->threads = NULL;
	copy->rows = NULL;
	copy->users = copy->cgroups = NULL;
	copy->arguments = argument_texts_ref(other->arguments);
	copy->origins = origins_ref(other->origins);
	copy->nr_processes = copy->nr_threads = copy->nr_rows = 0;
	copy->nr_users = copy->nr_cgroups = 0;
	copy->host = strdup(other->host ?: "");
	copy->boot_id = strdup(other->boot_id ?: "");
	copy->kernel = strdup(other->kernel ?: "");
	copy->version = other->version ? strdup(other->version) : NULL;
	copy->targets = calloc(other->nr_targets + 1, sizeof(*copy->targets));
	if (!copy->host || !copy->boot_id || !copy->kernel || !copy->targets ||
	    !copy->version != !other->version || snapshot_add_names(copy, other))
		return -ENOMEM;
	if (other->nr_targets)
		memcpy(copy->targets, other->targets, other->nr_targets * sizeof(*copy->targets));
	*ret = steal_ptr(&copy);
	return 0;
}

void snapshot_free(struct snapshot *snapshot)
{
	if (!snapshot)
		return;
	for (size_t i = 0; i < snapshot->nr_rows; i++)
		row_unref(snapshot->rows[i]);
	free(snapshot->rows);
	names_free(snapshot->users, snapshot->nr_users);
	names_free(snapshot->cgroups, snapshot->nr_cgroups);
	argument_texts_free(snapshot->arguments);
	origins_free(snapshot->origins);
	free(snapshot->processes);
	free(snapshot->threads);
	free(snapshot->targets);
	free(snapshot->host);
	free(snapshot->boot_id);
	free(snapshot->kernel);
	free(snapshot->version);
	free(snapshot);
}

int snapshot_new_part(const struct snapshot *snapshot, struct snapshot **ret)
{
	struct snapshot *out __cleanup(snapshot_freep) = NULL;

	if (snapshot_new_like(snapshot, &out))
		return -ENOMEM;
	out->rows = calloc(snapshot->nr_rows + 1, sizeof(*out->rows));
	out->processes = calloc(snapshot->nr_processes + 1, sizeof(*out->processes));
	out->threads = calloc(snapshot->nr_threads + 1, sizeof(*out->threads));
	if (!out->rows || !out->processes || !out->threads)
		return -ENOMEM;
	for (; out->nr_threads < snapshot->nr_threads; out->nr_threads++)
		out->threads[out->nr_threads] = snapshot->threads[out->nr_threads];
	*ret = steal_ptr(&out);
	return 0;
}

bool process_same_kind(const struct process *a, const struct process *b)
{
	return a->uid == b->uid && a->cgroup_id == b->cgroup_id &&
	       !memcmp(a->comm, b->comm, sizeof(a->comm));
}

struct process process_of_other_kinds(void)
{
	return (struct process){ .uid = UID_NONE, .comm = "[others]" };
}

const struct process_count process_counts[NR_PROCESS_COUNTS] = {
	{ "user_cpu_ns", offsetof(struct process, user_ns) },
	{ "threads_ns", offsetof(struct process, usage.threads_ns) },
	{ "cpu_ns", offsetof(struct process, usage.cpu_ns) },
	{ "utime_ns", offsetof(struct process, usage.utime_ns) },
	{ "stime_ns", offsetof(struct process, usage.stime_ns) },
	{ "runq_ns", offsetof(struct process, usage.runq_ns) },
	{ "minor_faults", offsetof(struct process, usage.minor_faults) },
	{ "major_faults", offsetof(struct process, usage.major_faults) },
	{ "voluntary_switches", offsetof(struct process, usage.voluntary_switches) },
	{ "involuntary_switches", offsetof(struct process, usage.involuntary_switches) },
	{ "user_changes", offsetof(struct process, changes[CHANGED_USER]) },
	{ "cgroup_changes", offsetof(struct process, changes[CHANGED_CGROUP]) },
	{ "comm_changes", offsetof(struct process, changes[CHANGED_COMM]) },
};

static uint64_t *count_of(struct process *process, size_t i)
{
	return (uint64_t *)((char *)process + process_counts[i].offset);
}

bool process_has_row(const struct process *process, const struct row *row)
{
	return row->pid == process->pid && row->boot_ns == process->boot_ns &&
	       row->host == process->host;
}

size_t snapshot_rows_of(const struct snapshot *snapshot, size_t first,
			const struct process *process)
{
	static const struct process nobody;
	size_t end = first;

	process = process ?: &nobody;
	while (end < snapshot->nr_rows && process_has_row(process, snapshot->rows[end]))
		end++;
	return end - first;
}

void process_add_counts(struct process *into, const struct process *from)
{
	for (size_t i = 0; i < NR_PROCESS_COUNTS; i++)
		*count_of(into, i) += process_count(from, i);
	into->nr_folded += from->nr_folded;
}

static bool process_is_named_after(const struct process *process, const struct process *from,
				   bool is_newer)
{
	if (!from->comm[0] != !process->comm[0])
		return from->comm[0];
	if (from->named_by != process->named_by)
		return from->named_by < process->named_by;
	return from->named_ns > process->named_ns ||
	       (is_newer && from->named_ns == process->named_ns);
}

void process_take_name(struct process *process, const struct process *from, bool is_newer)
{
	if (!process_is_named_after(process, from, is_newer))
		return;
	memcpy(process->comm, from->comm, sizeof(process->comm));
	process->named_by = from->named_by;
	process->named_ns = from->named_ns;
	process->uid = from->uid;
	process->cgroup_id = from->cgroup_id;
}

void process_clear_counts(struct process *process)
{
	for (size_t i = 0; i < NR_PROCESS_COUNTS; i++)
		*count_of(process, i) = 0;
	process->nr_folded = 0;
}

unsigned int process_subtract_counts(struct process *from, const struct process *earlier)
{
	unsigned int shrunk = 0;

	for (size_t i = 0; i < NR_PROCESS_COUNTS; i++) {
		uint64_t *count = count_of(from, i), less = process_count(earlier, i);

		shrunk += *count < less;
		*count -= *count < less ? *count : less;
	}
	return shrunk;
}

int process_compare(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return compare_u64(x->host, y->host)
		       ?: compare_u64(x->pid, y->pid)
		       ?: compare_u64(x->boot_ns, y->boot_ns);
}

const struct process *snapshot_find_process(const struct snapshot *snapshot, uint32_t pid,
					    uint64_t boot_ns)
{
	const struct process key = { .pid = pid, .boot_ns = boot_ns };

	return snapshot_process_like(snapshot, &key);
}

const struct process *snapshot_process_like(const struct snapshot *snapshot,
					    const struct process *identity)
{
	if (!snapshot->nr_processes)
		return NULL;
	return bsearch(identity, snapshot->processes, snapshot->nr_processes, sizeof(*identity),
		       process_compare);
}

const struct process *snapshot_process_of(const struct snapshot *snapshot, const struct row *row)
{
	const struct process key = { .host = row->host, .pid = row->pid, .boot_ns = row->boot_ns };

	return snapshot_process_like(snapshot, &key);
}

const char *snapshot_host(const struct snapshot *snapshot, uint32_t host)
{
	const struct origins *origins = snapshot->origins;

	if (origins && host < origins->count)
		return origins->items[host].host;
	return snapshot->host ?: "";
}

void snapshot_host_label(const struct snapshot *snapshot, char buf[HOST_LABEL_MAX])
{
	const struct origins *origins = snapshot->origins;
	const char *host = snapshot->host ?: "";
	size_t count = 0;

	for (size_t i = 0; origins && i < origins->count; i++)
		count += !i || strcmp(origins->items[i - 1].host, origins->items[i].host) != 0;
	if (count > 1)
		snprintf(buf, HOST_LABEL_MAX, "%zu hosts", count);
	else
		text_escape_visible(host, (HOST_LABEL_MAX - 1) / 4, buf);
}

static int compare_row(const void *key, const void *member)
{
	return row_compare(key, *(struct row *const *)member);
}

static int compare_threads(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;

	return process_compare(&x->its, &y->its)
		       ?: compare_u64(x->tid, y->tid)
		       ?: compare_u64(x->tid_ns, y->tid_ns);
}

const struct thread *snapshot_find_thread(const struct snapshot *snapshot, const struct row *row)
{
	const struct thread key = {
		.tid = row->tid,
		.tid_ns = row->tid_ns,
		.its = { .host = row->host, .pid = row->pid, .boot_ns = row->boot_ns }
	};

	if (!snapshot->nr_threads)
		return NULL;
	return bsearch(&key, snapshot->threads, snapshot->nr_threads, sizeof(key), compare_threads);
}

int snapshot_add_thread(struct snapshot *snapshot, const struct thread *thread)
{
	size_t count = snapshot->nr_threads;
	/* The list doubles when it is full: then its length is a power of two. */
	struct thread *list = snapshot->threads;

	if (!list || !(count & (count - 1)))
		list = reallocarray(list, 2 * count + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	snapshot->threads = list;
	list[snapshot->nr_threads++] = *thread;
	return 0;
}

void snapshot_sort_threads(struct snapshot *snapshot)
{
	if (snapshot->nr_threads)
		qsort(snapshot->threads, snapshot->nr_threads, sizeof(*snapshot->threads),
		      compare_threads);
}

struct row *const *snapshot_place_row(const struct snapshot *snapshot, const struct row *identity)
{
	if (!snapshot->nr_rows)
		return NULL;
	return bsearch(identity, snapshot->rows, snapshot->nr_rows, sizeof(*snapshot->rows),
		       compare_row);
}

const char *id_names_find(const struct id_name *names, size_t count, uint64_t id)
{
	size_t at = place_u64(names, count, sizeof(*names), id);

	return at < count && names[at].id == id ? names[at].name : NULL;
}

int id_names_add(struct id_name **names, size_t *count, uint64_t id, const char *name)
{
	size_t at = place_u64(*names, *count, sizeof(**names), id);
	struct id_name *grown;
	char *copy;

	if (at < *count && (*names)[at].id == id)
		return 0;
	grown = reallocarray(*names, *count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	*names = grown;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	memmove(&grown[at + 1], &grown[at], (*count - at) * sizeof(*grown));
	grown[at] = (struct id_name){ id, copy };
	(*count)++;
	return 0;
}

int snapshot_add_names(struct snapshot *to, const struct snapshot *from)
{
	int err = 0;

	for (size_t i = 0; i < from->nr_users && !err; i++)
		err = id_names_add(&to->users, &to->nr_users, from->users[i].id,
				   from->users[i].name);
	for (size_t i = 0; i < from->nr_cgroups && !err; i++)
		err = id_names_add(&to->cgroups, &to->nr_cgroups, from->cgroups[i].id,
				   from->cgroups[i].name);
	return err;
}

uint64_t process_user_id(const struct process *process)
{
	return (uint64_t)process->host << 32 | process->uid;
}

const char *snapshot_user(const struct snapshot *snapshot, const struct process *process)
{
	return id_names_find(snapshot->users, snapshot->nr_users, process_user_id(process));
}

const char *snapshot_cgroup(const struct snapshot *snapshot, uint64_t cgroup_id)
{
	return id_names_find(snapshot->cgroups, snapshot->nr_cgroups, cgroup_id);
}

const char *snapshot_argument(const struct snapshot *snapshot, const struct row *row,
			      enum call_split split, enum argument_key *ret)
{
	const bool may_have_one =
		row->nr != ROW_NR_OTHER && call_is_split_by(row->abi, (int)row->nr, split);
	const bool is_split = row->split == split;
	const char *text =
		is_split ? argument_texts_find(snapshot->arguments, row->split_value) : NULL;

	/* The rows that had no room, or are of calls whose start was not seen. */
	*ret = may_have_one ? ARGUMENT_OTHERS : ARGUMENT_ABSENT;
	if (is_split && row->split_value == ARGUMENT_NONE)
		*ret = ARGUMENT_ABSENT;
	else if (is_split && row->split_value == ARGUMENT_UNKNOWN)
		*ret = ARGUMENT_UNKNOWN;
	return text;
}

uint64_t snapshot_errors_unnamed(const struct snapshot *snapshot)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < snapshot->nr_rows; i++)
		sum = add_bounded(sum, row_errors_unnamed(snapshot->rows[i]));
	return sum;
}

bool snapshot_is_exact(const struct snapshot *snapshot)
{
	return losses_none(&snapshot->losses) && !snapshot_errors_unnamed(snapshot);
}

uint64_t snapshot_user_ns(const struct snapshot *snapshot)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < snapshot->nr_processes; i++)
		sum += snapshot->processes[i].user_ns;
	return sum;
}

uint64_t snapshot_oldest_ns(const struct snapshot *snapshot, const struct row *row)
{
	if (!row->in_flight || row->oldest_start_ns > snapshot->end_mono_ns)
		return 0;
	return snapshot->end_mono_ns - row->oldest_start_ns;
}

const char *const gap_reason_names[NR_GAP_REASON] = {
	[GAP_NOT_RUNNING] = "not_running",
	[GAP_NOT_WRITTEN] = "not_written",
	[GAP_DAMAGED] = "damaged",
	[GAP_RETIRED] = "retired",
};

void timeline_done(struct timeline *timeline)
{
	for (size_t i = 0; i < timeline->nr_steps; i++)
		snapshot_free(timeline->steps[i].sum);
	free(timeline->steps);
	free(timeline->gaps);
	*timeline = (struct timeline){ 0 };
}

/* --- losses ----------------------------------------------------------------------------------- */

#define ERRNO_TABLE_FULL \
	"errno table full: --max-errnos; or more than 64 errnos of one call in a thread"

const struct loss_text loss_texts[NR_MODEL_LOSS] = {
	[LOSS_TASK_UNTRACKED] = { "untracked_tasks", "thread{|s} not counted at all",
				  "the kernel had no memory for them, or was busy" },
	[LOSS_TASK_TABLE_FULL] = { "task_table_full", "call{|s} counted without process and time",
				   "thread table full: --max-tasks" },
	[LOSS_SLOT_TABLE_FULL] = { "slot_table_full", "call{|s} counted without process and time",
				   "row table full: --max-rows" },
	[LOSS_ERRNO_TABLE_FULL] = { "errno_table_full",
				    "error{|s} counted without {its|their} errno",
				    ERRNO_TABLE_FULL },
	[LOSS_BUCKET_WRAPPED] = { "bucket_wrapped", "histogram bucket{|s} short of 2^32 calls",
				  ERRNO_TABLE_FULL },
	[LOSS_EXIT_MISSED] = { "exit_missed", "call{|s} counted without time",
			       "their end was not seen" },
	[LOSS_TIME_CLAMPED] = { "time_clamped", "time{|s} that did not add up",
				"a clock went back; they were cut to what is possible" },
	[LOSS_FOREIGN_TABLE_FULL] = { "foreign_table_full",
				      "call{|s} of other ABIs, unknown numbers, or beyond 63 kinds "
				      "in "
				      "a thread counted without process and time",
				      "more than a fifth of --max-rows, or than 64 unknown numbers "
				      "in a thread" },
	[LOSS_THREAD_LATE] = { "late_threads", "thread{|s} whose first calls may be missing",
			       "the kernel was busy when they were made" },
	[LOSS_ERRNO_OFF] = { "errnos_off", "error{|s} counted without {its|their} errno",
			     "errnos were off, to cost less" },
	[LOSS_STACK_TABLE_FULL] = { "stack_table_full", "call{|s} without {its|their} stack",
				    ERRNO_TABLE_FULL },
	[LOSS_SPLIT_TABLE_FULL] = { "arg0_table_full",
				    "call{|s} counted without what rows are split by",
				    "row table full: --max-rows; more than 4096 in a "
				    "thread; or ended processes beyond --keep-exited" },
	[LOSS_SWITCH_UNSEEN] = { "switch_unseen", "context switch{|es} not seen",
				 "CPU time may stand as time asleep, or the other way round" },
	[LOSS_LOOKUP_BUSY] = { "lookup_busy", "call{|s}, at most, missing or misread",
			       "the kernel was busy with what is kept of their threads" },
	[LOSS_USER_TIME] = { "user_time_unknown",
			     "thread{|s} without user CPU time and calls in flight",
			     "thread table full: --max-tasks" },
	[LOSS_HIST_TABLE_FULL] = { "hist_table_full", "call{|s} counted without {its|their} time",
				   "histogram table full: --max-rows" },
	[LOSS_PATH_TABLE_FULL] = { "path_table_full",
				   "call{|s} counted without {its|their} path or file",
				   "path table full: --max-paths" },
	[LOSS_ENTER_MISSED] = { "enter_missed", "call{|s}, at most, missing or misread host-wide",
				"the kernel skipped the sys_enter program" },
	[LOSS_LEAVE_MISSED] = { "leave_missed", "call{|s}, at most, without time host-wide",
				"the kernel skipped the sys_exit program" },
	[LOSS_SWITCH_MISSED] = { "switch_missed", "context switch{|es} not seen host-wide",
				 "time asleep may stand as CPU time" },
	[LOSS_LIFECYCLE_MISSED] = { "lifecycle_missed",
				    "fork{|s}, exec{|s} or exit{|s} not seen host-wide",
				    "children may be missing" },
	[LOSS_CHANGE_MISSED] = { "change_missed",
				 "rename{|s} or move{|s} between cgroups not seen host-wide",
				 "a process may stand under an earlier name or unit" },
	[LOSS_NUMBER_FOLDED] = { "numbers_folded", "call{|s} counted without {its|their} number",
				 "more unknown numbers, or rows of ended processes, than fit" },
	[LOSS_KIND_FOLDED] = { "kinds_folded", "process{|es} counted without name, user and unit",
			       "the memory for more names, users and units was spent" },
	[LOSS_TORN_READ] = { "torn_reads", "row{|s} read while {it|they} changed",
			     "the next reading heals this" },
};

void losses_text(const struct losses *losses, char *buf, size_t size)
{
	char what[LOSS_WHAT_MAX];
	size_t used = 0;

	snprintf(buf, size, "exact: no call is missing");
	for (int i = 0; i < NR_MODEL_LOSS && used < size; i++) {
		if (!losses->count[i])
			continue;
		text_plural(loss_texts[i].what, losses->count[i], what, sizeof(what));
		used += (size_t)snprintf(buf + used, size - used, "%s%" PRIu64 " %s (%s)",
					 used ? "; " : "not exact: ", losses->count[i], what,
					 loss_texts[i].why);
	}
}

void losses_brief(const struct losses *losses, char *buf, size_t size)
{
	/* For those that are too long in loss_texts. */
	static const char *const briefs[NR_MODEL_LOSS] = {
		[LOSS_TASK_TABLE_FULL] = "calls lost their process (--max-tasks)",
		[LOSS_SLOT_TABLE_FULL] = "calls lost their process (--max-rows)",
		[LOSS_ERRNO_TABLE_FULL] = "errors lost their errno (--max-errnos)",
		[LOSS_FOREIGN_TABLE_FULL] = "calls of rare kinds lost their process",
		[LOSS_THREAD_LATE] = "threads may lack first calls",
		[LOSS_LOOKUP_BUSY] = "calls may be missing",
		[LOSS_USER_TIME] = "threads lost their time (--max-tasks)",
		[LOSS_HIST_TABLE_FULL] = "calls lost their time (--max-rows)",
		[LOSS_ENTER_MISSED] = "calls may be missing",
		[LOSS_LEAVE_MISSED] = "calls may lack their time",
		[LOSS_LIFECYCLE_MISSED] = "forks, execs or exits not seen",
		[LOSS_CHANGE_MISSED] = "renames or moves not seen",
		[LOSS_KIND_FOLDED] = "processes lost their name",
	};
	size_t kinds = 0, most = 0;
	char what[128];

	for (size_t i = 0; i < NR_MODEL_LOSS; i++) {
		kinds += losses->count[i] > 0;
		most = losses->count[i] > losses->count[most] ? i : most;
	}
	text_plural(loss_texts[most].what, losses->count[most], what, sizeof(what));
	snprintf(buf, size, "exact");
	if (kinds)
		snprintf(buf, size, "not exact: %" PRIu64 " %s%s", losses->count[most],
			 briefs[most] ?: what, kinds > 1 ? ", more" : "");
}

bool losses_none(const struct losses *losses)
{
	for (int i = 0; i < NR_MODEL_LOSS; i++) {
		if (losses->count[i])
			return false;
	}
	return true;
}

bool loss_is_of_splits(unsigned int loss)
{
	return loss == LOSS_SPLIT_TABLE_FULL || loss == LOSS_PATH_TABLE_FULL;
}

void losses_forget_splits(struct losses *losses)
{
	for (unsigned int i = 0; i < NR_MODEL_LOSS; i++) {
		if (loss_is_of_splits(i))
			losses->count[i] = 0;
	}
}

void losses_merge(struct losses *into, const struct losses *from)
{
	for (int i = 0; i < NR_MODEL_LOSS; i++)
		into->count[i] = add_bounded(into->count[i], from->count[i]);
}

void losses_subtract(struct losses *from, const struct losses *earlier)
{
	uint64_t torn = add_bounded(from->count[LOSS_TORN_READ], earlier->count[LOSS_TORN_READ]);

	for (int i = 0; i < NR_MODEL_LOSS; i++)
		from->count[i] -= earlier->count[i];
	from->count[LOSS_TORN_READ] = torn;
}
