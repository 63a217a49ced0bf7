/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Symbols: where each fixture has them, whom an address belongs to, what names look like. Inlined
 * functions: what another reader of DWARF says, and what nobody is to believe.
 */
#include "elf_fixture.h"

/* Asks nm where a function is and how long; false: there is none. */
static bool nm_find(const char *fixture, const char *function, uint64_t *addr, uint64_t *size)
{
	char line[512], name[256];
	bool found = false;
	FILE *file;

	snprintf(line, sizeof(line), "LC_ALL=C nm -S %s/%s", FIXTURES, fixture);
	file = popen(line, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx %lx %*c %255s", addr, size, name) == 3 &&
		    !strcmp(name, function)) {
			found = true;
			break;
		}
	}
	while (fgets(line, sizeof(line), file))
		;
	pclose(file);
	return found;
}

/* The symbols around some addresses of a fixture. */
static struct elf_functions *symbols_at(const char *name, const char *debug, uint64_t first,
					size_t nr)
{
	__cleanup(addresses_done) struct elf_addresses some = addresses_from(first, nr);
	int fd __cleanup(closep) = fixture_open(name);
	struct elf_identity identity;

	assert_int_equal(elf_identity_of_file(fd, &identity), 0);
	for (size_t i = 0; i < nr; i++)
		some.addresses[i] -= identity.load_offset;
	return symbols_of_some(name, debug, &some);
}

static void assert_function(const char *fixture, const char *debug, const char *judge,
			    const char *function)
{
	__cleanup(elf_functions_freep) struct elf_functions *functions = NULL;
	uint64_t addr, size;

	assert_true(nm_find(judge, function, &addr, &size));
	functions = symbols_at(fixture, debug, addr, size + 1);
	for (uint64_t at = addr; at < addr + size; at++) {
		assert_string_equal(name_at(functions, at), function);
		assert_int_equal(elf_functions_find(functions, at)->start, addr);
	}
	assert_true(!name_at(functions, addr + size) ||
		    strcmp(name_at(functions, addr + size), function));
}

TEST(test_where_symbols_are)
{
	static const struct {
		const char *file, *debug;
		const char *judge; /* an ELF file with the same addresses that nm can read */
	} cases[] = {
		{ "plain", NULL, "plain" },   { "lean", NULL, "lean" },
		{ "static", NULL, "static" }, { "fixed", NULL, "fixed" },
		{ "mini", NULL, "lean" },     { "stripped", "stripped.debug", "lean" },
		{ "lean", "plain", "lean" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		/* Its aliases are weak, or less plain. */
		assert_function(cases[i].file, cases[i].debug, cases[i].judge, "main");
		assert_function(cases[i].file, cases[i].debug, cases[i].judge, "sample_public");
		assert_function(cases[i].file, cases[i].debug, cases[i].judge, "sample_hidden");
	}
}

TEST(test_stripped)
{
	__cleanup(elf_functions_freep) struct elf_functions *alone = symbols_of("stripped", NULL);
	/* Another build has other addresses. */
	__cleanup(elf_functions_freep) struct elf_functions *wrong =
		symbols_of("stripped", "plain");

	assert_int_equal(alone->nr, 0);
	assert_int_equal(wrong->nr, 0);
}

TEST(test_identity)
{
	__cleanup(elf_functions_freep) struct elf_functions *stripped =
		symbols_of("stripped", NULL);
	__cleanup(elf_functions_freep) struct elf_functions *lean = symbols_of("lean", NULL);
	const struct elf_identity *identity = &stripped->identity;

	assert_int_equal(identity->nr_build_id, 20);
	assert_memory_equal(identity->build_id, lean->identity.build_id, 20);
	assert_string_equal(identity->debuglink, "stripped.debug");
	assert_all(!identity->has_symtab, lean->identity.has_symtab);
	assert_string_equal(lean->identity.debuglink, "");
}

#ifdef __x86_64__
TEST(test_unsized)
{
	__cleanup(elf_functions_freep) struct elf_functions *symbols = symbols_of("frames", NULL);
	uint64_t addr, size;

	assert_true(nm_find("frames", "without_rule", &addr, &size));
	assert_string_equal(name_at(symbols, addr + size - 1), "without_rule");
	/* Nobody says whose the padding is. */
	assert_all(!name_at(symbols, addr + size), nm_find("frames", "far_function", &addr, &size));
	/* unsized_last ends with its section, 64 bytes before. */
	assert_all(!name_at(symbols, addr - 1), !name_at(symbols, addr - 64));
	assert_string_equal(name_at(symbols, addr - 65), "unsized_last");
	assert_string_equal(name_at(symbols, addr - 66), "unsized_last");
	assert_string_equal(name_at(symbols, addr - 67), "unsized_first");
	/* Nor do they take anything from one that says it. */
	assert_function("frames", NULL, "frames", "with_label");
}
#endif

static bool has_name(const struct elf_functions *functions, const char *name)
{
	for (size_t i = 0; i < functions->nr; i++) {
		if (!strcmp(elf_function_name(functions, &functions->list[i], 0), name))
			return true;
	}
	return false;
}

TEST(test_names_are_untouched)
{
	__cleanup(elf_functions_freep) struct elf_functions *lean = symbols_of("lean", NULL);
	__cleanup(elf_functions_freep) struct elf_functions *cxx = symbols_of("cxx", NULL);

	assert_all(has_name(lean, "\033[31mred\nname"),
		   has_name(cxx, "shop::Basket<double>::total"));
}

/* --- demangling ------------------------------------------------------------------------------- */

TEST(test_demangle)
{
	static const struct text_pair cases[] = {
		{ "main", NULL },
		{ "_Z", NULL },
		{ "_Zwhatever", NULL },
		{ "_Rwhatever", NULL },
		{ "", NULL },
		{ "_ZN4shop6BasketIdE5totalEdi", "shop::Basket<double>::total" },
		{ "_ZNK3foo3barEv", "foo::bar" },
		{ "_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write" },
		{ "_ZN31_$LT$T$u20$as$u20$core..Any$GT$7type_id17h0123456789abcdefE",
		  "<T as core::Any>::type_id" },
		{ "_RNvC6_123foo3bar", "123foo::bar" },
	};
	char buf[DEMANGLED_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool demangled = symbol_demangle(cases[i].given, buf);

		assert_int_equal(demangled, cases[i].expected != NULL);
		if (demangled)
			assert_string_equal(buf, cases[i].expected);
	}
}

/* Each pair names the one before it twice: 2^40 words. */
TEST(test_demangle_bomb)
{
	static const char pairs[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[1024] = "_Z1f1gIiiES_IS0_S0_E", buf[DEMANGLED_SIZE];

	for (size_t i = 1; pairs[i]; i++) {
		char *end = name + strlen(name);

		snprintf(end, name + sizeof(name) - end, "S_IS%c_S%c_E", pairs[i], pairs[i]);
	}
	if (symbol_demangle(name, buf))
		assert_true(strlen(buf) < DEMANGLED_SIZE);
}

/* --- of some addresses ------------------------------------------------------------------------- */

/* A question about some addresses gets the same answers as one about all, and no others. */
TEST(test_some_as_all)
{
	static const struct text_pair files[] = {
		{ "plain", NULL },  { "lean", NULL }, { "fixed", NULL },
		{ "mini", NULL },   { "cxx", NULL },  { "stripped", "stripped.debug" },
#ifdef __x86_64__
		{ "frames", NULL }, { "i386", NULL },
#endif
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		__cleanup(elf_functions_freep) struct elf_functions *all =
			symbols_of(files[i].given, files[i].expected);
		uint64_t load_offset = all->identity.load_offset;

		assert_true(all->nr > 0);
		for (uint64_t at = 0; at < ALL_BYTES; at += 97) {
			__cleanup(elf_functions_freep) struct elf_functions *one =
				symbols_at(files[i].given, files[i].expected, load_offset + at, 1);
			const char *name = name_at(all, load_offset + at);

			assert_has(one, nr, name != NULL, debug, all->debug);
			if (!name)
				continue;
			assert_string_equal(name_at(one, load_offset + at), name);
			assert_int_equal(one->list[0].start,
					 elf_functions_find(all, load_offset + at)->start);
		}
	}
}

TEST(test_none_are_asked)
{
	int fd __cleanup(closep) = fixture_open("plain");
	__cleanup(elf_functions_freep) struct elf_functions *none = NULL, *far = NULL;
	uint64_t beyond[] = { UINT64_MAX - 1, UINT64_MAX };
	const struct elf_addresses no_offsets = { NULL, 0 }, far_offsets = { beyond, 2 };

	assert_int_equal(elf_symbols_read(fd, NULL, &no_offsets, &none), 0);
	assert_int_equal(none->nr, 0);
	assert_true(none->identity.has_symtab);
	assert_int_equal(elf_symbols_read(fd, NULL, &far_offsets, &far), 0);
	assert_int_equal(far->nr, 0);
}

/* --- perf maps -------------------------------------------------------------------------------- */

struct address_name {
	uint64_t address;
	const char *name; /* NULL: none */
};

/* Returns what a perf map says of addresses, and of nothing else; the caller frees it. */
static struct elf_functions *map_check(int fd, const struct address_name *cases, size_t nr)
{
	struct elf_functions *functions = NULL;
	uint64_t list[16];
	const struct elf_addresses addresses = { list, nr };

	for (size_t i = 0; i < nr; i++)
		list[i] = cases[i].address;
	assert_int_equal(perf_map_read(fd, &addresses, &functions), 0);
	for (size_t i = 0; i < nr; i++) {
		const char *name = name_at(functions, cases[i].address);

		assert_int_equal(name != NULL, cases[i].name != NULL);
		if (name)
			assert_string_equal(name, cases[i].name);
	}
	return functions;
}

TEST(test_perf_map)
{
	static const char text[] = "7f0000001000 100 LazyCompile:*run /app.js:3\n"
				   "0x7f0000002000 0x40 Function::call\n"
				   "7f0000001080 10 later\n"
				   "nonsense\n"
				   "\n"
				   "7f0000003000 0 empty\n"
				   "7f0000003000 10\n"
				   "7f0000003000 10 \n"
				   "-1 10 negative\n"
				   "11112222333344445 10 too long\n"
				   "fffffffffffffff0 100 wraps\n"
				   "7F0000004000 8 \033[2Jodd\n"
				   "7f0000005000 10 unfinished";
	static const struct address_name cases[] = {
		{ 0x7f0000001000, "LazyCompile:*run /app.js:3" },
		{ 0x7f0000001080, "later" },
		{ 0x7f000000108f, "later" },
		{ 0x7f0000001090, "LazyCompile:*run /app.js:3" },
		{ 0x7f0000001100, NULL },
		{ 0x7f000000203f, "Function::call" },
		{ 0x7f0000003000, NULL },
		{ 0x7f0000004007, "\033[2Jodd" },
		{ 0x7f0000005000, NULL },
		{ 0xfffffffffffffff1, NULL },
	};
	int fd __cleanup(closep) = memory_file(text, sizeof(text) - 1);
	__cleanup(elf_functions_freep) struct elf_functions *functions =
		map_check(fd, cases, ARRAY_SIZE(cases));

	assert_int_equal(functions->map_bytes, lseek(fd, 0, SEEK_END));
	assert_int_equal(elf_functions_find(functions, 0x7f0000001090)->start, 0x7f0000001000);
}

/* The last line that has an address names it. */
TEST(test_lines_that_overlap)
{
	static const char text[] = "1000 100 outer\n"
				   "1080 10 inner\n"
				   "2000 10 other\n"
				   "1040 2 inner\n";
	static const struct address_name cases[] = {
		{ 0xfff, NULL },     { 0x1000, "outer" }, { 0x1041, "inner" }, { 0x1042, "outer" },
		{ 0x1080, "inner" }, { 0x108f, "inner" }, { 0x1090, "outer" }, { 0x10ff, "outer" },
		{ 0x1100, NULL },    { 0x200f, "other" },
	};
	int fd __cleanup(closep) = memory_file(text, sizeof(text) - 1);
	__cleanup(elf_functions_freep) struct elf_functions *functions =
		map_check(fd, cases, ARRAY_SIZE(cases));

	assert_null(name_at(functions, 0x1001));
}

/* --- inlined functions --------------------------------------------------------------------------- */

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

/* The functions at one address: all but the last were inlined. Outside of any it has "??". */
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
	char list[TEMPORARY_SIZE], line[512];
	FILE *addresses, *said;

	temporary_name(list);
	addresses = fdopen(mkstemp(list), "w");
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

TEST(test_has_dwarf)
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
