/* SPDX-License-Identifier: BSD-2-Clause */
/* What is remembered of cgroups that come and go. None of these ids exists on the host. */
#include "fixture.h"

#include <sys/resource.h>

#include "collect/cgroups.h"

#define NO_SUCH_ID (1ULL << 60)

static void make(struct cgroup_names *names, uint64_t number)
{
	char path[32];

	snprintf(path, sizeof(path), "/number-%" PRIu64, number);
	cgroup_names_made(names, NO_SUCH_ID + number, path);
}

static const char *find(struct cgroup_names *names, uint64_t number)
{
	return cgroup_names_find(names, NO_SUCH_ID + number);
}

TEST(test_made)
{
	__cleanup(cgroup_names_done) struct cgroup_names names = { 0 };

	for (uint64_t i = 7; i > 0; i--)
		make(&names, i);
	for (uint64_t i = 1; i <= 7; i += 2)
		assert_memory_equal(find(&names, i), "/number-", 8);
	/* Again: from another place, the same name. */
	assert_string_equal(find(&names, 3), "/number-3");
	assert_string_equal(find(&names, 4), "/number-4");
}

/* What is gone for good has an empty path, unless somebody hears of it after all. */
TEST(test_unknown)
{
	__cleanup(cgroup_names_done) struct cgroup_names names = { 0 };

	assert_string_equal(find(&names, 1), "");
	make(&names, 1);
	assert_string_equal(find(&names, 1), "/number-1");
}

/* Without a descriptor for the tree nobody knows whether there is such a cgroup: the next round does. */
TEST(test_tree_cannot_be_opened)
{
	__cleanup(cgroup_names_done) struct cgroup_names names = { 0 };
	struct rlimit limit, none;
	uint64_t root;

	if (cgroup_find_path("/", &root))
		skip(); /* no version 2 tree */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_string_equal(cgroup_names_find(&names, root), "");
	assert_false(cgroup_names_know(&names, root));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	names.learned = false;
	assert_string_equal(cgroup_names_find(&names, root), "/");
}

TEST(test_ring_is_bounded)
{
	__cleanup(cgroup_names_done) struct cgroup_names names = { 0 };

	for (uint64_t i = 0; i < RECENT_CGROUPS + 5; i++)
		make(&names, i);
	assert_string_equal(find(&names, 4), "");
	assert_string_equal(find(&names, 5), "/number-5");
	assert_string_equal(find(&names, RECENT_CGROUPS + 4), "/number-4100");
}

/* However few there are: long paths are forgotten earlier. */
TEST(test_bytes_are_bounded)
{
	__cleanup(cgroup_names_done) struct cgroup_names names = { 0 };
	enum { LONG = 4000, FIT = RECENT_CGROUP_BYTES / LONG };
	char path[LONG];
	uint64_t none = 0;

	memset(path, 'x', LONG - 1);
	path[LONG - 1] = 0;
	for (uint64_t i = 0; i < 3 * FIT; i++)
		cgroup_names_made(&names, NO_SUCH_ID + i, path);
	assert_string_equal(find(&names, 2 * FIT - 1), "");
	for (uint64_t i = 2 * FIT; i < 3 * FIT; i++) {
		assert_false(cgroup_names_are_many(&names));
		assert_string_equal(find(&names, i), path);
	}
	/* A short one finds room in front of the limit, and again once all is forgotten. */
	make(&names, 1);
	assert_string_equal(find(&names, 1), "/number-1");
	for (uint64_t i = 0; i < 3; i++) {
		cgroup_names_made(&names, NO_SUCH_ID + 10000 + i, path);
		assert_string_equal(find(&names, 10000 + i), path);
	}
	assert_true(cgroup_names_are_many(&names));
	cgroup_names_prune(&names, &none, 0);
	assert_false(cgroup_names_are_many(&names));
	assert_int_equal(names.known_bytes + names.recent_bytes, 0);
}

TEST(test_prune)
{
	__cleanup(cgroup_names_done) struct cgroup_names names = { 0 };
	uint64_t in_use[] = { NO_SUCH_ID + 4, 17, NO_SUCH_ID + 2 };

	for (uint64_t i = 0; i < 6; i++)
		make(&names, i);
	for (uint64_t i = 0; i < 6; i++)
		assert_int_not_equal(*find(&names, i), 0);
	cgroup_names_prune(&names, in_use, ARRAY_SIZE(in_use));
	assert_int_equal(names.nr_known, 2);
	assert_string_equal(find(&names, 2), "/number-2");
	assert_string_equal(find(&names, 3), "");
}
