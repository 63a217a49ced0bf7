/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of error numbers, held against this machine's macros. */
#include "test.h"

#include "syscalls/names.h"

TEST(test_names)
{
	static const struct {
		int err;
		const char *name;
	} known[] = {
		{ EPERM, "EPERM" },
		{ ENOENT, "ENOENT" },
		{ EINTR, "EINTR" },
		{ EAGAIN, "EAGAIN" },
		{ ENOTBLK, "ENOTBLK" },
		{ ERANGE, "ERANGE" },
		{ EDEADLK, "EDEADLK" },
		{ ENOSYS, "ENOSYS" },
		{ ELOOP, "ELOOP" },
		{ ENOMSG, "ENOMSG" },
		{ EBFONT, "EBFONT" },
		{ ENOTSOCK, "ENOTSOCK" },
		{ EOPNOTSUPP, "EOPNOTSUPP" },
		{ ETIMEDOUT, "ETIMEDOUT" },
		{ ECONNREFUSED, "ECONNREFUSED" },
		{ EINPROGRESS, "EINPROGRESS" },
		{ ECANCELED, "ECANCELED" },
		{ EOWNERDEAD, "EOWNERDEAD" },
		{ EHWPOISON, "EHWPOISON" },
		{ 512, "ERESTARTSYS" },
		{ 513, "ERESTARTNOINTR" },
		{ 514, "ERESTARTNOHAND" },
		{ 515, "ENOIOCTLCMD" },
		{ 516, "ERESTART_RESTARTBLOCK" },
		{ 517, "EPROBE_DEFER" },
		{ 524, "ENOTSUPP" },
		{ 531, "ENOGRACE" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		assert_non_null(errno_name(known[i].err));
		assert_string_equal(errno_name(known[i].err), known[i].name);
	}
}

TEST(test_every_number)
{
	for (int err = 1; err <= 134; err++) {
		/* Free since Linux gave them up: EWOULDBLOCK and EDEADLOCK are aliases now. */
		if (err == 41 || err == 58)
			assert_null(errno_name(err));
		else
			assert_int_equal(errno_name(err)[0], 'E');
	}
}

TEST(test_unknown)
{
	static const int unknown[] = { 0, -1, 400, 511, 520, 532, 4095, 4096, INT_MAX, INT_MIN };

	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++)
		assert_null(errno_name(unknown[i]));
}

TEST(test_labels)
{
	char buf[ERRNO_LABEL_MAX];

	errno_label(ENOENT, buf, sizeof(buf));
	assert_string_equal(buf, "ENOENT");
	errno_label(516, buf, sizeof(buf));
	assert_string_equal(buf, "ERESTART_RESTARTBLOCK");
	errno_label(123456, buf, sizeof(buf));
	assert_string_equal(buf, "errno_123456");
	errno_label(INT_MIN, buf, sizeof(buf));
	assert_string_equal(buf, "errno_-2147483648");
}
