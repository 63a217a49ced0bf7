/* SPDX-License-Identifier: BSD-2-Clause */
/* What tests of the reader of JSON reports share: reading a text, and what was read. */
#ifndef BPFTRUSS_JSON_READ_FIXTURE_H
#define BPFTRUSS_JSON_READ_FIXTURE_H

#include "stack_scenarios.h"

#include <jansson.h>

#include "report/report.h"

/* What was read, and what it borrows from. */
struct read_back {
	struct snapshot *snapshot;
	struct stack_table *stacks;
};

static inline void read_back_done(struct read_back *back)
{
	snapshot_free(back->snapshot);
	stack_table_free(back->stacks);
}

static inline int read_text(const char *text, size_t size, struct read_back *ret, struct diag *d)
{
	return report_json_read(text, size, &ret->snapshot, &ret->stacks, d);
}

static inline struct read_back read_right(const char *text)
{
	struct read_back back = { NULL, NULL };

	must(read_text(text, strlen(text), &back, &d));
	return back;
}

/* Groupings by every key, one after the other. */
static inline bool table_options_at(size_t index, struct table_options *ret)
{
	static const unsigned int keys[] = {
		0,
		GROUP_PID,
		GROUP_TID | GROUP_PID,
		GROUP_COMM,
		GROUP_UNIT,
		GROUP_USER,
		GROUP_ABI,
		GROUP_SYSCALL | GROUP_ARG0,
		GROUP_COMM | GROUP_USER | GROUP_UNIT | GROUP_PID,
		GROUP_PID | GROUP_TID | GROUP_SYSCALL | GROUP_ARG0,
	};

	if (index >= ARRAY_SIZE(keys))
		return false;
	*ret = (struct table_options){ .hist = index == 0, .keys = keys[index] };
	return true;
}

static inline int all_tables(const struct snapshot *snapshot, FILE *out)
{
	struct column_list columns = { .count = 0 };
	struct table_options options;
	int err = 0;

	for (size_t i = 0; column_at(i); i++) {
		if (!column_is_key(column_at(i)))
			column_list_add(&columns, column_at(i));
	}
	for (size_t i = 0; table_options_at(i, &options); i++) {
		err |= report_csv(snapshot, &options, true, out);
		err |= report_errors(snapshot, &options, out);
		err |= report_chart(snapshot, &options, out);
		options.columns = &columns;
		err |= report_wide(snapshot, &options, out);
	}
	return err;
}

static inline void assert_sorted(const struct snapshot *snapshot)
{
	for (size_t i = 1; i < snapshot->nr_rows; i++)
		assert_true(row_compare(snapshot->rows[i - 1], snapshot->rows[i]) < 0);
	for (size_t i = 1; i < snapshot->nr_processes; i++)
		assert_true(process_compare(&snapshot->processes[i - 1], &snapshot->processes[i]) <
			    0);
	for (size_t i = 1; i < snapshot->nr_users; i++)
		assert_true(snapshot->users[i - 1].id < snapshot->users[i].id);
	for (size_t i = 1; i < snapshot->nr_cgroups; i++)
		assert_true(snapshot->cgroups[i - 1].id < snapshot->cgroups[i].id);
}

/* Every field of a process and a row that a report may have no column for. */
static inline struct snapshot *snapshot_of_all_fields(void)
{
	struct builder *builder = builder_make();
	struct process process = process_make(70, "one", 3);
	struct snapshot *snapshot;
	struct row row;

	process.uid = 5;
	process.cgroup_id = 99;
	process.threads = 3;
	process.user_ns = 17;
	assert_int_equal(builder_add_process(builder, &process, false), 0);
	process = (struct process){ .boot_ns = 4,
				    .uid = UID_NONE,
				    .nr_folded = 12,
				    .ended_ns = 444,
				    .comm = "[others]",
				    .user_ns = 1 };
	assert_int_equal(builder_add_process(builder, &process, false), 0);
	row_init_calls(&row, 70, ABI_X86_64, "mmap", 3, 700, 600, 500);
	row.tid = 71;
	row.tid_ns = 12345;
	row.result_sum = UINT64_MAX - 5;
	row.has_arg0 = true;
	row.arg0 = UINT64_MAX;
	row.in_flight = 2;
	row.in_flight_early = 1;
	row.oldest_start_ns = 100;
	row.open_wall_ns = -400;
	row.open_off_ns = 300;
	builder_take_row(builder, &row);
	/* The same thread number again, and a process that is not listed. */
	row_init_calls(&row, 70, ABI_X86_64, "mmap", 1, 0, 0, 0);
	row.tid = 71;
	row.tid_ns = 12346;
	builder_take_row(builder, &row);
	row_init_for(&row, 80, ABI_ARM, -7);
	row.calls = row.untimed = 1;
	builder_take_row(builder, &row);
	row_init_for(&row, 0, ABI_I386, 3);
	row.boot_ns = 4;
	row_add_calls(&row, 1, 1ULL << 43, 0, 0);
	row_add_errors(&row, 4000, 1);
	builder_take_row(builder, &row);
	snapshot = snapshot_take(builder);
	snapshot->caller_pidns = true;
	snapshot->slower_than_ns = 10;
	snapshot->threads_unknown = 2;
	snapshot->start_ns = -1500000000;
	names_add(&snapshot->users, &snapshot->nr_users, 5, "us\"er\x80");
	names_add(&snapshot->cgroups, &snapshot->nr_cgroups, 99, "/a.slice/\x9b.service/in");
	return snapshot;
}

#endif
