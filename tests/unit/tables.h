/* SPDX-License-Identifier: BSD-2-Clause */
/* Serves the tests of the grouping reports: a server with units, users and threads. */
#pragma once

#include "scenarios.h"

#include "report/report.h"

static const struct table_options plain;

static inline void web_process(struct builder *builder, uint32_t pid, const char *comm,
			       uint32_t uid, uint64_t cgroup_id, uint64_t user_ns)
{
	struct process process = process_make(pid, comm, strlen(comm));

	process.uid = uid;
	process.cgroup_id = cgroup_id;
	process.user_ns = user_ns;
	assert_int_equal(builder_add_process(builder, &process, false), 0);
}

static inline void web_rows(struct builder *builder, uint32_t pid, uint64_t scale)
{
	struct row row;

	row_init_calls(&row, pid, ABI_OF_TESTS, "read", 900 * scale, 1500, 0, 0);
	row_add_calls(&row, 100 * scale, 2 * MSEC, 1900 * USEC, 50 * USEC);
	row_add_errors(&row, EAGAIN, 40 * scale);
	row.result_sum = 4096000 * scale;
	row.tid = pid + 1;
	builder_take_row(builder, &row);
	row_init_calls(&row, pid, ABI_OF_TESTS, "openat", 500 * scale, 4 * USEC, 0, 0);
	row_add_errors(&row, ENOENT, 395 * scale);
	row_add_errors(&row, EACCES, 5 * scale);
	row.tid = pid;
	builder_take_row(builder, &row);
	row_init_calls(&row, pid, ABI_OF_TESTS, "epoll_pwait", 20 * scale, 100 * MSEC, 99900 * USEC,
		       0);
	row.in_flight = 1;
	row.oldest_start_ns = 990 * SEC;
	row.tid = pid;
	builder_take_row(builder, &row);
	row_init_calls(&row, pid, ABI_OF_TESTS, "futex", 8 * scale, 10 * MSEC, 9900 * USEC,
		       700 * USEC);
	row_add_errors(&row, ETIMEDOUT, scale);
	row.tid = pid + 1;
	builder_take_row(builder, &row);
}

/* Two nginx processes and a shell of another user, split by thread and, for ioctl, by argument. */
static inline struct snapshot *scenario_web(void)
{
	struct builder *builder = builder_make();
	struct snapshot *snapshot;
	struct row row;

	web_process(builder, 100, "nginx", 33, 7, 300 * MSEC);
	web_process(builder, 200, "nginx", 33, 7, 200 * MSEC);
	web_process(builder, 300, "bash", 1000, 8, 10 * MSEC);
	web_rows(builder, 100, 3);
	web_rows(builder, 200, 1);
	for (uint64_t i = 0; i < 2; i++) {
		row_init_calls(&row, 300, ABI_OF_TESTS, "ioctl", 2 + i, 700, 0, 0);
		row.split = SPLIT_ARG0;
		row.split_value = i * 0xff;
		row.tid = 300;
		builder_take_row(builder, &row);
	}
	row_init_calls(&row, 300, ABI_OF_TESTS, "wait4", 1, 1200 * MSEC, 1200 * MSEC, 0);
	row.tid = 300;
	builder_take_row(builder, &row);
	snapshot = snapshot_take(builder);
	names_add(&snapshot->users, &snapshot->nr_users, 0, "root");
	names_add(&snapshot->users, &snapshot->nr_users, 33, "www-data");
	names_add(&snapshot->cgroups, &snapshot->nr_cgroups, 7, "/system.slice/nginx.service");
	names_add(&snapshot->cgroups, &snapshot->nr_cgroups, 8,
		  "/user.slice/user-0.slice/session-1.scope");
	return snapshot;
}

static inline const struct column *column_named(const char *name)
{
	const struct column *column;

	assert_int_equal(column_find("", name, &column, NULL), 0);
	return column;
}

static inline struct sort_list sort_named(const char *names)
{
	struct sort_list list;

	assert_int_equal(sort_parse("", names, &list, NULL), 0);
	return list;
}
