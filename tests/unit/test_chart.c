/* SPDX-License-Identifier: BSD-2-Clause */
/* The picture: golden files, well-formed XML whatever the names, nothing active, all inside. */
#include "pictures.h"
#include "tables.h"

/* Nothing that runs or loads. */
static void passive_check(const char *text)
{
	static const char *const active[] = { "<script",        "href",   "url(",
					      "@import",        "<image", "<use",
					      "<foreignObject", "<!",     "<?" };

	for (size_t i = 0; i < ARRAY_SIZE(active); i++)
		assert_null(strstr(text, active[i]));
	/* The name of the format is the only address. */
	assert_ptr_equal(strstr(text, "http"), strstr(text, "http://www.w3.org/2000/svg"));
	assert_null(strstr(strstr(text, "http") + 4, "http"));
}

/* All x from 0 to the width, all y from 0 to the height. */
static void bounds_check(const char *text)
{
	int width, height, value;

	assert_int_equal(sscanf(strstr(text, "viewBox"), "viewBox=\"0 0 %d %d\"", &width, &height),
			 2);
	for (const char *at = text; (at = strpbrk(at, "xy")); at++) {
		if (at[-1] == ' ' && (sscanf(at + 1, "=\"%d\"", &value) == 1 ||
				      sscanf(at + 1, "%*1[12]=\"%d\"", &value) == 1))
			assert_in_range(value, 0, *at == 'x' ? width : height);
	}
}

TEST(test_sound)
{
	static const unsigned int keys[] = { 0, GROUP_PID, GROUP_COMM | GROUP_SYSCALL, GROUP_UNIT };

	for (size_t i = 0; scenario_at(i); i++) {
		__cleanup(snapshot_freep) struct snapshot *snapshot =
			scenario_at(i)->make(ABI_OF_TESTS);

		for (size_t j = 0; j < ARRAY_SIZE(keys); j++) {
			const struct table_options options = { .keys = keys[j] };
			__cleanup(freep) char *text = render(report_chart, snapshot, &options);

			xml_check(text);
			passive_check(text);
			bounds_check(text);
		}
	}
}

/* At most 20 rows; what is left out is said. */
BUILDER_TEST(test_many_rows)
{
	__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
	__cleanup(freep) char *text = NULL;
	struct row row;

	for (int nr = 0; nr < 50; nr++) {
		row_init_for(&row, 1, ABI_I386, nr);
		row_add_calls(&row, 1 + (uint64_t)nr, 1ULL << (nr / 2), 0, 0);
		builder_take_row(builder, &row);
	}
	snapshot = snapshot_take(builder);
	text = render(report_chart, snapshot, &plain);
	xml_check(text);
	bounds_check(text);
	assert_int_equal(count_of(text, "<g>"), 20);
	assert_int_equal(count_of(text, "class=\"range\""), 20);
	assert_non_null(strstr(text, "; 30 others not shown."));
}

/* Every time from 0 to the largest finds a place. */
TEST(test_extremes)
{
	static const uint64_t times[] = { 0, 1, 9, 10, 999999999, 1ULL << 42, UINT64_MAX / 4 };

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		__cleanup(snapshot_freep) struct snapshot *snapshot = NULL;
		__cleanup(freep) char *text = NULL;
		struct builder *builder = builder_make();

		builder_take_calls(builder, 1, ABI_OF_TESTS, "read", 1, times[i], 0, 0);
		builder_take_calls(builder, 1, ABI_OF_TESTS, "read", 1, times[0], 0, 0);
		builder_take_untimed(builder, 1, ABI_OF_TESTS, "write", UINT64_MAX / 2);
		snapshot = snapshot_take(builder);
		text = render(report_chart, snapshot, &plain);
		xml_check(text);
		bounds_check(text);
	}
}
