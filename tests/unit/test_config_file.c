/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of sections and keys: what is set, what is undone, and which line is at fault. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "cmd/config_file.h"

/* What setters have noted: name=argument; of each call, and complaints as line:sentence. */
static char notes[4096];

static int note(const char *name, const char *arg)
{
	const size_t used = strlen(notes);

	snprintf(notes + used, sizeof(notes) - used, "%s=%s;", name, arg ?: "(none)");
	return 0;
}

static int set_switch(void *options, const char *arg, struct diag *d)
{
	(void)options, (void)d;
	return note("switch", arg);
}

static int set_text(void *options, const char *arg, struct diag *d)
{
	(void)options;
	return strcmp(arg, "wrong") ? note("text", arg)
				    : diag_set(d, DIAG_USAGE, EINVAL, "text is wrong");
}

static const struct option_def defs[] = {
	{ "switch", NULL, "", set_switch, 0 },
	{ "text", "TEXT", "", set_text, 0 },
};
static const struct option_part part = { defs, ARRAY_SIZE(defs) };
static const struct config_section sections[] = { { "one", &part } };

static const char *keep(void *options, const char *value)
{
	static char kept[512];

	(void)options;
	return strcpy(kept, value);
}

static void complain(const char *file, int line, const char *sentence)
{
	const size_t used = strlen(notes);

	(void)file;
	snprintf(notes + used, sizeof(notes) - used, "%d:%s;", line, sentence);
}

static int config_read(const char *text)
{
	const struct config_reader reader = { sections, ARRAY_SIZE(sections), NULL, keep,
					      complain };
	char path[] = "/tmp/bpftruss-config-XXXXXX";
	int fd = mkstemp(path), result;

	notes[0] = '\0';
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	result = config_file_read(&reader, path);
	unlink(path);
	return result;
}

static void test_switches(void **state)
{
	static const struct {
		const char *value, *expected;
	} cases[] = {
		{ "yes", "(none)" }, { "no", OPTION_OFF },    { "true", "(none)" },
		{ "1", "(none)" },   { "FALSE", OPTION_OFF }, { "On", "(none)" },
		{ "0", OPTION_OFF }, { "off", OPTION_OFF },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[64], expected[64];

		snprintf(text, sizeof(text), "[one]\nswitch = %s\n", cases[i].value);
		snprintf(expected, sizeof(expected), "switch=%s;", cases[i].expected);
		assert_int_equal(config_read(text), 0);
		assert_string_equal(notes, expected);
	}
}

/* The last one wins because each is told of. */
static void test_order(void **state)
{
	(void)state;
	assert_int_equal(config_read("# c\n[one]\nswitch = yes\ntext = a b\nswitch = no\n"), 0);
	assert_string_equal(notes, "switch=(none);text=a b;switch=" OPTION_OFF ";");
}

static void test_faults(void **state)
{
	static const struct {
		const char *text, *complaint;
	} cases[] = {
		{ "[one]\nswitch = maybe\n", "2:switch: \"maybe\" is neither yes nor no;" },
		{ "[one]\nswitch =\n", "2:switch: \"\" is neither yes nor no;" },
		{ "[one]\n\ntext =\n", "3:text has no value;" },
		{ "[one]\ntext = wrong\n", "2:text is wrong;" },
		{ "[two]\ntext = a\n", "2:no section [two]" },
		{ "text = a\n", "1:text belongs in [one];" },
		{ "[one]\ntxet = a\n", "2:no key txet;" },
		{ "[one]\n text = a\n", "2:a line must not begin with a blank;" },
		{ "[one]\nnothing\n", "2:" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(config_read(cases[i].text), 1);
		if (strncmp(notes, cases[i].complaint, strlen(cases[i].complaint)) != 0)
			fail_msg("%s: %s", cases[i].text, notes);
	}
}

static void test_no_file(void **state)
{
	const struct config_reader reader = { sections, ARRAY_SIZE(sections), NULL, keep,
					      complain };

	(void)state;
	assert_int_equal(config_file_read(&reader, "/nonexistent/file"), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_switches),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
