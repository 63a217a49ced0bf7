/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of code of no file, and of code of which only its address in a process is known. */
#include "names_fixture.h"

/* --- code of no file -------------------------------------------------------------------------- */

static struct process_id own_id(void)
{
	FILE *stat __cleanup(fclosep) = fopen("/proc/self/stat", "re");
	struct process_id id = { .pid = (uint32_t)getpid() };
	unsigned long long started, stack;
	char text[1024];

	text[fread(text, 1, sizeof(text) - 1, stat)] = 0;
	assert_int_equal(sscanf(strrchr(text, ')'),
				") %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
				"%*s %*s %*s %llu %*s %*s %*s %*s %*s %llu",
				&started, &stack),
			 2);
	id.started_ns = started * (NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
	id.stack_start = stack;
	return id;
}

static const char *map_path(void)
{
	static char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	return path;
}

/* It has to be there, and no signal is to leave it behind. */
static void map_remove(int signal __attribute__((unused)))
{
	unlink(map_path());
	_exit(1);
}

static void write_map(const char *mode, const char *format, ...)
{
	va_list arguments;
	FILE *file __cleanup(fclosep) = fopen(map_path(), mode);

	assert_non_null(file);
	signal(SIGINT, map_remove);
	signal(SIGTERM, map_remove);
	va_start(arguments, format);
	vfprintf(file, format, arguments);
	va_end(arguments);
}

SERVICE_TEST(test_jit, 0, NULL)
{
	const struct process_id self = own_id();
	struct process_id other = self;
	char *code = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t frames[] = { FRAME_RAW | FRAME_OF_NO_FILE | ((uintptr_t)code + 0x20),
			      FRAME_RAW | 0x10 };
	const struct stack *stack, *later, *of_other;

	other.started_ns += NS_PER_SEC;
	write_map("w", "%lx 100 first\n", (unsigned long)(uintptr_t)code);
	stack = add_of(s, &self, frames, 2);
	assert_frame(&stack->frames[0], NULL, NULL, (uintptr_t)code + 0x20);
	settle(s);
	assert_frame(&stack->frames[0], "[jit]", "first", 0x20);
	assert_frame(&stack->frames[1], NULL, NULL, 0x10);
	/* The map grows, and so does what is known. */
	write_map("a", "%lx 100 second\n", (unsigned long)(uintptr_t)code + 0x100);
	frames[0] += 0x100;
	later = add_of(s, &self, frames, 1);
	of_other = add_of(s, &other, frames, 1);
	settle(s);
	assert_frame(&later->frames[0], "[jit]", "second", 0x20);
	/* A pid that is another process's by now names nothing. */
	assert_frame(&of_other->frames[0], NULL, NULL, (uintptr_t)code + 0x120);
	/* Places of a process are gone with their stacks; the names stay in the table, and are counted. */
	assert_int_equal(counts_of(s).places, 0);
	assert_true(counts_of(s).bytes >= strlen("first") + strlen("second") + strlen("[jit]"));
	unlink(map_path());
	munmap(code, 8192);
}

/* The next reading has the names that a JIT adds after this one. */
SERVICE_TEST(test_jit_that_speaks_later, 0, NULL)
{
	const struct process_id self = own_id();
	char *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long at = (unsigned long)(uintptr_t)code;
	uint64_t frames[] = { FRAME_RAW | FRAME_OF_NO_FILE | (at + 0x20),
			      FRAME_RAW | FRAME_OF_NO_FILE | (at + 0x120) };
	const struct stack *stack = add_of(s, &self, frames, 2);

	settle(s);
	assert_frame(&stack->frames[0], NULL, NULL, at + 0x20);
	write_map("w", "%lx 100 first\n", at);
	settle(s);
	assert_frame(&stack->frames[0], "[jit]", "first", 0x20);
	assert_frame(&stack->frames[1], NULL, NULL, at + 0x120);
	/* It has nothing new to say. */
	settle(s);
	assert_frame(&stack->frames[1], NULL, NULL, at + 0x120);
	assert_counts(s, waiting, 0, failed, 0, places, 2);
	write_map("a", "%lx 100 second\n", at + 0x100);
	settle(s);
	assert_frame(&stack->frames[1], "[jit]", "second", 0x20);
	assert_counts(s, waiting, 0, failed, 0, places, 0);
	unlink(map_path());
	munmap(code, 4096);
}

static uint32_t own_exec_pages(void)
{
	FILE *maps __cleanup(fclosep) = fopen("/proc/self/maps", "re");
	struct code_mapping mapping;
	uint64_t pages = 0;

	while (process_maps_next(maps, &mapping, NULL)) {
		if (mapping.exec && !mapping.write && mapping.start < 1ULL << 63)
			pages += (mapping.end - mapping.start) / 4096;
	}
	return (uint32_t)pages;
}

/* Code of a file that no table tells of is named by the file. */
SERVICE_TEST(test_raw_address_in_a_file, 0, "plain")
{
	const struct process_id self = own_id();
	int fd __cleanup(closep) = fixture_open("plain");
	uint64_t offset = offset_of("plain", NULL, "main"), page = offset & ~4095ULL;
	char *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, (off_t)page);
	uint64_t frame = FRAME_RAW | ((uintptr_t)code + offset - page + 3);
	const struct stack *stack;

	assert_true(code != MAP_FAILED);
	s->files.found = 2;
	s->layout = s->files.layout = 7;
	s->exec_pages = own_exec_pages();
	stack = add_of(s, &self, &frame, 1);
	settle(s);
	assert_frame(&stack->frames[0], "plain", "main", 3);
	munmap(code, 4096);
}

/* A mapping of now gives no name to one of the time when the stack was taken. */
SERVICE_TEST(test_raw_address_of_what_was_mapped_before, 0, "plain", "lean")
{
	const struct process_id self = own_id();
	int plain __cleanup(closep) = fixture_open("plain"), lean __cleanup(closep) = -1;
	uint64_t offset = offset_of("plain", NULL, "main"), page = offset & ~4095ULL;
	uint64_t other = offset_of("lean", NULL, "main");
	char *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, plain, (off_t)page);
	uint64_t frame = FRAME_RAW | ((uintptr_t)code + offset - page + 3);
	const struct stack *first, *early, *late, *after;

	lean = fixture_open("lean");
	s->exec_pages = own_exec_pages();
	s->files.found = 2;
	s->layout = s->files.layout = 7;
	first = add_of(s, &self, &frame, 1);
	settle(s);
	/* Another file takes its place; a stack from before comes late, and one from after early. */
	assert_ptr_equal(mmap(code, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, lean,
			      (off_t)(other & ~4095ULL)),
			 code);
	s->files.found = 3;
	s->layout = 8;
	early = add_of(s, &self, &frame, 1);
	settle(s);
	s->files.layout = 9;
	late = add_of(s, &self, &frame, 1);
	s->layout = 9;
	frame = FRAME_RAW | ((uintptr_t)code + (other & 4095) + 2);
	after = add_of(s, &self, &frame, 1);
	settle(s);
	assert_frame(&first->frames[0], "plain", "main", 3);
	assert_frame(&after->frames[0], "lean", "main", 2);
	assert_all(!early->frames[0].symbol, !early->frames[0].module, !late->frames[0].symbol,
		   !late->frames[0].module);
	munmap(code, 4096);
}

/* Nor when the layout is the same, as whoever shares the memory may have mapped it. */
SERVICE_TEST(test_raw_address_with_other_code_around, 0, "plain")
{
	const struct process_id self = own_id();
	int fd __cleanup(closep) = fixture_open("plain");
	char *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	uint64_t frame = FRAME_RAW | ((uintptr_t)code + 3);
	const struct stack *stack, *unknown;

	s->files.found = 2;
	s->layout = s->files.layout = 7;
	s->exec_pages = own_exec_pages() + 1;
	stack = add_of(s, &self, &frame, 1);
	settle(s);
	s->exec_pages--;
	s->layout = s->files.layout = 0;
	unknown = add_of(s, &self, &frame, 1);
	settle(s);
	assert_all(!stack->frames[0].module, !unknown->frames[0].module);
	munmap(code, 4096);
}

/* The mappings of a process are asked for where nobody waits for the answer. */
SERVICE_TEST(test_mappings_that_do_not_come, 0, "plain")
{
	const struct process_id self = own_id();
	uint64_t frame = FRAME_RAW | 0x1000;
	const struct stack *stack, *other;

	s->files.hang = true;
	s->layout = 7;
	stack = add_of(s, &self, &frame, 1);
	other = add_one(s, frame_of(2, offset_of("plain", NULL, "main") + 1));
	names_begin(s->names);
	while (!other->frames[0].symbol)
		wait_and_go_on(s);
	assert_frame(&stack->frames[0], NULL, NULL, 0x1000);
	assert_false(names_are_done(s->names));
}

/* A map that is too large names nothing, and is not read for it. */
SERVICE_TEST(test_a_large_map, 0, NULL)
{
	const struct process_id self = own_id();
	char *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t frame = FRAME_RAW | FRAME_OF_NO_FILE | ((uintptr_t)code + 0x20);
	const struct stack *stack;

	write_map("w", "%lx 100 first\n", (unsigned long)(uintptr_t)code);
	assert_int_equal(truncate(map_path(), MAX_PERF_MAP_BYTES + 1), 0);
	stack = add_of(s, &self, &frame, 1);
	settle(s);
	unlink(map_path());
	assert_frame(&stack->frames[0], NULL, NULL, (uintptr_t)code + 0x20);
	assert_int_equal(counts_of(s).failed, 1);
	munmap(code, 4096);
}
