/* SPDX-License-Identifier: BSD-2-Clause */
/* The spelling of rows, ages and untrusted bytes. */
#include "scenarios.h"

#include "report/label.h"

static void label_check(enum syscall_abi abi, int64_t nr, const char *expected)
{
	char label[ROW_LABEL_MAX];
	struct row row;

	row_init_for(&row, 1, abi, nr);
	row_label(&row, label, sizeof(label));
	assert_string_equal(label, expected);
}

static void test_row_label(void **state)
{
	int native_read = syscall_find(ABI_OF_TESTS, "read");

	(void)state;
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
static void test_row_label_fits(void **state)
{
	(void)state;
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

static void test_age(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} ages[] = {
		{ 0, "0 ns" },
		{ 1, "1 ns" },
		{ 850, "850 ns" },
		{ 999, "999 ns" },
		{ 1000, "1.0 us" },
		{ 12345, "12.3 us" },
		{ 999900, "999.9 us" },
		{ 999949, "999.9 us" },
		{ 999950, "1.00 ms" },
		{ 1000000, "1.00 ms" },
		{ 4560000, "4.56 ms" },
		{ 999990000, "999.99 ms" },
		{ 999995000, "1.000 s" },
		{ 1000000000, "1.000 s" },
		{ 12345000000, "12.345 s" },
		{ 86400000000000, "86400.000 s" },
		{ UINT64_MAX, "18446744073.710 s" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ages); i++) {
		char text[AGE_MAX];

		format_age(ages[i].ns, text, sizeof(text));
		assert_string_equal(text, ages[i].text);
	}
}

/* The bytes are copied to the end of a block, so that reading too far is seen. */
static void escape_check(const char *bytes, size_t size, const char *expected)
{
	__cleanup(freep) char *in = malloc(size ? size : 1);
	__cleanup(freep) char *out = malloc(TEXT_ESCAPED_MAX(size));

	assert_true(in && out);
	memcpy(in, bytes, size);
	text_escape(in, size, out);
	assert_string_equal(out, expected);
}

static void test_escape_plain(void **state)
{
	(void)state;
	escape_check("", 0, "");
	escape_check("abc", 3, "abc");
	escape_check("abc", 2, "ab");
	escape_check("abc\0def", 7, "abc");
	escape_check("\0", 1, "");
	escape_check("0123456789abcdef", 16, "0123456789abcdef");
	/* For the JSON writer to escape; it leaves DEL alone. */
	escape_check("\x01\x1b\n\t\"\\", 6, "\x01\x1b\n\t\"\\");
	escape_check("a\x7f~", 3, "a\\x7f~");
}

/* Ends of each form of valid UTF-8: they stay. */
static void test_escape_valid(void **state)
{
	static const char *const valid[] = {
		"~",
		"\xc2\x80",
		"\xdf\xbf",
		"\xe0\xa0\x80",
		"\xe0\xbf\xbf",
		"\xe1\x80\x80",
		"\xec\xbf\xbf",
		"\xed\x80\x80",
		"\xed\x9f\xbf",
		"\xee\x80\x80",
		"\xef\xbf\xbf",
		"\xef\xbf\xbd",
		"\xf0\x90\x80\x80",
		"\xf0\xbf\xbf\xbf",
		"\xf1\x80\x80\x80",
		"\xf3\xbf\xbf\xbf",
		"\xf4\x80\x80\x80",
		"\xf4\x8f\xbf\xbf",
		"\xf0\x9f\x98\x80",
		"\xe2\x82\xac",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(valid); i++) {
		char framed[16];

		escape_check(valid[i], strlen(valid[i]), valid[i]);
		snprintf(framed, sizeof(framed), "a%sb%s", valid[i], valid[i]);
		escape_check(framed, strlen(framed), framed);
	}
}

static const struct {
	const char *bytes;
	const char *text;
} invalid[] = {
	/* Nothing that starts a sequence. */
	{ "\x80", "\\x80" },
	{ "\xbf", "\\xbf" },
	{ "a\x80z", "a\\x80z" },
	{ "\xfe", "\\xfe" },
	{ "\xff", "\\xff" },
	{ "\xf8\x88\x80\x80\x80", "\\xf8\\x88\\x80\\x80\\x80" },
	{ "\xfc\x84\x80\x80\x80\x80", "\\xfc\\x84\\x80\\x80\\x80\\x80" },
	/* Overlong. */
	{ "\xc0\x80", "\\xc0\\x80" },
	{ "\xc0\xaf", "\\xc0\\xaf" },
	{ "\xc1\xbf", "\\xc1\\xbf" },
	{ "\xe0\x80\x80", "\\xe0\\x80\\x80" },
	{ "\xe0\x9f\xbf", "\\xe0\\x9f\\xbf" },
	{ "\xf0\x80\x80\x80", "\\xf0\\x80\\x80\\x80" },
	{ "\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf" },
	/* Surrogates. */
	{ "\xed\xa0\x80", "\\xed\\xa0\\x80" },
	{ "\xed\xbf\xbf", "\\xed\\xbf\\xbf" },
	{ "\xed\xa0\xbd\xed\xb8\x80", "\\xed\\xa0\\xbd\\xed\\xb8\\x80" },
	/* Above U+10FFFF. */
	{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" },
	{ "\xf5\x80\x80\x80", "\\xf5\\x80\\x80\\x80" },
	{ "\xf7\xbf\xbf\xbf", "\\xf7\\xbf\\xbf\\xbf" },
	/* Cut short, by the end and by another byte. */
	{ "\xc2", "\\xc2" },
	{ "\xe2\x82", "\\xe2\\x82" },
	{ "\xf0\x9f\x98", "\\xf0\\x9f\\x98" },
	{ "\xc2z", "\\xc2z" },
	{ "\xe2z", "\\xe2z" },
	{ "\xe2\x82z", "\\xe2\\x82z" },
	{ "\xf0\x9f\x98z", "\\xf0\\x9f\\x98z" },
	{ "\xf0\x9fz\x80", "\\xf0\\x9fz\\x80" },
	/* A lost start does not take the next sequence along. */
	{ "\xc2\xc3\xa9", "\\xc2\xc3\xa9" },
	{ "\xe2\x82\xe2\x82\xac", "\\xe2\\x82\xe2\x82\xac" },
	{ "\xf0\x9f\x98\xf0\x9f\x98\x80", "\\xf0\\x9f\\x98\xf0\x9f\x98\x80" },
	{ "\xc3\xa9\xa9", "\xc3\xa9\\xa9" },
	{ "\xe2\xc2\x80", "\\xe2\xc2\x80" },
	/* Last bytes just outside their range. */
	{ "\xc2\x7f", "\\xc2\\x7f" },
	{ "\xc2\xc0", "\\xc2\\xc0" },
	{ "\xe1\x80\x7f", "\\xe1\\x80\\x7f" },
	{ "\xe1\x80\xc0", "\\xe1\\x80\\xc0" },
	{ "\xf1\x80\x80\x7f", "\\xf1\\x80\\x80\\x7f" },
	{ "\xf1\x80\x80\xc0", "\\xf1\\x80\\x80\\xc0" },
	{ "\xf1\x80\xc0\x80", "\\xf1\\x80\\xc0\\x80" },
};

static void test_escape_invalid(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(invalid); i++)
		escape_check(invalid[i].bytes, strlen(invalid[i].bytes), invalid[i].text);
}

/* The size cuts a sequence, the bytes behind it do not count. */
static void test_escape_cut_by_size(void **state)
{
	(void)state;
	escape_check("\xc3\xa9", 1, "\\xc3");
	escape_check("\xe2\x82\xac", 2, "\\xe2\\x82");
	escape_check("\xe2\x82\xac", 1, "\\xe2");
	escape_check("\xf0\x9f\x98\x80", 3, "\\xf0\\x9f\\x98");
	escape_check("0123456789abcd\xe2\x82\xac", 16, "0123456789abcd\\xe2\\x82");
	escape_check("0123456789abc\xe2\x82\xac", 16, "0123456789abc\xe2\x82\xac");
	escape_check("\xe2\x82\0\xac", 4, "\\xe2\\x82");
}

static void test_escape_longest(void **state)
{
	char bytes[PROCESS_COMM_SIZE], text[TEXT_ESCAPED_MAX(PROCESS_COMM_SIZE)];

	(void)state;
	memset(bytes, 0xff, sizeof(bytes));
	text_escape(bytes, sizeof(bytes), text);
	assert_int_equal(strlen(text), sizeof(text) - 1);
	for (size_t i = 0; i < sizeof(bytes); i++)
		assert_memory_equal(text + 4 * i, "\\xff", 4);
}

/* Decodes one sequence without the tables of the code under test; 0 when it is to be escaped. */
static size_t utf8_decoded_length(const unsigned char *s, size_t left)
{
	static const uint32_t first[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t length = s[0] < 0x80         ? 1
			: (s[0] >> 5) == 6  ? 2
			: (s[0] >> 4) == 14 ? 3
			: (s[0] >> 3) == 30 ? 4
					    : 0;
	uint32_t point;

	if (length < 2 || length > left)
		return length == 1 && s[0] != 0x7f;
	point = s[0] & (0x7f >> length);
	for (size_t i = 1; i < length; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (s[i] & 0x3f);
	}
	if (point < first[length] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
		return 0;
	return length;
}

/* Every two bytes, and the start of each longer sequence with every second byte. */
static void test_escape_all_starts(void **state)
{
	(void)state;
	for (unsigned int pair = 0x0101; pair <= 0xffff; pair++) {
		unsigned char in[4] = { (unsigned char)(pair >> 8), (unsigned char)pair, 0x80,
					0xbf };
		char expected[TEXT_ESCAPED_MAX(4)] = "", out[TEXT_ESCAPED_MAX(4)];
		size_t length;

		if (!in[1])
			continue;
		for (size_t at = 0; at < sizeof(in); at += length ? length : 1) {
			size_t used = strlen(expected);

			length = utf8_decoded_length(in + at, sizeof(in) - at);
			if (length)
				memcpy(expected + used, in + at, length);
			else
				sprintf(expected + used, "\\x%02x", in[at]);
			expected[used + (length ? length : 4)] = 0;
		}
		text_escape((const char *)in, sizeof(in), out);
		assert_string_equal(out, expected);
	}
}

/* What acts on a screen is escaped, byte for byte; the rest stays. */
static void test_escape_visible(void **state)
{
	static const struct {
		const char *bytes;
		const char *text;
	} cases[] = {
		{ "nginx", "nginx" },
		{ "\xc3\xa9\xe2\x82\xac", "\xc3\xa9\xe2\x82\xac" },
		{ "\x1b[2J\x07", "\\x1b[2J\\x07" },
		{ "a\n\r\tb", "a\\x0a\\x0d\\x09b" },
		{ "\x7f", "\\x7f" },
		{ "\xc2\x80", "\\xc2\\x80" },
		{ "\xc2\x9f", "\\xc2\\x9f" },
		{ "\xc2\xa0", "\xc2\xa0" },
		{ "\xe2\x80\xae", "\\xe2\\x80\\xae" },
		{ "\xd8\x9c", "\\xd8\\x9c" },
		{ "\xd8\x9b", "\xd8\x9b" },
		{ "\xc2\xad", "\\xc2\\xad" },
		{ "\xe2\x80\x8b", "\\xe2\\x80\\x8b" },
		{ "\xe2\x80\x8d", "\\xe2\\x80\\x8d" },
		{ "\xe2\x81\xa0", "\\xe2\\x81\\xa0" },
		{ "\xe3\x85\xa4", "\\xe3\\x85\\xa4" },
		{ "\xef\xbb\xbf", "\\xef\\xbb\\xbf" },
		{ "\xf3\xa0\x81\x81", "\\xf3\\xa0\\x81\\x81" },
		{ "\xf3\xa1\x80\x80", "\xf3\xa1\x80\x80" },
		{ "\xe2\x80\xaf", "\xe2\x80\xaf" },
		{ "\xe2\x81\xa6", "\\xe2\\x81\\xa6" },
		{ "\xef\xbf\xbf", "\\xef\\xbf\\xbf" },
		{ "\xef\xbf\xbd", "\xef\xbf\xbd" },
		{ "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80" },
		{ "\xff", "\\xff" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char out[TEXT_ESCAPED_MAX(8)];

		text_escape_visible(cases[i].bytes, strlen(cases[i].bytes), out);
		assert_string_equal(out, cases[i].text);
	}
}

/* The name of a program never looks like a row of ours. */
static void test_escape_name(void **state)
{
	static const struct {
		const char *bytes;
		const char *text;
	} cases[] = {
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

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		text_escape_name(cases[i].bytes, strlen(cases[i].bytes), out);
		assert_string_equal(out, cases[i].text);
	}
	text_escape_name("[all]", 0, out);
	assert_string_equal(out, "");
}

static void test_text_width(void **state)
{
	(void)state;
	assert_int_equal(text_width(""), 0);
	assert_int_equal(text_width("read"), 4);
	assert_int_equal(text_width("\xc3\xa9t\xc3\xa9"), 3);
	assert_int_equal(text_width("\xe2\x82\xac\xf0\x9f\x98\x80"), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_row_label),
		cmocka_unit_test(test_row_label_fits),
		cmocka_unit_test(test_age),
		cmocka_unit_test(test_escape_plain),
		cmocka_unit_test(test_escape_valid),
		cmocka_unit_test(test_escape_invalid),
		cmocka_unit_test(test_escape_cut_by_size),
		cmocka_unit_test(test_escape_longest),
		cmocka_unit_test(test_escape_all_starts),
		cmocka_unit_test(test_escape_visible),
		cmocka_unit_test(test_escape_name),
		cmocka_unit_test(test_text_width),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
