/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the tests of a file: each TEST(name) in it, in the order in which they stand there. */
#ifndef TESTS_TEST_H
#define TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static struct {
	struct CMUnitTest list[64];
	size_t count;
} unit_tests;

static void unit_test_add(const char *name, CMUnitTestFunction run)
{
	assert_true(unit_tests.count < sizeof(unit_tests.list) / sizeof(unit_tests.list[0]));
	unit_tests.list[unit_tests.count++] = (struct CMUnitTest){ .name = name, .test_func = run };
}

/* Begins a function that is a test. */
#define TEST(name)                                                \
	static void name(void **unused);                          \
	__attribute__((constructor)) static void name##_add(void) \
	{                                                         \
		unit_test_add(#name, name);                       \
	}                                                         \
	static void name(__attribute__((unused)) void **unused)

int main(void)
{
	/* Golden files have local times. */
	setenv("TZ", "UTC", 1);
	return _cmocka_run_group_tests("tests", unit_tests.list, unit_tests.count, NULL, NULL);
}

#endif
