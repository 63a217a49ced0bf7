/* SPDX-License-Identifier: BSD-2-Clause */
/* The snapshots with call stacks that the tests of their reports render. */
#pragma once

#include "tables.h"

/* A snapshot borrows its table. */
struct stacked {
	struct snapshot *snapshot;
	struct stack_table *table;
};

static inline void stacked_done(struct stacked *stacked)
{
	snapshot_free(stacked->snapshot);
	stack_table_free(stacked->table);
}

/* Ends the builder. */
static inline struct stacked stacked_take(struct stack_table *table, struct builder *builder)
{
	struct stacked stacked = { snapshot_take(builder), table };

	stacked.snapshot->stacks = table;
	return stacked;
}

static inline struct stack_table *stack_table_make(void)
{
	struct stack_table *table;

	assert_int_equal(stack_table_new(&table), 0);
	return table;
}

static inline void stack_take(struct stack_table *table, uint64_t id, enum stack_end end,
			      struct stack_frame *frames, size_t nr_frames)
{
	const struct stack stack = { id, end, nr_frames, frames };

	for (size_t i = 0; i < nr_frames; i++) {
		assert_int_equal(stack_table_intern(table, frames[i].module, &frames[i].module), 0);
		assert_int_equal(stack_table_intern(table, frames[i].symbol, &frames[i].symbol), 0);
	}
	assert_int_equal(stack_table_put(table, &stack), 0);
}

/* A stack of frames in parentheses. */
#define STACK_TAKE(table, id, end, ...)                                   \
	do {                                                              \
		struct stack_frame frames_[] = { __VA_ARGS__ };           \
		stack_take(table, id, end, frames_, ARRAY_SIZE(frames_)); \
	} while (0)

#define FRAME(module, symbol, offset)   { module, symbol, offset, false, false }
#define INLINED(module, symbol, offset) { module, symbol, offset, true, false }
#define KERNEL(symbol, offset)          { "[kernel]", symbol, offset, false, true }

/* Works like row_add_calls(), for calls made from a stack. */
static inline void row_add_calls_of(struct row *row, uint64_t id, uint64_t count, uint64_t wall_ns,
				    uint64_t off_ns, uint64_t runq_ns)
{
	const struct stack_count stack = {
		.id = id,
		.calls = count,
		.wall_ns = count * wall_ns,
		.off_ns = count * off_ns,
		.runq_ns = count * runq_ns,
		.max_ns = wall_ns,
	};

	row_add_calls(row, count, wall_ns, off_ns, runq_ns);
	assert_int_equal(row_add_stack(row, &stack), 0);
}

/* Works like row_add_errors(), for calls of a stack. */
static inline void row_add_errors_of(struct row *row, uint64_t id, int err, uint64_t count)
{
	const struct stack_count stack = { .id = id, .errors = count };

	row_add_errors(row, err, count);
	assert_int_equal(row_add_stack(row, &stack), 0);
}

/* 11 and 12 are alike but for their ids; 13 has inlined frames, 16 and 17 lack outer ones. */
static inline void scenario_stack_table(struct stack_table *table)
{
	for (uint64_t id = 11; id <= 12; id++)
		STACK_TAKE(table, id, STACK_COMPLETE, FRAME("libc.so.6", "read", 0x1d),
			   FRAME("nginx", "ngx_unix_recv", 0x4e),
			   FRAME("nginx", "ngx_http_wait_request_handler", 0x1a0),
			   FRAME("nginx", "main", 0x6a),
			   FRAME("libc.so.6", "__libc_start_main", 0x89),
			   FRAME("nginx", "_start", 0x25));
	STACK_TAKE(table, 13, STACK_COMPLETE, KERNEL("ksys_read", 0x6d), KERNEL("do_syscall_64", 0),
		   FRAME("libc.so.6", "read", 0x1d), INLINED("nginx", "ngx_read_fd", 0x8),
		   INLINED("nginx", "ngx_read_file", 0), FRAME("nginx", "ngx_conf_parse", 0x2f0),
		   FRAME("nginx", "main", 0x31));
	STACK_TAKE(table, 14, STACK_COMPLETE, FRAME("libc.so.6", "pthread_cond_wait", 0x1d8),
		   FRAME("libworker.so", "std::deque<job, std::allocator<job> >::pop()", 0x11),
		   FRAME("libworker.so", NULL, 0x4f20), FRAME(NULL, NULL, 0x7f00deadbeef));
	STACK_TAKE(table, 15, STACK_COMPLETE, FRAME("libc.so.6", "epoll_pwait", 0x20),
		   FRAME("nginx", "ngx_epoll_process_events", 0x68), FRAME("nginx", "main", 0x6a));
	STACK_TAKE(table, 16, STACK_TRUNCATED, FRAME("[vdso]", "__vdso_gettimeofday", 0x3),
		   FRAME("nginx", "recurse", 0x10), FRAME("nginx", "recurse", 0x10));
	STACK_TAKE(table, 17, STACK_NO_RULE, FRAME(NULL, "LazyCompile:~handle /srv/app.js:12", 0),
		   FRAME(NULL, NULL, 0x7f1234567890));
}

static inline void scenario_stack_rows(struct builder *builder)
{
	struct row row;

	row_init_named(&row, 100, ABI_OF_TESTS, "read");
	row_add_calls_of(&row, 11, 900, 1500, 0, 0);
	row_add_calls_of(&row, 13, 7, 2 * MSEC, 1900 * USEC, 50 * USEC);
	row_add_calls_of(&row, 404, 3, MSEC, 0, 0);
	row_add_calls_of(&row, STACK_OTHERS, 2, MSEC, 0, 0);
	row_add_errors_of(&row, 11, EAGAIN, 40);
	builder_take_row(builder, &row);
	row_init_named(&row, 200, ABI_OF_TESTS, "read");
	row_add_calls_of(&row, 12, 100, 1500, 0, 0);
	row_add_calls_of(&row, 16, 5, 40 * USEC, 10 * USEC, 0);
	row_add_errors_of(&row, 12, EAGAIN, 2);
	builder_take_row(builder, &row);
	row_init_named(&row, 200, ABI_OF_TESTS, "futex");
	row_add_calls_of(&row, 14, 8, 10 * MSEC, 9900 * USEC, 700 * USEC);
	row_add_calls_of(&row, 17, 20, 300 * USEC, 290 * USEC, 0);
	row_add_errors_of(&row, 14, ETIMEDOUT, 1);
	builder_take_row(builder, &row);
	row_init_named(&row, 100, ABI_OF_TESTS, "epoll_pwait");
	row_add_calls_of(&row, 15, 20, 100 * MSEC, 99900 * USEC, 0);
	row.in_flight = 1;
	row.oldest_start_ns = 990 * SEC;
	builder_take_row(builder, &row);
	/* A call in flight only: nothing of it has a stack. */
	row_init_named(&row, 200, ABI_OF_TESTS, "wait4");
	row.in_flight = 1;
	row.oldest_start_ns = 990 * SEC;
	builder_take_row(builder, &row);
	/* Found no room at all. */
	builder_take_untimed(builder, 0, ABI_OF_TESTS, "read", 4);
}

/* A server and a worker, with all that a stack can be. */
static inline struct stacked scenario_stacks(void)
{
	struct stack_table *table = stack_table_make();
	struct builder *builder = builder_make();

	scenario_stack_table(table);
	builder_take_process(builder, 100, "nginx", 5, 300 * MSEC);
	builder_take_process(builder, 200, "worker pool", 11, 200 * MSEC);
	scenario_stack_rows(builder);
	return stacked_take(table, builder);
}

/* Stacks were taken, but there was no call. */
static inline struct stacked scenario_stacks_empty(void)
{
	return stacked_take(stack_table_make(), builder_make());
}

/* Names made to end a line, a field, an element or a script, as module, symbol and process. */
static inline const char *const *scenario_hostile_frames(size_t *count)
{
	static const char *const names[] = {
		"a;b c",
		"one\ntwo 7\r\n8",
		"</text><script>alert(1)</script>",
		"]]>",
		"\"'&amp;&#0;<!--",
		"\x1b[2J\x07",
		"\xff\xfe\xc2\x9b",
		"nb\xc2\xa0sp\xe3\x80\x80x\xe2\x80\x83y",
		"\xe2\x80\xae%s%n\xe2\x80\xa8",
		"`back`tick`+0x1",
		"\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97",
		"",
	};

	*count = ARRAY_SIZE(names);
	return names;
}

static inline struct stacked scenario_stacks_hostile(void)
{
	struct stack_table *table = stack_table_make();
	struct builder *builder = builder_make();
	const struct hostile_name *comms;
	const char *const *names;
	size_t count, nr_comms;
	struct row row;

	names = scenario_hostile_frames(&count);
	comms = scenario_hostile_names(&nr_comms);
	for (size_t i = 0; i < count; i++) {
		uint32_t pid = 100 + (uint32_t)i;

		STACK_TAKE(table, pid, STACK_COMPLETE, FRAME(names[i], names[i], 1),
			   INLINED(names[i], names[(i + 1) % count], 0), FRAME(names[i], NULL, 16),
			   FRAME(NULL, names[i], 0));
		builder_take_process(builder, pid, comms[i % nr_comms].bytes,
				     comms[i % nr_comms].size, 0);
		row_init_named(&row, pid, ABI_OF_TESTS, "read");
		row_add_calls_of(&row, pid, 1 + i, 64, 0, 0);
		builder_take_row(builder, &row);
	}
	return stacked_take(table, builder);
}

/* Some functions of a program, one in another, from other modules now and then, and a call. */
static inline void scenario_stack_random(struct stack_table *table, struct builder *builder,
					 uint64_t id, uint64_t *seed)
{
	static const struct {
		const char *comm, *functions, *calls;
	} programs[] = {
		{ "nginx",
		  "main process_cycle process_events epoll_process_events wait_request_handler "
		  "core_run_phases static_handler gzip_body_filter",
		  "epoll_wait recvfrom writev openat" },
		{ "postgres",
		  "PostgresMain exec_simple_query ExecutorRun ExecHashJoin ExecIndexScan "
		  "ReadBuffer_common LWLockAcquire",
		  "pread64 pwrite64 fdatasync futex" },
		{ "node",
		  "node::SpinEventLoopInternal uv_run uv__io_poll OnUvRead(long,uv_buf_t*) "
		  "LazyCompile:*onrequest LazyCompile:~render",
		  "pread64 epoll_wait writev openat" },
	};
	const char *functions = programs[id % 3].functions, *calls = programs[id % 3].calls;
	enum stack_end end = id % 23 ? STACK_COMPLETE : (enum stack_end)(1 + id / 23 % 3);
	uint64_t wall_ns = random_ns(seed, 24);
	char names[9][MAX_WORD], modules[9][MAX_WORD], call[MAX_WORD];
	struct stack_frame frames[9];
	size_t nr = 0;
	struct row row;

	for (uint64_t i = random_below(seed, 4) + 1; i; i--)
		word_read(&calls, call);
	while (word_read(&functions, names[nr])) {
		uint64_t lib = random_below(seed, 16);

		snprintf(modules[nr], MAX_WORD, "lib%" PRIu64 ".so", lib);
		if (lib >= 8)
			strcpy(modules[nr], programs[id % 3].comm);
		frames[8 - nr] = (struct stack_frame)FRAME(modules[nr], names[nr], 16 * nr);
		frames[8 - nr].inlined = lib == 9;
		if (lib == 10)
			frames[8 - nr] = (struct stack_frame)FRAME(NULL, NULL, 0x7f00c0ffee00);
		nr += nr < 2 || random_below(seed, 3);
	}
	frames[8 - nr] = (struct stack_frame)FRAME("libc.so.6", call, 0x1d);
	stack_take(table, id, end, &frames[8 - nr], nr + (end ? 0 : 1));
	row_init_named(&row, 100 * (1 + (uint32_t)(id % 3)), ABI_X86_64, call);
	row_add_calls_of(&row, id, 1 + random_ns(seed, 12), wall_ns, wall_ns / 2, wall_ns / 9);
	builder_take_row(builder, &row);
}

/* Makes what a busy server looks like: some 200 stacks. */
static inline struct stacked scenario_stacks_many(void)
{
	struct stack_table *table = stack_table_make();
	struct builder *builder = builder_make();
	uint64_t seed = 42;

	builder_take_process(builder, 100, "nginx", 5, 0);
	builder_take_process(builder, 200, "postgres", 8, 0);
	builder_take_process(builder, 300, "node", 4, 0);
	for (uint64_t id = 1; id <= 200; id++)
		scenario_stack_random(table, builder, id, &seed);
	return stacked_take(table, builder);
}

/* Begins a test that is given a scenario with stacks. */
#define STACKS_TEST(name, scenario)                                        \
	static void name##_of(struct snapshot *snapshot);                  \
	TEST(name)                                                         \
	{                                                                  \
		__cleanup(stacked_done) struct stacked stacked = scenario; \
		name##_of(stacked.snapshot);                               \
	}                                                                  \
	static void name##_of(struct snapshot *snapshot)

/* Leaves a file for tests/readers, if that is to run. */
static inline void sample_write(const char *name, const char *bytes, size_t size)
{
	const char *folder = getenv("SAMPLES_DIR");
	__cleanup(fclosep) FILE *file = NULL;
	char path[256];

	if (!folder)
		return;
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
}

/* --- pictures: are they well-formed? --- */

/* The end of a tag at "<", after checking it against the stack of open elements. */
static inline const char *tag_check(const char *at, char stack[][32], size_t *depth)
{
	const char *end = strpbrk(at + 1, "<>");
	bool closes = at[1] == '/';
	size_t length = strcspn(at + 1 + closes, " />");

	assert_true(end && *end == '>' && length && length < sizeof(stack[0]));
	if (closes) {
		assert_true(*depth > 0);
		--*depth;
		assert_int_equal(strlen(stack[*depth]), length);
		assert_memory_equal(stack[*depth], at + 2, length);
	} else if (end[-1] != '/') {
		assert_true(*depth < 8);
		snprintf(stack[(*depth)++], sizeof(stack[0]), "%.*s", (int)length, at + 1);
	}
	return end;
}

/* Elements nest, "&" only starts an entity we use, and no control character is in it. */
static inline void xml_check(const char *text)
{
	static const char *const entities[] = { "&amp;", "&lt;", "&gt;", "&quot;" };
	char stack[8][32];
	size_t depth = 0;

	for (const char *at = text; *at; at++) {
		bool known = *at != '&';

		assert_true((unsigned char)*at >= ' ' || *at == '\n');
		for (size_t i = 0; i < ARRAY_SIZE(entities); i++)
			known = known || !strncmp(at, entities[i], strlen(entities[i]));
		assert_true(known);
		assert_int_not_equal(*at, '>');
		if (*at == '<')
			at = tag_check(at, stack, &depth);
	}
	assert_int_equal(depth, 0);
}

static inline size_t count_of(const char *text, const char *what)
{
	size_t count = 0;

	for (const char *at = text; (at = strstr(at, what)); at++)
		count++;
	return count;
}
