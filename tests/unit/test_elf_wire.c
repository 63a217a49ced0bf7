/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests answers of a worker that has been taken over: none of them is believed. */
#include "test.h"
#include "elf_fixture.h"

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

TEST(test_unwind_truth)
{
	__cleanup(elf_unwind_freep) struct elf_unwind *unwind = NULL;
	struct unwind_lie lie = unwind_truth();

	assert_int_equal(unwind_send(&lie, &unwind), 0);
	assert_int_equal(unwind->nr_rows, 4);
	assert_memory_equal(unwind->rows, lie.rows, sizeof(lie.rows));
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
	lie->more = -(int)(sizeof(lie->rows) + sizeof(uint64_t));
}

TEST(test_unwind_lies)
{
	static void (*const lies[])(struct unwind_lie *lie) = {
		lie_start, lie_first, lie_end, lie_backwards, lie_length,  lie_address,
		lie_order, lie_cfa,   lie_rbp, lie_longer,    lie_shorter, lie_empty,
	};

	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		struct unwind_lie lie = unwind_truth();
		struct elf_unwind *unwind = NULL;

		lies[i](&lie);
		assert_int_equal(unwind_send(&lie, &unwind), -EPROTO);
		assert_null(unwind);
	}
}

/* --- functions -------------------------------------------------------------------------------- */

#define TEXT "in\0out"

struct functions_lie {
	struct elf_function list[2];
	uint32_t names[3];
	size_t text_bytes;
	int more; /* bytes at the end */
};

static int functions_send(const struct functions_lie *lie, const struct elf_identity *identity,
			  struct elf_functions **ret)
{
	int fd __cleanup(closep) = memory_file("", 0);
	struct functions_lie copy = *lie;
	char text[] = TEXT;
	const struct elf_functions functions = {
		.identity = *identity,
		.list = copy.list,
		.nr = ARRAY_SIZE(copy.list),
		.names = copy.names,
		.nr_names = ARRAY_SIZE(copy.names),
		.text = text,
		.text_bytes = lie->text_bytes,
	};

	assert_int_equal(wire_write_functions(fd, &functions), 0);
	assert_int_equal(ftruncate(fd, lseek(fd, 0, SEEK_CUR) + lie->more), 0);
	return wire_read_functions(fd, ret);
}

TEST(test_functions)
{
	static const struct functions_lie cases[] = {
		/* The truth. */
		{ { { 1, 0, 0, 2 }, { 5, 5, 2, 1 } }, { 0, 3, 3 }, sizeof(TEXT), 0 },
		/* Twice the same address, descending ones. */
		{ { { 1, 0, 0, 2 }, { 1, 1, 2, 1 } }, { 0, 3, 3 }, sizeof(TEXT), 0 },
		{ { { 5, 0, 0, 2 }, { 1, 1, 2, 1 } }, { 0, 3, 3 }, sizeof(TEXT), 0 },
		/* A start behind its address. */
		{ { { 1, 0, 0, 2 }, { 5, 6, 2, 1 } }, { 0, 3, 3 }, sizeof(TEXT), 0 },
		/* No names, more than there are, more than may be, a wrap. */
		{ { { 1, 0, 0, 2 }, { 5, 5, 2, 0 } }, { 0, 3, 3 }, sizeof(TEXT), 0 },
		{ { { 1, 0, 0, 2 }, { 5, 5, 2, 2 } }, { 0, 3, 3 }, sizeof(TEXT), 0 },
		{ { { 1, 0, 0, MAX_INLINE_DEPTH + 1 }, { 5, 5, 2, 1 } },
		  { 0, 3, 3 },
		  sizeof(TEXT),
		  0 },
		{ { { 1, 0, 0, 2 }, { 5, 5, UINT32_MAX, 2 } }, { 0, 3, 3 }, sizeof(TEXT), 0 },
		/* A name beyond, one without end, no text. */
		{ { { 1, 0, 0, 2 }, { 5, 5, 2, 1 } }, { 0, 3, 7 }, sizeof(TEXT), 0 },
		{ { { 1, 0, 0, 2 }, { 5, 5, 2, 1 } }, { 0, 3, 3 }, sizeof(TEXT) - 1, 0 },
		{ { { 1, 0, 0, 2 }, { 5, 5, 2, 1 } }, { 0, 0, 0 }, 0, 0 },
		/* Another length. */
		{ { { 1, 0, 0, 2 }, { 5, 5, 2, 1 } }, { 0, 3, 3 }, sizeof(TEXT), 1 },
		{ { { 1, 0, 0, 2 }, { 5, 5, 2, 1 } }, { 0, 3, 3 }, sizeof(TEXT), -1 },
	};
	const struct elf_identity identity = { .nr_build_id = MAX_BUILD_ID,
					       .debuglink = "..debug" };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__cleanup(elf_functions_freep) struct elf_functions *functions = NULL;
		const struct elf_function *two;

		assert_int_equal(functions_send(&cases[i], &identity, &functions), i ? -EPROTO : 0);
		if (i)
			continue;
		assert_string_equal(functions->identity.debuglink, "..debug");
		two = elf_functions_find(functions, 1);
		assert_int_equal(two->nr, 2);
		assert_string_equal(elf_function_name(functions, two, 0), "in");
		assert_string_equal(elf_function_name(functions, two, 1), "out");
		assert_int_equal(elf_functions_find(functions, 5)->start, 5);
		assert_null(elf_functions_find(functions, 4));
	}
}

TEST(test_identities)
{
	static const struct functions_lie truth = {
		{ { 1, 0, 0, 2 }, { 5, 5, 2, 1 } }, { 0, 3, 3 }, sizeof(TEXT), 0
	};
	struct elf_identity lies[] = {
		{ .nr_build_id = MAX_BUILD_ID + 1 },
		{ .debuglink = "../../etc/shadow" },
		{ .debuglink = ".." },
		{ .has_symtab = 2 },
		{ .has_dwarf = 2 },
		{ .debuglink = "" },
	};

	memset(lies[ARRAY_SIZE(lies) - 1].debuglink, 'x', MAX_DEBUGLINK);
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		struct elf_functions *functions = NULL;

		assert_int_equal(functions_send(&truth, &lies[i], &functions), -EPROTO);
		assert_null(functions);
	}
}

/* --- questions -------------------------------------------------------------------------------- */

TEST(test_questions)
{
	static const struct {
		uint64_t addresses[3];
		size_t bytes;
		int expected;
	} cases[] = {
		{ { 1, 2, 9 }, 24, 0 },       { { 0 }, 0, 0 },
		{ { 1, 1, 9 }, 24, -EPROTO }, { { 9, 1, 2 }, 24, -EPROTO },
		{ { 1, 2, 9 }, 23, -EPROTO },
	};
	struct elf_addresses many = { NULL, MAX_ADDRESSES + 1 }, read;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int fd __cleanup(closep) = memory_file(cases[i].addresses, cases[i].bytes);

		assert_int_equal(wire_read_addresses(fd, &read), cases[i].expected);
		if (cases[i].expected)
			continue;
		assert_int_equal(read.nr, cases[i].bytes / 8);
		free(read.addresses);
	}
	assert_int_equal(wire_write_addresses(-1, &many), -E2BIG);
}

/* --- counts ----------------------------------------------------------------------------------- */

/* Counts that no memory holds, or whose bytes wrap around. */
TEST(test_counts)
{
	static const uint64_t counts[] = { UINT64_MAX, 1ULL << 60, MAX_UNWIND_ROWS + 1ULL, 1000000,
					   1 };

	for (size_t i = 0; i < 4 * ARRAY_SIZE(counts); i++) {
		uint64_t header[128] = { 0 };
		struct elf_functions *functions = NULL;
		struct elf_unwind *unwind = NULL;
		int fd __cleanup(closep) = -1;

		header[i % 4] = counts[i / 4];
		fd = memory_file(header, sizeof(header));
		assert_int_equal(wire_read_unwind(fd, &unwind), -EPROTO);
		assert_int_equal(wire_read_functions(fd, &functions), -EPROTO);
	}
}
