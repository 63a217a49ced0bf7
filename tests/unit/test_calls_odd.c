/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests lines of calls whose records are out of the ordinary: bytes that somebody chose, memory that
 * was not there, records that lie, other ABIs, and all that stands around a call.
 */
#include <poll.h>
#include <sys/epoll.h>

#include "call_fixture.h"

/* --- bytes -------------------------------------------------------------------------------------- */

/* Every line is printable ASCII. */
static void clean_check(const char *text)
{
	for (; *text; text++) {
		if ((*text < ' ' || *text > '~') && (*text != '\n' || text[1]))
			fail_msg("a byte %02x in a line", (unsigned char)*text);
	}
}

static void all_forms_check(struct call_decoder *decoder, const struct record_made *made)
{
	const struct call_record *record = (const struct call_record *)made->bytes;
	char *truss __cleanup(freep) = truss_line(decoder, record);
	char *strace __cleanup(freep) = strace_line(decoder, record);
	char *json __cleanup(freep) = json_line(decoder, record);

	clean_check(truss);
	clean_check(strace);
	clean_check(json);
}

TEST(test_hostile_strings)
{
	__cleanup(call_decoder_freep) struct call_decoder *decoder =
		decoder_make(false, NULL, NULL);
	static const char odd[] = "a\n\33[2J\"\\\x80\xff\xc3\xa4\xe2\x80\xae/../\177";
	const struct call_given given[] = {
		{ "unlink",
		  { 1 },
		  0,
		  { TEXT_AT(0, odd) },
		  "unlink(\"a\\n\\33[2J\\\"\\\\\\200\\377\\303\\244\\342\\200\\256/../\\177\") = 0",
		  NULL },
		{ "write",
		  { 1, 2, 3 },
		  3,
		  { BYTES_AT(1, "\0001\0") },
		  "write(1, \"\\0001\\0\", 3) = 3",
		  NULL },
	};
	static struct record_made made;
	char *json __cleanup(freep) = NULL;

	lines_check(decoder, ABI_X86_64, given, ARRAY_SIZE(given));
	record_make(&made, ABI_X86_64, &given[0]);
	all_forms_check(decoder, &made);
	json = json_line(decoder, record_of(&made));
	assert_non_null(strstr(json,
			       "\"value\":\"a\\n\\u001B[2J\\\"\\\\\\\\x80\\\\xff\\u00E4\\u202E"
			       "/../\\\\x7f\""));
	free(json);
	record_make(&made, ABI_X86_64, &given[1]);
	json = json_line(decoder, record_of(&made));
	assert_non_null(strstr(json, "\"value\":\"\\\\x001\\\\x00\""));
}

TEST(test_long_strings)
{
	__cleanup(call_decoder_freep) struct call_decoder *decoder =
		decoder_make(false, NULL, NULL);
	static const uint64_t arguments[CALL_ARGUMENTS] = { 1 };
	static char path[10000];
	struct piece_given piece = { 0, PART_SELF, PIECE_CUT, path, sizeof(path) };
	static struct record_made made;
	char *line __cleanup(freep) = NULL;

	memset(path, '\n', sizeof(path));
	record_begin(&made, ABI_X86_64, "chdir", arguments, 0);
	record_add(&made, &piece);
	all_forms_check(decoder, &made);
	line = truss_line(decoder, record_of(&made));
	assert_int_equal(strlen(line), 2 * sizeof(path) + strlen("chdir(\"\"...) = 0"));
	assert_non_null(strstr(line, "\\n\"...) = 0"));
}

/* --- memory that is not there ------------------------------------------------------------------- */

TEST(test_unreadable)
{
	__cleanup(call_decoder_freep) struct call_decoder *decoder =
		decoder_make(false, NULL, NULL);
	const struct call_given given[] = {
		{ "openat",
		  { CWD, 0x7f3a10, 0 },
		  ERR(EFAULT),
		  { NONE_AT(1) },
		  "openat(AT_FDCWD, 0x7f3a10 (not in memory), O_RDONLY) Err#14 EFAULT",
		  "openat(AT_FDCWD, 0x7f3a10, O_RDONLY) = -1 EFAULT (Bad address)" },
		{ "openat",
		  { CWD, 0x7f3a10, 0 },
		  3,
		  { { 0 } },
		  "openat(AT_FDCWD, 0x7f3a10 (not read), O_RDONLY) = 3",
		  "openat(AT_FDCWD, 0x7f3a10, O_RDONLY) = 3" },
		{ "openat",
		  { CWD, 0, 0 },
		  ERR(EFAULT),
		  { NONE_AT(1) },
		  "openat(AT_FDCWD, NULL, O_RDONLY) Err#14 EFAULT",
		  "openat(AT_FDCWD, NULL, O_RDONLY) = -1 EFAULT (Bad address)" },
		/* Memory read at the end replaces memory that could not be read before. */
		{ "openat",
		  { CWD, 0x7f3a10, 0 },
		  3,
		  { NONE_AT(1), { 1, PART_SELF, PIECE_AT_EXIT, "/a", 3 } },
		  "openat(AT_FDCWD, \"/a\"?, O_RDONLY) = 3",
		  "openat(AT_FDCWD, \"/a\", O_RDONLY) = 3" },
		{ "read",
		  { 3, 0x10, 100 },
		  5,
		  { { 1, PART_SELF, PIECE_AT_EXIT, "hello", 5 } },
		  "read(3, \"hello\", 100) = 5",
		  NULL },
		{ "write",
		  { 3, 0x10, 5 },
		  5,
		  { NONE_AT(1) },
		  "write(3, 0x10 (not in memory), 5) = 5",
		  "write(3, 0x10, 5) = 5" },
		{ "writev",
		  { 4, 0x10, 2 },
		  11,
		  { THING_AT(1, ((uint64_t[]){ 0x20, 5, 0x30, 6 })),
		    { 1, PART_BUFFERS, PIECE_UNREADABLE, "", 0 } },
		  "writev(4, [{iov_base=0x20 (not in memory), iov_len=5}, {iov_base=0x30 (not "
		  "read), iov_len=6}], 2) = 11",
		  "writev(4, [{iov_base=0x20, iov_len=5}, {iov_base=0x30, iov_len=6}], 2) = 11" },
		{ "execve",
		  { 1, 0x20, 0x30 },
		  0,
		  { TEXT_AT(0, "a"), { 1, PART_BUFFERS, PIECE_UNREADABLE, "", 0 } },
		  "execve(\"a\", [..., ...], 0x30) = 0",
		  NULL },
	};

	lines_check(decoder, ABI_X86_64, given, ARRAY_SIZE(given));
}

TEST(test_started_before)
{
	__cleanup(call_decoder_freep) struct call_decoder *decoder =
		decoder_make(false, NULL, NULL);
	static const uint64_t arguments[CALL_ARGUMENTS] = { CWD, 0x7f00, 0 };
	static struct record_made made;
	char *line __cleanup(freep) = NULL, *json __cleanup(freep) = NULL;
	char *other __cleanup(freep) = NULL;
	struct line strace __cleanup(line_done) = { 0 };

	record_begin(&made, ABI_X86_64, "openat", arguments, 3);
	record_of(&made)->flags = CALL_RETURNED;
	line = truss_line(decoder, record_of(&made));
	assert_string_equal(line, "openat(AT_FDCWD, 0x7f00, O_RDONLY) = 3");
	strace_put_call(decoder, record_of(&made), 0, &strace);
	other = line_take(&strace);
	assert_string_equal(other, "101 2.000000 openat(AT_FDCWD, 0x7f00, O_RDONLY) = 3");
	json = json_line(decoder, record_of(&made));
	assert_non_null(strstr(json, "\"wall_ns\":null,\"cpu_ns\":null"));
}

/* --- records that lie --------------------------------------------------------------------------- */

/* The copy is as large as the record, so that the sanitizer sees every access beyond it. */
static void cut_check(struct call_decoder *decoder, const struct record_made *made, size_t size)
{
	void *copy __cleanup(freep) = malloc(size);
	struct line line __cleanup(line_done) = { 0 };
	const struct truss_options options = { 0 };
	char *json __cleanup(freep) = NULL;
	struct call_record *record;

	memcpy(copy, made->bytes, size);
	record = copy;
	record->size = (uint32_t)size;
	truss_put_call(decoder, record, &options, 0, &line);
	truss_put_buffers(decoder, record, NULL, &line);
	strace_put_call(decoder, record, 0, &line);
	json = json_line(decoder, record);
	assert_true(line.used > 0 && !line.failed);
}

/* Each length from none of the pieces to all. */
TEST(test_truncated_records)
{
	__cleanup(call_decoder_freep) struct call_decoder *decoder =
		decoder_make(false, NULL, NULL);
	const uint64_t head[7] = { 0x50, 16, 0x40, 2, 0, 0, 0 };
	const uint64_t iovec[] = { 0x20, 5, 0x30, UINT64_MAX };
	const struct call_given given = { "sendmsg",
					  { 5, 0x10, 0 },
					  11,
					  { THING_AT(1, head),
					    PART_AT(1, PART_NAME,
						    "\2\0\0\65\1\2\3\4\0\0\0\0\0\0\0\0"),
					    { 1, PART_IOVEC, 0, iovec, sizeof(iovec) },
					    PART_AT(1, PART_BUFFERS, "hello"),
					    PART_AT(1, PART_BUFFERS + 1, "world!") },
					  NULL,
					  NULL };
	static struct record_made made;
	size_t whole;

	record_make(&made, ABI_X86_64, &given);
	whole = record_of(&made)->size;
	for (size_t size = sizeof(struct call_record); size <= whole; size++)
		cut_check(decoder, &made, size);
	/* A piece that says it is larger than the record is none. */
	((struct call_piece *)(record_of(&made) + 1))->size = UINT16_MAX;
	cut_check(decoder, &made, whole);
}

TEST(test_odd_numbers)
{
	__cleanup(call_decoder_freep) struct call_decoder *decoder =
		decoder_make(false, NULL, NULL);
	static const uint64_t arguments[CALL_ARGUMENTS] = { 1, 2, 3, 4, 5, 6 };
	static struct record_made made;
	char *line __cleanup(freep) = NULL, *other __cleanup(freep) = NULL;

	record_begin(&made, ABI_X86_64, "getpid", arguments, -99999);
	record_of(&made)->nr = 100000;
	line = truss_line(decoder, record_of(&made));
	assert_string_equal(line, "syscall_0x186a0(0x1, 0x2, 0x3, 0x4, 0x5, 0x6) = -99999");
	record_of(&made)->nr = -3;
	other = truss_line(decoder, record_of(&made));
	assert_string_equal(other, "syscall_0xfffffffd(0x1, 0x2, 0x3, 0x4, 0x5, 0x6) = -99999");
	record_of(&made)->abi = UINT16_MAX;
	all_forms_check(decoder, &made);
}

/* One that does not exist is taken for the first. */
TEST(test_odd_abi)
{
	__cleanup(call_decoder_freep) struct call_decoder *decoder =
		decoder_make(false, NULL, NULL);
	struct stat file = { .st_mode = S_IFREG | 0644, .st_size = 5 };
	const struct call_given given = {
		"fstat", { 3, 0x10 }, 0, { THING_AT(1, file) }, "", NULL
	};
	static struct record_made made;
	char *line __cleanup(freep) = NULL;

	record_make(&made, ABI_X86_64, &given);
	record_of(&made)->abi = NR_SYSCALL_ABI;
	line = truss_line(decoder, record_of(&made));
	assert_string_equal(line, "fstat(3, {st_mode=S_IFREG|0644, st_size=5, ...}) = 0");
	all_forms_check(decoder, &made);
}

/* Structures that are shorter than they should be, and counts beyond what is there. */
TEST(test_short_structures)
{
	__cleanup(call_decoder_freep) struct call_decoder *decoder =
		decoder_make(false, NULL, NULL);
	const struct call_given given[] = {
		{ "nanosleep",
		  { 0x10, 0 },
		  0,
		  { THING_AT(0, (uint64_t){ 7 }) },
		  "nanosleep({tv_sec=7, ...}, NULL) = 0",
		  NULL },
		{ "nanosleep",
		  { 0x10, 0 },
		  0,
		  { BYTES_AT(0, "abc") },
		  "nanosleep(0x10, NULL) = 0",
		  NULL },
		{ "poll",
		  { 0x10, UINT32_MAX, 0 },
		  1,
		  { THING_AT(0, (struct pollfd){ 6, POLLIN, 0 }) },
		  "poll([{fd=6, events=POLLIN}, ...], 4294967295, 0) = 1",
		  "poll([{fd=6, events=POLLIN}, ...], 4294967295, 0) = 1 ([])" },
		{ "connect",
		  { 5, 0x10, 16 },
		  0,
		  { BYTES_AT(1, "\2\0\0") },
		  "connect(5, {sa_family=AF_INET, sa_data=\"\\0\"}, 16) = 0",
		  NULL },
		{ "connect",
		  { 5, 0x10, 1 },
		  0,
		  { BYTES_AT(1, "\2") },
		  "connect(5, \"\\2\", 1) = 0",
		  NULL },
		{ "rt_sigaction",
		  { 2, 0x10, 0, 8 },
		  0,
		  { BYTES_AT(1, "ab") },
		  "rt_sigaction(SIGINT, \"ab\"..., NULL, 8) = 0",
		  NULL },
	};

	lines_check(decoder, ABI_X86_64, given, ARRAY_SIZE(given));
}

/* --- other ABIs --------------------------------------------------------------------------------- */

TEST(test_i386)
{
	__cleanup(call_decoder_freep) struct call_decoder *decoder =
		decoder_make(false, NULL, NULL);
	const uint32_t iovec[] = { 0x20, 2, 0x30, 3 }, time[] = { 5, 6 };
	const uint32_t stat64[24] = { [4] = S_IFREG | 0600, [11] = 4711 };
	const uint32_t head[7] = { 0, 0, 0x40, 1, 0, 0, 0 }, one[] = { 0x20, 2 };
	const uint32_t action[] = { 0x8048, 0, 0, 2, 0 };
	const uint32_t event[] = { EPOLLIN, 7, 0 };
	const int64_t times[] = { 1L << 40, 6 };
	const struct call_given given[] = {
		{ "readv",
		  { 3, 0x10, 2 },
		  5,
		  { THING_AT(1, iovec), PART_AT(1, PART_BUFFERS, "he"),
		    PART_AT(1, PART_BUFFERS + 1, "llo") },
		  "readv(3, [{iov_base=\"he\", iov_len=2}, {iov_base=\"llo\", iov_len=3}], 2) = 5",
		  NULL },
		{ "nanosleep",
		  { 0x10, 0 },
		  0,
		  { THING_AT(0, time) },
		  "nanosleep({tv_sec=5, tv_nsec=6}, NULL) = 0",
		  NULL },
		{ "clock_gettime64",
		  { 0, 0x10 },
		  0,
		  { THING_AT(1, times) },
		  "clock_gettime64(CLOCK_REALTIME, {tv_sec=1099511627776, tv_nsec=6}) = 0",
		  NULL },
		{ "fstat64",
		  { 3, 0x10 },
		  0,
		  { THING_AT(1, stat64) },
		  "fstat64(3, {st_mode=S_IFREG|0600, st_size=4711, ...}) = 0",
		  NULL },
		{ "sendmsg",
		  { 3, 0x10, 0 },
		  2,
		  { THING_AT(1, head),
		    { 1, PART_IOVEC, 0, one, sizeof(one) },
		    PART_AT(1, PART_BUFFERS, "hi") },
		  "sendmsg(3, {msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base=\"hi\", "
		  "iov_len=2}], msg_iovlen=1, msg_controllen=0, msg_flags=0}, 0) = 2",
		  NULL },
		{ "rt_sigaction",
		  { 2, 0x10, 0, 8 },
		  0,
		  { THING_AT(1, action) },
		  "rt_sigaction(SIGINT, {sa_handler=0x8048, sa_mask=[INT], sa_flags=0}, NULL, 8) = "
		  "0",
		  NULL },
		{ "epoll_ctl",
		  { 7, 1, 6, 0x10 },
		  0,
		  { THING_AT(3, event) },
		  "epoll_ctl(7, EPOLL_CTL_ADD, 6, {events=EPOLLIN, data=0x7}) = 0",
		  "epoll_ctl(7, EPOLL_CTL_ADD, 6, {events=EPOLLIN, data={u32=7, u64=7}}) = 0" },
		{ "pread64",
		  { 3, 0x10, 5, 1, 1 },
		  5,
		  { BYTES_AT(1, "hello") },
		  "pread64(3, \"hello\", 5, 4294967297) = 5",
		  NULL },
		{ "brk", { 0 }, (int32_t)0x9a3f0000, { { 0 } }, "brk(NULL) = 0x9a3f0000", NULL },
		{ "lseek",
		  { 3, UINT32_MAX, 2 },
		  UINT32_MAX - 21,
		  { { 0 } },
		  "lseek(3, -1, SEEK_END) Err#22 EINVAL",
		  "lseek(3, -1, SEEK_END) = -1 EINVAL (Invalid argument)" },
	};

	lines_check(decoder, ABI_I386, given, ARRAY_SIZE(given));
}

TEST(test_arm)
{
	__cleanup(call_decoder_freep) struct call_decoder *decoder =
		decoder_make(false, NULL, NULL);
	const uint32_t native[32] = { [4] = S_IFREG | 0600, [12] = 4711 };
	const uint32_t compat[26] = { [4] = S_IFREG | 0600, [12] = 4712 };
	const uint32_t event[] = { EPOLLIN, 0, 7, 0 };
	const struct call_given given[] = {
		{ "fstat",
		  { 3, 0x10 },
		  0,
		  { THING_AT(1, native) },
		  "fstat(3, {st_mode=S_IFREG|0600, st_size=4711, ...}) = 0",
		  NULL },
		{ "epoll_ctl",
		  { 7, 1, 6, 0x10 },
		  0,
		  { THING_AT(3, event) },
		  "epoll_ctl(7, EPOLL_CTL_ADD, 6, {events=EPOLLIN, data=0x7}) = 0",
		  "epoll_ctl(7, EPOLL_CTL_ADD, 6, {events=EPOLLIN, data={u32=7, u64=7}}) = 0" },
	};
	const struct call_given other = {
		"fstat64",
		{ 3, 0x10 },
		0,
		{ THING_AT(1, compat) },
		"fstat64(3, {st_mode=S_IFREG|0600, st_size=4712, ...}) = 0",
		NULL
	};

	lines_check(decoder, ABI_ARM64, given, ARRAY_SIZE(given));
	lines_check(decoder, ABI_ARM, &other, 1);
}

/* --- what stands around ------------------------------------------------------------------------- */

TEST(test_names_of_descriptors)
{
	__cleanup(call_decoder_freep) struct call_decoder *decoder = decoder_make(true, NULL, NULL);
	const struct call_given given[] = {
		{ "openat",
		  { CWD, 1, 0 },
		  3,
		  { TEXT_AT(1, "a") },
		  "openat(AT_FDCWD</cwd>, \"a\", O_RDONLY) = 3</srv/a>",
		  NULL },
		{ "close", { 5 }, 0, { { 0 } }, "close(5</a\\74b\\76\\n\\\">) = 0", NULL },
		{ "close", { 6 }, 0, { { 0 } }, "close(6</gone>(deleted)) = 0", NULL },
		{ "close", { 9 }, 0, { { 0 } }, "close(9) = 0", NULL },
		{ "dup", { 3 }, 4, { { 0 } }, "dup(3</srv/a>) = 4<socket:[77]>", NULL },
		{ "dup",
		  { LATE_FD },
		  LATE_FD,
		  { { 0 } },
		  "dup(7</late>?) = 7</late>?",
		  "dup(7</late>) = 7</late>" },
		{ "pipe2",
		  { 0x10, 0 },
		  0,
		  { THING_AT(0, ((int[]){ 3, 4 })) },
		  "pipe2([3</srv/a>, 4<socket:[77]>], 0) = 0",
		  NULL },
		{ "pipe2",
		  { 0x10, 0 },
		  0,
		  { THING_AT(0, ((int[]){ 3, MADE_FD })) },
		  "pipe2([3</srv/a>, 11</new>], 0) = 0",
		  NULL },
		{ "close", { MADE_FD }, 0, { { 0 } }, "close(11</old>) = 0", NULL },
		{ "poll",
		  { 0x10, 1, 0 },
		  0,
		  { THING_AT(0, (struct pollfd){ 3, POLLIN, 0 }) },
		  "poll([{fd=3</srv/a>, events=POLLIN}], 1, 0) = 0",
		  "poll([{fd=3</srv/a>, events=POLLIN}], 1, 0) = 0 (Timeout)" },
	};

	lines_check(decoder, ABI_X86_64, given, ARRAY_SIZE(given));
}

static char *flagged_line(const char *call, unsigned int flags)
{
	__cleanup(call_decoder_freep) struct call_decoder *decoder =
		decoder_make(false, NULL, NULL);
	static const uint64_t arguments[CALL_ARGUMENTS] = { 3 };
	static struct record_made made;

	record_begin(&made, ABI_X86_64, call, arguments, -EPERM);
	record_of(&made)->flags = (uint16_t)flags;
	return truss_line(decoder, record_of(&made));
}

TEST(test_ways_to_end)
{
	static const struct {
		const char *call;
		unsigned int flags;
		const char *line;
	} cases[] = {
		{ "exit_group", CALL_TIMED, "exit_group(3)" },
		{ "close", CALL_TIMED, "close(3) (not returned)" },
		{ "close", CALL_RETURNED | CALL_DENIED, "close(3) Err#1 EPERM (refused)" },
		{ "close", CALL_DENIED, "close(3) (refused)" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *line __cleanup(freep) = flagged_line(cases[i].call, cases[i].flags);

		assert_string_equal(line, cases[i].line);
	}
}

TEST(test_columns_and_times)
{
	__cleanup(call_decoder_freep) struct call_decoder *decoder =
		decoder_make(false, NULL, NULL);
	static const uint64_t arguments[CALL_ARGUMENTS] = { 3 };
	const struct truss_options options = { .shows_thread = true,
					       .shows_time = true,
					       .shows_delta = true,
					       .shows_cpu = true,
					       .start_ns = 500000000 };
	const struct truss_options coloured = { .is_coloured = true };
	struct line line __cleanup(line_done) = { 0 };
	static struct record_made made;

	record_begin(&made, ABI_X86_64, "close", arguments, 0);
	truss_put_call(decoder, record_of(&made), &options, 1999000000, &line);
	line_put(&line, "", 1);
	assert_string_equal(line.bytes, "100/101:\t1.500000\t0.001000\t0.000010\t"
					"close(3)                                          = 0\n");
	line_clear(&line);
	record_of(&made)->result = -EBADF;
	truss_put_call(decoder, record_of(&made), &coloured, 0, &line);
	line_put(&line, "", 1);
	assert_string_equal(line.bytes,
			    "\033[36mclose\033[0m(3)                                          "
			    "\033[31mErr#9 EBADF\033[0m\n");
	line_clear(&line);
	record_of(&made)->result = 0;
	strace_put_call(decoder, record_of(&made), 1732459000000000000, &line);
	line_put(&line, "", 1);
	assert_string_equal(line.bytes, "101 1732459001.999987 close(3)          = 0 <0.000012>\n");
}

static struct syscall_set *set_of(const char *text)
{
	struct syscall_set *set;

	must(syscall_set_parse(text, &set, &d));
	return set;
}

TEST(test_raw_and_verbose)
{
	__cleanup(syscall_set_freep) struct syscall_set *raw = set_of("openat");
	__cleanup(syscall_set_freep) struct syscall_set *verbose = set_of("fstat");
	__cleanup(call_decoder_freep) struct call_decoder *decoder =
		decoder_make(false, raw, verbose);
	struct stat file = {
		.st_dev = 0x801, .st_ino = 7, .st_mode = S_IFREG | 0644, .st_size = 5
	};
	const struct call_given given[] = {
		{ "openat",
		  { 3, 0x7f00, 0x80000, 0 },
		  4,
		  { TEXT_AT(1, "a") },
		  "openat(0x3, 0x7f00, 0x80000, 0) = 4",
		  NULL },
		/* A raw address is the one that was passed, whenever the memory was read. */
		{ "openat",
		  { 3, 0x7f00, 0x80000, 0 },
		  4,
		  { { 1, PART_SELF, PIECE_AT_EXIT, "a", 2 } },
		  "openat(0x3, 0x7f00, 0x80000, 0) = 4",
		  NULL },
		{ "fstat",
		  { 3, 0x10 },
		  0,
		  { THING_AT(1, file) },
		  "fstat(3, {st_dev=makedev(0x8, 0x1), st_ino=7, st_nlink=0, st_mode=S_IFREG|0644, "
		  "st_uid=0, st_gid=0, st_rdev=makedev(0, 0), st_size=5, st_blksize=0, "
		  "st_blocks=0, st_atime=0, st_atime_nsec=0, st_mtime=0, st_mtime_nsec=0, "
		  "st_ctime=0, st_ctime_nsec=0}) = 0",
		  NULL },
	};

	lines_check(decoder, ABI_X86_64, given, ARRAY_SIZE(given));
}

static char *buffers_of(const struct call_given *given)
{
	__cleanup(call_decoder_freep) struct call_decoder *decoder =
		decoder_make(false, NULL, NULL);
	struct line line __cleanup(line_done) = { 0 };
	static struct record_made made;

	record_make(&made, ABI_X86_64, given);
	truss_put_buffers(decoder, record_of(&made), NULL, &line);
	return strndup(line.bytes ?: "", line.used);
}

TEST(test_whole_buffers)
{
	const struct call_given read = { "read", { 3, 0x10, 100 },
					 18,     { BYTES_AT(1, "hello\n\0\xff 789012345and more") },
					 NULL,   NULL };
	const struct call_given writev = { "writev",
					   { 4, 0x10, 2 },
					   3,
					   { THING_AT(1, ((uint64_t[]){ 0x20, 1, 0x30, 2 })),
					     PART_AT(1, PART_BUFFERS, "a"),
					     PART_AT(1, PART_BUFFERS + 1, "bc") },
					   NULL,
					   NULL };
	char *text __cleanup(freep) = buffers_of(&read), *more __cleanup(freep) = NULL;

	assert_string_equal(
		text,
		"    0000  68 65 6c 6c 6f 0a 00 ff  20 37 38 39 30 31 32 33  hello... 7890123\n"
		"    0010  34 35                                             45\n");
	more = buffers_of(&writev);
	assert_string_equal(more,
			    "    0000  61                                                a\n"
			    "    0000  62 63                                             bc\n");
}

/* What was not read is counted, where that is known. */
TEST(test_more_of_buffers)
{
	const struct call_given read = { "read", { 3, 0x10, 8192 },
					 8192,   { { 1, PART_SELF, PIECE_CUT, "ab", 2 } },
					 NULL,   NULL };
	const struct call_given write = { "write", { 3, 0x10, 3 },
					  -EAGAIN, { { 1, PART_SELF, PIECE_CUT, "ab", 2 } },
					  NULL,    NULL };
	const struct call_given writev = {
		"writev",
		{ 4, 0x10, 1 },
		3,
		{ THING_AT(1, ((uint64_t[]){ 0x20, 9 })), { 1, PART_BUFFERS, PIECE_CUT, "ab", 2 } },
		NULL,
		NULL
	};
	char *many __cleanup(freep) = buffers_of(&read), *one __cleanup(freep) = buffers_of(&write);
	char *of_vector __cleanup(freep) = buffers_of(&writev);

	assert_non_null(strstr(many, "ab\n    ... 8190 more bytes\n"));
	assert_non_null(strstr(one, "ab\n    ... 1 more byte\n"));
	assert_non_null(strstr(of_vector, "ab\n    ...\n"));
}
