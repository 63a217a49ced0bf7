/* SPDX-License-Identifier: BSD-2-Clause */
/* Inlined functions: what another reader of DWARF says, and what nobody is to believe. */
#include "elf_fixture.h"

#include "elf/elf_handle.h"

/* Every address of a file's code. */
static struct elf_addresses all_addresses(const char *fixture)
{
	int fd __cleanup(closep) = fixture_open(fixture);
	__cleanup(elf_unwind_freep) struct elf_unwind *unwind = NULL;

	assert_int_equal(elf_unwind_read(fd, &unwind), 0);
	return addresses_from(unwind->text_start, unwind->text_end - unwind->text_start);
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
static void address_judge(struct judge *judge, FILE *said, const struct elf_functions *inlines,
			  uint64_t addr, char *line, int size)
{
	const struct elf_function *found = elf_functions_find(inlines, addr);
	size_t nr = found ? found->nr : 0, i = 0;
	char place[512];

	assert_int_equal(strtoull(line, NULL, 16), addr);
	for (; line_read(said, line, size) && strncmp(line, "0x", 2); i++) {
		if (i < nr)
			names_compare(line, elf_function_name(inlines, found, (uint32_t)i));
		assert_true(line_read(said, place, sizeof(place)));
	}
	assert_int_equal(nr, i - 1);
	judge->inlined += nr > 0;
	judge->deepest = nr > judge->deepest ? nr : judge->deepest;
}

static struct judge file_judge(const char *file, const struct elf_functions *inlines,
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
	assert_all(said, line_read(said, line, sizeof(line)));
	for (size_t i = 0; i < all->nr; i++)
		address_judge(&judge, said, inlines, all->addresses[i], line, sizeof(line));
	pclose(said);
	unlink(list);
	return judge;
}

TEST(test_as_addr2line)
{
	static const struct {
		const char *file, *debug, *judge;
		size_t deepest;
	} cases[] = {
		{ "inlines", NULL, "inlines", 3 },
		{ "inlines_cxx", NULL, "inlines_cxx", 2 },
		{ "bare", "bare.debug", "inlines", 3 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__cleanup(addresses_done) struct elf_addresses all = all_addresses(cases[i].file);
		__cleanup(elf_functions_freep) struct elf_functions *inlines = NULL;
		int fd __cleanup(closep) = fixture_open(cases[i].debug ?: cases[i].file);
		struct judge judge;

		assert_int_equal(worker_functions(ELF_INLINES, fd, NULL, &all, &inlines), 0);
		judge = file_judge(cases[i].judge, inlines, &all);
		assert_true(judge.inlined > 4);
		assert_int_equal(judge.deepest, cases[i].deepest);
	}
}

/* --- files without ---------------------------------------------------------------------------- */

TEST(test_without)
{
	static const char *const files[] = { "bare", "mini", "cxx" };
	uint64_t address = 0x1000;
	struct elf_addresses one = { &address, 1 };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		int fd __cleanup(closep) = fixture_open(files[i]);
		struct elf_functions *inlines = NULL;

		assert_int_equal(worker_functions(ELF_INLINES, fd, NULL, &one, &inlines), -EBADMSG);
		assert_null(inlines);
	}
}

TEST(test_identity)
{
	static const struct text_number cases[] = {
		{ "inlines", true },
		{ "bare", false },
		{ "bare.debug", true },
		{ "mini", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int fd __cleanup(closep) = fixture_open(cases[i].text);
		struct elf_identity identity;

		assert_int_equal(elf_identity_of_file(fd, &identity), 0);
		assert_int_equal(identity.has_dwarf, cases[i].number);
	}
}

/* --- DWARF that means harm -------------------------------------------------------------------- */

#define MUTATIONS 400

/* Bytes of debug sections and headers at random: any answer will do that passes the check. */
TEST(test_mutated)
{
	__cleanup(addresses_done) struct elf_addresses all = all_addresses("inlines_cxx");
	__cleanup(bytes_done) struct bytes bytes = fixture_bytes("inlines_cxx");
	__cleanup(bytes_done) struct bytes copy = fixture_bytes("inlines_cxx");
	size_t good = 0, crashed = 0;
	uint64_t seed = 23;

	for (int i = 0; i < MUTATIONS; i++) {
		__cleanup(elf_functions_freep) struct elf_functions *inlines = NULL;
		int fd __cleanup(closep) = -1, err;

		memcpy(copy.data, bytes.data, bytes.size);
		for (size_t n = 1 + random_below(&seed, 20); n; n--)
			copy.data[random_below(&seed, bytes.size)] = random_u64(&seed);
		fd = memory_file(copy.data, copy.size);
		err = worker_functions(ELF_INLINES, fd, NULL, &all, &inlines);
		assert_true(err == 0 || err == -EBADMSG || err == -ENOMEM || err == -EPROTO ||
			    err == -ETIMEDOUT);
		good += !err;
		crashed += err == -EPROTO;
	}
	assert_true(good > MUTATIONS / 4);
	/* A library may have its bugs; we may not. */
	assert_true(crashed < MUTATIONS / 20);
}

void test_begin(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], ELF_WORKER_ARGUMENT))
		elf_worker_main(argc, argv);
}
