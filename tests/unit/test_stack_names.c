/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of stacks: they come while nobody waits; what fails, takes too long or finds no room. */
#include "names_fixture.h"

#include <glob.h>

/* --- files ------------------------------------------------------------------------------------ */

SERVICE_TEST(test_names_follow, 0, "plain", "cxx")
{
	uint64_t at = offset_of("plain", NULL, "main");
	const uint64_t frames[] = {
		frame_of(2, at + 5),
		frame_of(2, at) | FRAME_INTERRUPTED,
		frame_of(2, offset_of("plain", NULL, "sample_hidden") + 9),
	};
	const struct stack *stack, *next;

	/* It is there at once, as places in a file. */
	stack = add(s, frames, ARRAY_SIZE(frames));
	assert_int_equal(stack->nr_frames, 3);
	for (size_t i = 0; i < 3; i++)
		assert_frame(&stack->frames[i], "plain", NULL,
			     frames[i] & FRAME_OFFSET_MASK & ~FRAME_INTERRUPTED);
	/* Nothing is read before somebody asks. */
	go_on(s);
	assert_int_equal(s->files.opened, 0);
	assert_int_equal(counts_of(s).waiting, 3);
	names_begin(s->names);
	go_on(s);
	assert_false(names_are_done(s->names));
	/* A worker is at it; what is shown meanwhile is what is known. */
	assert_int_equal(s->files.opened, 1);
	assert_null(stack->frames[0].symbol);
	settle(s);
	assert_frame(&stack->frames[0], "plain", "main", 5);
	assert_frame(&stack->frames[1], "plain", "main", 0);
	assert_frame(&stack->frames[2], "plain", "sample_hidden", 9);
	assert_counts(s, waiting, 0, failed, 0);
	/* A known place is not asked for again. */
	next = add(s, frames, 2);
	assert_frame(&next->frames[0], "plain", "main", 5);
	assert_int_equal(s->files.opened, 1);
	assert_int_equal(counts_of(s).places, 3);
}

/* The file that is read is not the one that was meant: it gives no names, and is opened anew. */
SERVICE_TEST(test_another_file_is_not_the_file, 0, "plain")
{
	uint64_t at = offset_of("plain", NULL, "main");
	const struct stack *stack;

	s->files.proof_err = -ESTALE;
	stack = add_one(s, frame_of(2, at + 4));
	names_begin(s->names);
	while (!s->files.dropped) {
		assert_null(stack->frames[0].symbol);
		wait_and_go_on(s);
	}
	assert_int_equal(s->files.opened, 1);
	settle(s);
	assert_frame(&stack->frames[0], "plain", "main", 4);
	assert_has(&s->files, dropped, 1, opened, 2);
}

SERVICE_TEST(test_names_come_at_once_where_that_is_asked, .at_once = true, "plain")
{
	const struct stack *stack = add_one(s, frame_of(2, offset_of("plain", NULL, "main") + 1));
	while (!stack->frames[0].symbol) {
		assert_true(patience_of(s) >= 0);
		wait_and_go_on(s);
	}
	assert_frame(&stack->frames[0], "plain", "main", 1);
	assert_int_equal(patience_of(s), -1);
}

SERVICE_TEST(test_what_is_no_symbol_stays_a_place, 0, "stripped")
{
	uint64_t at = offset_of("stripped", "stripped.debug", "main");
	const struct stack *stack = add_one(s, frame_of(2, at + 4));
	settle(s);
	assert_null(stack->frames[0].symbol);
	assert_string_equal(stack->frames[0].module, "stripped");
	assert_counts(s, failed, 0, waiting, 0);
	/* It is known that nothing is known. */
	add_one(s, frame_of(2, at + 4));
	settle(s);
	assert_int_equal(s->files.opened, 1);
}

SERVICE_TEST(test_debug_file, 0, "stripped")
{
	char root[TEMPORARY_SIZE];
	const struct stack *stack;

	make_root(root, "stripped", "stripped.debug");
	s->files.root = root;
	stack = add_one(s, frame_of(2, offset_of("stripped", "stripped.debug", "main") + 4));
	settle(s);
	remove_root(root);
	assert_frame(&stack->frames[0], "stripped", "main", 4);
}

/* A worker that dies of a debug file is missed, and none is sent there again at once. */
SERVICE_TEST(test_debug_file_that_kills_workers, 0, "stripped")
{
	char root[TEMPORARY_SIZE];
	const struct stack *stack;

	make_root(root, "stripped", "stripped.debug");
	shell_run("for f in $(find %s -name '*.debug' -type f); do printf crash >$f; done", root);
	s->files.root = root;
	stack = add_one(s, frame_of(2, offset_of("stripped", "stripped.debug", "main") + 4));
	settle(s);
	assert_null(stack->frames[0].symbol);
	assert_counts(s, failed, 1, waiting, 0);
	add_one(s, frame_of(2, offset_of("stripped", "stripped.debug", "main") + 4));
	settle(s);
	remove_root(root);
	assert_int_equal(s->files.opened, 1);
}

/* Inlined functions that could not be read are missed, too: the symbols are there, and no more. */
TEST(test_what_adds_to_the_symbols_cannot_be_read)
{
	static const int errors[] = { -ESTALE, -EAGAIN };

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		__cleanup(service_done) struct service s;
		const struct stack *stack;

		service_begin(&s, &(struct names_options){ .inlines = true },
			      &(struct files){ .fixtures = { NULL, NULL, "inlines" } });
		stack = add_one(&s, frame_of(2, offset_of("inlines", NULL, "physical") + 1));
		names_begin(s.names);
		/* The first worker is on its way. */
		go_on(&s);
		s.files.proof_err = errors[i];
		settle(&s);
		assert_int_equal(stack->nr_frames, 1);
		assert_string_equal(stack->frames[0].symbol, "physical");
		assert_int_equal(counts_of(&s).failed, 1);
		assert_int_equal(s.files.opened, 1);
	}
}

/* More than are asked for at a time. */
#define NR_FETCHED 6
#define MAX_ASKED  3

/* Puts a folder of clients in front of all others. */
static void clients_begin(char *folder)
{
	char path[2 * PATH_MAX];

	temporary_name(folder);
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chmod(folder, 0777), 0);
	snprintf(path, sizeof(path), "%s:%s", folder, getenv("PATH"));
	setenv("PATH", path, 1);
}

/* Takes the path of before. */
static void clients_end(const char *folder, char *before)
{
	setenv("PATH", before, 1);
	free(before);
	remove_root(folder);
}

/* A client that finds nothing, once its command is done. */
static void client_make(const char *folder, const char *command)
{
	shell_run("cd %s && printf '#!/bin/sh\\n%%s\\nexit 1\\n' '%s' >debuginfod-find && "
		  "chmod 755 debuginfod-find",
		  folder, command);
}

/* Servers are asked for each file, once, and a few at a time. */
TEST(test_servers_are_asked_for_each_file)
{
	const struct files files = { .fixtures = { NULL, NULL, "stripped", "stripped", "stripped",
						   "stripped", "stripped", "stripped" } };
	struct service s __cleanup(service_done);
	char folder[TEMPORARY_SIZE], command[512], pattern[2 * TEMPORARY_SIZE],
		*before = strdup(getenv("PATH"));
	glob_t found = { 0 };

	clients_begin(folder);
	/* It leaves a file whenever it is asked, and waits until it is not alone. */
	snprintf(command, sizeof(command),
		 "cd %s; mktemp asked-XXXXXX >/dev/null; "
		 "while [ $(ls asked-* | wc -l) -lt %d ]; do sleep 0.1; done; sleep 0.5",
		 folder, MAX_ASKED);
	client_make(folder, command);
	service_begin(&s, &(struct names_options){ .debuginfod = true }, &files);
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
	clients_end(folder, before);
}

static const struct elf_identity identity = { .build_id = { 1, 2, 3 }, .nr_build_id = 3 };

static void be_too_slow(struct debuginfod *debuginfod)
{
	struct debuginfod_folder folder;
	struct child client;

	assert_int_equal(debuginfod_start(debuginfod, &identity, &folder, &client), 0);
	child_stop(&client);
	/* However often it is said. */
	child_stop(&client);
	assert_int_equal(debuginfod_finish(debuginfod, &folder, &client), -ETIMEDOUT);
}

/* A single file that takes long is no reason to ask for no other. */
TEST(test_servers_are_left_alone_after_several)
{
	char folder[TEMPORARY_SIZE], *before = strdup(getenv("PATH"));
	struct debuginfod *debuginfod __cleanup(debuginfod_freep) = NULL;
	struct debuginfod_folder own;
	struct child client;

	clients_begin(folder);
	client_make(folder, "sleep 60");
	assert_int_equal(debuginfod_new(&debuginfod), 0);
	for (int i = 0; i < 3; i++)
		be_too_slow(debuginfod);
	/* An answer in between: they are there. */
	client_make(folder, ":");
	assert_int_equal(debuginfod_start(debuginfod, &identity, &own, &client), 0);
	assert_int_equal(debuginfod_finish(debuginfod, &own, &client), -ENOENT);
	client_make(folder, "sleep 60");
	for (int i = 0; i < 4; i++)
		be_too_slow(debuginfod);
	assert_int_equal(debuginfod_start(debuginfod, &identity, &own, &client), -EAGAIN);
	assert_true(debuginfod_again_ns(debuginfod) > clock_mono_ns() + 50 * NS_PER_SEC);
	clients_end(folder, before);
}

/* The functions that were inlined stand in front. */
SERVICE_TEST(test_inlined, .inlines = true, "inlines", "bare")
{
	uint64_t first = offset_of("inlines", NULL, "physical");
	const struct stack *of_file, *of_debug_file;
	size_t longest = 0;
	char root[TEMPORARY_SIZE];

	make_root(root, "bare", "bare.debug");
	s->files.root = root;
	for (uint64_t at = first + 1; at < first + 60; at++) {
		of_file = add_one(s, frame_of(2, at));
		of_debug_file = add_one(s, frame_of(3, at));
	}
	settle(s);
	remove_root(root);
	for (uint64_t id = 1; id < s->last_id; id += 2) {
		of_file = stack_table_find(s->table, id);
		of_debug_file = stack_table_find(s->table, id + 1);
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
	assert_int_equal(s->files.opened, 2);
}

SERVICE_TEST(test_what_is_no_file_of_code, 0, "../gen/truss.skel.h")
{
	for (uint64_t at = 16; at < 64; at += 16) {
		const struct stack *stack = add_one(s, frame_of(2, at));

		settle(s);
		assert_null(stack->frames[0].symbol);
	}
	/* It is not read again and again. */
	assert_int_equal(s->files.opened, 1);
	assert_int_equal(counts_of(s).waiting, 0);
}

/* A service that is not asked any more has no worker left. */
SERVICE_TEST(test_ends_while_workers_are_at_it, .inlines = true, "plain", "cxx", "lean", "fixed",
	     "static")
{
	for (uint32_t file = 2; file < 7; file++)
		add_one(s, frame_of(file, 0x1200));
	names_begin(s->names);
	go_on(s);
	assert_false(names_are_done(s->names));
}

/* --- limits -------------------------------------------------------------------------------------- */

SERVICE_TEST(test_a_file_that_nobody_has, 0, NULL)
{
	uint64_t frame = frame_of(2, offset_of("plain", NULL, "main") + 4);
	const struct stack *stack, *later;

	stack = add_one(s, frame);
	settle(s);
	assert_frame(&stack->frames[0], "gone", NULL, frame & FRAME_OFFSET_MASK);
	assert_int_equal(counts_of(s).failed, 1);
	/* Somebody comes who has it: then it is read. */
	s->files.fixtures[2] = "plain";
	later = add_one(s, frame);
	settle(s);
	assert_frame(&later->frames[0], "plain", "main", 4);
	/* The report before has it, too. */
	assert_frame(&stack->frames[0], "plain", "main", 4);
	assert_int_equal(counts_of(s).failed, 0);
}

/* Nothing has failed for good: what comes late, comes. */
SERVICE_TEST(test_failures_are_forgiven, 0, "crash")
{
	const struct stack *stack = add_one(s, frame_of(2, offset_of("plain", NULL, "main") + 4));
	settle(s);
	assert_null(stack->frames[0].symbol);
	s->files.fixtures[2] = "plain";
	names_begin(s->names);
	go_on(s);
	while (counts_of(s).waiting || counts_of(s).failed)
		wait_and_go_on(s);
	settle(s);
	assert_frame(&stack->frames[0], "plain", "main", 4);
}

/* Nor is it a failure that a file is not known yet. */
SERVICE_TEST(test_what_is_not_known_yet, 0, "plain")
{
	const struct stack *stack;

	s->files.err = -EAGAIN;
	s->files.errs = MAX_NAME_TRIES + 1;
	stack = add_one(s, frame_of(2, offset_of("plain", NULL, "main") + 4));
	settle(s);
	assert_frame(&stack->frames[0], "plain", "main", 4);
	assert_int_equal(s->files.opened, MAX_NAME_TRIES + 2);
}

/* However many files there are, others have their turn in between. */
SERVICE_TEST(test_a_turn_is_short, 0, NULL)
{
	s->files.err = -EBADMSG;
	s->files.errs = NR_FILES;
	for (uint32_t file = 2; file < NR_FILES; file++)
		add_one(s, frame_of(file, 0x10));
	names_begin(s->names);
	go_on(s);
	assert_in_range(s->files.opened, 1, 8);
	assert_int_equal(patience_of(s), 0);
	settle(s);
	assert_int_equal(s->files.opened, NR_FILES - 2);
}

/* Asks for a name in the first file, which holds up nobody: those of two others come. */
static const struct stack *name_two_others(struct service *s)
{
	const struct stack *stack, *later;

	add_one(s, frame_of(2, 0x10));
	names_begin(s->names);
	go_on(s);
	stack = add_one(s, frame_of(3, offset_of("plain", NULL, "main") + 1));
	later = add_one(s, frame_of(4, offset_of("lean", NULL, "main") + 1));
	names_begin(s->names);
	while (!stack->frames[0].symbol || !later->frames[0].symbol)
		wait_and_go_on(s);
	return stack;
}

/* Files are opened where nobody waits for it, and users share who does that. */
SERVICE_TEST(test_a_search_that_does_not_end, 0, "plain", "plain", "lean")
{
	const struct stack *stack;

	s->files.closed = s->files.hang = true;
	stack = name_two_others(s);
	assert_frame(&stack->frames[0], "plain", "main", 1);
	assert_false(names_are_done(s->names));
}

/* A file that was read while somebody wrote to it gives no names: it is opened anew. */
SERVICE_TEST(test_a_file_that_changes, 0, "plain")
{
	const struct timespec times[2] = { { .tv_sec = 1000000 }, { .tv_sec = 1000000 } };
	char path[TEMPORARY_SIZE];
	const struct stack *stack;

	temporary_name(path);
	close(mkstemp(path));
	shell_run("cp %s/plain %s", FIXTURES, path);
	s->files.path = path;
	stack = add_one(s, frame_of(2, offset_of("plain", NULL, "main") + 4));
	names_begin(s->names);
	go_on(s);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	while (!s->files.dropped) {
		assert_all(!names_are_done(s->names), !stack->frames[0].symbol);
		wait_and_go_on(s);
	}
	assert_int_equal(s->files.opened, 1);
	settle(s);
	unlink(path);
	assert_frame(&stack->frames[0], "plain", "main", 4);
	assert_int_equal(s->files.opened, 2);
}

/* A file that kills workers is left alone for a while, and a frame that has been named stays so. */
SERVICE_TEST(test_a_file_that_kills_workers, 0, "crash", "plain")
{
	uint64_t at = offset_of("plain", NULL, "main");
	const struct stack *stack, *good;

	stack = add_one(s, frame_of(2, 0x10));
	good = add_one(s, frame_of(3, at + 1));
	settle(s);
	assert_frame(&good->frames[0], "plain", "main", 1);
	assert_frame(&stack->frames[0], "crash", NULL, 0x10);
	assert_int_equal(s->files.opened, 2);
	/* It may have been chance: it waits to be tried again, but not now. */
	assert_counts(s, waiting, 1, failed, 0);
	add_one(s, frame_of(2, 0x20));
	settle(s);
	assert_int_equal(s->files.opened, 2);
	assert_int_equal(counts_of(s).waiting, 2);
	assert_true(patience_of(s) > 0);
}

/* Nor does anybody wait for a worker that does not end. */
SERVICE_TEST(test_a_worker_that_does_not_end, .at_once = true, "idle", "plain", "lean")
{
	name_two_others(s);
	assert_false(names_are_done(s->names));
	assert_int_equal(counts_of(s).waiting, 1);
}

static const struct stack *add_places(struct service *s, uint32_t file, uint64_t first,
				      uint64_t count)
{
	uint64_t frames[MAX_FRAMES];
	const struct stack *stack = NULL;

	for (uint64_t at = 0; at < count; at += MAX_FRAMES) {
		for (uint64_t i = 0; i < MAX_FRAMES; i++)
			frames[i] = frame_of(file, first + at + i);
		stack = add(s, frames, MAX_FRAMES);
	}
	return stack;
}

/* No more is kept than there is room for, whatever comes; places that are left out are counted. */
SERVICE_TEST(test_places_are_bounded, 0, "plain", "plain", "plain")
{
	const struct stack *stack = NULL;

	stack = add_places(s, 2, 1, MAX_PLACES);
	/* Half of it is for others. */
	assert_int_equal(counts_of(s).places, MAX_PLACES / 2);
	assert_in_range(counts_of(s).refused, MAX_PLACES / 2, MAX_PLACES / 2 + MAX_FRAMES);
	assert_string_equal(stack->frames[0].module, "plain");
	assert_null(stack->frames[0].symbol);
	s->uid = 1000;
	add_places(s, 3, 1, MAX_PLACES / 2);
	assert_int_equal(counts_of(s).places, MAX_PLACES);
	settle(s);
	assert_int_equal(counts_of(s).waiting, 0);
	assert_in_range(counts_of(s).bytes, MAX_PLACES, 16 << 20);
}

/* A place that nobody waits for makes room, the oldest first, and first what the same user has. */
SERVICE_TEST(test_places_make_room, 0, "plain", "plain", "plain")
{
	uint64_t main_at = offset_of("plain", NULL, "main"), refused;
	const struct stack *stack;

	add_places(s, 2, 1 << 20, MAX_PLACES / 2);
	settle(s);
	refused = counts_of(s).refused;
	stack = add_one(s, frame_of(2, main_at + 4));
	settle(s);
	assert_frame(&stack->frames[0], "plain", "main", 4);
	assert_counts(s, refused, refused, places, MAX_PLACES / 2);
	/* A third user comes when all is full. */
	s->uid = 1000;
	add_places(s, 3, 1 << 20, MAX_PLACES / 2);
	settle(s);
	s->uid = 1001;
	refused = counts_of(s).refused;
	stack = add_one(s, frame_of(4, main_at + 4));
	settle(s);
	assert_frame(&stack->frames[0], "plain", "main", 4);
	assert_counts(s, refused, refused, places, MAX_PLACES);
}

/* A file, a place that is wanted in it, and how opening it ends for so many times. */
struct opening {
	struct files source_files;
	struct stack_table *table;
	struct errands *errands;
	struct name_places *places;
	struct name_files *files;
	struct name_file *file;
	struct name_place *place;
};

static void opening_begin(struct opening *o, int err, unsigned int errs)
{
	const struct process_id process = { .pid = 1 };
	const struct names_options options = { 0 };
	const struct code_source source = { .closure = &o->source_files, .open = files_open };

	*o = (struct opening){ .source_files = { .err = err, .errs = errs } };
	assert_int_equal(stack_table_new(&o->table), 0);
	assert_int_equal(errands_new(&o->errands), 0);
	assert_int_equal(name_places_new(o->table, &o->places), 0);
	assert_int_equal(name_files_new(&source, &options, o->errands, o->places, &o->files), 0);
	o->file = name_files_get(o->files, 10);
	o->place = name_places_hold(o->places, 10, 1, name_places_user(o->places, 1));
	name_file_met(o->file, &process, 1);
	name_file_want(o->file, o->place);
}

/* Tries to open it now, however long the pause is that it has. */
static void opening_try(struct opening *o)
{
	o->file->errand.due_ns = 0;
	errands_run(o->errands);
}

static void opening_end(struct opening *o)
{
	name_files_free(o->files);
	errands_free(o->errands);
	name_places_free(o->places);
	stack_table_free(o->table);
}

/* A name that nobody can tell is not waited for for ever: it would take the room of all others. */
TEST(test_waiting_has_an_end)
{
	struct opening o;

	opening_begin(&o, -EIO, MAX_NAME_WAITS);
	for (unsigned int tries = 1; !o.place->settled; tries++) {
		opening_try(&o);
		assert_int_equal(o.source_files.opened, tries);
		assert_int_equal(o.place->failed, tries >= MAX_NAME_TRIES);
	}
	assert_int_equal(o.source_files.opened, MAX_NAME_WAITS);
	assert_int_equal(errands_patience_ms(o.errands), -1);
	/* A place that is asked for again is tried again. */
	o.place->failed = o.place->settled = false;
	name_file_want(o.file, o.place);
	assert_true(errands_patience_ms(o.errands) > 0);
	opening_end(&o);
}

/* A report does not wait for what bpftruss may not open; a daemon asks again later. */
TEST(test_a_file_that_may_not_be_opened)
{
	struct opening o;

	opening_begin(&o, -EACCES, 1);
	opening_try(&o);
	assert_true(o.place->failed);
	assert_false(o.place->settled);
	assert_true(errands_patience_ms(o.errands) > 0);
	opening_end(&o);
}

/* Thousands may be opened before it: it is looked at soon, later every 8 s, and given up at last. */
TEST(test_a_file_that_waits_for_its_turn)
{
	struct opening o;
	unsigned int tries;

	opening_begin(&o, -EINPROGRESS, UINT_MAX);
	for (tries = 1; !o.place->settled; tries++) {
		opening_try(&o);
		assert_int_equal(o.source_files.opened, tries);
		if (tries < 20)
			assert_in_range(errands_patience_ms(o.errands), 0, 500);
		else if (tries <= 130)
			assert_in_range(errands_patience_ms(o.errands), 501, 8000);
		if (tries <= 130)
			assert_false(o.place->failed);
	}
	assert_int_equal(tries, 130 + MAX_NAME_WAITS + 1);
	assert_true(o.place->failed);
	opening_end(&o);
}

/* Whatever else comes than that it waits, it is looked at soon again. */
TEST(test_a_file_that_waits_anew)
{
	struct opening o;

	opening_begin(&o, -EINPROGRESS, 50);
	for (int tries = 0; tries < 50; tries++)
		opening_try(&o);
	assert_in_range(errands_patience_ms(o.errands), 501, 8000);
	o.source_files.err = -EIO;
	o.source_files.errs = 1;
	opening_try(&o);
	o.source_files.err = -EINPROGRESS;
	o.source_files.errs = 1;
	opening_try(&o);
	assert_in_range(errands_patience_ms(o.errands), 0, 500);
	opening_end(&o);
}
