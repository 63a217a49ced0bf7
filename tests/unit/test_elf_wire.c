/* SPDX-License-Identifier: BSD-2-Clause */
/* What a worker that has been taken over might answer: none of it is believed. */
#include "elf_fixture.h"

#include "elf/symbols_private.h"
#include "elf/wire.h"

/* --- unwind ----------------------------------------------------------------------------------- */

struct unwind_lie {
	struct elf_unwind unwind;
	struct unwind_row rows[4];
	int more; /* bytes at the end */
};

static struct unwind_lie unwind_truth(void)
{
	return (struct unwind_lie){
		.unwind = { .text_start = 0x1000,
			    .text_end = 0x3000,
			    .load_offset = 7,
			    .nr_rows = 4 },
		.rows = { { 0x1000, { .cfa = CFA_NONE } },
			  { 0x1001, { .cfa = CFA_RSP, .cfa_offset = 1 } },
			  { 0x2000, { .cfa = CFA_RBP, .rbp = RBP_CFA } },
			  { 0x2fff, { .cfa = CFA_UNSUPPORTED, .rbp = RBP_FRAME } } },
	};
}

static int unwind_send(struct unwind_lie *lie, struct elf_unwind **ret)
{
	int fd __cleanup(closep) = memory_file("", 0);

	lie->unwind.rows = lie->rows;
	assert_int_equal(wire_write_unwind(fd, &lie->unwind), 0);
	assert_int_equal(ftruncate(fd, lseek(fd, 0, SEEK_CUR) + lie->more), 0);
	return wire_read_unwind(fd, ret);
}

static void test_unwind_truth(void **state)
{
	__cleanup(elf_unwind_freep) struct elf_unwind *unwind = NULL;
	struct unwind_lie lie = unwind_truth();

	(void)state;
	lie.unwind.identity.nr_build_id = MAX_BUILD_ID;
	strcpy(lie.unwind.identity.debuglink, "..debug");
	assert_int_equal(unwind_send(&lie, &unwind), 0);
	assert_int_equal(unwind->nr_rows, 4);
	assert_memory_equal(unwind->rows, lie.rows, sizeof(lie.rows));
	assert_string_equal(unwind->identity.debuglink, "..debug");
	assert_int_equal(unwind->load_offset, 7);
}

static void lie_start(struct unwind_lie *lie)
{
	lie->unwind.text_start = lie->rows[0].pc = 0x1001;
}

static void lie_first(struct unwind_lie *lie)
{
	lie->unwind.text_start = 0;
}

static void lie_end(struct unwind_lie *lie)
{
	lie->unwind.text_end = 0x2fff;
}

static void lie_backwards(struct unwind_lie *lie)
{
	lie->unwind.text_end = 0;
}

static void lie_length(struct unwind_lie *lie)
{
	lie->unwind.text_end = lie->unwind.text_start + MAX_UNWIND_BYTES + 1;
}

static void lie_address(struct unwind_lie *lie)
{
	lie->unwind.text_end = UINT64_MAX;
}

static void lie_order(struct unwind_lie *lie)
{
	lie->rows[2].pc = lie->rows[1].pc;
}

static void lie_cfa(struct unwind_lie *lie)
{
	lie->rows[3].rule.cfa = CFA_UNSUPPORTED + 1;
}

static void lie_rbp(struct unwind_lie *lie)
{
	lie->rows[1].rule.rbp = 255;
}

static void lie_longer(struct unwind_lie *lie)
{
	lie->more = 1;
}

static void lie_shorter(struct unwind_lie *lie)
{
	lie->more = -1;
}

static void lie_empty(struct unwind_lie *lie)
{
	lie->more = -(int)(sizeof(lie->rows) + sizeof(struct elf_identity));
}

static void lie_build_id(struct unwind_lie *lie)
{
	lie->unwind.identity.nr_build_id = MAX_BUILD_ID + 1;
}

static void lie_unterminated(struct unwind_lie *lie)
{
	memset(lie->unwind.identity.debuglink, 'x', MAX_DEBUGLINK);
}

static void lie_path(struct unwind_lie *lie)
{
	strcpy(lie->unwind.identity.debuglink, "../../etc/shadow");
}

static void lie_parent(struct unwind_lie *lie)
{
	strcpy(lie->unwind.identity.debuglink, "..");
}

static void lie_bool(struct unwind_lie *lie)
{
	lie->unwind.identity.has_symtab = 2;
}

static void test_unwind_lies(void **state)
{
	static void (*const lies[])(struct unwind_lie *lie) = {
		lie_start, lie_first,  lie_end,  lie_backwards, lie_length,       lie_address,
		lie_order, lie_cfa,    lie_rbp,  lie_longer,    lie_shorter,      lie_empty,
		lie_path,  lie_parent, lie_bool, lie_build_id,  lie_unterminated,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		struct unwind_lie lie = unwind_truth();
		struct elf_unwind *unwind = NULL;

		lies[i](&lie);
		assert_int_equal(unwind_send(&lie, &unwind), -EPROTO);
		assert_null(unwind);
	}
}

/* --- symbols ---------------------------------------------------------------------------------- */

#define NAMES "\0one\0two"

struct symbols_lie {
	struct symbol_range ranges[3];
	size_t names_bytes;
};

static int symbols_send(const struct symbols_lie *lie, struct elf_symbols **ret)
{
	int fd __cleanup(closep) = memory_file("", 0);
	struct symbols_lie copy = *lie;
	char names[] = NAMES;
	const struct elf_symbols symbols = {
		.ranges = copy.ranges,
		.nr = ARRAY_SIZE(copy.ranges),
		.names = names,
		.names_bytes = lie->names_bytes,
	};

	assert_int_equal(wire_write_symbols(fd, &symbols), 0);
	return wire_read_symbols(fd, ret);
}

static void test_symbols(void **state)
{
	static const struct symbols_lie cases[] = {
		/* The truth. */
		{ { { 1, 5, 1, 1, 0 }, { 5, 6, 5, 5, 0 }, { 9, 20, 1, 1, 0 } }, sizeof(NAMES) },
		/* No end of the last name, a name beyond, no names. */
		{ { { 1, 5, 1, 1, 0 }, { 5, 6, 5, 5, 0 }, { 9, 20, 1, 1, 0 } }, sizeof(NAMES) - 1 },
		{ { { 1, 5, 1, 1, 0 }, { 5, 6, 5, 5, 0 }, { 9, 20, 1, 9, 0 } }, sizeof(NAMES) },
		{ { { 1, 5, 1, 0, 0 }, { 5, 6, 5, 0, 0 }, { 9, 20, 1, 0, 0 } }, 0 },
		/* Overlap, no length, an address behind. */
		{ { { 1, 5, 1, 1, 0 }, { 4, 6, 4, 5, 0 }, { 9, 20, 1, 1, 0 } }, sizeof(NAMES) },
		{ { { 1, 5, 1, 1, 0 }, { 5, 5, 5, 5, 0 }, { 9, 20, 1, 1, 0 } }, sizeof(NAMES) },
		{ { { 1, 5, 2, 1, 0 }, { 5, 6, 5, 5, 0 }, { 9, 20, 1, 1, 0 } }, sizeof(NAMES) },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__cleanup(elf_symbols_freep) struct elf_symbols *symbols = NULL;
		struct elf_symbol symbol;

		assert_int_equal(symbols_send(&cases[i], &symbols), i ? -EPROTO : 0);
		if (i)
			continue;
		assert_false(elf_symbols_find(symbols, 0, &symbol));
		assert_true(elf_symbols_find(symbols, 5, &symbol));
		assert_string_equal(symbol.name, "two");
		assert_false(elf_symbols_find(symbols, 6, &symbol));
		assert_true(elf_symbols_find(symbols, 19, &symbol));
		assert_int_equal(symbol.addr, 1);
		assert_false(elf_symbols_find(symbols, 20, &symbol));
	}
}

/* Counts that no memory holds, or whose bytes wrap around. */
static void test_counts(void **state)
{
	static const uint64_t counts[] = { UINT64_MAX, 1ULL << 60, MAX_UNWIND_ROWS + 1ULL,
					   1000000 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		uint64_t header[64] = { 0 };
		struct elf_symbols *symbols = NULL;
		struct elf_unwind *unwind = NULL;
		int fd __cleanup(closep) = -1;

		header[0] = header[1] = header[3] = counts[i];
		fd = memory_file(header, sizeof(header));
		assert_int_equal(wire_read_unwind(fd, &unwind), -EPROTO);
		assert_int_equal(wire_read_symbols(fd, &symbols), -EPROTO);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unwind_truth),
		cmocka_unit_test(test_unwind_lies),
		cmocka_unit_test(test_symbols),
		cmocka_unit_test(test_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
