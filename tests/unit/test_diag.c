/* SPDX-License-Identifier: BSD-2-Clause */
/* Errors that a user must act on. */
#include "fixture.h"

#include "base/diag.h"

TEST(test_set)
{
	char name[2 * sizeof(((struct diag *)0)->text)];

	assert_int_equal(diag_set(&d, DIAG_USAGE, EINVAL, "%s: %d", "pid", 7), -EINVAL);
	assert_int_equal(d.kind, DIAG_USAGE);
	assert_string_equal(d.text, "pid: 7");
	assert_int_equal(diag_set(&d, DIAG_UNSUPPORTED, 0, "no"), 0);
	assert_int_equal(d.kind, DIAG_UNSUPPORTED);
	assert_string_equal(d.text, "no");
	assert_int_equal(diag_set(NULL, DIAG_FAILED, ESRCH, "%s", "unheard"), -ESRCH);
	assert_int_equal(diag_oom(&d), -ENOMEM);
	assert_int_equal(d.kind, DIAG_FAILED);
	assert_string_equal(d.text, "out of memory");
	assert_int_equal(diag_oom(NULL), -ENOMEM);
	/* The documented exit statuses. */
	assert_int_equal(DIAG_FAILED, 1);
	assert_int_equal(DIAG_USAGE, 2);
	assert_int_equal(DIAG_UNSUPPORTED, 4);
	text_fill(name, 'a');
	diag_set(&d, DIAG_FAILED, EIO, "%s", name);
	assert_int_equal(strlen(d.text), sizeof(d.text) - 1);
}
