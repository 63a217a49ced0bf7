/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests which calls of a recording are shown, and which are an event on which it is saved. */
#include "call_fixture.h"

#include "calls/filter.h"
#include "calls/triggers.h"

#define PATH "/srv/www/index.html"

static struct record_made made;

/* openat(AT_FDCWD, PATH) by thread 101 of process 100, called worker/1. */
static struct call_record *open_call(int64_t result)
{
	static const struct piece_given path = BYTES_AT(1, PATH);
	struct call_record *record = record_of(&made);

	record_begin(&made, ABI_X86_64, "openat", (uint64_t[6]){ (uint64_t)-100, 1 }, result);
	record_add(&made, &path);
	memcpy(record->comm, "worker/1", 9);
	record->wall_ns = 5000;
	return record;
}

static struct syscall_set *set_of(const char *text)
{
	struct syscall_set *set;

	assert_int_equal(syscall_set_parse(text, &set, &d), 0);
	return set;
}

TEST(test_of_threads_and_calls)
{
	struct syscall_set *opens __cleanup(syscall_set_freep) = set_of("open");
	struct syscall_set *reads __cleanup(syscall_set_freep) = set_of("read");
	const struct call_record *record = open_call(3);
	const pid_t pids[] = { 99, 101 };
	const char *const names[] = { "x", "work*" };
	const struct {
		struct call_filter filter;
		bool passes;
	} cases[] = {
		{ { .calls = NULL }, true },
		{ { .calls = opens }, true },
		{ { .calls = reads }, false },
		{ { .pids = pids, .nr_pids = 1 }, false },
		{ { .pids = pids, .nr_pids = 2 }, true },
		{ { .names = names, .nr_names = 1 }, false },
		{ { .names = names, .nr_names = 2 }, true },
		{ { .pids = pids, .nr_pids = 1, .names = names, .nr_names = 2 }, true },
		{ { .slower_ns = 5000 }, true },
		{ { .slower_ns = 5001 }, false },
		{ { .path = "/srv/*" }, true },
		{ { .path = "/srv/" }, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (call_filter_passes(&cases[i].filter, record) != cases[i].passes)
			fail_msg("case %zu", i);
	}
}

TEST(test_of_outcomes)
{
	struct call_conditions enoent = { .only_failed = 1, .errnos[0] = 1 << 2 };
	struct call_conditions good = { .only_succeeded = 1 };
	struct call_conditions at_cwd = { .only_fd = 1, .fd = -100 },
			       at_3 = { .only_fd = 1, .fd = 3 };
	const struct call_filter failed = { .conditions = &enoent },
				 succeeded = { .conditions = &good };
	const struct call_filter cwd = { .conditions = &at_cwd }, fd = { .conditions = &at_3 };
	struct call_record *record = open_call(-2);

	assert_all(call_filter_passes(&failed, record), !call_filter_passes(&succeeded, record),
		   call_filter_passes(&cwd, record), !call_filter_passes(&fd, record));
	record->result = -13;
	assert_all(!call_filter_passes(&failed, record), !call_filter_passes(&succeeded, record));
	record->result = 3;
	assert_all(!call_filter_passes(&failed, record), call_filter_passes(&succeeded, record));
	/* It has not returned. */
	record->flags = 0;
	assert_all(!call_filter_passes(&failed, record), !call_filter_passes(&succeeded, record));
}

TEST(test_events)
{
	const struct save_triggers none = { 0 }, slow = { .slower_ns = 5000 };
	struct save_triggers failed = { .failed = true };
	struct call_record *record = open_call(-5);

	failed.errnos[0] = 1 << 5;
	assert_all(!save_triggers_given(&none), save_triggers_given(&slow),
		   save_triggers_given(&failed), !save_triggers_meet(&none, record),
		   save_triggers_meet(&slow, record), save_triggers_meet(&failed, record));
	record->wall_ns = 4999;
	record->result = -6;
	assert_all(!save_triggers_meet(&slow, record), !save_triggers_meet(&failed, record));
	record->result = -5;
	record->flags = CALL_TIMED;
	assert_false(save_triggers_meet(&failed, record));
	/* The kernel begins it anew. */
	memset(failed.errnos, 0xff, sizeof(failed.errnos));
	record->flags = CALL_RETURNED;
	record->wall_ns = 9000;
	record->result = -512;
	assert_all(!save_triggers_meet(&slow, record), !save_triggers_meet(&failed, record));
}
