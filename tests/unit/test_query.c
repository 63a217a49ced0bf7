/* SPDX-License-Identifier: BSD-2-Clause */
/* Selecting and grouping the rows of a snapshot. */
#include "scenarios.h"

#include "model/group.h"
#include "model/query.h"

static struct snapshot *select_make(const struct snapshot *snapshot, const char *list)
{
	__cleanup(syscall_set_freep) struct syscall_set *set = NULL;
	struct snapshot *out;

	if (list)
		assert_int_equal(syscall_set_parse(list, &set, NULL), 0);
	assert_int_equal(snapshot_select(snapshot, set, &out), 0);
	return out;
}

/* Two processes, two ABIs: read, write, read/i386. */
static struct snapshot *snapshot_two_by_three(void)
{
	struct builder *builder = builder_make();
	struct row row;

	scenario_two_processes(builder);
	for (uint32_t pid = 1234; pid <= 5678; pid += 5678 - 1234) {
		row_init_calls(&row, pid, ABI_X86_64, "read", pid, 100, 30, 10);
		row_add_errors(&row, pid == 1234 ? EPERM : EIO, 1);
		row_add_errors(&row, EINTR, 2);
		row.in_flight = 1;
		row.oldest_start_ns = pid;
		builder_take_row(builder, &row);
		builder_take_calls(builder, pid, ABI_X86_64, "write", 1, pid, 0, 0);
		builder_take_calls(builder, pid, ABI_I386, "read", 7, 100, 0, 0);
	}
	return snapshot_take(builder);
}

SNAPSHOT_TEST(test_select_all, snapshot_two_by_three())
{
	__cleanup(snapshot_freep) struct snapshot *all = select_make(snapshot, NULL);

	assert_snapshot_equal(snapshot, all);
	assert_ptr_not_equal(snapshot->rows, all->rows);
	assert_ptr_equal(snapshot->rows[0], all->rows[0]);
	assert_string_equal(snapshot->host, all->host);
	assert_int_equal(snapshot->elapsed_ns, all->elapsed_ns);
}

/* A name counts in every ABI; processes stay, for their user time. */
SNAPSHOT_TEST(test_select_by_set, snapshot_two_by_three())
{
	__cleanup(snapshot_freep) struct snapshot *reads = select_make(snapshot, "read");
	__cleanup(snapshot_freep) struct snapshot *writes = select_make(snapshot, "write");
	__cleanup(snapshot_freep) struct snapshot *none = select_make(snapshot, "!all");

	assert_int_equal(reads->nr_rows, 4);
	assert_row_equal(reads->rows[0], snapshot->rows[0]);
	assert_row_equal(reads->rows[1], snapshot->rows[2]);
	assert_row_equal(reads->rows[2], snapshot->rows[3]);
	assert_row_equal(reads->rows[3], snapshot->rows[5]);
	assert_int_equal(writes->nr_rows, 2);
	assert_row_equal(writes->rows[0], snapshot->rows[1]);
	assert_row_equal(writes->rows[1], snapshot->rows[4]);
	assert_int_equal(none->nr_rows, 0);
	assert_int_equal(reads->nr_processes, 2);
	assert_int_equal(none->nr_processes, 2);
	assert_int_equal(snapshot_user_ns(none), snapshot_user_ns(snapshot));
	for (size_t i = 0; i < 2; i++)
		assert_process_equal(&none->processes[i], &snapshot->processes[i]);
	/* Asking changes nothing. */
	assert_int_equal(snapshot->nr_rows, 6);
}

SNAPSHOT_TEST(test_sum_by_syscall, snapshot_two_by_three())
{
	__cleanup(group_list_done) struct group_list sums = { 0 };

	assert_int_equal(snapshot_group(snapshot, GROUP_SYSCALL, NULL, &sums), 0);
	assert_int_equal(sums.nr_groups, 3);
	assert_has(&sums.groups[0].sum, abi, ABI_X86_64, nr, 0, calls, 1234 + 5678, errors, 6,
		   in_flight, 2, oldest_start_ns, 1234);
	assert_int_equal(row_cpu_ns(&sums.groups[0].sum), (1234 + 5678) * 70);
	assert_int_equal(sums.groups[0].sum.nr_errnos, 3);
	assert_int_equal(sums.groups[0].sum.errnos[0].err, EPERM);
	assert_has(&sums.groups[0].sum.errnos[1], err, EINTR, count, 4);
	assert_int_equal(sums.groups[0].sum.errnos[2].err, EIO);
	assert_has(&sums.groups[1].sum, nr, 1, calls, 2, min_ns, 1234, max_ns, 5678);
	assert_int_equal(hist_total(&sums.groups[1].sum.hist), 2);
	/* read of another ABI is another call. */
	assert_has(&sums.groups[2].sum, abi, ABI_I386, nr, 3, calls, 14);
	/* Asking changes nothing. */
	assert_int_equal(snapshot->nr_rows, 6);
	assert_has(snapshot->rows[0], pid, 1234, nr_errnos, 2);
}

/* The same number under two ABIs is two calls. */
BUILDER_TEST(test_sum_keeps_abis_apart)
{
	__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
	__cleanup(group_list_done) struct group_list sums = { 0 };
	struct row row;

	for (int abi = 0; abi < NR_SYSCALL_ABI; abi++) {
		row_init_for(&row, 1, (enum syscall_abi)abi, 3);
		row_add_calls(&row, 1 + (uint64_t)abi, 100, 0, 0);
		builder_take_row(builder, &row);
	}
	row_init_for(&row, 0, ABI_X86_64, 3);
	row.calls = row.untimed = 100;
	builder_take_row(builder, &row);
	snapshot = snapshot_take(builder);
	assert_int_equal(snapshot_group(snapshot, GROUP_SYSCALL, NULL, &sums), 0);
	assert_int_equal(sums.nr_groups, NR_SYSCALL_ABI);
	/* Those that found no room belong to the same call. */
	assert_has(&sums.groups[0].sum, calls, 101, untimed, 100);
	for (int abi = 1; abi < NR_SYSCALL_ABI; abi++)
		assert_has(&sums.groups[abi].sum, abi, abi, calls, 1 + abi);
}

SNAPSHOT_TEST(test_sum_of_nothing, snapshot_make())
{
	struct group_list sums = { 0 };

	assert_int_equal(snapshot_group(snapshot, GROUP_SYSCALL, NULL, &sums), 0);
	assert_int_equal(sums.nr_groups, 0);
	group_list_done(&sums);
	group_list_done(&sums);
	assert_null(sums.groups);
}

/* Threads and first arguments do not keep rows of one call apart. */
BUILDER_TEST(test_sum_ignores_thread_and_argument)
{
	__cleanup(group_list_done) struct group_list list = { 0 };
	__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
	struct row row;

	for (uint32_t i = 0; i < 4; i++) {
		row_init_for(&row, 1 + i / 2, ABI_X86_64, 0);
		row.tid = 10 + i;
		row.has_arg0 = i % 2;
		row.arg0 = i;
		row_add_calls(&row, 1 + i, 100, 0, 0);
		builder_take_row(builder, &row);
	}
	snapshot = snapshot_take(builder);
	assert_int_equal(snapshot->nr_rows, 4);
	assert_int_equal(snapshot_group(snapshot, GROUP_SYSCALL, NULL, &list), 0);
	assert_int_equal(list.nr_groups, 1);
	assert_int_equal(list.groups[0].sum.calls, 10);
}
