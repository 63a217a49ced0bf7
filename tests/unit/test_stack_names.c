/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of stacks: they come while nobody waits. This program is its own worker. */
#include "elf_fixture.h"

#include <glob.h>
#include <poll.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "elf/elf_handle.h"
#include "elf/perf_map.h"
#include "elf/symbols.h"
#include "elf/worker_private.h"
#include "stacks/names_private.h"

/* --- a source of files ------------------------------------------------------------------------ */

#define NR_FILES 8

struct files {
	const char *fixtures[NR_FILES]; /* by number; NULL: nobody has it */
	const char *root;               /* where debug files are; NULL: nowhere */
	uint32_t found;                 /* what a process has mapped */
	unsigned int opened;
};

/* Files that make a worker play a part, as this program is its own. */
static const char *const parts[] = { "crash", "idle" };

static bool is_part(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (!strcmp(name, parts[i]))
			return true;
	}
	return false;
}

static int file_open(const char *name)
{
	return is_part(name) ? memory_file(name, strlen(name) + 1) : fixture_open(name);
}

static void worker_play(void)
{
	char name[8] = "";

	if (pread(WORKER_FD_FILE, name, sizeof(name) - 1, 0) <= 0)
		return;
	if (!strcmp(name, "crash"))
		abort();
	while (!strcmp(name, "idle"))
		pause();
}

static int files_open(void *closure, uint32_t file, const struct process_id *process,
		      struct opened_code *ret)
{
	struct files *files = closure;

	(void)process;
	files->opened++;
	if (file >= NR_FILES || !files->fixtures[file])
		return -ESRCH;
	*ret = (struct opened_code){
		.fd = file_open(files->fixtures[file]),
		.root = files->root ? open(files->root, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1,
		.path = strdup("/app/stripped"),
		.owner = getuid(),
	};
	return 0;
}

static uint32_t files_find(void *closure, int process, const struct code_mapping *mapping)
{
	(void)process;
	assert_true(mapping->exec && mapping->ino);
	return ((struct files *)closure)->found;
}

static const char *files_module(void *closure, uint32_t file)
{
	const struct files *files = closure;

	return file < NR_FILES ? files->fixtures[file] ?: "gone" : NULL;
}

static uint64_t files_address(void *closure, uint32_t file, uint64_t offset)
{
	(void)closure;
	(void)file;
	return offset;
}

/* --- a service -------------------------------------------------------------------------------- */

struct service {
	struct files files;
	struct stack_table *table;
	struct names *names;
	uint64_t last_id;
};

static void service_open(struct service *s, const struct names_options *options)
{
	const struct code_source source = {
		&s->files, files_open, files_find, files_module, files_address,
	};

	assert_int_equal(stack_table_new(&s->table), 0);
	assert_int_equal(names_new(&source, options, s->table, &s->names), 0);
}

static void service_done(struct service *s)
{
	names_free(s->names);
	stack_table_free(s->table);
}

#define SERVICE(...)                                                \
	{                                                           \
		.files = {.fixtures = { NULL, NULL, __VA_ARGS__ } } \
	}

static uint64_t frame_of(uint32_t file, uint64_t offset)
{
	return (uint64_t)file << FRAME_FILE_SHIFT | offset;
}

static const struct stack *add_of(struct service *s, const struct process_id *process,
				  const uint64_t *frames, size_t nr)
{
	struct stack_event event = { .id = ++s->last_id, .nr_frames = (uint16_t)nr };

	event.process = *process;
	memcpy(event.frames, frames, nr * sizeof(*frames));
	assert_int_equal(names_add_stack(s->names, &event), 0);
	return stack_table_find(s->table, event.id);
}

static const struct stack *add(struct service *s, const uint64_t *frames, size_t nr)
{
	const struct process_id nobody = { .pid = 0 };

	return add_of(s, &nobody, frames, nr);
}

static const struct stack *add_one(struct service *s, uint64_t frame)
{
	return add(s, &frame, 1);
}

/* All that can be known is known then. */
static void settle(struct service *s)
{
	names_begin(s->names);
	for (;;) {
		struct pollfd pollfd = { .fd = names_fd(s->names), .events = POLLIN };

		assert_int_equal(names_run(s->names), 0);
		if (names_are_done(s->names))
			return;
		assert_true(poll(&pollfd, 1, names_patience_ms(s->names)) >= 0);
	}
}

static struct names_counts counts_of(const struct service *s)
{
	struct names_counts counts;

	names_count(s->names, &counts);
	return counts;
}

/* Where a function is, as an offset in its file. */
static uint64_t offset_of(const char *fixture, const char *debug, const char *function)
{
	int fd __cleanup(closep) = fixture_open(fixture);
	int debug_fd __cleanup(closep) = debug ? fixture_open(debug) : -1;
	const struct debug_files files = debug_file(debug_fd);
	__cleanup(elf_symbols_freep) struct elf_symbols *symbols = NULL;
	struct elf_symbol symbol;

	assert_int_equal(elf_symbols_read(fd, &files, NULL, &symbols), 0);
	for (uint64_t at = 0; at < 1 << 20; at++) {
		if (elf_symbols_find(symbols, at, &symbol) && symbol.addr == at &&
		    !strcmp(symbol.name, function))
			return at - elf_symbols_load_offset(symbols);
	}
	fail_msg("there is no %s", function);
	return 0;
}

static void assert_frame(const struct stack_frame *frame, const char *module, const char *symbol,
			 uint64_t offset)
{
	if (module)
		assert_string_equal(frame->module, module);
	else
		assert_null(frame->module);
	if (symbol)
		assert_string_equal(frame->symbol, symbol);
	else
		assert_null(frame->symbol);
	assert_int_equal(frame->offset, offset);
}

/* --- files ------------------------------------------------------------------------------------ */

static void test_names_follow(void **state)
{
	__cleanup(service_done) struct service s = SERVICE("plain", "cxx");
	uint64_t at = offset_of("plain", NULL, "main");
	const uint64_t frames[] = {
		frame_of(2, at + 5),
		frame_of(2, at) | FRAME_INTERRUPTED,
		frame_of(2, offset_of("plain", NULL, "sample_hidden") + 9),
	};
	const struct stack *stack, *next;

	(void)state;
	service_open(&s, &(struct names_options){ 0 });
	/* It is there at once, as places in a file. */
	stack = add(&s, frames, ARRAY_SIZE(frames));
	assert_int_equal(stack->nr_frames, 3);
	for (size_t i = 0; i < 3; i++)
		assert_frame(&stack->frames[i], "plain", NULL,
			     frames[i] & FRAME_OFFSET_MASK & ~FRAME_INTERRUPTED);
	/* Nothing is read before somebody asks. */
	assert_int_equal(names_run(s.names), 0);
	assert_int_equal(s.files.opened, 0);
	assert_int_equal(counts_of(&s).waiting, 3);
	names_begin(s.names);
	assert_int_equal(names_run(s.names), 0);
	assert_false(names_are_done(s.names));
	/* A worker is at it; what is shown meanwhile is what is known. */
	assert_int_equal(s.files.opened, 1);
	assert_null(stack->frames[0].symbol);
	settle(&s);
	assert_frame(&stack->frames[0], "plain", "main", 5);
	assert_frame(&stack->frames[1], "plain", "main", 0);
	assert_frame(&stack->frames[2], "plain", "sample_hidden", 9);
	assert_int_equal(counts_of(&s).waiting, 0);
	assert_int_equal(counts_of(&s).failed, 0);
	/* What is known is not asked again. */
	next = add(&s, frames, 2);
	assert_frame(&next->frames[0], "plain", "main", 5);
	assert_int_equal(s.files.opened, 1);
	assert_int_equal(counts_of(&s).places, 3);
}

static void test_names_come_at_once_where_that_is_asked(void **state)
{
	__cleanup(service_done) struct service s = SERVICE("plain");
	const struct stack *stack;

	(void)state;
	service_open(&s, &(struct names_options){ .at_once = true });
	stack = add_one(&s, frame_of(2, offset_of("plain", NULL, "main") + 1));
	while (!stack->frames[0].symbol) {
		struct pollfd pollfd = { .fd = names_fd(s.names), .events = POLLIN };

		assert_true(names_patience_ms(s.names) >= 0);
		assert_true(poll(&pollfd, 1, names_patience_ms(s.names)) >= 0);
		assert_int_equal(names_run(s.names), 0);
	}
	assert_frame(&stack->frames[0], "plain", "main", 1);
	assert_int_equal(names_patience_ms(s.names), -1);
}

static void test_what_is_no_symbol_stays_a_place(void **state)
{
	__cleanup(service_done) struct service s = SERVICE("stripped");
	uint64_t at = offset_of("stripped", "stripped.debug", "main");
	const struct stack *stack;

	(void)state;
	service_open(&s, &(struct names_options){ 0 });
	stack = add_one(&s, frame_of(2, at + 4));
	settle(&s);
	assert_null(stack->frames[0].symbol);
	assert_string_equal(stack->frames[0].module, "stripped");
	assert_int_equal(counts_of(&s).failed, 0);
	assert_int_equal(counts_of(&s).waiting, 0);
	/* It is known that nothing is known. */
	add_one(&s, frame_of(2, at + 4));
	settle(&s);
	assert_int_equal(s.files.opened, 1);
}

static void make_root(char *root, const char *fixture, const char *debug)
{
	int fd __cleanup(closep) = fixture_open(fixture);
	struct elf_identity identity;
	char command[3 * PATH_MAX], id[2 * MAX_BUILD_ID + 1] = "";

	assert_int_equal(elf_identity_of_file(fd, &identity), 0);
	for (size_t i = 1; i < identity.nr_build_id; i++)
		snprintf(&id[2 * (i - 1)], 3, "%02x", identity.build_id[i]);
	strcpy(root, "/tmp/bpftruss-test-XXXXXX");
	assert_non_null(mkdtemp(root));
	snprintf(command, sizeof(command),
		 "mkdir -p %s/usr/lib/debug/.build-id/%02x && "
		 "cp %s/%s %s/usr/lib/debug/.build-id/%02x/%s.debug",
		 root, identity.build_id[0], FIXTURES, debug, root, identity.build_id[0], id);
	assert_int_equal(system(command), 0);
}

static void remove_root(const char *root)
{
	char command[PATH_MAX];

	snprintf(command, sizeof(command), "rm -rf %s", root);
	assert_int_equal(system(command), 0);
}

static void test_debug_file(void **state)
{
	__cleanup(service_done) struct service s = SERVICE("stripped");
	char root[64];
	const struct stack *stack;

	(void)state;
	make_root(root, "stripped", "stripped.debug");
	s.files.root = root;
	service_open(&s, &(struct names_options){ 0 });
	stack = add_one(&s, frame_of(2, offset_of("stripped", "stripped.debug", "main") + 4));
	settle(&s);
	remove_root(root);
	assert_frame(&stack->frames[0], "stripped", "main", 4);
}

#define NR_FETCHED 6

/* A client that leaves a file whenever it is asked, waits until it is not alone, and has nothing. */
static void make_client(char *folder)
{
	char path[2 * PATH_MAX];
	FILE *file;

	strcpy(folder, "/tmp/bpftruss-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chmod(folder, 0777), 0);
	snprintf(path, sizeof(path), "%s/debuginfod-find", folder);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file,
		"#!/bin/sh\ncd %s\nmktemp asked-XXXXXX >/dev/null\n"
		"while [ $(ls asked-* | wc -l) -lt %d ]; do sleep 0.1; done\nsleep 0.5\nexit 1\n",
		folder, MAX_FETCHES);
	fclose(file);
	assert_int_equal(chmod(path, 0755), 0);
	snprintf(path, sizeof(path), "%s:%s", folder, getenv("PATH"));
	setenv("PATH", path, 1);
}

/* Servers are asked for each file, once, and a few at a time. */
static void test_servers_are_asked_for_each_file(void **state)
{
	__cleanup(service_done) struct service s =
		SERVICE("stripped", "stripped", "stripped", "stripped", "stripped", "stripped");
	char folder[64], pattern[80], *before = strdup(getenv("PATH"));
	glob_t found = { 0 };

	(void)state;
	make_client(folder);
	service_open(&s, &(struct names_options){ .debuginfod = true });
	for (uint32_t file = 2; file < 2 + NR_FETCHED; file++)
		add_one(&s, frame_of(file, 0x1200));
	settle(&s);
	add_one(&s, frame_of(2, 0x1300));
	settle(&s);
	snprintf(pattern, sizeof(pattern), "%s/asked-*", folder);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	assert_int_equal(found.gl_pathc, NR_FETCHED);
	assert_int_equal(counts_of(&s).waiting, 0);
	globfree(&found);
	setenv("PATH", before, 1);
	free(before);
	remove_root(folder);
}

/* The functions that were inlined stand in front. */
static void test_inlined(void **state)
{
	__cleanup(service_done) struct service s = SERVICE("inlines", "bare");
	uint64_t first = offset_of("inlines", NULL, "physical");
	const struct stack *of_file, *of_debug_file;
	size_t longest = 0;
	char root[64];

	(void)state;
	make_root(root, "bare", "bare.debug");
	s.files.root = root;
	service_open(&s, &(struct names_options){ .inlines = true });
	for (uint64_t at = first + 1; at < first + 60; at++) {
		of_file = add_one(&s, frame_of(2, at));
		of_debug_file = add_one(&s, frame_of(3, at));
	}
	settle(&s);
	remove_root(root);
	for (uint64_t id = 1; id < s.last_id; id += 2) {
		of_file = stack_table_find(s.table, id);
		of_debug_file = stack_table_find(s.table, id + 1);
		assert_int_equal(of_file->nr_frames, of_debug_file->nr_frames);
		for (size_t i = 0; i < of_file->nr_frames; i++)
			assert_frame(&of_debug_file->frames[i], "bare", of_file->frames[i].symbol,
				     of_file->frames[i].offset);
		assert_false(of_file->frames[of_file->nr_frames - 1].inlined);
		for (size_t i = 0; i + 1 < of_file->nr_frames; i++)
			assert_true(of_file->frames[i].inlined);
		if (of_file->nr_frames > longest)
			longest = of_file->nr_frames;
	}
	assert_int_equal(longest, 4);
	assert_int_equal(s.files.opened, 2);
}

static void test_a_file_that_nobody_has(void **state)
{
	__cleanup(service_done) struct service s = SERVICE(NULL);
	uint64_t frame = frame_of(2, offset_of("plain", NULL, "main") + 4);
	const struct stack *stack, *later;

	(void)state;
	service_open(&s, &(struct names_options){ 0 });
	stack = add_one(&s, frame);
	settle(&s);
	assert_frame(&stack->frames[0], "gone", NULL, frame & FRAME_OFFSET_MASK);
	assert_int_equal(counts_of(&s).failed, 1);
	/* Somebody comes who has it: then it is read. */
	s.files.fixtures[2] = "plain";
	later = add_one(&s, frame);
	settle(&s);
	assert_frame(&later->frames[0], "plain", "main", 4);
	assert_int_equal(counts_of(&s).failed, 0);
}

static void test_what_is_no_file_of_code(void **state)
{
	__cleanup(service_done) struct service s = SERVICE("../gen/truss.skel.h");

	(void)state;
	service_open(&s, &(struct names_options){ 0 });
	for (uint64_t at = 16; at < 64; at += 16) {
		const struct stack *stack = add_one(&s, frame_of(2, at));

		settle(&s);
		assert_null(stack->frames[0].symbol);
	}
	/* It is not read again and again. */
	assert_int_equal(s.files.opened, 1);
	assert_int_equal(counts_of(&s).waiting, 0);
}

/* Whoever kills workers is left alone for a while, and whoever has been named stays so. */
static void test_a_file_that_kills_workers(void **state)
{
	__cleanup(service_done) struct service s = SERVICE("crash", "plain");
	uint64_t at = offset_of("plain", NULL, "main");
	const struct stack *stack, *good;

	(void)state;
	service_open(&s, &(struct names_options){ 0 });
	stack = add_one(&s, frame_of(2, 0x10));
	good = add_one(&s, frame_of(3, at + 1));
	settle(&s);
	assert_frame(&good->frames[0], "plain", "main", 1);
	assert_frame(&stack->frames[0], "crash", NULL, 0x10);
	assert_int_equal(s.files.opened, 2);
	/* It may have been chance: it waits to be tried again, but not now. */
	assert_int_equal(counts_of(&s).waiting, 1);
	add_one(&s, frame_of(2, 0x20));
	settle(&s);
	assert_int_equal(s.files.opened, 2);
	assert_int_equal(counts_of(&s).waiting, 2);
	assert_true(names_patience_ms(s.names) > 0);
}

/* Nor does anybody wait for a worker that does not end. */
static void test_a_worker_that_does_not_end(void **state)
{
	struct service s = SERVICE("idle", "plain", "lean");
	const struct stack *stack, *later;

	(void)state;
	service_open(&s, &(struct names_options){ .at_once = true });
	add_one(&s, frame_of(2, 0x10));
	names_begin(s.names);
	assert_int_equal(names_run(s.names), 0);
	stack = add_one(&s, frame_of(3, offset_of("plain", NULL, "main") + 1));
	later = add_one(&s, frame_of(4, offset_of("lean", NULL, "main") + 1));
	names_begin(s.names);
	while (!stack->frames[0].symbol || !later->frames[0].symbol) {
		struct pollfd pollfd = { .fd = names_fd(s.names), .events = POLLIN };

		assert_true(poll(&pollfd, 1, names_patience_ms(s.names)) >= 0);
		assert_int_equal(names_run(s.names), 0);
	}
	assert_false(names_are_done(s.names));
	assert_int_equal(counts_of(&s).waiting, 1);
	service_done(&s);
}

/* Whatever comes, no more is kept than there is room for; what is left out is counted. */
static void test_places_are_bounded(void **state)
{
	__cleanup(service_done) struct service s = SERVICE("plain");
	uint64_t frames[MAX_FRAMES], at = 1, refused;
	const struct stack *stack = NULL;

	(void)state;
	service_open(&s, &(struct names_options){ 0 });
	while (at < MAX_PLACES + MAX_FRAMES) {
		for (size_t i = 0; i < MAX_FRAMES; i++)
			frames[i] = frame_of(2, ++at);
		stack = add(&s, frames, MAX_FRAMES);
	}
	refused = counts_of(&s).refused;
	assert_int_equal(counts_of(&s).places, MAX_PLACES);
	assert_int_equal(refused, at - 1 - MAX_PLACES);
	assert_frame(&stack->frames[MAX_FRAMES - 1], "plain", NULL, at);
	settle(&s);
	assert_int_equal(counts_of(&s).waiting, 0);
	assert_in_range(counts_of(&s).bytes, MAX_PLACES, 16 << 20);
}

/* Who is not asked any more has no worker left. */
static void test_ends_while_workers_are_at_it(void **state)
{
	struct service s = SERVICE("plain", "cxx", "lean", "fixed", "static");

	(void)state;
	service_open(&s, &(struct names_options){ .inlines = true });
	for (uint32_t file = 2; file < 7; file++)
		add_one(&s, frame_of(file, 0x1200));
	names_begin(s.names);
	assert_int_equal(names_run(s.names), 0);
	assert_false(names_are_done(s.names));
	service_done(&s);
}

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

static void write_map(const char *mode, const char *format, ...)
{
	char path[64];
	va_list arguments;
	FILE *file;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	file = fopen(path, mode);
	assert_non_null(file);
	va_start(arguments, format);
	vfprintf(file, format, arguments);
	va_end(arguments);
	fclose(file);
}

static void remove_map(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	unlink(path);
}

static void test_jit(void **state)
{
	__cleanup(service_done) struct service s = SERVICE(NULL);
	const struct process_id self = own_id();
	struct process_id other = self;
	char *code = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t frames[] = { FRAME_RAW | ((uintptr_t)code + 0x20), FRAME_RAW | 0x10 };
	const struct stack *stack, *later, *of_other;

	(void)state;
	other.started_ns += NS_PER_SEC;
	service_open(&s, &(struct names_options){ 0 });
	write_map("w", "%lx 100 first\n", (unsigned long)(uintptr_t)code);
	stack = add_of(&s, &self, frames, 2);
	assert_frame(&stack->frames[0], NULL, NULL, (uintptr_t)code + 0x20);
	settle(&s);
	assert_frame(&stack->frames[0], "[jit]", "first", 0x20);
	assert_frame(&stack->frames[1], NULL, NULL, 0x10);
	/* The map grows, and so does what is known. */
	write_map("a", "%lx 100 second\n", (unsigned long)(uintptr_t)code + 0x100);
	frames[0] += 0x100;
	later = add_of(&s, &self, frames, 1);
	of_other = add_of(&s, &other, frames, 1);
	settle(&s);
	assert_frame(&later->frames[0], "[jit]", "second", 0x20);
	/* A pid that is another process's by now names nothing. */
	assert_frame(&of_other->frames[0], NULL, NULL, (uintptr_t)code + 0x120);
	assert_int_equal(counts_of(&s).places, 0);
	assert_int_equal(counts_of(&s).bytes, 0);
	remove_map();
	munmap(code, 8192);
}

/* Code of a file that no table tells of is named by the file. */
static void test_raw_address_in_a_file(void **state)
{
	__cleanup(service_done) struct service s = SERVICE("plain");
	const struct process_id self = own_id();
	int fd __cleanup(closep) = fixture_open("plain");
	uint64_t offset = offset_of("plain", NULL, "main"), page = offset & ~4095ULL;
	char *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, (off_t)page);
	uint64_t frame = FRAME_RAW | ((uintptr_t)code + offset - page + 3);
	const struct stack *stack;

	(void)state;
	assert_true(code != MAP_FAILED);
	s.files.found = 2;
	service_open(&s, &(struct names_options){ 0 });
	stack = add_of(&s, &self, &frame, 1);
	settle(&s);
	assert_frame(&stack->frames[0], "plain", "main", 3);
	munmap(code, 4096);
}

/* A map that is too large names nothing, and is not read for it. */
static void test_a_large_map(void **state)
{
	__cleanup(service_done) struct service s = SERVICE(NULL);
	const struct process_id self = own_id();
	char *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t frame = FRAME_RAW | ((uintptr_t)code + 0x20);
	const struct stack *stack;
	char path[64];

	(void)state;
	service_open(&s, &(struct names_options){ 0 });
	write_map("w", "%lx 100 first\n", (unsigned long)(uintptr_t)code);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	assert_int_equal(truncate(path, MAX_PERF_MAP_BYTES + 1), 0);
	stack = add_of(&s, &self, &frame, 1);
	settle(&s);
	remove_map();
	assert_frame(&stack->frames[0], NULL, NULL, (uintptr_t)code + 0x20);
	assert_int_equal(counts_of(&s).failed, 1);
	munmap(code, 4096);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_follow),
		cmocka_unit_test(test_names_come_at_once_where_that_is_asked),
		cmocka_unit_test(test_what_is_no_symbol_stays_a_place),
		cmocka_unit_test(test_debug_file),
		cmocka_unit_test(test_servers_are_asked_for_each_file),
		cmocka_unit_test(test_inlined),
		cmocka_unit_test(test_a_file_that_nobody_has),
		cmocka_unit_test(test_what_is_no_file_of_code),
		cmocka_unit_test(test_a_file_that_kills_workers),
		cmocka_unit_test(test_a_worker_that_does_not_end),
		cmocka_unit_test(test_places_are_bounded),
		cmocka_unit_test(test_ends_while_workers_are_at_it),
		cmocka_unit_test(test_jit),
		cmocka_unit_test(test_raw_address_in_a_file),
		cmocka_unit_test(test_a_large_map),
	};

	if (argc > 1 && !strcmp(argv[1], DEBUGINFOD_ARGUMENT))
		debuginfod_client_main(argc, argv);
	if (argc > 1 && !strcmp(argv[1], ELF_WORKER_ARGUMENT)) {
		worker_play();
		elf_worker_main(argc, argv);
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
