/* SPDX-License-Identifier: BSD-2-Clause */
/* cmocka 2 has assert_in_range() for each signedness, and calls the one of cmocka 1 deprecated. */
#ifndef TESTS_IN_RANGE_H
#define TESTS_IN_RANGE_H

#ifdef assert_uint_in_range
#undef assert_in_range
#define assert_in_range(value, least, most) assert_uint_in_range(value, least, most)
#endif

#endif
