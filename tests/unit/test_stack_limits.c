/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of stacks: what fails, what takes too long, what finds no room, and who has his turn. */
#include "names_fixture.h"

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

static void settle_patiently(struct service *s)
{
	names_begin(s->names);
	go_on(s);
	while (counts_of(s).waiting || counts_of(s).failed)
		wait_and_go_on(s);
	settle(s);
}

/* Nothing has failed for good: what comes late, comes. */
SERVICE_TEST(test_failures_are_forgiven, 0, "crash")
{
	const struct stack *stack = add_one(s, frame_of(2, offset_of("plain", NULL, "main") + 4));
	settle(s);
	assert_null(stack->frames[0].symbol);
	s->files.fixtures[2] = "plain";
	settle_patiently(s);
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

/* What was read while somebody wrote to the file gives no names: it is opened anew. */
SERVICE_TEST(test_a_file_that_changes, 0, "plain")
{
	const struct timespec times[2] = { { .tv_sec = 1000000 }, { .tv_sec = 1000000 } };
	char path[] = "/tmp/bpftruss-test-XXXXXX";
	const struct stack *stack;

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

/* Whoever kills workers is left alone for a while, and whoever has been named stays so. */
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

/* Whatever comes, no more is kept than there is room for; what is left out is counted. */
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

/* A name that nobody can tell is not waited for for ever: it would take the room of all others. */
TEST(test_waiting_has_an_end)
{
	struct stack_table *table __cleanup(stack_table_freep) = NULL;
	const struct process_id process = { .pid = 1 };
	const struct names_options options = { 0 };
	struct files lost = { .fixtures = { NULL }, .err = -EIO, .errs = MAX_NAME_WAITS };
	const struct code_source source = { .closure = &lost, .open = files_open };
	struct name_places *places;
	struct name_files *files;
	struct errands *errands;
	struct name_place *place;
	struct name_file *file;

	assert_int_equal(stack_table_new(&table), 0);
	assert_int_equal(errands_new(&errands), 0);
	assert_int_equal(name_places_new(table, &places), 0);
	assert_int_equal(name_files_new(&source, &options, errands, places, &files), 0);
	file = name_files_get(files, 10);
	place = name_places_hold(places, 10, 1, name_places_user(places, 1));
	name_file_met(file, &process, 1);
	name_file_want(file, place);
	for (unsigned int tries = 1; !place->settled; tries++) {
		file->errand.due_ns = 0;
		errands_run(errands);
		assert_int_equal(lost.opened, tries);
		assert_int_equal(place->failed, tries >= MAX_NAME_TRIES);
	}
	assert_int_equal(lost.opened, MAX_NAME_WAITS);
	assert_int_equal(errands_patience_ms(errands), -1);
	/* Whoever asks again has it tried again. */
	name_place_revive(place);
	name_file_want(file, place);
	assert_true(errands_patience_ms(errands) > 0);
	name_files_free(files);
	errands_free(errands);
	name_places_free(places);
}
