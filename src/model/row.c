/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the arithmetic of rows. Invariant: errnos are sorted and every count is positive. */
#include "model/row.h"

#include "base/text.h"
#include "syscalls/names.h"

/* malloc() adds this to each piece. */
#define PIECE_BYTES 16

#define GROWS(member) { #member, offsetof(struct row, member), .grows = true }
#define NOW(member)   { #member, offsetof(struct row, member), .now = true }
#define WRAPS(member) { #member, offsetof(struct row, member), .grows = false }

const char *const row_split_names[NR_CALL_SPLIT] = {
	[SPLIT_ARG0] = "arg0",     [SPLIT_ARG0 + 1] = "arg1", [SPLIT_ARG0 + 2] = "arg2",
	[SPLIT_ARG0 + 3] = "arg3", [SPLIT_ARG0 + 4] = "arg4", [SPLIT_ARG5] = "arg5",
	[SPLIT_CPU] = "cpu",       [SPLIT_PATH] = "path",     [SPLIT_FILE] = "file",
};

const struct row_counter row_counters[NR_ROW_COUNTERS] = {
	GROWS(calls),   GROWS(errors),     GROWS(interrupted),   GROWS(no_return),   GROWS(untimed),
	GROWS(denied),  NOW(in_flight),    NOW(in_flight_early), GROWS(wall_ns),     GROWS(off_ns),
	GROWS(runq_ns), WRAPS(result_sum), WRAPS(open_wall_ns),  WRAPS(open_off_ns),
};

void row_init(struct row *row)
{
	memset(row, 0, sizeof(*row));
	row->min_ns = UINT64_MAX;
	row->oldest_start_ns = UINT64_MAX;
}

void row_done(struct row *row)
{
	for (size_t i = 0; i < row->nr_told; i++) {
		free(row->told[i].comm);
		free(row->told[i].line);
	}
	free(row->told);
	row->told = NULL;
	row->nr_told = 0;
	hist_done(&row->hist);
	free(row->errnos);
	free(row->stacks);
	row->errnos = NULL;
	row->nr_errnos = 0;
	row->stacks = NULL;
	row->nr_stacks = 0;
}

struct row *row_new(struct row *from)
{
	struct row *row = malloc(sizeof(*row));

	if (!row)
		return NULL;
	*row = *from;
	row->refs = 1;
	row_init(from);
	return row;
}

struct row *row_ref(struct row *row)
{
	row->refs++;
	return row;
}

void row_unref(struct row *row)
{
	if (!row || --row->refs)
		return;
	row_done(row);
	free(row);
}

struct row *row_new_like(const struct row *from)
{
	struct row copy, *row = NULL;

	if (row_copy(&copy, from))
		return NULL;
	row = row_new(&copy);
	row_done(&copy);
	return row;
}

int row_unshare(struct row **row)
{
	struct row *own = (*row)->refs > 1 ? row_new_like(*row) : row_ref(*row);

	if (!own)
		return -ENOMEM;
	row_unref(*row);
	*row = own;
	return 0;
}

int row_compare(const struct row *a, const struct row *b)
{
	int order = compare_u64(a->host, b->host);

	order = order ?: compare_u64(a->pid, b->pid);
	order = order ?: compare_u64(a->boot_ns, b->boot_ns);
	order = order ?: compare_u64(a->tid, b->tid);
	order = order ?: compare_u64(a->tid_ns, b->tid_ns);
	order = order ?: (int)a->abi - (int)b->abi;
	order = order ?: (a->nr > b->nr) - (a->nr < b->nr);
	order = order ?: (int)a->split - (int)b->split;
	return order ?: compare_u64(a->split_value, b->split_value);
}

int row_add_errno(struct row *row, int err, uint64_t count)
{
	struct errno_count *grown;
	size_t at = 0;

	while (at < row->nr_errnos && row->errnos[at].err < err)
		at++;
	if (at < row->nr_errnos && row->errnos[at].err == err) {
		row->errnos[at].count += count;
		return 0;
	}
	grown = reallocarray(row->errnos, row->nr_errnos + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memmove(&grown[at + 1], &grown[at], (row->nr_errnos - at) * sizeof(*grown));
	grown[at] = (struct errno_count){ err, count };
	row->errnos = grown;
	row->nr_errnos++;
	return 0;
}

void stack_count_add(struct stack_count *into, const struct stack_count *from)
{
	into->calls += from->calls;
	into->errors += from->errors;
	into->wall_ns += from->wall_ns;
	into->off_ns += from->off_ns;
	into->runq_ns += from->runq_ns;
	into->max_ns = from->max_ns > into->max_ns ? from->max_ns : into->max_ns;
}

static size_t stack_place(const struct row *row, uint64_t id)
{
	return place_u64(row->stacks, row->nr_stacks, sizeof(*row->stacks), id);
}

int row_add_stack(struct row *row, const struct stack_count *stack)
{
	size_t at = stack_place(row, stack->id);
	struct stack_count *place;

	if (at < row->nr_stacks && row->stacks[at].id == stack->id) {
		stack_count_add(&row->stacks[at], stack);
		return 0;
	}
	place = reallocarray(row->stacks, row->nr_stacks + 1, sizeof(*place));
	if (!place)
		return -ENOMEM;
	memmove(&place[at + 1], &place[at], (row->nr_stacks - at) * sizeof(*place));
	place[at] = *stack;
	row->stacks = place;
	row->nr_stacks++;
	return 0;
}

static int compare_stacks(const void *a, const void *b)
{
	return compare_u64(((const struct stack_count *)a)->id,
			   ((const struct stack_count *)b)->id);
}

/* Few of them are added to many one by one: those that the row has cost little. */
#define FEW_STACKS(count, nr) ((count) < (nr) / 16)

/* Adds stacks that are in order. */
static int row_merge_stacks(struct row *row, const struct stack_count *stacks, size_t count)
{
	struct stack_count *merged;
	size_t i = 0, j = 0, nr = 0;

	for (; j < count && FEW_STACKS(count, row->nr_stacks); j++) {
		if (row_add_stack(row, &stacks[j]))
			return -ENOMEM;
	}
	if (j == count)
		return 0;
	merged = reallocarray(NULL, row->nr_stacks + count, sizeof(*merged));
	if (!merged)
		return -ENOMEM;
	while (i < row->nr_stacks || j < count) {
		bool is_own =
			j == count || (i < row->nr_stacks && row->stacks[i].id <= stacks[j].id);
		const struct stack_count *next = is_own ? &row->stacks[i++] : &stacks[j++];

		if (nr && merged[nr - 1].id == next->id)
			stack_count_add(&merged[nr - 1], next);
		else
			merged[nr++] = *next;
	}
	free(row->stacks);
	row->stacks = reallocarray(merged, nr, sizeof(*merged)) ?: merged;
	row->nr_stacks = nr;
	return 0;
}

int row_add_stacks(struct row *row, struct stack_count *stacks, size_t count)
{
	if (count)
		qsort(stacks, count, sizeof(*stacks), compare_stacks);
	return row_merge_stacks(row, stacks, count);
}

static void row_set_slowest(struct row *row, uint64_t start_ns, uint32_t tid)
{
	row->max_start_ns = start_ns;
	row->max_tid = tid;
}

int row_merge(struct row *into, const struct row *from)
{
	for (size_t i = 0; i < NR_ROW_COUNTERS; i++)
		*row_counter(into, i) += row_count(from, i);
	into->min_ns = from->min_ns < into->min_ns ? from->min_ns : into->min_ns;
	if (from->max_ns > into->max_ns) {
		into->max_ns = from->max_ns;
		row_set_slowest(into, from->max_start_ns, from->max_tid);
	}
	into->oldest_start_ns = min_u64(into->oldest_start_ns, from->oldest_start_ns);
	if (hist_merge(&into->hist, &from->hist))
		return -ENOMEM;
	for (size_t i = 0; i < from->nr_errnos; i++) {
		if (row_add_errno(into, from->errnos[i].err, from->errnos[i].count))
			return -ENOMEM;
	}
	return row_merge_stacks(into, from->stacks, from->nr_stacks);
}

/* The earlier row may have far fewer of them. */
static void row_subtract_stacks(struct row *from, const struct row *earlier)
{
	size_t kept = 0, gone = 0;

	for (size_t i = 0; i < earlier->nr_stacks; i++) {
		const struct stack_count *less = &earlier->stacks[i];
		size_t at = stack_place(from, less->id);
		struct stack_count *left;

		if (at == from->nr_stacks || from->stacks[at].id != less->id)
			continue;
		left = &from->stacks[at];
		left->calls -= less->calls;
		left->errors -= less->errors;
		left->wall_ns -= less->wall_ns;
		left->off_ns -= less->off_ns;
		left->runq_ns -= less->runq_ns;
		gone += !left->calls;
	}
	for (size_t i = 0; i < from->nr_stacks && gone; i++) {
		if (from->stacks[i].calls)
			from->stacks[kept++] = from->stacks[i];
	}
	from->nr_stacks = gone ? kept : from->nr_stacks;
}

static void row_subtract_errnos(struct row *from, const struct row *earlier)
{
	size_t kept = 0, j = 0;

	for (size_t i = 0; i < from->nr_errnos; i++) {
		struct errno_count left = from->errnos[i];

		while (j < earlier->nr_errnos && earlier->errnos[j].err < left.err)
			j++;
		if (j < earlier->nr_errnos && earlier->errnos[j].err == left.err)
			left.count -= earlier->errnos[j].count;
		if (left.count)
			from->errnos[kept++] = left;
	}
	from->nr_errnos = kept;
}

/* Bounds of a difference: its outermost buckets, cut to the extremes of the whole. */
static void row_bound_extremes(struct row *row)
{
	unsigned int first, end;
	uint64_t low, high;

	hist_range(&row->hist, &first, &end);
	if (first == end) {
		row->min_ns = UINT64_MAX;
		row->max_ns = 0;
		return;
	}
	low = hist_bucket_low(first);
	high = hist_bucket_low(end) - 1;
	row->min_ns = low > row->min_ns ? low : row->min_ns;
	row->max_ns = high < row->max_ns ? high : row->max_ns;
}

bool row_is_after(const struct row *row, const struct row *earlier)
{
	for (size_t i = 0; i < NR_ROW_COUNTERS; i++) {
		if (row_counters[i].grows && row_count(row, i) < row_count(earlier, i))
			return false;
	}
	return true;
}

int row_subtract(struct row *from, const struct row *earlier)
{
	const uint64_t whole_max_ns = from->max_ns;

	if (!row_is_after(from, earlier))
		return -EINVAL;
	for (size_t i = 0; i < NR_ROW_COUNTERS; i++) {
		if (!row_counters[i].now)
			*row_counter(from, i) -= row_count(earlier, i);
	}
	hist_subtract(&from->hist, &earlier->hist);
	row_subtract_errnos(from, earlier);
	row_subtract_stacks(from, earlier);
	row_bound_extremes(from);
	if (from->max_ns != whole_max_ns || from->max_start_ns == earlier->max_start_ns)
		row_set_slowest(from, 0, 0);
	return 0;
}

void row_settle(struct row *row)
{
	row->calls = max_u64(row->calls, row->errors + row->interrupted + row->no_return);
	row->calls = max_u64(row->calls, row->untimed + row->no_return);
	row->off_ns = max_u64(row->off_ns, row->runq_ns);
	row->wall_ns = max_u64(row->wall_ns, row->off_ns);
}

int row_take_out(struct row *from, const struct row *part)
{
	uint64_t min_ns = from->min_ns, max_ns = from->max_ns, start_ns = from->max_start_ns;
	uint32_t tid = from->max_tid;
	int err = row_subtract(from, part);

	if (err)
		return err;
	from->min_ns = min_ns;
	from->max_ns = max_ns;
	row_set_slowest(from, start_ns, tid);
	from->in_flight -= part->in_flight;
	from->in_flight_early -= part->in_flight_early;
	return 0;
}

void row_copy_identity(struct row *to, const struct row *from)
{
	to->host = from->host;
	to->pid = from->pid;
	to->boot_ns = from->boot_ns;
	to->tid = from->tid;
	to->tid_ns = from->tid_ns;
	to->abi = from->abi;
	to->nr = from->nr;
	to->split = from->split;
	to->split_value = from->split_value;
}

void row_forget_owner(struct row *row)
{
	row->host = row->pid = row->tid = 0;
	row->boot_ns = row->tid_ns = 0;
	row_forget_split(row);
}

void row_forget_split(struct row *row)
{
	row->split = SPLIT_NONE;
	row->split_value = 0;
}

void row_forget_number(struct row *row)
{
	row->nr = ROW_NR_OTHER;
	row_forget_split(row);
}

int row_copy(struct row *to, const struct row *from)
{
	struct row copy;

	row_init(&copy);
	row_copy_identity(&copy, from);
	if (row_merge(&copy, from)) {
		row_done(&copy);
		return -ENOMEM;
	}
	*to = copy;
	return 0;
}

size_t row_bytes(const struct row *row)
{
	unsigned int first, end;

	hist_range(&row->hist, &first, &end);
	return sizeof(*row) + sizeof(struct row *) + (end - first) * sizeof(uint64_t) +
	       row->nr_errnos * sizeof(*row->errnos) + row->nr_stacks * sizeof(*row->stacks) +
	       (2 + !!row->nr_errnos + !!row->nr_stacks) * PIECE_BYTES;
}

uint64_t row_errors_unnamed(const struct row *row)
{
	uint64_t named = 0;

	for (size_t i = 0; i < row->nr_errnos; i++)
		named = add_bounded(named, row->errnos[i].count);
	return row->errors > named ? row->errors - named : 0;
}

bool row_moves_data(const struct row *row)
{
	return row->nr != ROW_NR_OTHER &&
	       syscall_has_trait(row->abi, (int)row->nr, TRAIT_MOVES_DATA);
}
