/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwind rows: what the rules of each fixture are, and whether readelf reads the same. Answers of a
 * worker that has been taken over: none of them is believed.
 */
#include "elf_fixture.h"

#include <sys/auxv.h>

#include "elf/wire.h"

static struct elf_unwind *unwind_of(const char *name)
{
	int fd __cleanup(closep) = fixture_open(name);
	struct elf_unwind *unwind = NULL;

	assert_int_equal(elf_unwind_read(fd, &unwind), 0);
	return unwind;
}

/* The row in force at pc; NULL outside of text or without rows. */
static const struct unwind_row *unwind_find(const struct elf_unwind *unwind, uint64_t pc)
{
	const struct unwind_row *found = NULL;

	for (size_t i = 0; i < unwind->nr_rows && pc < unwind->text_end; i++) {
		if (unwind->rows[i].pc <= pc)
			found = &unwind->rows[i];
	}
	return found;
}

static void assert_in_order(const struct elf_unwind *unwind)
{
	assert_int_equal(unwind->text_start % 4096, 0);
	assert_true(unwind->nr_rows > 0);
	assert_int_equal(unwind->rows[0].pc, unwind->text_start);
	for (size_t i = 1; i < unwind->nr_rows; i++) {
		assert_true(unwind->rows[i].pc > unwind->rows[i - 1].pc);
		assert_memory_not_equal(&unwind->rows[i].rule, &unwind->rows[i - 1].rule,
					sizeof(struct unwind_rule));
	}
	assert_true(unwind->rows[unwind->nr_rows - 1].pc < unwind->text_end);
}

#ifdef __x86_64__
#define IS_X86 true
#else
#define IS_X86 false
#endif

/* Begins a test of rules and files as only x86-64 has them. */
#define X86_TEST(name)                   \
	static void name##_of_x86(void); \
	TEST(name)                       \
	{                                \
		if (!IS_X86)             \
			skip();          \
		name##_of_x86();         \
	}                                \
	static void name##_of_x86(void)

/* --- every rule ------------------------------------------------------------------------------- */

X86_TEST(test_rules)
{
	static const struct {
		const char *function;
		uint64_t offset;
		struct unwind_rule rule;
	} cases[] = {
		{ "_start", 0, { .cfa = CFA_END } },
		{ "by_rsp", 0, { .cfa = CFA_RSP, .cfa_offset = 1 } },
		{ "by_rsp", 4, { .cfa = CFA_RSP, .cfa_offset = 4 } },
		{ "by_rsp", 9, { .cfa = CFA_RSP, .cfa_offset = 1 } },
		{ "by_rsp", 12, { .cfa = CFA_STUB } },
		{ "by_rdi", 1, { .cfa = CFA_RDI } },
		{ "by_rbp",
		  1,
		  { .cfa = CFA_RSP, .cfa_offset = 2, .rbp = RBP_CFA, .rbp_offset = -2 } },
		{ "by_rbp",
		  4,
		  { .cfa = CFA_RBP, .cfa_offset = 2, .rbp = RBP_CFA, .rbp_offset = -2 } },
		{ "by_slot",
		  0,
		  { .cfa = CFA_RBP_DEREF, .deref_offset = -1, .rbp = RBP_FRAME, .rbp_offset = 0 } },
		{ "by_other", 0, { .cfa = CFA_UNSUPPORTED } },
		{ "by_fraction", 0, { .cfa = CFA_UNSUPPORTED } },
		{ "by_register", 0, { .cfa = CFA_UNSUPPORTED } },
		{ "by_stub", 0, { .cfa = CFA_PLT } },
		{ "by_signal", 0, { .cfa = CFA_SIGNAL } },
		{ "without_rule", 0, { .cfa = CFA_NONE } },
		/* Too far from the last one that has a rule to be a stub. */
		{ "far_function", 0, { .cfa = CFA_NONE } },
		{ "by_excess", 0, { .cfa = CFA_RSP, .cfa_offset = 2 } },
	};
	__cleanup(elf_unwind_freep) struct elf_unwind *unwind = unwind_of("frames");
	__cleanup(elf_functions_freep) struct elf_functions *symbols = symbols_of("frames", NULL);

	assert_in_order(unwind);
	assert_has(unwind, text_start, 0x401000, load_offset, 0x400000);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t pc = function_start(symbols, cases[i].function) + cases[i].offset;

		assert_memory_equal(&unwind_find(unwind, pc)->rule, &cases[i].rule,
				    sizeof(cases[i].rule));
	}
}

/* --- readelf as the judge --------------------------------------------------------------------- */

/* A column of `readelf -wF`: a word for each register, under a head of their names. */
static bool column_find(char *head, const char *name, size_t *ret)
{
	char *save = NULL, *word;
	size_t at = 0;

	for (word = strtok_r(head, " \n", &save); word; word = strtok_r(NULL, " \n", &save), at++) {
		*ret = at;
		if (!strcmp(word, name))
			return true;
	}
	return false;
}

static const char *word_at(char *line, size_t at)
{
	char *save = NULL, *word = strtok_r(line, " \n", &save);

	while (word && at--)
		word = strtok_r(NULL, " \n", &save);
	return word;
}

static void assert_same_cfa(const struct unwind_rule *rule, const char *word)
{
	int offset;

	if (sscanf(word, "rsp%d", &offset) == 1) {
		assert_int_equal(rule->cfa, CFA_RSP);
		assert_int_equal(rule->cfa_offset * 8, offset);
	} else if (sscanf(word, "rbp%d", &offset) == 1) {
		assert_int_equal(rule->cfa, CFA_RBP);
		assert_int_equal(rule->cfa_offset * 8, offset);
	} else {
		assert_true(rule->cfa == CFA_RBP_DEREF || rule->cfa == CFA_PLT ||
			    rule->cfa == CFA_UNSUPPORTED);
	}
}

static void assert_same_rbp(const struct unwind_rule *rule, const char *word)
{
	int offset;

	if (word && sscanf(word, "c%d", &offset) == 1) {
		assert_int_equal(rule->rbp, RBP_CFA);
		assert_int_equal(rule->rbp_offset * 8, offset);
	} else {
		assert_int_equal(rule->rbp, word && !strcmp(word, "exp") ? RBP_FRAME : RBP_SAME);
	}
}

struct columns {
	size_t rbp, ra; /* 0: none */
};

static void line_compare(const struct elf_unwind *unwind, const char *line,
			 const struct columns *columns)
{
	const struct unwind_row *row;
	char copy[512];
	unsigned long pc;
	const char *ra;

	assert_int_equal(sscanf(line, "%lx", &pc), 1);
	row = unwind_find(unwind, pc);
	assert_non_null(row);
	if (row->rule.cfa == CFA_SIGNAL || row->rule.cfa == CFA_UNSUPPORTED)
		return;
	snprintf(copy, sizeof(copy), "%s", line);
	ra = columns->ra ? word_at(copy, columns->ra) : NULL;
	if (ra && !strcmp(ra, "u")) {
		assert_int_equal(row->rule.cfa, CFA_END);
		return;
	}
	snprintf(copy, sizeof(copy), "%s", line);
	assert_same_cfa(&row->rule, word_at(copy, 1));
	snprintf(copy, sizeof(copy), "%s", line);
	assert_same_rbp(&row->rule, columns->rbp ? word_at(copy, columns->rbp) : NULL);
}

static void readelf_compare(const char *name)
{
	__cleanup(elf_unwind_freep) struct elf_unwind *unwind = unwind_of(name);
	struct columns columns = { 0, 0 };
	char line[512], copy[512];
	unsigned long end = 0; /* of the entry, but no further than the text; 0: between two */
	size_t nr = 0;
	FILE *file;

	assert_in_order(unwind);
	snprintf(line, sizeof(line), "LC_ALL=C readelf -wF %s/%s 2>/dev/null", FIXTURES, name);
	file = popen(line, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (strstr(line, " FDE ")) {
			/* Where the entry ends; readelf goes on to the end of its instructions. */
			assert_non_null(strstr(line, ".."));
			end = strtoul(strstr(line, "..") + 2, NULL, 16);
			end = end < unwind->text_end ? end : unwind->text_end;
		} else if (strstr(line, " CIE ") || line[0] == '\n') {
			end = 0;
		} else if (end && strstr(line, "LOC ")) {
			snprintf(copy, sizeof(copy), "%s", line);
			columns.rbp = column_find(copy, "rbp", &columns.rbp) ? columns.rbp : 0;
			columns.ra = column_find(line, "ra", &columns.ra) ? columns.ra : 0;
		} else if (strtoul(line, NULL, 16) < end && !strchr(line, '(')) {
			/* A register in another one is two words. */
			line_compare(unwind, line, &columns);
			nr++;
		}
	}
	pclose(file);
	assert_true(nr > 0);
}

X86_TEST(test_readelf_agrees)
{
	static const char *const names[] = { "plain", "lean",     "static", "fixed",
					     "mini",  "stripped", "cxx",    "frames" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		readelf_compare(names[i]);
}

/* --- files without rows ----------------------------------------------------------------------- */

X86_TEST(test_no_table)
{
	static const char *const names[] = { "i386", "nocfi", "stripped.debug" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		__cleanup(elf_unwind_freep) struct elf_unwind *unwind = unwind_of(names[i]);

		assert_int_equal(unwind->nr_rows, 0);
	}
}

X86_TEST(test_no_elf)
{
	static const char *const texts[] = { "", "\177ELF", "#!/bin/sh\n", "!<arch>\n" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		int fd __cleanup(closep) = memory_file(texts[i], strlen(texts[i]));
		struct elf_unwind *unwind = NULL;

		assert_int_equal(elf_unwind_read(fd, &unwind), -EBADMSG);
		assert_null(unwind);
	}
}

X86_TEST(test_vdso)
{
	__cleanup(elf_unwind_freep) struct elf_unwind *unwind = NULL;
	void *vdso = (void *)getauxval(AT_SYSINFO_EHDR);
	int fd __cleanup(closep) = -1;

	if (!vdso)
		skip();
	/* Two pages at least, on all kernels there are. */
	fd = memory_file(vdso, 8192);
	assert_int_equal(elf_unwind_read(fd, &unwind), 0);
	assert_in_order(unwind);
}

/* --- the way without section headers ---------------------------------------------------------- */

X86_TEST(test_no_sections)
{
	__cleanup(bytes_done) struct bytes bytes = fixture_bytes("lean");
	__cleanup(elf_unwind_freep) struct elf_unwind *with = unwind_of("lean"), *without = NULL;
	int fd __cleanup(closep) = -1;

	/* e_shoff, e_shnum and e_shstrndx of the header. */
	memset(bytes.data + 40, 0, 8);
	memset(bytes.data + 60, 0, 4);
	fd = memory_file(bytes.data, bytes.size);
	assert_int_equal(elf_unwind_read(fd, &without), 0);
	assert_int_equal(with->nr_rows, without->nr_rows);
	assert_memory_equal(with->rows, without->rows, with->nr_rows * sizeof(*with->rows));
}

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
	struct elf_addresses many = { NULL, MAX_ADDRESSES + 1 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int fd __cleanup(closep) = memory_file(cases[i].addresses, cases[i].bytes);
		__cleanup(addresses_done) struct elf_addresses read = { 0 };

		assert_int_equal(wire_read_addresses(fd, &read), cases[i].expected);
		if (!cases[i].expected)
			assert_int_equal(read.nr, cases[i].bytes / 8);
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
