/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests answers of a worker that has been taken over: none of them is believed. */
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
			  { 0x1002, { .cfa = CFA_RSP, .cfa_offset = 1 } },
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

#define LIE(field, value) \
	{ offsetof(struct unwind_lie, field), sizeof(((struct unwind_lie *)0)->field), value }

TEST(test_unwind)
{
	static const struct {
		size_t offset, size;
		uint64_t value;
	} lies[][2] = {
		{ LIE(unwind.text_start, 0x1001), LIE(rows[0].pc, 0x1001) },
		{ LIE(unwind.text_start, 0) },
		{ LIE(rows[0].pc, 0x1001) },
		{ LIE(unwind.text_end, 0x2fff) },
		{ LIE(unwind.text_end, 0) },
		{ LIE(unwind.text_end, 0x1000 + MAX_UNWIND_BYTES + 1) },
		{ LIE(unwind.text_end, UINT64_MAX) },
		{ LIE(rows[2].pc, 0x1002) },
		{ LIE(rows[3].rule.cfa, CFA_UNSUPPORTED + 1) },
		{ LIE(rows[1].rule.rbp, 255) },
		{ LIE(more, 1) },
		{ LIE(more, -1) },
		{ LIE(more, -(int)(4 * sizeof(struct unwind_row) + sizeof(uint64_t))) },
	};

	__cleanup(elf_unwind_freep) struct elf_unwind *truth = NULL;
	struct unwind_lie told = unwind_truth();

	assert_int_equal(unwind_send(&told, &truth), 0);
	assert_has(truth, nr_rows, 4, load_offset, 7);
	assert_memory_equal(truth->rows, told.rows, sizeof(told.rows));
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		struct unwind_lie lie = unwind_truth();
		struct elf_unwind *unwind = NULL;

		for (size_t j = 0; j < 2; j++)
			memcpy((char *)&lie + lies[i][j].offset, &lies[i][j].value,
			       lies[i][j].size);
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

static void count_refuse(const void *header, size_t bytes)
{
	char file[4096] = { 0 };
	struct elf_functions *functions = NULL;
	struct elf_unwind *unwind = NULL;
	int fd __cleanup(closep) = -1;

	memcpy(file, header, bytes);
	fd = memory_file(file, sizeof(file));
	assert_int_equal(wire_read_unwind(fd, &unwind), -EPROTO);
	assert_int_equal(wire_read_functions(fd, &functions), -EPROTO);
}

/* Counts that no memory holds, or whose bytes wrap around. */
TEST(test_counts)
{
	static const uint64_t counts[] = { UINT64_MAX, 1ULL << 60, MAX_UNWIND_ROWS + 1ULL, 1000000,
					   1 };

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		const struct elf_unwind unwind = { .nr_rows = counts[i] };
		const struct elf_functions functions[] = {
			{ .nr = counts[i] },
			{ .nr_names = counts[i] },
			{ .text_bytes = counts[i] },
		};

		count_refuse(&unwind, sizeof(unwind));
		for (size_t j = 0; j < ARRAY_SIZE(functions); j++)
			count_refuse(&functions[j], sizeof(functions[j]));
	}
}
