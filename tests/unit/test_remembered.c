/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memories of the collector: cgroups that come and go, of which none of these ids exists on the
 * host, users, and numbers that programs make up.
 */
#include "fixture.h"

#include <sys/resource.h>

#include "base/clock.h"
#include "collect/cgroups.h"
#include "collect/odd_values.h"
#include "collect/user_names.h"

#define NO_SUCH_ID (1ULL << 60)

static void make(struct cgroup_names *names, uint64_t number)
{
	char path[32];

	snprintf(path, sizeof(path), "/number-%" PRIu64, number);
	cgroup_names_made(names, NO_SUCH_ID + number, path);
}

static const char *find(struct cgroup_names *names, uint64_t number)
{
	return cgroup_names_find(names, NO_SUCH_ID + number, 0);
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
	/* A cgroup that is gone for good has an empty path, unless somebody hears of it later. */
	assert_string_equal(find(&names, 11), "");
	make(&names, 11);
	assert_string_equal(find(&names, 11), "/number-11");
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
	assert_string_equal(cgroup_names_find(&names, root, 0), "");
	assert_false(cgroup_names_know(&names, root));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	names.learned = false;
	assert_string_equal(cgroup_names_find(&names, root, 0), "/");
}

/* A walk finds all at once; again, it changes nothing but what had no name. */
TEST(test_a_walk)
{
	__cleanup(cgroup_names_done) struct cgroup_names names = { 0 };
	uint64_t root;
	size_t count, bytes;

	if (cgroup_find_path("/", &root))
		skip(); /* no version 2 tree */
	assert_string_equal(find(&names, 1), "");
	assert_int_equal(cgroup_names_learn(&names), 0);
	assert_true(cgroup_names_know(&names, root));
	count = names.nr_known;
	bytes = names.known_bytes;
	names.known_bytes -= strlen(names.known[0].name);
	*names.known[0].name = 0;
	assert_int_equal(cgroup_names_learn(&names), 0);
	assert_all(names.nr_known == count, names.known_bytes == bytes);
	for (size_t i = 1; i < count; i++)
		assert_true(names.known[i - 1].id < names.known[i].id);
	assert_string_equal(cgroup_names_find(&names, root, 0), "/");
}

/* Where nobody may look at the tree for now, the process that is in it tells. */
TEST(test_the_cgroup_of_a_process)
{
	__cleanup(cgroup_names_done) struct cgroup_names names = { .rest_until_ns = UINT64_MAX };
	FILE *file __cleanup(fclosep) = fopen("/proc/self/cgroup", "re");
	char line[4096], *path = NULL;
	uint64_t id = 0;

	while (file && !path && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = 0;
		path = strncmp(line, "0::", 3) ? NULL : line + 3;
	}
	if (!path || cgroup_find_path(path, &id))
		skip(); /* no version 2 tree, or not ours */
	assert_string_equal(cgroup_names_find(&names, id, (uint32_t)getpid()), path);
	/* It is in no other one. */
	assert_string_equal(cgroup_names_find(&names, NO_SUCH_ID, (uint32_t)getpid()), "");
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

/* --- users --------------------------------------------------------------------------------------- */

/* Imitates a library that keeps its answer in a place of its own, as getpwuid() does. */
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

static int users_forget(void **state)
{
	(void)state;
	asked = 0;
	prefix = "user";
	return 0;
}

TEST_WITH(test_asked_once, void *unused, users_forget, NULL)
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
	/* Users without a name are dear, too. */
	asked = 0;
	for (int round = 0; round < 3; round++)
		assert_null(user_names_find(&names, 7, 1));
	assert_int_equal(asked, 1);
}

/* Nobody is remembered for ever. */
TEST_WITH(test_expiry, void *unused, users_forget, NULL)
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
TEST_WITH(test_many, void *unused, users_forget, NULL)
{
	struct user_names names __cleanup(user_names_done) = { .ask = ask };

	for (uint32_t uid = 0; uid < 20000; uid += 2) {
		char expected[32];

		snprintf(expected, sizeof(expected), "user%u", uid);
		assert_string_equal(user_names_find(&names, uid, 1), expected);
		assert_in_range(names.count, 1, 4096);
	}
}

/* --- odd values: the first ones are kept, and for good ------------------------------------------- */

#define ODD_USER 1000

/* A user may have this many alone. */
#define HALF (MAX_ODD_VALUES / 2)

static int64_t number_of(struct odd_values *odd, uint32_t uid, enum syscall_abi abi, int64_t nr)
{
	__cleanup(row_done) struct row row;

	row_init_for(&row, 100, abi, nr);
	odd_values_apply(odd, uid, &row);
	return row.nr;
}

static int64_t number_after(struct odd_values *odd, enum syscall_abi abi, int64_t nr)
{
	return number_of(odd, ODD_USER, abi, nr);
}

TEST(test_numbers)
{
	struct odd_values odd = { 0 };

	for (int nr = 0; nr < HALF; nr++)
		assert_int_equal(number_after(&odd, ABI_X86_64, 5000 + nr), 5000 + nr);
	assert_int_equal(number_after(&odd, ABI_X86_64, 6000), ROW_NR_OTHER);
	assert_int_equal(number_after(&odd, ABI_I386, 5000), ROW_NR_OTHER);
	assert_int_equal(number_after(&odd, ABI_X86_64, -1), ROW_NR_OTHER);
	/* Numbers with an index in the tables, or with a name, are always kept. */
	assert_int_equal(number_after(&odd, ABI_X86_64, CALLS_INDEXED - 1), CALLS_INDEXED - 1);
	assert_int_equal(number_after(&odd, ABI_ARM, 0x0f0002), 0x0f0002);
	/* So are those that were kept before. */
	assert_int_equal(number_after(&odd, ABI_X86_64, 5063), 5063);
	/* Numbers that a table has no room for are 64: a number that is known takes none of it. */
	odd = (struct odd_values){ 0 };
	for (int nr = 0; nr < CALLS_INDEXED; nr++)
		assert_int_equal(number_after(&odd, ABI_X86_64, nr), nr);
	assert_int_equal(number_after(&odd, ABI_X86_64, 5000), 5000);
}

/* A user who comes later has half of what is left. */
TEST(test_users_leave_room)
{
	struct odd_values odd = { 0 };

	for (int nr = 0; nr < 1000; nr++)
		number_after(&odd, ABI_X86_64, 5000 + nr);
	assert_int_equal(odd.calls.nr, HALF);
	for (uint32_t user = 1; user < 5; user++) {
		assert_int_equal(number_of(&odd, ODD_USER + user, ABI_X86_64, 5000), 5000);
		for (int nr = 0; nr < 1000; nr++)
			number_of(&odd, ODD_USER + user, ABI_X86_64, 7000 + (int)user * 1000 + nr);
		assert_int_equal(MAX_ODD_VALUES - odd.calls.nr, HALF >> user);
	}
}

/* A row of a later reading lacks no number that it had, nor has it one more. */
TEST(test_no_is_for_good)
{
	struct odd_values odd = { 0 };

	for (int nr = 0; nr < HALF; nr++)
		number_after(&odd, ABI_X86_64, 5000 + nr);
	assert_int_equal(number_after(&odd, ABI_X86_64, 9999), ROW_NR_OTHER);
	assert_int_equal(number_of(&odd, ODD_USER + 1, ABI_X86_64, 9999), 9999);
	assert_int_equal(number_after(&odd, ABI_X86_64, 9999), ROW_NR_OTHER);
}

TEST(test_errnos)
{
	struct odd_values odd = { 0 };
	__cleanup(row_done) struct row row;

	row_init_for(&row, 100, ABI_X86_64, 1);
	row.errors = row.calls = 1000;
	for (int err = 1000; err < 1000 + HALF + 10; err++)
		assert_int_equal(row_add_errno(&row, err, 2), 0);
	assert_int_equal(row_add_errno(&row, ENOENT, 2), 0);
	odd_values_apply(&odd, ODD_USER, &row);
	assert_has(&row, nr_errnos, HALF + 1, errnos[0].err, ENOENT, errnos[HALF].err,
		   1000 + HALF - 1);
	assert_int_equal(row_errors_unnamed(&row), 1000 - 2 * (HALF + 1));
}
