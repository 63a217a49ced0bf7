/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Columns: names, parsing, cells, order, units of times; and the spelling of rows, ages, untrusted
 * bytes and histograms.
 */
#include "tables.h"

static bool ends_with(const char *text, const char *end)
{
	return strlen(text) >= strlen(end) && !strcmp(text + strlen(text) - strlen(end), end);
}

TEST(test_names_differ)
{
	size_t count = 0;

	for (; column_at(count); count++) {
		const struct column *column = column_at(count);
		bool is_time = column->kind == COLUMN_SUM || column->kind == COLUMN_LATENCY;

		/* In files, times say that they are nanoseconds. */
		assert_int_equal(is_time, ends_with(column->field, "_ns"));
		assert_int_equal(column->kind == COLUMN_PERCENT, ends_with(column->field, "_pct"));
		assert_true(strlen(column->name) > 0 && !strpbrk(column->name, ", "));
		/* A cell needs a source; a key needs a key. */
		assert_all(column_is_key(column) || column->number,
			   !column_is_key(column) || column->known_by != 0);
		assert_int_equal(column->known_by & column->shown_by, column->shown_by);
		for (size_t i = 0; i < count; i++) {
			assert_string_not_equal(column->name, column_at(i)->name);
			assert_string_not_equal(column->field, column_at(i)->field);
		}
	}
	assert_in_range(count, 20, COLUMNS_MAX);
	assert_null(column_at(SIZE_MAX));
}

TEST(test_parse)
{
	struct column_list list;

	assert_int_equal(columns_parse("p99", &list, NULL), 0);
	assert_int_equal(list.count, 1);
	assert_int_equal(columns_parse("calls,err%,calls,max", &list, NULL), 0);
	assert_int_equal(list.count, 3);
	assert_ptr_equal(list.columns[0], column_named("calls"));
	assert_ptr_equal(list.columns[1], column_named("err%"));
	assert_ptr_equal(list.columns[2], column_named("max"));
}

TEST(test_refused)
{
	static const char *const lists[] = { "",          ",",          "calls,", ",calls", "cals",
					     "calls;max", "calls, max", "CALLS",  "p999" };
	const struct column *column;
	struct column_list list;

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		assert_int_equal(columns_parse(lists[i], &list, &d), -EINVAL);
		assert_int_equal(d.kind, DIAG_USAGE);
		assert_memory_equal(d.text, "--columns: no column \"", 22);
	}
	/* The names that other tools have for them. */
	assert_int_equal(columns_parse("call,time,seconds,mean", &list, NULL), 0);
	assert_ptr_equal(list.columns[2], column_named("cpu"));
	assert_int_equal(column_find("--sort", "speed", &column, &d), -EINVAL);
	assert_memory_equal(d.text, "--sort: no column \"speed\"; the columns are host, ", 49);
	for (size_t i = 0; column_at(i); i++)
		assert_non_null(strstr(d.text, column_at(i)->name));
	assert_string_equal(d.text + strlen(d.text) - 7, ", bytes");
}

static void keys_check(unsigned int keys, const char *expected)
{
	struct column_list list;
	char names[256] = "";

	columns_of_keys(keys, &list);
	for (size_t i = 0; i < list.count; i++) {
		strcat(names, i ? "," : "");
		strcat(names, list.columns[i]->name);
	}
	assert_string_equal(names, expected);
}

TEST(test_keys)
{
	keys_check(0, "");
	keys_check(GROUP_SYSCALL, "syscall");
	keys_check(GROUP_PID, "pid,comm");
	keys_check(GROUP_COMM | GROUP_SYSCALL, "comm,syscall");
	keys_check(GROUP_PID | GROUP_TID | GROUP_UNIT | GROUP_USER,
		   "pid,tid,thread,comm,unit,user");
	keys_check(GROUP_ABI, "abi");
	keys_check(GROUP_SYSCALL | GROUP_ARG0, "syscall,arg0");
}

/* Cells of a group, as calls=33; oldest=- is not known. */
static void cells_check(const struct snapshot *snapshot, unsigned int keys, size_t at,
			const char *cells)
{
	__cleanup(group_list_done) struct group_list list = { 0 };
	struct column_scope scope = { snapshot, keys, 1000, false };
	char word[MAX_WORD];

	assert_int_equal(snapshot_group(snapshot, keys, NULL, &list), 0);
	assert_true(at < list.nr_groups);
	while (word_read(&cells, word)) {
		char *expected = strchr(word, '='), text[COLUMN_TEXT_MAX] = "-";
		const struct column *column;
		uint64_t number;

		*expected++ = '\0';
		column = column_named(word);
		if (column_is_key(column) && !column_text(column, &scope, &list.groups[at], text))
			strcpy(text, "-");
		if (!column_is_key(column) &&
		    column_number(column, &scope, &list.groups[at], &number))
			snprintf(text, sizeof(text), "%" PRIu64, number);
		if (strcmp(text, expected))
			fail_msg("%s: %s, not %s", word, text, expected);
	}
}

/* Every column by hand, for one row. */
SNAPSHOT_TEST(test_cells, scenario_web())
{
	const unsigned int keys = GROUP_PID | GROUP_TID | GROUP_SYSCALL;
	char abi[MAX_WORD];

	/* Groups are ordered by pid, tid, call: thread 100 has two calls before thread 101's read. */
	cells_check(
		snapshot, keys, 2,
		"pid=100 tid=101 comm=nginx unit=nginx.service user=www-data syscall=read arg0=- "
		"calls=3000 errors=120 err%=400 interrupted=0 no_return=0 untimed=0 in_flight=0 "
		"oldest=- time%=6040500000 total=604050000 cpu=34050000 runq=15000000 "
		"sleep=555000000 min=1500 avg=201350 max=2000000 bytes=12288000");
	snprintf(abi, sizeof(abi), "abi=%s", abi_name(ABI_OF_TESTS));
	cells_check(snapshot, keys, 2, abi);
}

/* Cells are unknown if the grouping, the timing or the kernel does not tell. */
TEST(test_unknown_cells)
{
	__cleanup(snapshot_freep) struct snapshot *web = scenario_web();
	__cleanup(snapshot_freep) struct snapshot *overflow = scenario_overflow(ABI_OF_TESTS);
	__cleanup(snapshot_freep) struct snapshot *without = scenario_no_runq(ABI_OF_TESTS);

	cells_check(web, GROUP_UNIT, 0,
		    "pid=- comm=- unit=nginx.service user=- syscall=- abi=- bytes=16384000");
	cells_check(overflow, GROUP_PID | GROUP_SYSCALL, 0,
		    "pid=- comm=[overflow] user=- unit=- syscall=[other] calls=33 total=- cpu=- "
		    "sleep=- min=- avg=- p99=- time%=- bytes=-");
	cells_check(without, GROUP_PID | GROUP_SYSCALL, 0, "cpu=988024000 runq=- sleep=-");
}

/* Folded processes have a name but no pid, unnamed users their number. */
BUILDER_TEST(test_folded_process)
{
	__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
	struct process process = { .boot_ns = 1, .uid = 12, .nr_folded = 3, .comm = "sh\x1b[2J" };
	struct row row;

	assert_int_equal(builder_add_process(builder, &process, false), 0);
	row_init_named(&row, 0, ABI_OF_TESTS, "read");
	row.boot_ns = 1;
	row_add_calls(&row, 1, 1, 0, 0);
	builder_take_row(builder, &row);
	snapshot = snapshot_take(builder);
	cells_check(snapshot, GROUP_PID, 0, "pid=exited comm=sh\\x1b[2J user=12");
}

/* Orders the groups of a snapshot by a column and names them. */
static void order_check(const char *name, unsigned int keys, const char *shown,
			const char *expected)
{
	__cleanup(snapshot_freep) struct snapshot *snapshot = scenario_web();
	const struct table_options options = { .keys = keys, .sort = sort_named(name) };
	__cleanup(table_part_done) struct table_part part = { .list.groups = NULL };
	char order[512] = "", text[COLUMN_TEXT_MAX];

	assert_int_equal(table_part_make(snapshot, &options, NULL, &part), 0);
	for (size_t i = 0; i < part.list.nr_groups; i++) {
		strcat(order, i ? "," : "");
		if (column_text(column_named(shown), &part.scope, &part.list.groups[i], text))
			strcat(order, text);
	}
	assert_string_equal(order, expected);
}

TEST(test_order)
{
	order_check("calls", GROUP_SYSCALL, "syscall", "read,openat,epoll_pwait,futex,ioctl,wait4");
	order_check("max", GROUP_SYSCALL, "syscall", "wait4,epoll_pwait,futex,read,openat,ioctl");
	order_check("syscall", GROUP_SYSCALL, "syscall",
		    "epoll_pwait,futex,ioctl,openat,read,wait4");
	order_check("pid", GROUP_PID, "pid", "100,200,300");
	order_check("comm", GROUP_PID, "comm", "bash,nginx,nginx");
	order_check("tid", GROUP_PID | GROUP_TID, "tid", "100,101,200,201,300");
	order_check("+calls", GROUP_SYSCALL, "syscall",
		    "wait4,ioctl,futex,epoll_pwait,openat,read");
	order_check("-comm,pid", GROUP_PID, "pid", "100,200,300");
	order_check("comm,-pid", GROUP_PID, "pid", "300,200,100");
	order_check("-tid", GROUP_PID | GROUP_TID, "tid", "300,201,200,101,100");
	order_check("nr", GROUP_SYSCALL, "syscall", "read,ioctl,wait4,futex,openat,epoll_pwait");
	/* Unknown cells go last. */
	order_check("arg0", GROUP_SYSCALL | GROUP_ARG0, "arg0", "0,255,,,,,");
	order_check("oldest", GROUP_PID, "pid", "100,200,300");
	order_check("unit", GROUP_UNIT, "unit", "nginx.service,session-1.scope");
}

static void scale_check(const struct time_scale *scale, uint64_t ns, const char *unit,
			const char *text)
{
	char buf[SCALED_MAX];

	scale_format(scale, ns, buf, sizeof(buf));
	assert_string_equal(scale->unit, unit);
	assert_string_equal(buf, text);
}

TEST(test_scales)
{
	scale_check(scale_for_latencies(0), 0, "us", "0.000");
	scale_check(scale_for_latencies(9999999), 80, "us", "0.080");
	scale_check(scale_for_latencies(9999999), 9999999, "us", "9999.999");
	scale_check(scale_for_latencies(10000000), 80, "us", "0.1");
	scale_check(scale_for_latencies(10000000), 49, "us", "<0.1");
	scale_check(scale_for_latencies(99999999), 99949999, "us", "99950.0");
	scale_check(scale_for_latencies(100000000), 15000123456, "ms", "15000.123");
	scale_check(scale_for_latencies(100000000), 400, "ms", "<0.001");
	scale_check(scale_for_latencies(100000000), 500, "ms", "0.001");
	scale_check(scale_for_latencies(1000000000000), 1500000, "s", "0.002");
	scale_check(scale_for_sums(9999999), 1234567, "us", "1234.6");
	scale_check(scale_for_sums(999999999999), 1234567, "ms", "1.235");
	scale_check(scale_for_sums(1000000000000), 1234567, "s", "0.001");
	scale_check(scale_for_sums(UINT64_MAX), UINT64_MAX, "s", "18446744073.710");
}

/* --- labels -------------------------------------------------------------------------------------- */

static void label_check(enum syscall_abi abi, int64_t nr, const char *expected)
{
	char label[ROW_LABEL_MAX];
	struct row row;

	row_init_for(&row, 1, abi, nr);
	row_label(&row, label, sizeof(label));
	assert_string_equal(label, expected);
}

TEST(test_row_label)
{
	int native_read = syscall_find(ABI_OF_TESTS, "read");

	label_check(ABI_OF_TESTS, native_read, "read");
	label_check(ABI_I386, 3, "read/i386");
	label_check(ABI_X32, 0, "read/x32");
	label_check(ABI_ARM, 3, "read/arm");
	label_check(ABI_OF_TESTS, 1000, "syscall_0x3e8");
	label_check(ABI_OF_TESTS, -1, "syscall_0xffffffff");
	label_check(ABI_I386, 1000, "syscall_0x3e8/i386");
	label_check(ABI_OF_TESTS, ROW_NR_OTHER, "[other]");
	label_check(ABI_ARM, ROW_NR_OTHER, "[other]/arm");
	label_check(NR_SYSCALL_ABI, 0, "syscall_0x0/unknown");
#if defined(__aarch64__)
	label_check(ABI_X86_64, 0, "read/x86_64");
#else
	label_check(ABI_ARM64, 63, "read/arm64");
#endif
}

/* No label of any call is cut. */
TEST(test_row_label_fits)
{
	for (int abi = 0; abi < NR_SYSCALL_ABI; abi++) {
		for (int nr = syscall_next(abi, -1); nr >= 0; nr = syscall_next(abi, nr)) {
			const char *name = syscall_find_name(abi, nr);
			char label[ROW_LABEL_MAX];
			struct row row;

			row_init_for(&row, 1, (enum syscall_abi)abi, nr);
			row_label(&row, label, sizeof(label));
			assert_memory_equal(label, name, strlen(name));
			if (abi == ABI_OF_TESTS) {
				assert_string_equal(label, name);
			} else {
				assert_int_equal(label[strlen(name)], '/');
				assert_string_equal(label + strlen(name) + 1, abi_name(abi));
			}
		}
	}
}

TEST(test_age)
{
	static const struct text_number ages[] = {
		{ "0 ns", 0 },
		{ "1 ns", 1 },
		{ "850 ns", 850 },
		{ "999 ns", 999 },
		{ "1.0 us", 1000 },
		{ "12.3 us", 12345 },
		{ "999.9 us", 999900 },
		{ "999.9 us", 999949 },
		{ "1.00 ms", 999950 },
		{ "1.00 ms", 1000000 },
		{ "4.56 ms", 4560000 },
		{ "999.99 ms", 999990000 },
		{ "1.000 s", 999995000 },
		{ "1.000 s", 1000000000 },
		{ "12.345 s", 12345000000 },
		{ "86400.000 s", 86400000000000 },
		{ "18446744073.710 s", (int64_t)UINT64_MAX },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ages); i++) {
		char text[AGE_MAX];

		format_age((uint64_t)ages[i].number, text, sizeof(text));
		assert_string_equal(text, ages[i].text);
	}
}

/* Bytes that act on a screen are escaped, one by one; the rest stays. */
TEST(test_escape_visible)
{
	static const char texts[] =
		"nginx \xc3\xa9\xe2\x82\xac \\x1b[2J\\x07 a\\x0a\\x0d\\x09b \\x7f \\xc2\\x80 "
		"\\xc2\\x9f \xc2\xa0 \\xe2\\x80\\xae \\xd8\\x9c \xd8\x9b \\xc2\\xad "
		"\\xe2\\x80\\x8b \\xe2\\x80\\x8d \\xe2\\x81\\xa0 \\xe3\\x85\\xa4 \\xef\\xbb\\xbf "
		"\\xf3\\xa0\\x81\\x81 \xf3\xa1\x80\x80 \xe2\x80\xaf \\xe2\\x81\\xa6 "
		"\\xef\\xbf\\xbf \xef\xbf\xbd \xf0\x9f\x98\x80 \\xff ";
	char expected[MAX_WORD], bytes[MAX_WORD];

	for (const char *at = texts; word_read(&at, expected);) {
		char out[TEXT_ESCAPED_MAX(MAX_WORD)];

		bytes_unescape(expected, bytes);
		text_escape_visible(bytes, strlen(bytes), out);
		assert_string_equal(out, expected);
	}
}

/* The name of a program never looks like a row of ours. */
TEST(test_escape_name)
{
	static const struct text_pair cases[] = {
		{ "", "" },
		{ "nginx", "nginx" },
		{ "a[0]", "a[0]" },
		{ "(sd-pam)", "(sd-pam)" },
		{ "[", "\\x5b" },
		{ "[overflow]", "\\x5boverflow]" },
		{ "(5 others)", "\\x285 others)" },
		{ "\x1b[", "\\x1b[" },
	};
	char out[TEXT_ESCAPED_MAX(16)];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		text_escape_name(cases[i].given, strlen(cases[i].given), out);
		assert_string_equal(out, cases[i].expected);
	}
	text_escape_name("[all]", 0, out);
	assert_string_equal(out, "");
}

TEST(test_text_width)
{
	assert_int_equal(text_width(""), 0);
	assert_int_equal(text_width("read"), 4);
	assert_int_equal(text_width("\xc3\xa9t\xc3\xa9"), 3);
	assert_int_equal(text_width("\xe2\x82\xac\xf0\x9f\x98\x80"), 2);
}

TEST(test_text_cut_fields)
{
	static const struct {
		size_t width;
		const char *expected;
	} cases[] = { { 12, "1 s  99%  \xc3\xa9" },
		      { 11, "1 s  99%  \xc3\xa9" },
		      { 10, "1 s  99%" },
		      { 8, "1 s  99%" },
		      { 7, "1 s" },
		      { 1, "1 s" } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[] = "1 s  99%  \xc3\xa9";

		text_cut_fields(text, cases[i].width);
		assert_string_equal(text, cases[i].expected);
	}
	text_cut_fields((char[]){ "" }, 0);
}

/* --- bars ---------------------------------------------------------------------------------------- */

static char *bars_render(const struct hist *hist)
{
	struct text_stream stream;

	bars_print(hist, text_open(&stream));
	return text_close(&stream);
}

static void bars_add(struct hist *hist, unsigned int bucket, uint64_t count)
{
	assert_int_equal(hist_add(hist, bucket, count), 0);
}

static void bars_check(const struct hist *hist, const char *expected)
{
	__cleanup(freep) char *text = bars_render(hist);

	assert_string_equal(text, expected);
}

TEST(test_by_hand)
{
	static const struct hist none = { 0 };
	__cleanup(hist_done) struct hist hist = { 0 };
	__cleanup(hist_done) struct hist last = { 0 };

	bars_check(&none, "");
	bars_add(&hist, 0, 1);
	bars_check(
		&hist,
		"       0 ns ..       64 ns         1 |########################################\n");
	bars_add(&hist, 3, 40);
	bars_check(
		&hist,
		"       0 ns ..       64 ns         1 |#\n"
		"      64 ns ..       80 ns         0 |\n"
		"      80 ns ..       96 ns         0 |\n"
		"      96 ns ..      112 ns        40 |########################################\n");
	hist_done(&hist);
	bars_add(&hist, 0, 1);
	bars_add(&hist, 4, 1000000);
	bars_check(
		&hist,
		"       0 ns ..       64 ns         1 |#\n"
		"        ...\n"
		"     112 ns ..      128 ns   1000000 |########################################\n");
	/* The last bucket has no end. */
	bars_add(&last, HIST_BUCKETS - 1, 7);
	bars_check(
		&last,
		" 4398.047 s ..        more         7 |########################################\n");
}

/* A bar has 0 to 40 columns whatever the counts, 0 only for no call. */
TEST(test_lengths)
{
	uint64_t seed = 1;

	for (int round = 0; round < 100; round++) {
		__cleanup(freep) char *text = NULL;
		__cleanup(hist_done) struct hist hist = { 0 };
		size_t longest = 0;

		for (unsigned int i = 0; i < HIST_BUCKETS; i++)
			bars_add(&hist, i, random_below(&seed, 2) ? random_ns(&seed, 63) : 0);
		text = bars_render(&hist);
		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
			const char *bar = strchr(line, '|');

			if (!bar)
				continue;
			longest = strlen(bar) - 1 > longest ? strlen(bar) - 1 : longest;
			assert_in_range(strlen(bar) - 1, strstr(line, " 0 |") ? 0 : 1, 40);
		}
		assert_int_equal(longest, 40);
	}
}
