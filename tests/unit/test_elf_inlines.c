/* SPDX-License-Identifier: BSD-2-Clause */
/* Inlined functions: what another reader of DWARF says, and what nobody is to believe. */
#include "elf_fixture.h"

#include "elf/elf_handle.h"
#include "elf/inlines_private.h"
#include "elf/unwind_rows.h"
#include "elf/wire_inlines.h"
#include "elf/worker.h"

/* Every address of a file's code. */
static struct elf_addresses all_addresses(const char *fixture)
{
	int fd __cleanup(closep) = fixture_open(fixture);
	__cleanup(elf_unwind_freep) struct elf_unwind *unwind = NULL;
	struct elf_addresses all = { 0 };

	assert_int_equal(elf_unwind_read(fd, &unwind), 0);
	all.nr = unwind->text_end - unwind->text_start;
	assert_true(all.nr && all.nr < MAX_ADDRESSES);
	all.addresses = calloc(all.nr, sizeof(*all.addresses));
	assert_non_null(all.addresses);
	for (size_t i = 0; i < all.nr; i++)
		all.addresses[i] = unwind->text_start + i;
	return all;
}

static void addresses_done(struct elf_addresses *addresses)
{
	free(addresses->addresses);
}

/* --- against addr2line ------------------------------------------------------------------------ */

/* A line of its output, without its end. */
static bool line_read(FILE *file, char *line, int size)
{
	if (!fgets(line, size, file))
		return false;
	line[strcspn(line, "\n")] = '\0';
	return true;
}

/* Names without parameters, as ours. */
static void names_compare(const char *expected, const char *name)
{
	size_t length = strcspn(expected, "(");

	if (strncmp(expected, name, length) || name[length])
		fail_msg("%s instead of %.*s", name, (int)length, expected);
}

struct judge {
	const char *file;
	size_t inlined; /* addresses with inlined functions */
	size_t deepest;
};

/* The functions at one address: all but the last were inlined. What is of no function has a "??". */
static void address_judge(struct judge *judge, FILE *said, const struct elf_inlines *inlines,
			  uint64_t addr, char *line, int size)
{
	const char *names[MAX_INLINE_DEPTH];
	size_t nr = elf_inlines_find(inlines, addr, names), i = 0;
	char place[512];

	assert_int_equal(strtoull(line, NULL, 16), addr);
	for (; line_read(said, line, size) && strncmp(line, "0x", 2); i++) {
		if (i < nr)
			names_compare(line, names[i]);
		assert_true(line_read(said, place, sizeof(place)));
	}
	assert_int_equal(nr, i - 1);
	judge->inlined += nr > 0;
	judge->deepest = nr > judge->deepest ? nr : judge->deepest;
}

static struct judge file_judge(const char *file, const struct elf_inlines *inlines,
			       const struct elf_addresses *all)
{
	struct judge judge = { .file = file };
	char list[] = "/tmp/bpftruss-test-XXXXXX", line[512];
	FILE *addresses = fdopen(mkstemp(list), "w"), *said;

	assert_non_null(addresses);
	for (size_t i = 0; i < all->nr; i++)
		fprintf(addresses, "0x%lx\n", all->addresses[i]);
	fclose(addresses);
	snprintf(line, sizeof(line), "LC_ALL=C addr2line -a -f -i -C -e %s/%s <%s", FIXTURES, file,
		 list);
	said = popen(line, "r");
	assert_non_null(said);
	assert_true(line_read(said, line, sizeof(line)));
	for (size_t i = 0; i < all->nr; i++)
		address_judge(&judge, said, inlines, all->addresses[i], line, sizeof(line));
	pclose(said);
	unlink(list);
	return judge;
}

static void test_as_addr2line(void **state)
{
	static const struct {
		const char *file, *debug, *judge;
		size_t deepest;
	} cases[] = {
		{ "inlines", NULL, "inlines", 3 },
		{ "inlines_cxx", NULL, "inlines_cxx", 2 },
		{ "bare", "bare.debug", "inlines", 3 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__cleanup(addresses_done) struct elf_addresses all = all_addresses(cases[i].file);
		__cleanup(elf_inlines_freep) struct elf_inlines *inlines = NULL;
		int fd __cleanup(closep) = fixture_open(cases[i].file);
		int debug_fd __cleanup(closep) = cases[i].debug ? fixture_open(cases[i].debug) : -1;
		struct judge judge;

		assert_int_equal(elf_worker_inlines(fd, debug_fd, &all, &inlines), 0);
		judge = file_judge(cases[i].judge, inlines, &all);
		assert_true(judge.inlined > 4);
		assert_int_equal(judge.deepest, cases[i].deepest);
	}
}

/* --- files without ---------------------------------------------------------------------------- */

static void test_without(void **state)
{
	static const struct {
		const char *file, *debug;
	} cases[] = {
		{ "bare", NULL },       { "bare", "stripped.debug" },
		{ "inlines", "plain" }, { "mini", NULL },
		{ "cxx", NULL },
	};
	uint64_t address = 0x1000;
	struct elf_addresses one = { &address, 1 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int fd __cleanup(closep) = fixture_open(cases[i].file);
		int debug_fd __cleanup(closep) = cases[i].debug ? fixture_open(cases[i].debug) : -1;
		struct elf_inlines *inlines = NULL;

		assert_int_equal(elf_worker_inlines(fd, debug_fd, &one, &inlines), -EBADMSG);
		assert_null(inlines);
	}
}

static void test_identity(void **state)
{
	static const struct {
		const char *file;
		bool has_dwarf;
	} cases[] = {
		{ "inlines", true },
		{ "bare", false },
		{ "bare.debug", true },
		{ "mini", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int fd __cleanup(closep) = fixture_open(cases[i].file);
		struct elf_identity identity;

		assert_int_equal(elf_identity_of_file(fd, &identity), 0);
		assert_int_equal(identity.has_dwarf, cases[i].has_dwarf);
	}
}

/* --- questions -------------------------------------------------------------------------------- */

static void test_questions(void **state)
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

	(void)state;
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

/* --- answers ---------------------------------------------------------------------------------- */

#define NAMES "in\0out"

struct inlines_lie {
	struct inline_chain chains[2];
	uint32_t functions[3];
	size_t names_bytes;
	int more; /* bytes at the end */
};

static int inlines_send(const struct inlines_lie *lie, struct elf_inlines **ret)
{
	int fd __cleanup(closep) = memory_file("", 0);
	struct inlines_lie copy = *lie;
	char names[] = NAMES;
	const struct elf_inlines inlines = {
		.chains = copy.chains,
		.nr = ARRAY_SIZE(copy.chains),
		.functions = copy.functions,
		.nr_functions = ARRAY_SIZE(copy.functions),
		.names = names,
		.names_bytes = lie->names_bytes,
	};

	assert_int_equal(wire_write_inlines(fd, &inlines), 0);
	assert_int_equal(ftruncate(fd, lseek(fd, 0, SEEK_CUR) + lie->more), 0);
	return wire_read_inlines(fd, ret);
}

static void test_answers(void **state)
{
	static const struct inlines_lie cases[] = {
		/* The truth. */
		{ { { 1, 0, 2 }, { 5, 2, 1 } }, { 0, 3, 3 }, sizeof(NAMES), 0 },
		/* Twice the same address, descending ones. */
		{ { { 1, 0, 2 }, { 1, 2, 1 } }, { 0, 3, 3 }, sizeof(NAMES), 0 },
		{ { { 5, 0, 2 }, { 1, 2, 1 } }, { 0, 3, 3 }, sizeof(NAMES), 0 },
		/* Nothing inlined, more than there is, more than may be, a wrap. */
		{ { { 1, 0, 2 }, { 5, 2, 0 } }, { 0, 3, 3 }, sizeof(NAMES), 0 },
		{ { { 1, 0, 2 }, { 5, 2, 2 } }, { 0, 3, 3 }, sizeof(NAMES), 0 },
		{ { { 1, 0, MAX_INLINE_DEPTH + 1 }, { 5, 2, 1 } }, { 0, 3, 3 }, sizeof(NAMES), 0 },
		{ { { 1, 0, 2 }, { 5, UINT32_MAX, 2 } }, { 0, 3, 3 }, sizeof(NAMES), 0 },
		/* A name beyond, one without end, no names. */
		{ { { 1, 0, 2 }, { 5, 2, 1 } }, { 0, 3, 7 }, sizeof(NAMES), 0 },
		{ { { 1, 0, 2 }, { 5, 2, 1 } }, { 0, 3, 3 }, sizeof(NAMES) - 1, 0 },
		{ { { 1, 0, 2 }, { 5, 2, 1 } }, { 0, 0, 0 }, 0, 0 },
		/* Another length. */
		{ { { 1, 0, 2 }, { 5, 2, 1 } }, { 0, 3, 3 }, sizeof(NAMES), 1 },
		{ { { 1, 0, 2 }, { 5, 2, 1 } }, { 0, 3, 3 }, sizeof(NAMES), -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__cleanup(elf_inlines_freep) struct elf_inlines *inlines = NULL;
		const char *names[MAX_INLINE_DEPTH];

		assert_int_equal(inlines_send(&cases[i], &inlines), i ? -EPROTO : 0);
		if (i)
			continue;
		assert_int_equal(elf_inlines_find(inlines, 1, names), 2);
		assert_string_equal(names[0], "in");
		assert_string_equal(names[1], "out");
		assert_int_equal(elf_inlines_find(inlines, 5, names), 1);
		assert_int_equal(elf_inlines_find(inlines, 4, names), 0);
	}
}

/* Counts that no memory holds, or whose bytes wrap around. */
static void test_counts(void **state)
{
	static const uint64_t counts[] = { UINT64_MAX, 1ULL << 60, MAX_INLINE_FUNCTIONS + 1ULL, 1 };

	(void)state;
	for (size_t i = 0; i < 3 * ARRAY_SIZE(counts); i++) {
		struct elf_inlines *inlines = NULL;
		uint64_t header[3] = { 0 };
		int fd __cleanup(closep) = -1;

		header[i % 3] = counts[i / 3];
		fd = memory_file(header, sizeof(header));
		assert_int_equal(wire_read_inlines(fd, &inlines), -EPROTO);
	}
}

/* --- DWARF that means harm -------------------------------------------------------------------- */

#define MUTATIONS 400

/* Bytes of debug sections and headers at random: any answer will do that passes the check. */
static void test_mutated(void **state)
{
	__cleanup(addresses_done) struct elf_addresses all = all_addresses("inlines_cxx");
	__cleanup(bytes_done) struct bytes bytes = fixture_bytes("inlines_cxx");
	__cleanup(bytes_done) struct bytes copy = fixture_bytes("inlines_cxx");
	size_t good = 0, crashed = 0;
	uint64_t seed = 23;

	(void)state;
	for (int i = 0; i < MUTATIONS; i++) {
		__cleanup(elf_inlines_freep) struct elf_inlines *inlines = NULL;
		int fd __cleanup(closep) = -1, err;

		memcpy(copy.data, bytes.data, bytes.size);
		for (size_t n = 1 + random_below(&seed, 20); n; n--)
			copy.data[random_below(&seed, bytes.size)] = random_u64(&seed);
		fd = memory_file(copy.data, copy.size);
		err = elf_worker_inlines(fd, -1, &all, &inlines);
		assert_true(err == 0 || err == -EBADMSG || err == -ENOMEM || err == -EPROTO ||
			    err == -ETIMEDOUT);
		good += !err;
		crashed += err == -EPROTO;
	}
	assert_true(good > MUTATIONS / 4);
	/* A library may have its bugs; we may not. */
	assert_true(crashed < MUTATIONS / 20);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_addr2line), cmocka_unit_test(test_without),
		cmocka_unit_test(test_identity),     cmocka_unit_test(test_questions),
		cmocka_unit_test(test_answers),      cmocka_unit_test(test_counts),
		cmocka_unit_test(test_mutated),
	};

	if (argc > 1 && !strcmp(argv[1], ELF_WORKER_ARGUMENT))
		elf_worker_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
