/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers and errnos that programs make up: the first ones are kept, and for good. */
#include "fixture.h"

#include "collect/odd_values.h"

#define USER 1000

/* A user may have this many alone. */
#define HALF (MAX_ODD_VALUES / 2)

static int64_t number_of(struct odd_values *odd, uint32_t uid, enum syscall_abi abi, int64_t nr)
{
	struct row row;

	row_init_for(&row, 100, abi, nr);
	odd_values_apply(odd, uid, &row);
	row_done(&row);
	return row.nr;
}

static int64_t number_after(struct odd_values *odd, enum syscall_abi abi, int64_t nr)
{
	return number_of(odd, USER, abi, nr);
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
}

/* Whoever comes later has half of what is left. */
TEST(test_users_leave_room)
{
	struct odd_values odd = { 0 };

	for (int nr = 0; nr < 1000; nr++)
		number_after(&odd, ABI_X86_64, 5000 + nr);
	assert_int_equal(odd.calls.nr, HALF);
	for (uint32_t user = 1; user < 5; user++) {
		assert_int_equal(number_of(&odd, USER + user, ABI_X86_64, 5000), 5000);
		for (int nr = 0; nr < 1000; nr++)
			number_of(&odd, USER + user, ABI_X86_64, 7000 + (int)user * 1000 + nr);
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
	assert_int_equal(number_of(&odd, USER + 1, ABI_X86_64, 9999), 9999);
	assert_int_equal(number_after(&odd, ABI_X86_64, 9999), ROW_NR_OTHER);
}

/* Numbers that a table has no room for are 64: a number that is known takes none of it. */
TEST(test_known_numbers_take_no_room)
{
	struct odd_values odd = { 0 };

	for (int nr = 0; nr < CALLS_INDEXED; nr++)
		assert_int_equal(number_after(&odd, ABI_X86_64, nr), nr);
	assert_int_equal(number_after(&odd, ABI_X86_64, 5000), 5000);
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
	odd_values_apply(&odd, USER, &row);
	assert_int_equal(row.nr_errnos, HALF + 1);
	assert_int_equal(row.errnos[0].err, ENOENT);
	assert_int_equal(row.errnos[HALF].err, 1000 + HALF - 1);
	assert_int_equal(row_errors_unnamed(&row), 1000 - 2 * (HALF + 1));
}
