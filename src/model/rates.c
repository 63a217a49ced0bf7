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
	[RATE_PID] = "pid",       [RATE_COMM] = "comm",       [RATE_USER] = "user",
	[RATE_UNIT] = "unit",     [RATE_THREADS] = "threads", [RATE_CALLS] = "calls",
	[RATE_ERRORS] = "errors", [RATE_CPU] = "cpu",         [RATE_USR] = "usr",
	[RATE_SYS] = "sys",       [RATE_RUNQ] = "runq",       [RATE_LOCK] = "lock",
	[RATE_SLEEP] = "sleep",   [RATE_WORST] = "max",       [RATE_OLDEST] = "oldest",
};

const char *const rate_by_names[NR_RATE_BY] = {
	[RATE_BY_PID] = "pid",
	[RATE_BY_COMM] = "comm",
	[RATE_BY_UNIT] = "unit",
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

void row_microstates(const struct snapshot *snapshot, const struct row *row,
		     struct microstates *ret)
{
	const char *name =
		row->nr == ROW_NR_OTHER ? NULL : syscall_find_name(row->abi, (int)row->nr);
	uint64_t wall_ns = total_ns(row->wall_ns, row->open_wall_ns);
	uint64_t off_ns = min_u64(total_ns(row->off_ns, row->open_off_ns), wall_ns);
	uint64_t runq_ns = min_u64(row->runq_ns, off_ns);
	/* Early calls were asleep when counting began, and none of them has returned since. */
	uint64_t early_ns = min_u64(snapshot->elapsed_ns, snapshot_oldest_ns(snapshot, row));
	uint64_t sleep_ns = off_ns - runq_ns + row->in_flight_early * early_ns;

	*ret = (struct microstates){ .system_ns = wall_ns - off_ns, .runq_ns = runq_ns };
	*(name && !strncmp(name, "futex", 5) ? &ret->lock_ns : &ret->sleep_ns) = sleep_ns;
}

static uint64_t row_lock_ns(const struct snapshot *snapshot, const struct row *row)
{
	struct microstates states;

	row_microstates(snapshot, row, &states);
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
			lock_ns += row_lock_ns(snapshot, snapshot->rows[row]);
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

	rate_add(rate, &part);
}

static void rate_init(struct rate *rate, const struct snapshot *diff, const struct process *process)
{
	const char *path = snapshot_cgroup(diff, process->cgroup_id);

	*rate = (struct rate){
		.pid = process->pid,
		.boot_ns = process->boot_ns,
		.process = process,
		.user = snapshot_user(diff, process->uid),
		.nr_processes = process->pid ? 1 : process->nr_folded,
		.threads = process->threads,
	};
	rate->unit_length = cgroup_unit(path ?: "", &rate->unit);
}

/* Makes one line per process, in their order; rows have the same. Rows of nobody come first. */
static int rates_list(const struct rates *rates, struct rate **ret, size_t *ret_count)
{
	const struct snapshot *diff = rates->diff;
	struct rate *lines = calloc(diff->nr_processes + 1, sizeof(*lines));
	struct rate nobody = { .unit = "-", .unit_length = 1 };
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
			lock_ns += row_lock_ns(diff, diff->rows[row]);
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

static int compare_pid(const struct rate *a, const struct rate *b)
{
	return compare_u64(a->pid, b->pid) ?: compare_u64(a->boot_ns, b->boot_ns);
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

static int (*const compare_by[NR_RATE_BY])(const struct rate *a, const struct rate *b) = {
	[RATE_BY_PID] = compare_pid,
	[RATE_BY_COMM] = compare_comm,
	[RATE_BY_UNIT] = compare_unit,
};

static int compare_group(const void *a, const void *b, void *closure)
{
	return compare_by[*(const enum rate_by *)closure](a, b) ?: compare_pid(a, b);
}

int rates_group(struct rates *rates, enum rate_by by)
{
	struct rate *lines;
	size_t count, kept = 0;

	if (rates_list(rates, &lines, &count))
		return -ENOMEM;
	if (by != RATE_BY_PID)
		qsort_r(lines, count, sizeof(*lines), compare_group, &by);
	for (size_t i = 0; i < count; i++) {
		if (kept && by != RATE_BY_PID && !compare_by[by](&lines[kept - 1], &lines[i]) &&
		    (lines[kept - 1].process != NULL) == (lines[i].process != NULL)) {
			rate_add(&lines[kept - 1], &lines[i]);
			if (lines[kept - 1].user != lines[i].user)
				lines[kept - 1].user = NULL;
			continue;
		}
		lines[kept++] = lines[i];
	}
	for (size_t i = 0; i < kept && by != RATE_BY_PID; i++)
		lines[i].pid = 0;
	free(rates->lines);
	rates->lines = lines;
	rates->nr_lines = kept;
	rates->by = by;
	return 0;
}

int rates_new(const struct snapshot *earlier, const struct snapshot *later, enum rate_by by,
	      struct rates **ret)
{
	struct rates *rates __cleanup(rates_freep) = calloc(1, sizeof(*rates));
	int err;

	if (!rates)
		return -ENOMEM;
	err = snapshot_diff(earlier, later, &rates->diff);
	if (!err)
		err = rates_group(rates, by);
	if (err)
		return err;
	rates->losses = later->losses;
	rates->counting_ns = later->elapsed_ns;
	for (size_t i = 0; i < rates->nr_lines; i++)
		rate_add(&rates->total, &rates->lines[i]);
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

int rate_compare(const struct rate *a, const struct rate *b, enum rate_key key)
{
	int order;

	if (key == RATE_PID)
		order = 0;
	else if (key == RATE_COMM)
		order = compare_comm(a, b);
	else if (key == RATE_UNIT)
		order = compare_unit(a, b);
	else if (key == RATE_USER)
		order = strcmp(a->user ?: "", b->user ?: "");
	else
		order = compare_u64(rate_number(b, key), rate_number(a, key));
	return order ?: compare_pid(a, b);
}

static int compare_lines(const void *a, const void *b, void *closure)
{
	return rate_compare(a, b, *(const enum rate_key *)closure);
}

void rates_sort(struct rates *rates, enum rate_key key)
{
	qsort_r(rates->lines, rates->nr_lines, sizeof(*rates->lines), compare_lines, &key);
}

void rate_identify(const struct rates *rates, const struct rate *rate, struct rate_identity *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->by = rates->by;
	if (rates->by == RATE_BY_PID) {
		ret->pid = rate->pid;
		ret->boot_ns = rate->boot_ns;
	} else if (rates->by == RATE_BY_UNIT) {
		snprintf(ret->name, sizeof(ret->name), "%.*s", (int)rate->unit_length, rate->unit);
	} else if (rate->process) {
		snprintf(ret->name, sizeof(ret->name), "%.*s", PROCESS_COMM_SIZE,
			 rate->process->comm);
	}
	/* Nobody's name is empty, which no process can be sure not to have. */
	if (!rate->process)
		ret->boot_ns = UINT64_MAX;
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

/* The calls of one line. */
struct line_test {
	const struct rates *rates;
	const struct rate *rate;
};

static bool line_has_row(const struct row *row, const void *closure)
{
	const struct line_test *test = closure;
	const struct snapshot *diff = test->rates->diff;
	const struct process *process = snapshot_find_process(diff, row->pid, row->boot_ns);
	struct rate other;

	if (!process || !test->rate->process)
		return !process && !test->rate->process;
	if (test->rates->by == RATE_BY_PID)
		return process == test->rate->process;
	rate_init(&other, diff, process);
	return !compare_by[test->rates->by](&other, test->rate);
}

static void rate_of_calls(const struct rates *rates, const struct row *row, struct rate *ret)
{
	rate_add_row(ret, rates, row);
	ret->oldest_abi = row->abi;
	ret->oldest_nr = row->nr;
	row_microstates(rates->diff, row, &ret->states);
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
	struct line_test closure = { rates, rate };
	struct row_test test = { line_has_row, &closure };

	if (snapshot_group(rates->diff, GROUP_SYSCALL, &test, &calls))
		return -ENOMEM;
	*ret = calloc(calls.nr_groups + 1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	for (size_t i = 0; i < calls.nr_groups; i++)
		rate_of_calls(rates, &calls.groups[i].sum, &(*ret)[i]);
	*ret_count = calls.nr_groups;
	return 0;
}
