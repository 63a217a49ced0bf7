/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Splits the time of threads into microstates, and makes lines of processes, names or units from the
 * counts of an interval.
 */
#include "model/rates.h"

#include "base/text.h"
#include "model/diff.h"
#include "model/match.h"
#include "syscalls/names.h"

const char *const rate_key_names[NR_RATE_KEY] = {
	[RATE_PID] = "pid",
	[RATE_COMM] = "comm",
	[RATE_USER] = "user",
	[RATE_UNIT] = "unit",
	[RATE_CONTAINER] = "container",
	[RATE_POD] = "pod",
	[RATE_THREADS] = "threads",
	[RATE_CALLS] = "calls",
	[RATE_ERRORS] = "errors",
	[RATE_CPU] = "cpu",
	[RATE_USR] = "usr",
	[RATE_SYS] = "sys",
	[RATE_RUNQ] = "runq",
	[RATE_LOCK] = "lock",
	[RATE_SLEEP] = "sleep",
	[RATE_WORST] = "max",
	[RATE_OLDEST] = "oldest",
};

const char *const rate_by_names[NR_RATE_BY] = {
	[RATE_BY_PID] = "pid",
	[RATE_BY_COMM] = "comm",
	[RATE_BY_UNIT] = "unit",
	[RATE_BY_USER] = "user",
	[RATE_BY_CONTAINER] = "container",
	[RATE_BY_POD] = "pod",
	[RATE_BY_SYSCALL] = "syscall",
	[RATE_BY_PATH] = "path",
	[RATE_BY_DIR] = "dir",
	[RATE_BY_FILE] = "file",
	[RATE_BY_TID] = "tid",
};

/* --- microstates ------------------------------------------------------------------------------ */

void microstates_add(struct microstates *into, const struct microstates *from)
{
	into->user_ns += from->user_ns;
	into->system_ns += from->system_ns;
	into->runq_ns += from->runq_ns;
	into->lock_ns += from->lock_ns;
	into->sleep_ns += from->sleep_ns;
}

uint64_t microstates_total_ns(const struct microstates *states)
{
	return states->user_ns + states->system_ns + states->runq_ns + states->lock_ns +
	       states->sleep_ns;
}

/* The part of CPU time that was the program's. */
static uint64_t usage_user_ns(const struct usage *usage, uint64_t outside_ns)
{
	uint64_t ticks_ns = usage->utime_ns + usage->stime_ns;

	if (!ticks_ns)
		return min_u64(outside_ns, usage->cpu_ns);
	return (uint64_t)((double)usage->cpu_ns * ((double)usage->utime_ns / (double)ticks_ns));
}

/* How the threads of a process spent their time, of which lock_ns was slept in futex(2). */
static void process_microstates(const struct process *process, uint64_t lock_ns,
				struct microstates *ret)
{
	const struct usage *usage = &process->usage;
	uint64_t left_ns = usage->threads_ns - min_u64(usage->cpu_ns, usage->threads_ns);
	uint64_t user_ns = min_u64(usage_user_ns(usage, process->user_ns), usage->cpu_ns);

	*ret = (struct microstates){ .user_ns = user_ns, .system_ns = usage->cpu_ns - user_ns };
	ret->runq_ns = min_u64(usage->runq_ns, left_ns);
	left_ns -= ret->runq_ns;
	ret->lock_ns = min_u64(lock_ns, left_ns);
	ret->sleep_ns = left_ns - ret->lock_ns;
}

/*
 * Time in calls that have ended, plus growth of that in calls that have not. Below 0 it is that of
 * a call whose end told no time.
 */
static uint64_t total_ns(uint64_t ended_ns, int64_t open_ns)
{
	/* It may wrap in a foreign snapshot. */
	int64_t sum = (int64_t)(ended_ns + (uint64_t)open_ns);

	return sum > 0 ? (uint64_t)sum : 0;
}

void row_microstates(const struct row *row, struct microstates *ret)
{
	const char *name =
		row->nr == ROW_NR_OTHER ? NULL : syscall_find_name(row->abi, (int)row->nr);
	uint64_t wall_ns = total_ns(row->wall_ns, row->open_wall_ns);
	uint64_t off_ns = min_u64(total_ns(row->off_ns, row->open_off_ns), wall_ns);
	uint64_t runq_ns = min_u64(row->runq_ns, off_ns);
	uint64_t sleep_ns = off_ns - runq_ns;

	*ret = (struct microstates){ .system_ns = wall_ns - off_ns, .runq_ns = runq_ns };
	*(name && !strncmp(name, "futex", 5) ? &ret->lock_ns : &ret->sleep_ns) = sleep_ns;
}

static uint64_t row_lock_ns(const struct row *row)
{
	struct microstates states;

	row_microstates(row, &states);
	return states.lock_ns;
}

bool snapshot_microstates(const struct snapshot *snapshot, struct microstates *ret)
{
	bool complete = !snapshot->selected && !snapshot->slower_than_ns;
	struct microstates states;
	size_t row, end = snapshot_rows_of(snapshot, 0, NULL);

	*ret = (struct microstates){ 0 };
	for (size_t i = 0; i < snapshot->nr_processes; i++) {
		const struct process *process = &snapshot->processes[i];
		uint64_t lock_ns = 0;

		row = end;
		end += snapshot_rows_of(snapshot, row, process);
		for (; row < end && complete; row++)
			lock_ns += row_lock_ns(snapshot->rows[row]);
		process_microstates(process, lock_ns, &states);
		microstates_add(ret, &states);
	}
	return complete;
}

/* --- times ------------------------------------------------------------------------------------ */

double rates_per_second(const struct rates *rates, uint64_t count)
{
	return rates->diff->elapsed_ns ? (double)count * 1e9 / (double)rates->diff->elapsed_ns : 0;
}

double rates_cpu_pct(const struct rates *rates, uint64_t ns)
{
	return rates->diff->elapsed_ns ? (double)ns * 100 / (double)rates->diff->elapsed_ns : 0;
}

uint64_t rate_cpu_ns(const struct rate *rate)
{
	return rate->states.user_ns + rate->states.system_ns;
}

double rate_share_pct(const struct rate *rate, uint64_t ns)
{
	uint64_t threads_ns = microstates_total_ns(&rate->states);

	return threads_ns ? (double)ns * 100 / (double)threads_ns : 0;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* The counts; the times are added up as microstates. */
static void usage_add(struct usage *into, const struct usage *from)
{
	into->minor_faults += from->minor_faults;
	into->major_faults += from->major_faults;
	into->voluntary_switches += from->voluntary_switches;
	into->involuntary_switches += from->involuntary_switches;
}

static void rate_set_oldest(struct rate *rate, const struct rate *from)
{
	if (!from->in_flight || (rate->in_flight && from->oldest_ns <= rate->oldest_ns))
		return;
	rate->oldest_ns = from->oldest_ns;
	rate->oldest_early = from->oldest_early;
	rate->oldest_abi = from->oldest_abi;
	rate->oldest_nr = from->oldest_nr;
}

/* Adds the numbers, not the identity. */
static void rate_add(struct rate *into, const struct rate *from)
{
	into->nr_processes += from->nr_processes;
	into->threads += from->threads;
	into->calls += from->calls;
	into->errors += from->errors;
	microstates_add(&into->states, &from->states);
	usage_add(&into->usage, &from->usage);
	into->worst_ns = max_u64(into->worst_ns, from->worst_ns);
	rate_set_oldest(into, from);
	into->in_flight += from->in_flight;
	for (size_t i = 0; i < RATE_LATENCIES; i++) {
		if (__builtin_add_overflow(into->latencies[i], from->latencies[i],
					   &into->latencies[i]))
			into->latencies[i] = UINT32_MAX;
	}
}

uint64_t rate_latency_ns(size_t index)
{
	return hist_bucket_low(index ? (unsigned int)(index - 1) * HIST_OCTAVE_BUCKETS + 1 : 0);
}

static void rate_add_row(struct rate *rate, const struct rates *rates, const struct row *row)
{
	struct rate part = {
		.calls = row->calls,
		.errors = row->errors,
		.worst_ns = row_timed(row) ? row->max_ns : 0,
		.in_flight = row->in_flight,
		.oldest_ns = snapshot_oldest_ns(rates->diff, row),
		.oldest_early = row->in_flight_early > 0,
		.oldest_abi = row->abi,
		.oldest_nr = row->nr,
	};
	unsigned int first, end;

	hist_range(&row->hist, &first, &end);
	for (; first < end; first++)
		part.latencies[(first + HIST_OCTAVE_BUCKETS - 1) / HIST_OCTAVE_BUCKETS] +=
			(uint32_t)hist_count(&row->hist, first);
	rate_add(rate, &part);
}

static void rate_init(struct rate *rate, const struct snapshot *diff, const struct process *process)
{
	const char *path = snapshot_cgroup(diff, process->cgroup_id);

	*rate = (struct rate){
		.pid = process->pid,
		.boot_ns = process->boot_ns,
		.process = process,
		.user = snapshot_user(diff, process),
		.nr_processes = process->pid ? 1 : process->nr_folded,
		.threads = process->threads,
	};
	rate->unit_length = cgroup_unit(path ?: "", &rate->unit);
	container_find(path ?: "", &rate->container);
}

static struct rate rate_of_nobody(void)
{
	return (struct rate){ .unit = "-", .unit_length = 1 };
}

/* Makes one line per process, in their order; rows have the same. Rows of nobody come first. */
static int rates_list(const struct rates *rates, struct rate **ret, size_t *ret_count)
{
	const struct snapshot *diff = rates->diff;
	struct rate *lines = calloc(diff->nr_processes + 1, sizeof(*lines));
	struct rate nobody = rate_of_nobody();
	size_t count = 0, row = 0;
	uint64_t lock_ns;

	if (!lines)
		return -ENOMEM;
	for (size_t rows = snapshot_rows_of(diff, 0, NULL); row < rows; row++)
		rate_add_row(&nobody, rates, diff->rows[row]);
	if (nobody.calls)
		lines[count++] = nobody;
	for (size_t i = 0; i < diff->nr_processes; i++) {
		struct rate *line = &lines[count];

		rate_init(line, diff, &diff->processes[i]);
		lock_ns = 0;
		for (; row < diff->nr_rows && process_has_row(line->process, diff->rows[row]);
		     row++) {
			rate_add_row(line, rates, diff->rows[row]);
			lock_ns += row_lock_ns(diff->rows[row]);
		}
		process_microstates(line->process, lock_ns, &line->states);
		usage_add(&line->usage, &line->process->usage);
		/* A process that neither lives nor did anything is left out. */
		count += line->threads || line->calls || line->in_flight || rate_cpu_ns(line);
	}
	*ret = lines;
	*ret_count = count;
	return 0;
}

/*
 * Makes a line for each live thread of a process, from its rows, and one of those that have ended if they
 * did anything. Returns how many.
 */
static size_t rates_split(const struct rates *rates, const struct process *process, size_t row,
			  size_t end, size_t *thread, struct rate *lines)
{
	const struct snapshot *diff = rates->diff;
	struct process rest = *process; /* what no live thread has done */
	struct rate *ended = &lines[0];
	uint64_t lock_ns = 0, rest_lock_ns = 0;
	size_t count = 1;

	rate_init(ended, diff, process);
	ended->nr_processes = ended->threads = 0;
	for (; row < end && !diff->rows[row]->tid; row++) {
		rate_add_row(ended, rates, diff->rows[row]);
		rest_lock_ns += row_lock_ns(diff->rows[row]);
	}
	for (; *thread < diff->nr_threads && !process_compare(&diff->threads[*thread].its, process);
	     ++*thread) {
		const struct thread *one = &diff->threads[*thread];
		struct rate *line = &lines[count++];

		rate_init(line, diff, process);
		line->thread = one;
		line->tid = one->tid;
		line->tid_ns = one->tid_ns;
		line->threads = 1;
		lock_ns = 0;
		/* Nothing else is known of such a thread. */
		for (; row < end && diff->rows[row]->tid < one->tid; row++)
			rate_add_row(ended, rates, diff->rows[row]);
		for (; row < end && diff->rows[row]->tid == one->tid; row++) {
			rate_add_row(line, rates, diff->rows[row]);
			lock_ns += row_lock_ns(diff->rows[row]);
		}
		process_microstates(&one->its, lock_ns, &line->states);
		usage_add(&line->usage, &one->its.usage);
		process_subtract_counts(&rest, &one->its);
	}
	for (; row < end; row++)
		rate_add_row(ended, rates, diff->rows[row]);
	process_microstates(&rest, rest_lock_ns, &ended->states);
	usage_add(&ended->usage, &rest.usage);
	return count;
}

/* Makes lines of threads out of those of processes, which it frees. Returns 0 or -ENOMEM. */
static int rates_list_threads(const struct rates *rates, struct rate **lines, size_t *count)
{
	const struct snapshot *diff = rates->diff;
	struct rate *processes __cleanup(freep) = *lines;
	struct rate *all = calloc(1 + diff->nr_processes + diff->nr_threads, sizeof(*all));
	size_t kept = 0, row = snapshot_rows_of(diff, 0, NULL), thread = 0;

	*lines = all;
	if (!all)
		return -ENOMEM;
	if (*count && !processes[0].process)
		all[kept++] = processes[0];
	for (size_t i = 0; i < diff->nr_processes; i++) {
		const struct process *process = &diff->processes[i];
		size_t end = row + snapshot_rows_of(diff, row, process), made;
		struct rate *ended = &all[kept];

		made = rates_split(rates, process, row, end, &thread, ended);
		row = end;
		/* Ended threads have no line unless they did something. */
		if (!ended->calls && !ended->in_flight && !rate_cpu_ns(ended))
			memmove(ended, ended + 1, --made * sizeof(*ended));
		kept += made;
	}
	*count = kept;
	return 0;
}

/* Of lines of calls, paths and files, which have no pid. */
static int compare_calls(const struct rate *a, const struct rate *b)
{
	if (a->process || b->process)
		return 0;
	return rate_compare_arguments(a, b)
		       ?: (int)a->oldest_abi - (int)b->oldest_abi
		       ?: (a->oldest_nr > b->oldest_nr) - (a->oldest_nr < b->oldest_nr);
}

static int compare_pid(const struct rate *a, const struct rate *b)
{
	return compare_u64(a->pid, b->pid)
		       ?: compare_u64(a->boot_ns, b->boot_ns)
		       ?: compare_u64(a->tid, b->tid)
		       ?: compare_u64(a->tid_ns, b->tid_ns)
		       ?: compare_calls(a, b);
}

static int compare_comm(const struct rate *a, const struct rate *b)
{
	if (!a->process || !b->process)
		return (a->process != NULL) - (b->process != NULL);
	return memcmp(a->process->comm, b->process->comm, PROCESS_COMM_SIZE);
}

static int compare_unit(const struct rate *a, const struct rate *b)
{
	return unit_compare(a->unit, a->unit_length, b->unit, b->unit_length);
}

static int compare_container(const struct rate *a, const struct rate *b)
{
	return container_compare(&a->container, &b->container);
}

static int compare_pod(const struct rate *a, const struct rate *b)
{
	return container_compare_pods(&a->container, &b->container);
}

static int compare_user(const struct rate *a, const struct rate *b)
{
	if (!a->process || !b->process)
		return (a->process != NULL) - (b->process != NULL);
	return compare_u64(a->process->uid, b->process->uid);
}

static int (*const compare_by[NR_RATE_BY])(const struct rate *a, const struct rate *b) = {
	[RATE_BY_PID] = compare_pid,
	[RATE_BY_COMM] = compare_comm,
	[RATE_BY_UNIT] = compare_unit,
	[RATE_BY_USER] = compare_user,
	[RATE_BY_CONTAINER] = compare_container,
	[RATE_BY_POD] = compare_pod,
};

/* Whether its lines add up processes. */
static bool is_grouping(enum rate_by by)
{
	return compare_by[by] && by != RATE_BY_PID;
}

static int compare_group(const void *a, const void *b, void *closure)
{
	return compare_by[*(const enum rate_by *)closure](a, b) ?: compare_pid(a, b);
}

/* Adds up neighbours of one group; returns how many lines are left. */
static size_t lines_merge(struct rate *lines, size_t count, enum rate_by by)
{
	size_t kept = 0;

	qsort_r(lines, count, sizeof(*lines), compare_group, &by);
	for (size_t i = 0; i < count; i++) {
		struct rate *last = kept ? &lines[kept - 1] : NULL;

		if (last && !compare_by[by](last, &lines[i]) &&
		    (last->process != NULL) == (lines[i].process != NULL)) {
			rate_add(last, &lines[i]);
			if (last->user != lines[i].user)
				last->user = NULL;
			continue;
		}
		lines[kept++] = lines[i];
	}
	for (size_t i = 0; i < kept; i++)
		lines[i].pid = 0;
	return kept;
}

int rates_group(struct rates *rates, enum rate_by by)
{
	struct rate *lines = NULL;
	size_t count = 0;
	int err = by == RATE_BY_SYSCALL ? rates_calls(rates, NULL, &lines, &count)
		  : rate_by_split(by)   ? rates_arguments(rates, by, &lines, &count)
					: rates_list(rates, &lines, &count);

	if (!err && by == RATE_BY_TID)
		err = rates_list_threads(rates, &lines, &count);
	if (err)
		return err;
	if (is_grouping(by))
		count = lines_merge(lines, count, by);
	free(rates->lines);
	rates->lines = lines;
	rates->nr_lines = count;
	rates->by = by;
	return 0;
}

static void rates_sum(struct rates *rates)
{
	for (size_t i = 0; i < rates->nr_lines; i++)
		rate_add(&rates->total, &rates->lines[i]);
}

int rates_new(const struct snapshot *earlier, const struct snapshot *later, enum rate_by by,
	      struct rates **ret)
{
	struct rates *rates __cleanup(rates_freep) = calloc(1, sizeof(*rates));
	int err;

	if (!rates)
		return -ENOMEM;
	err = snapshot_diff(earlier, later, &rates->diff);
	/* Processes have all that any lines have; some have less. */
	if (!err)
		err = rates_group(rates, RATE_BY_PID);
	if (err)
		return err;
	rates_sum(rates);
	if (by != RATE_BY_PID && rates_group(rates, by))
		return -ENOMEM;
	rates->losses = later->losses;
	rates->counting_ns = later->elapsed_ns;
	*ret = steal_ptr(&rates);
	return 0;
}

void rates_free(struct rates *rates)
{
	if (!rates)
		return;
	snapshot_free(rates->diff);
	free(rates->lines);
	free(rates);
}

/* --- order and identity ----------------------------------------------------------------------- */

static uint64_t rate_number(const struct rate *rate, enum rate_key key)
{
	uint64_t threads = rate->threads ?: 1;
	const uint64_t numbers[NR_LINE_KEY] = {
		[RATE_THREADS] = rate->threads,
		[RATE_CALLS] = rate->calls,
		[RATE_ERRORS] = rate->errors,
		[RATE_CPU] = rate_cpu_ns(rate),
		[RATE_USR] = rate->states.user_ns,
		[RATE_SYS] = rate->states.system_ns,
		[RATE_RUNQ] = rate->states.runq_ns,
		[RATE_LOCK] = rate->states.lock_ns,
		[RATE_SLEEP] = rate->states.sleep_ns / threads,
		[RATE_WORST] = rate->worst_ns,
		[RATE_OLDEST] = rate->oldest_ns,
		[RATE_P50] = rate->p50_ns,
		[RATE_P99] = rate->p99_ns,
		[RATE_OPEN] = rate->in_flight,
	};

	return numbers[key];
}

bool rate_key_is_name(enum rate_key key)
{
	return key == RATE_PID || key == RATE_COMM || key == RATE_UNIT || key == RATE_USER ||
	       key == RATE_CONTAINER || key == RATE_POD;
}

int rate_compare(const struct rate *a, const struct rate *b, enum rate_key key)
{
	int order;

	if (key == RATE_PID)
		order = 0;
	else if (key == RATE_COMM)
		order = compare_comm(a, b);
	else if (key == RATE_UNIT)
		order = compare_unit(a, b);
	else if (key == RATE_CONTAINER)
		order = compare_container(a, b);
	else if (key == RATE_POD)
		order = compare_pod(a, b);
	else if (key == RATE_USER)
		order = strcmp(a->user ?: "", b->user ?: "");
	else
		order = compare_u64(rate_number(b, key), rate_number(a, key));
	return order ?: compare_pid(a, b);
}

struct rate_order {
	enum rate_key key;
	bool reversed;
};

static int compare_lines(const void *a, const void *b, void *closure)
{
	const struct rate_order *order = closure;

	return order->reversed ? rate_compare(b, a, order->key) : rate_compare(a, b, order->key);
}

void rates_sort(struct rates *rates, enum rate_key key, bool reversed)
{
	struct rate_order order = { key, reversed };

	qsort_r(rates->lines, rates->nr_lines, sizeof(*rates->lines), compare_lines, &order);
}

void rate_identify(const struct rates *rates, const struct rate *rate, struct rate_identity *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->by = rates->by;
	/* Nobody's name is empty, which no process can be sure not to have. */
	if (rates->by == RATE_BY_SYSCALL)
		snprintf(ret->name, sizeof(ret->name), "%d %" PRId64, rate->oldest_abi,
			 rate->oldest_nr);
	else if (rate->argument)
		memcpy(ret->name, rate->argument,
		       min_u64(rate->argument_length, sizeof(ret->name)));
	else if (rate_by_split(rates->by))
		ret->boot_ns = rate->argument_key;
	else if (!rate->process)
		ret->boot_ns = UINT64_MAX;
	else if (rates->by == RATE_BY_UNIT)
		snprintf(ret->name, sizeof(ret->name), "%.*s", (int)rate->unit_length, rate->unit);
	else if (rates->by == RATE_BY_CONTAINER)
		container_write(&rate->container, true, ret->name);
	else if (rates->by == RATE_BY_POD)
		container_write_pod(&rate->container, true, ret->name);
	else if (rates->by == RATE_BY_COMM)
		snprintf(ret->name, sizeof(ret->name), "%.*s", PROCESS_COMM_SIZE,
			 rate->process->comm);
	else if (rates->by == RATE_BY_USER)
		snprintf(ret->name, sizeof(ret->name), "%u", rate->process->uid);
	if (rate->process && !is_grouping(rates->by)) {
		ret->pid = rate->pid;
		ret->boot_ns = rate->boot_ns;
		ret->tid = rate->tid;
		ret->tid_ns = rate->tid_ns;
	}
}

const struct rate *rates_find(const struct rates *rates, const struct rate_identity *identity)
{
	struct rate_identity other;

	for (size_t i = 0; i < rates->nr_lines; i++) {
		rate_identify(rates, &rates->lines[i], &other);
		if (!memcmp(&other, identity, sizeof(other)))
			return &rates->lines[i];
	}
	return NULL;
}

static bool rate_has_row(const struct row *row, const void *closure)
{
	const struct rate_rows *of = closure;
	const struct snapshot *diff = of->rates->diff;
	const struct process *process = snapshot_find_process(diff, row->pid, row->boot_ns);
	struct rate other;

	if (of->rates->by == RATE_BY_SYSCALL)
		return row->abi == of->rate->oldest_abi && row->nr == of->rate->oldest_nr;
	if (rate_by_split(of->rates->by))
		return rate_has_argument_of(of->rates, of->rate, row);
	if (!process || !of->rate->process)
		return !process && !of->rate->process;
	if (of->rates->by == RATE_BY_PID)
		return process == of->rate->process;
	if (of->rates->by == RATE_BY_TID)
		return process == of->rate->process && row->tid == of->rate->tid &&
		       row->tid_ns == of->rate->tid_ns;
	rate_init(&other, diff, process);
	return !compare_by[of->rates->by](&other, of->rate);
}

struct row_test rate_rows_test(const struct rate_rows *of)
{
	return (struct row_test){ rate_has_row, of };
}

void rate_of_calls(const struct rates *rates, const struct row *row, struct rate *ret)
{
	rate_add_row(ret, rates, row);
	ret->oldest_abi = row->abi;
	ret->oldest_nr = row->nr;
	row_microstates(row, &ret->states);
	ret->states.sleep_ns += ret->states.lock_ns;
	ret->states.lock_ns = 0;
	if (row_timed(row)) {
		ret->p50_ns = hist_quantile_ns(&row->hist, 0.50, row->min_ns, row->max_ns);
		ret->p99_ns = hist_quantile_ns(&row->hist, 0.99, row->min_ns, row->max_ns);
	}
}

int rates_calls(const struct rates *rates, const struct rate *rate, struct rate **ret,
		size_t *ret_count)
{
	struct group_list calls __cleanup(group_list_done) = { 0 };
	const struct rate_rows rows = { rates, rate };
	const struct row_test test = rate_rows_test(&rows);

	if (snapshot_group(rates->diff, GROUP_SYSCALL, rate ? &test : NULL, &calls))
		return -ENOMEM;
	*ret = calloc(calls.nr_groups + 1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	for (size_t i = 0; i < calls.nr_groups; i++)
		rate_of_calls(rates, &calls.groups[i].sum, &(*ret)[i]);
	*ret_count = calls.nr_groups;
	return 0;
}
