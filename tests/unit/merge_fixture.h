/* SPDX-License-Identifier: BSD-2-Clause */
/* Serves the tests of merging: snapshots of a host and a time, and what is merged of them. */
#pragma once

#include "stack_scenarios.h"

#include "model/merge.h"

/* Holds what was merged, and what it borrows from. */
struct merged {
	struct snapshot *snapshot;
	struct stack_table *stacks;
};

static inline void merged_done(struct merged *merged)
{
	snapshot_free(merged->snapshot);
	stack_table_free(merged->stacks);
}

#define MAX_INPUTS 6

/* The snapshots of a list are called a, b, c … */
static inline int try_merge(const struct snapshot *const *list, size_t count, struct merged *ret)
{
	static const char names[MAX_INPUTS][2] = { "a", "b", "c", "d", "e", "f" };
	struct merge_input inputs[MAX_INPUTS];

	for (size_t i = 0; i < count; i++)
		inputs[i] = (struct merge_input){ names[i], list[i] };
	return snapshot_merge(inputs, count, &ret->snapshot, &ret->stacks, &d);
}

static inline struct merged merge(const struct snapshot *const *list, size_t count)
{
	struct merged merged = { NULL, NULL };

	must(try_merge(list, count, &merged));
	return merged;
}

#define MERGE(...)                                             \
	merge((const struct snapshot *const[]){ __VA_ARGS__ }, \
	      ARRAY_SIZE(((const struct snapshot *const[]){ __VA_ARGS__ })))

/* When and where something was counted; seconds after a moment of 2026, and after the boot. */
struct span {
	const char *host, *boot_id;
	int64_t start_s, end_s;
	uint64_t end_mono_s;
};

#define EPOCH_S 1770000000LL

static inline void set_text(char **text, const char *value)
{
	free(*text);
	*text = strdup(value);
	assert_non_null(*text);
}

static inline void snapshot_set_span(struct snapshot *snapshot, const struct span *span)
{
	set_text(&snapshot->host, span->host);
	set_text(&snapshot->boot_id, span->boot_id);
	snapshot->start_ns = (EPOCH_S + span->start_s) * (int64_t)SEC;
	snapshot->end_ns = (EPOCH_S + span->end_s) * (int64_t)SEC;
	snapshot->elapsed_ns = (uint64_t)(span->end_s - span->start_s) * SEC;
	snapshot->end_mono_ns = span->end_mono_s * SEC;
}

/* The calls of one process, pid 7. */
static inline struct snapshot *host_make(const struct span *span, const char *calls)
{
	struct builder *builder = builder_make();
	struct snapshot *snapshot;

	builder_take_process(builder, 7, "worker", 6, 5);
	calls_read(builder, 7, ABI_OF_TESTS, calls);
	snapshot = snapshot_take(builder);
	snapshot_set_span(snapshot, span);
	return snapshot;
}

static const struct span web_1 = { "web-1", "b1", 0, 10, 500 };
static const struct span web_2 = { "web-2", "b2", 0, 10, 90000 };

/* Two hosts of which each has a process of the same pid and start. */
struct pair {
	struct snapshot *a, *b;
	struct merged merged;
};

static inline void pair_begin(struct pair *pair, const struct span *span_a, const char *calls_a,
			      const struct span *span_b, const char *calls_b)
{
	pair->a = host_make(span_a, calls_a);
	pair->b = host_make(span_b, calls_b);
	pair->merged = MERGE(pair->a, pair->b);
}

static inline void pair_done(struct pair *pair)
{
	merged_done(&pair->merged);
	snapshot_free(pair->a);
	snapshot_free(pair->b);
}

#define PAIR_TEST(name, ...) TEST_OF(name, struct pair, p, pair_done, pair_begin, __VA_ARGS__)

static inline struct group_list group(const struct snapshot *snapshot, unsigned int keys)
{
	struct group_list list;

	assert_int_equal(snapshot_group(snapshot, keys, NULL, &list), 0);
	return list;
}

static inline char *json_of(const struct snapshot *snapshot)
{
	return render(report_json, snapshot);
}

static inline void assert_json_equal(const struct snapshot *a, const struct snapshot *b)
{
	char *text __cleanup(freep) = json_of(a), *other __cleanup(freep) = json_of(b);

	assert_string_equal(text, other);
}

static inline struct stacked stacked_make(const struct span *span, uint64_t id)
{
	struct stack_table *table = stack_table_make();
	struct builder *builder = builder_make();
	struct stacked stacked;
	struct row row;

	STACK_TAKE(table, id, STACK_COMPLETE, FRAME("libc.so.6", "read", 0x1d),
		   FRAME("nginx", "main", 0x6a));
	row_init_named(&row, 7, ABI_OF_TESTS, "read");
	row_add_calls_of(&row, id, 4, MSEC, 0, 0);
	builder_take_row(builder, &row);
	stacked = stacked_take(table, builder);
	snapshot_set_span(stacked.snapshot, span);
	return stacked;
}

static inline struct snapshot *split_make(const struct span *span, uint64_t key, const char *path)
{
	struct snapshot *snapshot = host_make(span, "openat:3x1m");

	snapshot->rows[0]->split = SPLIT_PATH;
	snapshot->rows[0]->split_value = ARGUMENT_FIRST + key;
	assert_int_equal(argument_texts_new(&snapshot->arguments), 0);
	assert_int_equal(argument_texts_add(snapshot->arguments, ARGUMENT_FIRST + key, path), 0);
	return snapshot;
}
