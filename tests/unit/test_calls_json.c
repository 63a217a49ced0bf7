/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests calls as JSON. */
#include <poll.h>
#include <sys/resource.h>

#include "call_fixture.h"
#include "model/label.h"

TEST(test_json)
{
	__cleanup(call_decoder_freep) struct call_decoder *decoder = decoder_make(true, NULL, NULL);
	const struct call_given given = { "openat", { CWD, 0x10, 0x80041, 0644 },
					  -ENOENT,  { { 1, PART_SELF, PIECE_AT_EXIT, "/etc", 5 } },
					  NULL,     NULL };
	static struct record_made made;
	char *json __cleanup(freep) = NULL;

	record_make(&made, LABEL_NATIVE_ABI, &given);
	json = json_line(decoder, record_of(&made));
	assert_string_equal(
		json,
		"{\"schema\":1,\"time\":\"2024-11-24T14:36:40.123456789Z\",\"pid\":100,\"tid\":101,"
		"\"comm\":\"w\\\"\\u001B\",\"number\":7,\"syscall\":\"openat\",\"args\":["
		"{\"name\":\"dirfd\",\"kind\":\"fd\",\"value\":-100,\"text\":\"AT_FDCWD\",\"is\":"
		"\"/cwd\"},"
		"{\"name\":\"pathname\",\"kind\":\"path\",\"read\":\"after\",\"value\":\"/etc\"},"
		"{\"name\":\"flags\",\"kind\":\"flags\",\"value\":524353,\"text\":"
		"\"O_WRONLY|O_CREAT|O_CLOEXEC\"},"
		"{\"name\":\"mode\",\"kind\":\"mode\",\"value\":420,\"text\":\"0644\"}],"
		"\"result\":-2,\"errno\":\"ENOENT\",\"wall_ns\":12345,\"cpu_ns\":10000,"
		"\"runq_ns\":345,\"sleep_ns\":2000}\n");
}

TEST(test_json_of_another_abi)
{
	__cleanup(call_decoder_freep) struct call_decoder *decoder = decoder_make(true, NULL, NULL);
	struct stack_frame frames[MAX_FRAMES] = { { .symbol = "read", .offset = 4 },
						  { .symbol = "a\"b" } };
	const struct stack stack = { .nr_frames = ARRAY_SIZE(frames), .frames = frames };
	static const uint64_t arguments[CALL_ARGUMENTS] = { 3 };
	static struct record_made made;
	char *text __cleanup(freep) = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	record_begin(&made, ABI_I386, "dup", arguments, 4);
	record_of(&made)->flags |= CALL_DENIED;
	assert_int_equal(report_call_json(decoder, record_of(&made), 0, &stack, out), 0);
	assert_int_equal(fclose(out), 0);
	assert_non_null(strstr(text, "\"syscall\":\"dup\",\"abi\":\"i386\","));
	assert_non_null(strstr(text, "\"result\":4,\"result_is\":\"socket:[77]\",\"errno\":null,"
				     "\"denied\":true,"));
	assert_non_null(strstr(text, ",\"stack\":[\"read+0x4\",\"a\\\"b\",\"0x0\","));
}

static void arguments_check(const struct call_given *given, const char *expected)
{
	__cleanup(call_decoder_freep) struct call_decoder *decoder =
		decoder_make(false, NULL, NULL);
	static struct record_made made;
	char *json __cleanup(freep) = NULL, *from, *end;

	record_make(&made, ABI_X86_64, given);
	json = json_line(decoder, record_of(&made));
	from = strstr(json, "\"args\":");
	end = strstr(json, ",\"result\"");
	assert_non_null(from);
	assert_non_null(end);
	*end = 0;
	assert_string_equal(from + strlen("\"args\":"), expected);
}

TEST(test_json_values)
{
	const struct call_given mask = { "rt_sigprocmask",
					 { 0, 0x10, 0, 8 },
					 0,
					 { THING_AT(1, (uint64_t){ ~1ULL }) },
					 NULL,
					 NULL };
	const struct call_given poll = {
		"poll", { 0x10, 1, 5 },
		1,      { THING_AT(0, (struct pollfd){ 6, POLLIN, POLLIN }) },
		NULL,   NULL
	};
	const struct call_given write = { "write", { 1, 0x10, 9 }, 9, { BYTES_AT(1, "abc") }, NULL,
					  NULL };
	const struct call_given select = { "select",
					   { 7, 0x10, 0, 0, 0 },
					   1,
					   { { 1, PART_SELF, 0, "\x48\0\0\0\0\0\0\0", 8 },
					     { 1, PART_AFTER, PIECE_AT_EXIT, "\x40\0\0\0\0\0\0\0",
					       8 } },
					   NULL,
					   NULL };
	const struct call_given late = { "select",
					 { 7, 0x10, 0, 0, 0 },
					 1,
					 { { 1, PART_SELF, PIECE_AT_EXIT, "\x40\0\0\0\0\0\0\0", 8 },
					   { 1, PART_AFTER, PIECE_AT_EXIT, "\x40\0\0\0\0\0\0\0",
					     8 } },
					 NULL,
					 NULL };
	const struct call_given absent = { "chdir", { 0x10 }, 0, { NONE_AT(0) }, NULL, NULL };

	arguments_check(&mask,
			"[{\"name\":\"how\",\"kind\":\"enum\",\"value\":0,\"text\":\"SIG_BLOCK\"},"
			"{\"name\":\"set\",\"kind\":\"sigset\",\"value\":{\"all_but\":[\"HUP\"]}},"
			"{\"name\":\"oldset\",\"kind\":\"sigset\",\"value\":null},"
			"{\"name\":\"sigsetsize\",\"kind\":\"uint\",\"value\":8}]");
	arguments_check(&poll,
			"[{\"name\":\"fds\",\"kind\":\"pollfd\",\"value\":[{\"fd\":6,\"events\":"
			"{\"value\":1,\"text\":\"POLLIN\"},\"revents\":{\"value\":1,\"text\":"
			"\"POLLIN\"}}]},{\"name\":\"nfds\",\"kind\":\"uint\",\"value\":1},"
			"{\"name\":\"timeout\",\"kind\":\"ms\",\"value\":5}]");
	arguments_check(&write,
			"[{\"name\":\"fd\",\"kind\":\"fd\",\"value\":1},"
			"{\"name\":\"buf\",\"kind\":\"data\",\"value\":\"abc\",\"cut\":true},"
			"{\"name\":\"count\",\"kind\":\"uint\",\"value\":9}]");
	arguments_check(&select,
			"[{\"name\":\"nfds\",\"kind\":\"int\",\"value\":7},"
			"{\"name\":\"readfds\",\"kind\":\"fd_set\",\"value\":[3,6],\"after\":[6]},"
			"{\"name\":\"writefds\",\"kind\":\"fd_set\",\"value\":null},"
			"{\"name\":\"exceptfds\",\"kind\":\"fd_set\",\"value\":null},"
			"{\"name\":\"timeout\",\"kind\":\"timeval\",\"value\":null}]");
	arguments_check(&late,
			"[{\"name\":\"nfds\",\"kind\":\"int\",\"value\":7},"
			"{\"name\":\"readfds\",\"kind\":\"fd_set\",\"value\":null,\"address\":16,"
			"\"after\":[6]},"
			"{\"name\":\"writefds\",\"kind\":\"fd_set\",\"value\":null},"
			"{\"name\":\"exceptfds\",\"kind\":\"fd_set\",\"value\":null},"
			"{\"name\":\"timeout\",\"kind\":\"timeval\",\"value\":null}]");
	arguments_check(&absent, "[{\"name\":\"path\",\"kind\":\"path\",\"value\":null,"
				 "\"address\":16,\"missing\":\"not in memory\"}]");
}

/* Numbers have no sign, and from 2^63 on they are texts: readers that have 63 bits lose nothing. */
TEST(test_json_large_numbers)
{
	const struct call_given sizes = { "write",     { 1, INT64_MIN, ~0ULL },
					  ERR(EFAULT), { NONE_AT(1) },
					  NULL,        NULL };
	const struct call_given least = { "munmap", { INT64_MAX, 1ULL << 63 }, 0, { { 0 } }, NULL,
					  NULL };
	const struct call_given offset = {
		"lseek", { 1, ~0ULL, SEEK_CUR }, 0, { { 0 } }, NULL, NULL
	};
	const struct call_given limit = {
		"prlimit64", { 0, RLIMIT_NOFILE, 0x10 },
		0,           { THING_AT(2, (uint64_t[]){ ~0ULL - 1, ~0ULL }) },
		NULL,        NULL
	};

	arguments_check(&sizes, "[{\"name\":\"fd\",\"kind\":\"fd\",\"value\":1},"
				"{\"name\":\"buf\",\"kind\":\"data\",\"value\":null,"
				"\"address\":\"0x8000000000000000\",\"missing\":\"not in memory\"},"
				"{\"name\":\"count\",\"kind\":\"uint\",\"value\":"
				"\"0xffffffffffffffff\"}]");
	arguments_check(&least, "[{\"name\":\"addr\",\"kind\":\"address\",\"value\":"
				"9223372036854775807},{\"name\":\"length\",\"kind\":\"uint\","
				"\"value\":\"0x8000000000000000\"}]");
	arguments_check(&offset, "[{\"name\":\"fd\",\"kind\":\"fd\",\"value\":1},"
				 "{\"name\":\"offset\",\"kind\":\"int\",\"value\":-1},"
				 "{\"name\":\"whence\",\"kind\":\"enum\",\"value\":1,"
				 "\"text\":\"SEEK_CUR\"}]");
	arguments_check(&limit,
			"[{\"name\":\"pid\",\"kind\":\"pid\",\"value\":0},"
			"{\"name\":\"resource\",\"kind\":\"enum\",\"value\":7,"
			"\"text\":\"RLIMIT_NOFILE\"},"
			"{\"name\":\"new_limit\",\"kind\":\"rlimit64\",\"value\":{\"rlim_cur\":"
			"\"0xfffffffffffffffe\",\"rlim_max\":{\"value\":\"0xffffffffffffffff\","
			"\"text\":\"RLIM64_INFINITY\"}}},"
			"{\"name\":\"old_limit\",\"kind\":\"rlimit64\",\"value\":null}]");
}
