/* SPDX-License-Identifier: BSD-2-Clause */
/* Symbols: where each fixture has them, whom an address belongs to, and what names look like. */
#include "elf_fixture.h"

#include "elf/demangle.h"
#include "elf/perf_map.h"
#include "elf/spans.h"
#include "elf/symbols_private.h"

static struct elf_symbols *symbols_of(const char *name, const char *debug)
{
	int fd __cleanup(closep) = fixture_open(name);
	int debug_fd __cleanup(closep) = debug ? fixture_open(debug) : -1;
	const struct debug_files files = debug_file(debug_fd);
	struct elf_symbols *symbols = NULL;

	assert_int_equal(elf_symbols_read(fd, &files, NULL, &symbols), 0);
	return symbols;
}

static const char *name_at(const struct elf_symbols *symbols, uint64_t addr)
{
	struct elf_symbol symbol;

	return elf_symbols_find(symbols, addr, &symbol) ? symbol.name : NULL;
}

/* As nm says: where a function is and how long; false: there is none. */
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

static void assert_function(const struct elf_symbols *symbols, const char *fixture,
			    const char *function)
{
	struct elf_symbol symbol;
	uint64_t addr, size;

	assert_true(nm_find(fixture, function, &addr, &size));
	for (uint64_t at = addr; at < addr + size; at++) {
		assert_true(elf_symbols_find(symbols, at, &symbol));
		assert_string_equal(symbol.name, function);
		assert_int_equal(symbol.addr, addr);
	}
	assert_true(!elf_symbols_find(symbols, addr + size, &symbol) ||
		    strcmp(symbol.name, function));
}

static void test_where_symbols_are(void **state)
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

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__cleanup(elf_symbols_freep) struct elf_symbols *symbols =
			symbols_of(cases[i].file, cases[i].debug);

		assert_function(symbols, cases[i].judge, "main");
		/* Its aliases are weak, or less plain. */
		assert_function(symbols, cases[i].judge, "sample_public");
		assert_function(symbols, cases[i].judge, "sample_hidden");
	}
}

static void test_stripped(void **state)
{
	__cleanup(elf_symbols_freep) struct elf_symbols *alone = symbols_of("stripped", NULL);
	/* Another build has other addresses. */
	__cleanup(elf_symbols_freep) struct elf_symbols *wrong = symbols_of("stripped", "plain");

	(void)state;
	assert_int_equal(elf_symbols_count(alone), 0);
	assert_int_equal(elf_symbols_count(wrong), 0);
}

static void test_identity(void **state)
{
	__cleanup(elf_symbols_freep) struct elf_symbols *stripped = symbols_of("stripped", NULL);
	__cleanup(elf_symbols_freep) struct elf_symbols *lean = symbols_of("lean", NULL);
	const struct elf_identity *identity = elf_symbols_identity(stripped);

	(void)state;
	assert_int_equal(identity->nr_build_id, 20);
	assert_memory_equal(identity->build_id, elf_symbols_identity(lean)->build_id, 20);
	assert_string_equal(identity->debuglink, "stripped.debug");
	assert_false(identity->has_symtab);
	assert_true(elf_symbols_identity(lean)->has_symtab);
	assert_string_equal(elf_symbols_identity(lean)->debuglink, "");
}

#ifdef __x86_64__
static void test_unsized(void **state)
{
	__cleanup(elf_symbols_freep) struct elf_symbols *symbols = symbols_of("frames", NULL);
	uint64_t addr, size;

	(void)state;
	assert_true(nm_find("frames", "without_rule", &addr, &size));
	assert_string_equal(name_at(symbols, addr + size - 1), "without_rule");
	/* Nobody says whose the padding is. */
	assert_null(name_at(symbols, addr + size));
	assert_true(nm_find("frames", "far_function", &addr, &size));
	/* unsized_last ends with its section, 64 bytes before. */
	assert_null(name_at(symbols, addr - 1));
	assert_null(name_at(symbols, addr - 64));
	assert_string_equal(name_at(symbols, addr - 65), "unsized_last");
	assert_string_equal(name_at(symbols, addr - 66), "unsized_last");
	assert_string_equal(name_at(symbols, addr - 67), "unsized_first");
	/* Nor do they take anything from one that says it. */
	assert_function(symbols, "frames", "with_label");
}
#endif

static bool has_name(const struct elf_symbols *symbols, const char *name, uint64_t start)
{
	for (uint64_t at = start; at < start + 65536; at++) {
		const char *found = name_at(symbols, at);

		if (found && !strcmp(found, name))
			return true;
	}
	return false;
}

static void test_names_are_untouched(void **state)
{
	__cleanup(elf_symbols_freep) struct elf_symbols *lean = symbols_of("lean", NULL);
	__cleanup(elf_symbols_freep) struct elf_symbols *cxx = symbols_of("cxx", NULL);

	(void)state;
	assert_true(has_name(lean, "\033[31mred\nname", 0));
	assert_true(has_name(cxx, "shop::Basket<double>::total", 0));
}

/* --- demangling ------------------------------------------------------------------------------- */

static void test_demangle(void **state)
{
	static const struct {
		const char *name, *demangled;
	} cases[] = {
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

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool demangled = symbol_demangle(cases[i].name, buf);

		assert_int_equal(demangled, cases[i].demangled != NULL);
		if (demangled)
			assert_string_equal(buf, cases[i].demangled);
	}
}

/* Each pair names the one before it twice: 2^40 words. */
static void test_demangle_bomb(void **state)
{
	static const char pairs[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[1024] = "_Z1f1gIiiES_IS0_S0_E", buf[DEMANGLED_SIZE];

	(void)state;
	for (size_t i = 1; pairs[i]; i++) {
		char *end = name + strlen(name);

		snprintf(end, name + sizeof(name) - end, "S_IS%c_S%c_E", pairs[i], pairs[i]);
	}
	if (symbol_demangle(name, buf))
		assert_true(strlen(buf) < DEMANGLED_SIZE);
}

/* --- overlaps --------------------------------------------------------------------------------- */

/* Against the obvious: who claims last, address by address. */
static void test_spans(void **state)
{
	uint64_t seed = 5;

	(void)state;
	for (int round = 0; round < 300; round++) {
		size_t nr = random_below(&seed, 12), nr_spans, at = 0;
		__cleanup(freep) struct span *spans = NULL;
		struct claim claims[12];

		for (size_t i = 0; i < nr; i++) {
			claims[i].start = random_below(&seed, 40);
			claims[i].end = claims[i].start + 1 + random_below(&seed, 15);
		}
		assert_int_equal(spans_make(claims, nr, &spans, &nr_spans), 0);
		for (uint64_t addr = 0; addr < 60; addr++) {
			size_t owner = nr;

			for (size_t i = 0; i < nr; i++) {
				if (claims[i].start <= addr && addr < claims[i].end)
					owner = i;
			}
			while (at < nr_spans && spans[at].end <= addr)
				at++;
			if (owner == nr) {
				assert_true(at == nr_spans || spans[at].start > addr);
			} else {
				assert_true(at < nr_spans && spans[at].start <= addr);
				assert_int_equal(spans[at].owner, owner);
			}
		}
	}
}

/* --- of some addresses ------------------------------------------------------------------------- */

/* Whoever is asked about some addresses says of them what he would say of all, and nothing else. */
static void assert_some_as_all(int fd, const struct debug_files *debug, uint64_t first,
			       uint64_t last, uint64_t step)
{
	__cleanup(elf_symbols_freep) struct elf_symbols *all = NULL, *some = NULL;
	__cleanup(freep) uint64_t *list = calloc((last - first) / step + 1, sizeof(*list));
	struct elf_addresses offsets = { list, 0 };
	struct elf_symbol x, y;
	uint64_t load_offset;
	size_t found = 0;

	assert_int_equal(elf_symbols_read(fd, debug, NULL, &all), 0);
	load_offset = elf_symbols_load_offset(all);
	for (uint64_t at = first; at < last; at += step)
		list[offsets.nr++] = at - load_offset;
	assert_int_equal(elf_symbols_read(fd, debug, &offsets, &some), 0);
	assert_int_equal(elf_symbols_load_offset(some), load_offset);
	assert_int_equal(elf_symbols_debug_file(some), elf_symbols_debug_file(all));
	for (uint64_t at = first; at < last; at++) {
		bool is_asked = !((at - first) % step), is = elf_symbols_find(all, at, &x);

		assert_int_equal(elf_symbols_find(some, at, &y), is && is_asked);
		if (!is || !is_asked)
			continue;
		assert_string_equal(x.name, y.name);
		assert_int_equal(x.addr, y.addr);
		found++;
	}
	assert_true(found > 0);
	assert_true(elf_symbols_count(some) == found);
}

static void test_some_as_all(void **state)
{
	static const struct {
		const char *name, *debug;
	} files[] = {
		{ "plain", NULL },  { "lean", NULL }, { "fixed", NULL },
		{ "mini", NULL },   { "cxx", NULL },  { "stripped", "stripped.debug" },
#ifdef __x86_64__
		{ "frames", NULL }, { "i386", NULL },
#endif
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		int fd __cleanup(closep) = fixture_open(files[i].name);
		int debug_fd __cleanup(closep) = files[i].debug ? fixture_open(files[i].debug) : -1;
		const struct debug_files debug = debug_file(debug_fd);
		__cleanup(elf_symbols_freep) struct elf_symbols *all = NULL;
		uint64_t first, last;

		assert_int_equal(elf_symbols_read(fd, &debug, NULL, &all), 0);
		first = all->ranges[0].start;
		last = all->ranges[all->nr - 1].end + 16;
		if (last - first > 1 << 20)
			last = first + (1 << 20);
		assert_some_as_all(fd, &debug, first, last, 1);
		assert_some_as_all(fd, &debug, first, last, 7);
		assert_some_as_all(fd, &debug, all->ranges[all->nr - 1].start, last, 1000);
	}
}

static void test_none_are_asked(void **state)
{
	int fd __cleanup(closep) = fixture_open("plain");
	__cleanup(elf_symbols_freep) struct elf_symbols *none = NULL, *far = NULL;
	uint64_t beyond[] = { UINT64_MAX - 1, UINT64_MAX };
	const struct elf_addresses no_offsets = { NULL, 0 }, far_offsets = { beyond, 2 };

	(void)state;
	assert_int_equal(elf_symbols_read(fd, NULL, &no_offsets, &none), 0);
	assert_int_equal(elf_symbols_count(none), 0);
	assert_true(elf_symbols_identity(none)->has_symtab);
	assert_int_equal(elf_symbols_read(fd, NULL, &far_offsets, &far), 0);
	assert_int_equal(elf_symbols_count(far), 0);
}

/* --- perf maps -------------------------------------------------------------------------------- */

static void test_perf_map(void **state)
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
	int fd __cleanup(closep) = memory_file(text, sizeof(text) - 1);
	__cleanup(elf_symbols_freep) struct elf_symbols *symbols = NULL;
	struct elf_symbol symbol;

	(void)state;
	assert_int_equal(perf_map_read(fd, NULL, &symbols), 0);
	assert_string_equal(name_at(symbols, 0x7f0000001000), "LazyCompile:*run /app.js:3");
	assert_string_equal(name_at(symbols, 0x7f0000001080), "later");
	assert_string_equal(name_at(symbols, 0x7f000000108f), "later");
	assert_true(elf_symbols_find(symbols, 0x7f0000001090, &symbol));
	assert_string_equal(symbol.name, "LazyCompile:*run /app.js:3");
	assert_int_equal(symbol.addr, 0x7f0000001000);
	assert_null(name_at(symbols, 0x7f0000001100));
	assert_string_equal(name_at(symbols, 0x7f000000203f), "Function::call");
	assert_null(name_at(symbols, 0x7f0000003000));
	assert_string_equal(name_at(symbols, 0x7f0000004007), "\033[2Jodd");
	assert_null(name_at(symbols, 0x7f0000005000));
	assert_int_equal(elf_symbols_count(symbols), 5);
}

/* The last line that has an address names it. */
static void test_perf_map_of_some(void **state)
{
	static const char text[] = "1000 100 outer\n"
				   "1080 10 inner\n"
				   "2000 10 other\n"
				   "1040 2 inner\n";
	int fd __cleanup(closep) = memory_file(text, sizeof(text) - 1);
	__cleanup(elf_symbols_freep) struct elf_symbols *all = NULL, *some = NULL;
	uint64_t list[] = { 0xfff,  0x1000, 0x1041, 0x1042, 0x1080,
			    0x108f, 0x1090, 0x10ff, 0x1100, 0x200f };
	const struct elf_addresses addresses = { list, ARRAY_SIZE(list) };

	(void)state;
	assert_int_equal(perf_map_read(fd, NULL, &all), 0);
	assert_int_equal(perf_map_read(fd, &addresses, &some), 0);
	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		const char *expected = name_at(all, list[i]), *name = name_at(some, list[i]);

		assert_int_equal(name != NULL, expected != NULL);
		if (name)
			assert_string_equal(name, expected);
	}
	assert_null(name_at(some, 0x1001));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_where_symbols_are),
		cmocka_unit_test(test_stripped),
		cmocka_unit_test(test_identity),
#ifdef __x86_64__
		cmocka_unit_test(test_unsized),
#endif
		cmocka_unit_test(test_names_are_untouched),
		cmocka_unit_test(test_demangle),
		cmocka_unit_test(test_demangle_bomb),
		cmocka_unit_test(test_spans),
		cmocka_unit_test(test_some_as_all),
		cmocka_unit_test(test_none_are_asked),
		cmocka_unit_test(test_perf_map),
		cmocka_unit_test(test_perf_map_of_some),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
