/* SPDX-License-Identifier: BSD-2-Clause */
/* Errors that a user must act on. */
#include "fixture.h"

#include "base/diag.h"

static void test_set(void **state)
{
	struct diag d;

	(void)state;
	assert_int_equal(diag_set(&d, DIAG_USAGE, EINVAL, "%s: %d", "pid", 7), -EINVAL);
	assert_int_equal(d.kind, DIAG_USAGE);
	assert_string_equal(d.text, "pid: 7");
	assert_int_equal(diag_set(&d, DIAG_UNSUPPORTED, 0, "no"), 0);
	assert_int_equal(d.kind, DIAG_UNSUPPORTED);
	assert_string_equal(d.text, "no");
	assert_int_equal(diag_set(NULL, DIAG_FAILED, ESRCH, "%s", "unheard"), -ESRCH);
}

static void test_long_text_is_cut(void **state)
{
	char name[2 * sizeof(((struct diag *)0)->text)];
	struct diag d;

	(void)state;
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	diag_set(&d, DIAG_FAILED, EIO, "%s", name);
	assert_int_equal(strlen(d.text), sizeof(d.text) - 1);
}

static void test_out_of_memory(void **state)
{
	struct diag d;

	(void)state;
	assert_int_equal(diag_oom(&d), -ENOMEM);
	assert_int_equal(d.kind, DIAG_FAILED);
	assert_string_equal(d.text, "out of memory");
	assert_int_equal(diag_oom(NULL), -ENOMEM);
}

/* The documented exit statuses. */
static void test_kinds(void **state)
{
	(void)state;
	assert_int_equal(DIAG_FAILED, 1);
	assert_int_equal(DIAG_USAGE, 2);
	assert_int_equal(DIAG_UNSUPPORTED, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_long_text_is_cut),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
