/* SPDX-License-Identifier: BSD-2-Clause */
/* The spelling of rows, ages, untrusted bytes, and histograms: which buckets are drawn, how long bars are. */
#include "scenarios.h"

#include "report/label.h"
#include "report/report.h"

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

	for (size_t i = 0; i < ARRAY_SIZE(ages); i++) {
		char text[AGE_MAX];

		format_age(ages[i].ns, text, sizeof(text));
		assert_string_equal(text, ages[i].text);
	}
}

/* What acts on a screen is escaped, byte for byte; the rest stays. */
TEST(test_escape_visible)
{
	static const struct text_pair cases[] = {
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

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char out[TEXT_ESCAPED_MAX(8)];

		text_escape_visible(cases[i].given, strlen(cases[i].given), out);
		assert_string_equal(out, cases[i].expected);
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

/* Whatever the counts, a bar has 0 to 40 columns, 0 only for no call. */
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
