/* SPDX-License-Identifier: BSD-2-Clause */
/* A text of /metrics is given again while it is young. */
#include "fixture.h"

#include "daemon/scrape.h"

#define NOW (1000 * NS_PER_SEC)

static void must_give(const struct scrape *scrape, uint64_t now_ns, const char *expected)
{
	char *text = NULL;
	size_t size = 0;

	assert_int_equal(scrape_again(scrape, now_ns, &text, &size), expected != NULL);
	if (expected) {
		assert_int_equal(size, strlen(expected));
		assert_memory_equal(text, expected, size);
	}
	free(text);
}

static void test_there_is_none_at_first(void **state)
{
	const struct scrape scrape = { 0 };

	(void)state;
	must_give(&scrape, NOW, NULL);
	must_give(&scrape, 0, NULL);
}

static void test_it_is_given_while_it_is_young(void **state)
{
	struct scrape scrape = { 0 };

	(void)state;
	scrape_keep(&scrape, NOW, "one", 3);
	must_give(&scrape, NOW, "one");
	must_give(&scrape, NOW + SCRAPE_MAX_AGE_NS - 1, "one");
	must_give(&scrape, NOW + SCRAPE_MAX_AGE_NS, NULL);
	scrape_keep(&scrape, NOW + SCRAPE_MAX_AGE_NS, "twenty", 6);
	must_give(&scrape, NOW + SCRAPE_MAX_AGE_NS, "twenty");
	scrape_keep(&scrape, NOW + SCRAPE_MAX_AGE_NS, "", 0);
	must_give(&scrape, NOW + SCRAPE_MAX_AGE_NS, "");
	scrape_done(&scrape);
	must_give(&scrape, NOW + SCRAPE_MAX_AGE_NS, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_is_none_at_first),
		cmocka_unit_test(test_it_is_given_while_it_is_young),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
