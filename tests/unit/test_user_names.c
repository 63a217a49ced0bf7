/* SPDX-License-Identifier: BSD-2-Clause */
/* How often the user database is asked, and what is kept of it. */
#include "test.h"

#include "base/clock.h"
#include "collect/user_names.h"

/* Of a library that keeps its answer in a place of its own, as getpwuid() does. */
static unsigned int asked;
static const char *prefix = "user";

/* Odd users have no name. */
static struct passwd *ask(uid_t uid)
{
	static struct passwd entry;
	static char name[32];

	asked++;
	if (uid % 2)
		return NULL;
	snprintf(name, sizeof(name), "%s%u", prefix, uid);
	entry.pw_name = name;
	return &entry;
}

static int setup(void **state)
{
	(void)state;
	asked = 0;
	prefix = "user";
	return 0;
}

TEST_WITH(test_asked_once, void *unused, setup, NULL)
{
	static const uint32_t uids[] = { 8, 2, UINT32_MAX - 1, 0, 4 };
	struct user_names names __cleanup(user_names_done) = { .ask = ask };

	for (int round = 0; round < 3; round++)
		for (size_t i = 0; i < ARRAY_SIZE(uids); i++) {
			char expected[32];

			snprintf(expected, sizeof(expected), "user%u", uids[i]);
			assert_string_equal(user_names_find(&names, uids[i], 1), expected);
		}
	assert_int_equal(asked, ARRAY_SIZE(uids));
}

/* Those without a name are dear, too. */
TEST_WITH(test_absent, void *unused, setup, NULL)
{
	struct user_names names __cleanup(user_names_done) = { .ask = ask };

	for (int round = 0; round < 3; round++)
		assert_null(user_names_find(&names, 7, 1));
	assert_int_equal(asked, 1);
}

/* Nobody is remembered for ever. */
TEST_WITH(test_expiry, void *unused, setup, NULL)
{
	struct user_names names __cleanup(user_names_done) = { .ask = ask };
	const uint64_t minute = 60 * NS_PER_SEC;

	assert_string_equal(user_names_find(&names, 2, minute), "user2");
	prefix = "renamed";
	assert_string_equal(user_names_find(&names, 2, 2 * minute), "user2");
	assert_string_equal(user_names_find(&names, 2, 60 * minute), "renamed2");
	assert_int_equal(asked, 2);
}

/* However many there are: memory is bounded, and answers stay right. */
TEST_WITH(test_many, void *unused, setup, NULL)
{
	struct user_names names __cleanup(user_names_done) = { .ask = ask };

	for (uint32_t uid = 0; uid < 20000; uid += 2) {
		char expected[32];

		snprintf(expected, sizeof(expected), "user%u", uid);
		assert_string_equal(user_names_find(&names, uid, 1), expected);
		assert_in_range(names.count, 1, 4096);
	}
}
