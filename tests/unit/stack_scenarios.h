/* SPDX-License-Identifier: BSD-2-Clause */
/* The snapshots with call stacks that the tests of their reports render. */
#ifndef TESTS_STACK_SCENARIOS_H
#define TESTS_STACK_SCENARIOS_H

#include "tables.h"

#include "report/stacks.h"

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
	STACK_TAKE(table, 11, STACK_COMPLETE, FRAME("libc.so.6", "read", 0x1d),
		   FRAME("nginx", "ngx_unix_recv", 0x4e),
		   FRAME("nginx", "ngx_http_wait_request_handler", 0x1a0),
		   FRAME("nginx", "main", 0x6a), FRAME("libc.so.6", "__libc_start_main", 0x89),
		   FRAME("nginx", "_start", 0x25));
	STACK_TAKE(table, 12, STACK_COMPLETE, FRAME("libc.so.6", "read", 0x1d),
		   FRAME("nginx", "ngx_unix_recv", 0x4e),
		   FRAME("nginx", "ngx_http_wait_request_handler", 0x1a0),
		   FRAME("nginx", "main", 0x6a), FRAME("libc.so.6", "__libc_start_main", 0x89),
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
	row_init_named(&row, 0, ABI_OF_TESTS, "read");
	row.calls = row.untimed = 4;
	builder_take_row(builder, &row);
}

/* A server and a worker, with all that a stack can be. */
static inline struct stacked scenario_stacks(void)
{
	struct stacked stacked = { .table = stack_table_make() };
	struct builder *builder = builder_make();

	scenario_stack_table(stacked.table);
	builder_take_process(builder, 100, "nginx", 5, 300 * MSEC);
	builder_take_process(builder, 200, "worker pool", 11, 200 * MSEC);
	scenario_stack_rows(builder);
	stacked.snapshot = snapshot_take(builder);
	stacked.snapshot->stacks = stacked.table;
	return stacked;
}

/* Stacks were taken, but there was no call. */
static inline struct stacked scenario_stacks_empty(void)
{
	struct stacked stacked = { .table = stack_table_make() };

	stacked.snapshot = snapshot_take(builder_make());
	stacked.snapshot->stacks = stacked.table;
	return stacked;
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
	struct stacked stacked = { .table = stack_table_make() };
	struct builder *builder = builder_make();
	const struct hostile_name *comms;
	const char *const *names;
	size_t count, nr_comms;
	struct row row;

	names = scenario_hostile_frames(&count);
	comms = scenario_hostile_names(&nr_comms);
	for (size_t i = 0; i < count; i++) {
		uint32_t pid = 100 + (uint32_t)i;

		STACK_TAKE(stacked.table, pid, STACK_COMPLETE, FRAME(names[i], names[i], 1),
			   INLINED(names[i], names[(i + 1) % count], 0), FRAME(names[i], NULL, 16),
			   FRAME(NULL, names[i], 0));
		builder_take_process(builder, pid, comms[i % nr_comms].bytes,
				     comms[i % nr_comms].size, 0);
		row_init_named(&row, pid, ABI_OF_TESTS, "read");
		row_add_calls_of(&row, pid, 1 + i, 64, 0, 0);
		builder_take_row(builder, &row);
	}
	stacked.snapshot = snapshot_take(builder);
	stacked.snapshot->stacks = stacked.table;
	return stacked;
}

/* A function, and what it may call; from 0 on down to a system call. */
struct function {
	const char *module, *symbol; /* no module: a name is a system call */
	bool inlined;
	int callees[6]; /* 0 ends the list */
};

/* Three programs as they are: an HTTP server, a database, and an interpreter with a JIT. */
static inline const struct function *scenario_function(int index)
{
	static const struct function functions[] = {
		[1] = { "nginx", "main", false, { 2 } },
		[2] = { "nginx", "ngx_master_process_cycle", false, { 3 } },
		[3] = { "nginx", "ngx_worker_process_cycle", false, { 4 } },
		[4] = { "nginx", "ngx_process_events_and_timers", false, { 5, 5, 5, 20 } },
		[5] = { "nginx", "ngx_epoll_process_events", false, { 6, 7, 8, 9, 22 } },
		[6] = { "nginx", "ngx_event_accept", false, { 23 } },
		[7] = { "nginx", "ngx_http_wait_request_handler", false, { 24, 10 } },
		[8] = { "nginx", "ngx_http_request_handler", false, { 25, 11, 11 } },
		[9] = { "nginx", "ngx_http_upstream_handler", false, { 12, 13 } },
		[10] = { "nginx", "ngx_http_process_request_line", true, { 11, 24 } },
		[11] = { "nginx", "ngx_http_core_run_phases", false, { 14, 15 } },
		[12] = { "nginx", "ngx_http_upstream_send_request", false, { 26, 25 } },
		[13] = { "nginx", "ngx_http_upstream_process_header", false, { 24 } },
		[14] = { "nginx", "ngx_http_static_handler", false, { 27, 28, 29 } },
		[15] = { "nginx", "ngx_http_gzip_body_filter", false, { 16, 25 } },
		[16] = { "libz.so.1.2.13", "deflate", false, { 17 } },
		[17] = { "nginx", "ngx_http_write_filter", true, { 25, 29 } },
		[20] = { "nginx", "ngx_event_expire_timers", false, { 26, 30 } },
		[22] = { "libc.so.6", "epoll_wait", false, { 50 } },
		[23] = { "libc.so.6", "accept4", false, { 51 } },
		[24] = { "libc.so.6", "recv", false, { 52 } },
		[25] = { "libc.so.6", "writev", false, { 53 } },
		[26] = { "libc.so.6", "connect", false, { 54 } },
		[27] = { "libc.so.6", "__openat64_nocancel", false, { 55 } },
		[28] = { "libc.so.6", "__fstat64", false, { 56 } },
		[29] = { "libc.so.6", "sendfile64", false, { 57 } },
		[30] = { "libc.so.6", "__close_nocancel", false, { 58 } },
		[31] = { "postgres", "PostgresMain", false, { 32, 33, 33 } },
		[32] = { "postgres", "ReadCommand", true, { 34 } },
		[33] = { "postgres", "exec_simple_query", false, { 35, 36, 36, 37 } },
		[34] = { "libssl.so.3", "SSL_read", false, { 38, 39 } },
		[35] = { "postgres", "pg_plan_queries", false, { 40 } },
		[36] = { "postgres", "ExecutorRun", false, { 41, 42, 43 } },
		[37] = { "postgres", "CommitTransactionCommand", false, { 44 } },
		[38] = { "libcrypto.so.3", "BIO_read", false, { 24 } },
		[39] = { "postgres", "WaitEventSetWait", false, { 22 } },
		[40] = { "postgres", "get_relation_info", false, { 45 } },
		[41] = { "postgres", "ExecIndexScan", false, { 45, 46 } },
		[42] = { "postgres", "ExecHashJoin", false, { 46, 41 } },
		[43] = { "postgres", "ExecSort", false, { 47, 41 } },
		[44] = { "postgres", "XLogFlush", false, { 48, 60 } },
		[45] = { "postgres", "ReadBuffer_common", false, { 49, 61 } },
		[46] = { "postgres", "heap_hot_search_buffer", false, { 45 } },
		[47] = { "postgres", "tuplesort_performsort", false, { 49, 62 } },
		[48] = { "libc.so.6", "fdatasync", false, { 59 } },
		[49] = { "libc.so.6", "pread64", false, { 63 } },
		[50] = { NULL, "epoll_wait", false, { 0 } },
		[51] = { NULL, "accept4", false, { 0 } },
		[52] = { NULL, "recvfrom", false, { 0 } },
		[53] = { NULL, "writev", false, { 0 } },
		[54] = { NULL, "connect", false, { 0 } },
		[55] = { NULL, "openat", false, { 0 } },
		[56] = { NULL, "newfstatat", false, { 0 } },
		[57] = { NULL, "sendfile", false, { 0 } },
		[58] = { NULL, "close", false, { 0 } },
		[59] = { NULL, "fdatasync", false, { 0 } },
		[60] = { "libc.so.6", "pwrite64", false, { 64 } },
		[61] = { "postgres", "LWLockAcquire", false, { 65 } },
		[62] = { "libc.so.6", "lseek64", false, { 66 } },
		[63] = { NULL, "pread64", false, { 0 } },
		[64] = { NULL, "pwrite64", false, { 0 } },
		[65] = { "libc.so.6", "__new_sem_wait_slow64", false, { 67 } },
		[66] = { NULL, "lseek", false, { 0 } },
		[67] = { NULL, "futex", false, { 0 } },
		[70] = { "node", "node::Start(int, char**)", false, { 71 } },
		[71] = { "node", "node::SpinEventLoopInternal(node::Environment*)", false, { 72 } },
		[72] = { "libuv.so.1", "uv_run", false, { 73, 73, 74 } },
		[73] = { "libuv.so.1", "uv__io_poll", false, { 22, 75, 75 } },
		[74] = { "libuv.so.1", "uv__run_check", false, { 76 } },
		[75] = { "node",
			 "node::LibuvStreamWrap::OnUvRead(long, uv_buf_t const*)",
			 false,
			 { 77 } },
		[76] = { "node", "node::Environment::CheckImmediate(uv_check_s*)", false, { 77 } },
		[77] = { "node",
			 "v8::internal::Execution::Call(v8::internal::Isolate*, "
			 "v8::internal::Handle<v8::internal::Object>)",
			 false,
			 { 78, 79 } },
		[78] = { "perf-4711.map",
			 "LazyCompile:*onrequest /srv/app.js:12",
			 false,
			 { 79, 80, 81 } },
		[79] = { NULL, NULL, false, { 80, 82 } },
		[80] = { "perf-4711.map",
			 "LazyCompile:~render /srv/view.js:44",
			 false,
			 { 83, 81 } },
		[81] = { "libuv.so.1", "uv__try_write", false, { 25 } },
		[82] = { "node",
			 "node::fs::Read(v8::FunctionCallbackInfo<v8::Value> const&)",
			 false,
			 { 49 } },
		[83] = { "node",
			 "node::fs::Open(v8::FunctionCallbackInfo<v8::Value> const&)",
			 false,
			 { 27 } },
	};

	return &functions[index];
}

/* Walks from a function to a system call; fills frames from the outside in. */
static inline const char *scenario_walk(int at, uint64_t *seed, struct stack_frame *frames,
					size_t *count)
{
	const struct function *function = scenario_function(at);
	int callees = 0;

	for (; function->callees[0]; function = scenario_function(at)) {
		frames[(*count)++] = (struct stack_frame){
			.module = function->module,
			.symbol = function->symbol,
			.offset = function->symbol ? 16 * (uint64_t)at : 0x7f00c0ffee00,
			.inlined = function->inlined,
		};
		for (callees = 0; callees < 6 && function->callees[callees];)
			callees++;
		at = function->callees[random_below(seed, (uint64_t)callees)];
	}
	return function->symbol;
}

static inline void scenario_stack_walked(struct stacked *stacked, struct builder *builder,
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
	stack_take(stacked->table, id, end, reversed, count - skipped);
	row_init_named(&row, pid, ABI_X86_64, call);
	row_add_calls_of(&row, id, 1 + random_ns(seed, 12), wall_ns, wall_ns / 2, wall_ns / 9);
	builder_take_row(builder, &row);
}

/* What a busy server looks like: some 200 stacks. */
static inline struct stacked scenario_stacks_many(void)
{
	static const int roots[] = { 1, 31, 70 };
	struct stacked stacked = { .table = stack_table_make() };
	struct builder *builder = builder_make();
	uint64_t seed = 42;

	builder_take_process(builder, 100, "nginx", 5, 0);
	builder_take_process(builder, 200, "postgres", 8, 0);
	builder_take_process(builder, 300, "node", 4, 0);
	for (uint64_t id = 1; id <= 200; id++)
		scenario_stack_walked(&stacked, builder, 100 * (1 + (uint32_t)(id % 3)),
				      roots[id % 3], id, &seed);
	stacked.snapshot = snapshot_take(builder);
	stacked.snapshot->stacks = stacked.table;
	return stacked;
}

/* What a report of a weight writes, as text that the caller frees. */
static inline char *weight_render(int (*report)(const struct snapshot *, enum stack_weight, FILE *),
				  const struct snapshot *snapshot, enum stack_weight weight)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(report(snapshot, weight, out), 0);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(strlen(text), size);
	return text;
}

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
