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

static void unit_test_add(struct CMUnitTest test)
{
	assert_true(unit_tests.count < sizeof(unit_tests.list) / sizeof(unit_tests.list[0]));
	unit_tests.list[unit_tests.count++] = test;
}

/* Begins a function that is a test, with `state` as set_up() leaves it; NULL: nothing to do. */
#define TEST_WITH(name, set_up, tear_down)                                                     \
	static void name(void **state);                                                        \
	__attribute__((constructor)) static void name##_add(void)                              \
	{                                                                                      \
		unit_test_add((struct CMUnitTest)cmocka_unit_test_setup_teardown(name, set_up, \
										 tear_down));  \
	}                                                                                      \
	static void name(__attribute__((unused)) void **state)

/* Begins a function that is a test. */
#define TEST(name)                                                        \
	static void name(void **unused);                                  \
	__attribute__((constructor)) static void name##_add(void)         \
	{                                                                 \
		unit_test_add((struct CMUnitTest)cmocka_unit_test(name)); \
	}                                                                 \
	static void name(__attribute__((unused)) void **unused)

/* A test defines it that is started as one of its own processes, or has to prepare something. */
__attribute__((weak)) void test_begin(int argc, char **argv);

int main(int argc, char **argv)
{
	/* Golden files have local times. */
	setenv("TZ", "UTC", 1);
	if (test_begin)
		test_begin(argc, argv);
	return _cmocka_run_group_tests("tests", unit_tests.list, unit_tests.count, NULL, NULL);
}

#endif
