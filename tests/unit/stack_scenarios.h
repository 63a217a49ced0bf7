/* SPDX-License-Identifier: BSD-2-Clause */
/* The snapshots with call stacks that the tests of their reports render. */
#ifndef TESTS_STACK_SCENARIOS_H
#define TESTS_STACK_SCENARIOS_H

#include "tables.h"

#include "report/report.h"

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

/* As row_add_calls(), made from a stack. */
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

/* As row_add_errors(), of calls of a stack. */
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
	/* In flight only: nothing of it has a stack. */
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

/* A function, and what it may call, down to a system call. */
struct function {
	const char *module, *symbol, *call; /* NULL: it calls another function */
	bool inlined;
	int callees[6]; /* 0 ends the list */
};

#define CALLS(module, symbol, call) { module, symbol, call, false, { 0 } }
#define FUNCTION(module, symbol, ...)        \
	{                                    \
		module, symbol, NULL, false, \
		{                            \
			__VA_ARGS__          \
		}                            \
	}
#define INLINE(module, symbol, ...)         \
	{                                   \
		module, symbol, NULL, true, \
		{                           \
			__VA_ARGS__         \
		}                           \
	}

/* Three programs as they are: an HTTP server, a database, and an interpreter with a JIT. */
static inline const struct function *scenario_function(int index)
{
	static const struct function functions[] = {
		[1] = FUNCTION("nginx", "main", 2),
		[2] = FUNCTION("nginx", "ngx_master_process_cycle", 3),
		[3] = FUNCTION("nginx", "ngx_worker_process_cycle", 4),
		[4] = FUNCTION("nginx", "ngx_process_events_and_timers", 5, 5, 5, 20),
		[5] = FUNCTION("nginx", "ngx_epoll_process_events", 6, 7, 8, 9, 22),
		[6] = FUNCTION("nginx", "ngx_event_accept", 23),
		[7] = FUNCTION("nginx", "ngx_http_wait_request_handler", 24, 10),
		[8] = FUNCTION("nginx", "ngx_http_request_handler", 25, 11, 11),
		[9] = FUNCTION("nginx", "ngx_http_upstream_handler", 12, 13),
		[10] = INLINE("nginx", "ngx_http_process_request_line", 11, 24),
		[11] = FUNCTION("nginx", "ngx_http_core_run_phases", 14, 15),
		[12] = FUNCTION("nginx", "ngx_http_upstream_send_request", 26, 25),
		[13] = FUNCTION("nginx", "ngx_http_upstream_process_header", 24),
		[14] = FUNCTION("nginx", "ngx_http_static_handler", 27, 28, 29),
		[15] = FUNCTION("nginx", "ngx_http_gzip_body_filter", 16, 25),
		[16] = FUNCTION("libz.so.1.2.13", "deflate", 17),
		[17] = INLINE("nginx", "ngx_http_write_filter", 25, 29),
		[20] = FUNCTION("nginx", "ngx_event_expire_timers", 26, 30),
		[22] = CALLS("libc.so.6", "epoll_wait", "epoll_wait"),
		[23] = CALLS("libc.so.6", "accept4", "accept4"),
		[24] = CALLS("libc.so.6", "recv", "recvfrom"),
		[25] = CALLS("libc.so.6", "writev", "writev"),
		[26] = CALLS("libc.so.6", "connect", "connect"),
		[27] = CALLS("libc.so.6", "__openat64_nocancel", "openat"),
		[28] = CALLS("libc.so.6", "__fstat64", "newfstatat"),
		[29] = CALLS("libc.so.6", "sendfile64", "sendfile"),
		[30] = CALLS("libc.so.6", "__close_nocancel", "close"),
		[31] = FUNCTION("postgres", "PostgresMain", 32, 33, 33),
		[32] = INLINE("postgres", "ReadCommand", 34),
		[33] = FUNCTION("postgres", "exec_simple_query", 35, 36, 36, 37),
		[34] = FUNCTION("libssl.so.3", "SSL_read", 38, 39),
		[35] = FUNCTION("postgres", "pg_plan_queries", 40),
		[36] = FUNCTION("postgres", "ExecutorRun", 41, 42, 43),
		[37] = FUNCTION("postgres", "CommitTransactionCommand", 44),
		[38] = FUNCTION("libcrypto.so.3", "BIO_read", 24),
		[39] = FUNCTION("postgres", "WaitEventSetWait", 22),
		[40] = FUNCTION("postgres", "get_relation_info", 45),
		[41] = FUNCTION("postgres", "ExecIndexScan", 45, 46),
		[42] = FUNCTION("postgres", "ExecHashJoin", 46, 41),
		[43] = FUNCTION("postgres", "ExecSort", 47, 41),
		[44] = FUNCTION("postgres", "XLogFlush", 48, 60),
		[45] = FUNCTION("postgres", "ReadBuffer_common", 49, 61),
		[46] = FUNCTION("postgres", "heap_hot_search_buffer", 45),
		[47] = FUNCTION("postgres", "tuplesort_performsort", 49, 62),
		[48] = CALLS("libc.so.6", "fdatasync", "fdatasync"),
		[49] = CALLS("libc.so.6", "pread64", "pread64"),
		[60] = CALLS("libc.so.6", "pwrite64", "pwrite64"),
		[61] = FUNCTION("postgres", "LWLockAcquire", 65),
		[62] = CALLS("libc.so.6", "lseek64", "lseek"),
		[65] = CALLS("libc.so.6", "__new_sem_wait_slow64", "futex"),
		[70] = FUNCTION("node", "node::Start(int, char**)", 71),
		[71] = FUNCTION("node", "node::SpinEventLoopInternal(node::Environment*)", 72),
		[72] = FUNCTION("libuv.so.1", "uv_run", 73, 73, 74),
		[73] = FUNCTION("libuv.so.1", "uv__io_poll", 22, 75, 75),
		[74] = FUNCTION("libuv.so.1", "uv__run_check", 76),
		[75] = FUNCTION("node", "node::LibuvStreamWrap::OnUvRead(long, uv_buf_t const*)",
				77),
		[76] = FUNCTION("node", "node::Environment::CheckImmediate(uv_check_s*)", 77),
		[77] = FUNCTION("node",
				"v8::internal::Execution::Call(v8::internal::Isolate*, "
				"v8::internal::Handle<v8::internal::Object>)",
				78, 79),
		[78] = FUNCTION("perf-4711.map", "LazyCompile:*onrequest /srv/app.js:12", 79, 80,
				81),
		[79] = FUNCTION(NULL, NULL, 80, 82),
		[80] = FUNCTION("perf-4711.map", "LazyCompile:~render /srv/view.js:44", 83, 81),
		[81] = FUNCTION("libuv.so.1", "uv__try_write", 25),
		[82] = FUNCTION("node",
				"node::fs::Read(v8::FunctionCallbackInfo<v8::Value> const&)", 49),
		[83] = FUNCTION("node",
				"node::fs::Open(v8::FunctionCallbackInfo<v8::Value> const&)", 27),
	};

	return &functions[index];
}

/* Walks from a function to a system call; fills frames from the outside in. */
static inline const char *scenario_walk(int at, uint64_t *seed, struct stack_frame *frames,
					size_t *count)
{
	const struct function *function = scenario_function(at);
	int callees = 0;

	for (;; function = scenario_function(at)) {
		frames[(*count)++] = (struct stack_frame){
			.module = function->module,
			.symbol = function->symbol,
			.offset = function->symbol ? 16 * (uint64_t)at : 0x7f00c0ffee00,
			.inlined = function->inlined,
		};
		if (function->call)
			return function->call;
		for (callees = 0; callees < 6 && function->callees[callees];)
			callees++;
		at = function->callees[random_below(seed, (uint64_t)callees)];
	}
}

static inline void scenario_stack_walked(struct stack_table *table, struct builder *builder,
					 uint32_t pid, int root, uint64_t id, uint64_t *seed)
{
	static const struct stack_frame outer[] = {
		FRAME("libc.so.6", "__libc_start_main_impl", 0x85),
		FRAME("libc.so.6", "__libc_start_call_main", 0x7a),
	};
	struct stack_frame frames[64] = { outer[0], outer[1] }, reversed[64];
	enum stack_end end = id % 23 ? STACK_COMPLETE : (enum stack_end)(1 + id / 23 % 3);
	size_t count = 2;
	const char *call = scenario_walk(root, seed, frames, &count);
	uint64_t wall_ns = random_ns(seed, 24), skipped = end ? 4 : 0;
	struct row row;

	for (size_t i = skipped; i < count; i++)
		reversed[count - 1 - i] = frames[i];
	stack_take(table, id, end, reversed, count - skipped);
	row_init_named(&row, pid, ABI_X86_64, call);
	row_add_calls_of(&row, id, 1 + random_ns(seed, 12), wall_ns, wall_ns / 2, wall_ns / 9);
	builder_take_row(builder, &row);
}

/* What a busy server looks like: some 200 stacks. */
static inline struct stacked scenario_stacks_many(void)
{
	static const int roots[] = { 1, 31, 70 };
	struct stack_table *table = stack_table_make();
	struct builder *builder = builder_make();
	uint64_t seed = 42;

	builder_take_process(builder, 100, "nginx", 5, 0);
	builder_take_process(builder, 200, "postgres", 8, 0);
	builder_take_process(builder, 300, "node", 4, 0);
	for (uint64_t id = 1; id <= 200; id++)
		scenario_stack_walked(table, builder, 100 * (1 + (uint32_t)(id % 3)), roots[id % 3],
				      id, &seed);
	return stacked_take(table, builder);
}

/* Begins a test that is given scenario_stacks(). */
#define STACKS_TEST(name)                                                           \
	static void name##_of(struct snapshot *snapshot);                           \
	TEST(name)                                                                  \
	{                                                                           \
		__cleanup(stacked_done) struct stacked stacked = scenario_stacks(); \
		name##_of(stacked.snapshot);                                        \
	}                                                                           \
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

#endif
