/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps stacks that are not wholly named yet. Each is in the table as far as it was known when it was
 * shown last. Whenever places have changed, a pass looks at all stacks, shows those anew that have such
 * places, and ends those of which no more is to be known.
 */
#include "stacks/names.h"

#include "base/clock.h"
#include "base/text.h"
#include "elf/debuginfod.h"
#include "stacks/name_processes.h"

/* A stack has the kernel's frames, then functions with all that was inlined into them. */
#define MAX_STACK_NAMES (MAX_FRAMES + MAX_FRAMES * (size_t)(MAX_INLINE_DEPTH + 1))

/* The number of stacks that may wait for the names of a JIT; those beyond stay without. */
#define MAX_ANONYMOUS 1024

/* A daemon is asked as often as others please. */
#define AGAIN_NS NS_PER_SEC

/* A wait for names includes names that fail at first, but not for long. */
#define SOON_NS NS_PER_SEC

/*
 * A pass takes this long before others have their turn, and the pause after it so many times as
 * long.
 */
#define TURN_NS     (5 * NS_PER_MS)
#define PAUSE_TIMES 20
#define CLOCK_EVERY 16

struct unnamed_frame {
	struct name_place *place; /* held; NULL: no more is known of it than this, nor will be */
	const char *module;
	uint64_t word; /* of the event: what is known of it without a place */
	uint64_t address;
};

struct unnamed_stack {
	TAILQ_ENTRY(unnamed_stack) queue;
	uint64_t serial, id, kernel;
	struct process_id process;
	struct name_user *user;
	uint32_t exec_pages;
	enum stack_end end;
	bool waits_for_mappings;
	uint64_t version; /* of the places, when it was shown last; 0: never */
	size_t nr;
	struct unnamed_frame frames[];
};

TAILQ_HEAD(stack_queue, unnamed_stack);

struct names {
	struct code_source source;
	struct names_options options;
	struct stack_table *table;
	struct name_places *places;
	struct errands *errands;
	struct name_files *files;
	struct name_processes *processes;
	bool is_late; /* with stacks whose mappings are known */
	struct stack_queue
		all; /* in the order in which they came, but those asked for again first */
	struct stack_queue anonymous; /* those that a JIT may name later on */
	size_t nr_anonymous;
	uint64_t again_ns;          /* when they were asked for again */
	struct unnamed_stack *next; /* that a pass looks at; NULL: there is none */
	uint64_t pass_version;      /* of the places, when the last pass began */
	uint64_t pass_ns;           /* how long it took so far */
	uint64_t next_pass_ns;      /* not before */
	struct stack_frame *frames; /* room for a stack */
	uint64_t serial;            /* of the last stack */
	uint64_t begun;             /* up to this one names are asked for */
};

/* --- life ------------------------------------------------------------------------------------- */

int names_require_debuginfod(void)
{
	struct debuginfod *debuginfod __cleanup(debuginfod_freep) = NULL;

	return debuginfod_new(&debuginfod);
}

int names_new(const struct code_source *source, const struct names_options *options,
	      struct errands *errands, struct stack_table *table, struct names **ret)
{
	struct names *names __cleanup(names_freep) = calloc(1, sizeof(*names));
	int err;

	if (!names)
		return -ENOMEM;
	names->source = *source;
	names->options = *options;
	names->errands = errands;
	names->table = table;
	TAILQ_INIT(&names->all);
	TAILQ_INIT(&names->anonymous);
	names->frames = calloc(MAX_STACK_NAMES, sizeof(*names->frames));
	err = names->frames ? name_places_new(table, &names->places) : -ENOMEM;
	err = err ?: name_files_new(source, options, errands, names->places, &names->files);
	err = err ?: name_processes_new(source, errands, names->places, &names->processes);
	if (err)
		return err;
	errands_pause(errands, ERRAND_NAMES, !options->at_once);
	*ret = steal_ptr(&names);
	return 0;
}

void names_free(struct names *names)
{
	struct unnamed_stack *stack;

	if (!names)
		return;
	name_processes_free(names->processes);
	TAILQ_CONCAT(&names->all, &names->anonymous, queue);
	while ((stack = TAILQ_FIRST(&names->all))) {
		TAILQ_REMOVE(&names->all, stack, queue);
		free(stack);
	}
	name_files_free(names->files);
	name_places_free(names->places);
	free(names->frames);
	free(names);
}

/* --- the table -------------------------------------------------------------------------------- */

/* The place is that of the frame; else the frame is just behind it. */
static bool is_exact(const struct unnamed_frame *frame)
{
	return frame->word & FRAME_INTERRUPTED;
}

static int stack_show(struct names *names, struct unnamed_stack *unnamed)
{
	const struct stack *kernel = stack_table_find(names->table, unnamed->kernel);
	struct stack stack = { .id = unnamed->id, .end = unnamed->end, .frames = names->frames };

	unnamed->version = name_places_version(names->places);
	for (size_t i = 0; kernel && i < kernel->nr_frames; i++)
		stack.frames[stack.nr_frames++] = kernel->frames[i];
	for (size_t i = 0; i < unnamed->nr; i++) {
		const struct unnamed_frame *frame = &unnamed->frames[i];
		const struct name_place *place = frame->place;

		for (size_t j = 0; place && j < place->nr_inlined; j++) {
			stack.frames[stack.nr_frames++] = (struct stack_frame){
				.module = place->module,
				.symbol = place->inlined[j],
				.inlined = true,
			};
		}
		stack.frames[stack.nr_frames++] = (struct stack_frame){
			.module = place ? place->module : frame->module,
			.symbol = place ? place->symbol : NULL,
			.offset = place ? place->offset + !is_exact(frame) : frame->address,
		};
	}
	return stack_table_put(names->table, &stack);
}

/* A JIT that has said nothing of it may do so later, as long as its process lives. */
static bool place_is_anonymous(const struct name_place *place)
{
	return place && place->file == FILE_NONE && place->settled && !place->failed &&
	       !place->symbol;
}

static bool stack_is_anonymous(const struct unnamed_stack *stack)
{
	for (size_t i = 0; i < stack->nr; i++) {
		if (place_is_anonymous(stack->frames[i].place))
			return true;
	}
	return false;
}

/* No more is to be known of it, or not now. */
static void stack_end(struct names *names, struct unnamed_stack *stack)
{
	if (names->next == stack)
		names->next = TAILQ_NEXT(stack, queue);
	TAILQ_REMOVE(&names->all, stack, queue);
	if (names->nr_anonymous < MAX_ANONYMOUS && stack_is_anonymous(stack)) {
		TAILQ_INSERT_TAIL(&names->anonymous, stack, queue);
		names->nr_anonymous++;
		return;
	}
	for (size_t i = 0; i < stack->nr; i++) {
		if (stack->frames[i].place)
			name_places_let_go(names->places, stack->frames[i].place);
	}
	free(stack);
}

/* Shows it if it has changed; it may be over then. */
static int stack_look(struct names *names, struct unnamed_stack *stack)
{
	bool is_open = stack->waits_for_mappings, has_changed = !stack->version;
	int err = 0;

	for (size_t i = 0; i < stack->nr; i++) {
		const struct name_place *place = stack->frames[i].place;

		if (!place)
			continue;
		is_open |= !place->settled;
		has_changed |= place->version > stack->version;
	}
	if (has_changed)
		err = stack_show(names, stack);
	if (!is_open)
		stack_end(names, stack);
	return err;
}

static bool pass_is_due(const struct names *names)
{
	return names->pass_version != name_places_version(names->places);
}

/* The rest is looked at in another turn. */
static int pass_run(struct names *names)
{
	uint64_t begin_ns = clock_mono_ns(), now_ns = begin_ns;
	int err = 0;

	if (!names->next && pass_is_due(names) && begin_ns >= names->next_pass_ns) {
		names->pass_version = name_places_version(names->places);
		names->pass_ns = 0;
		names->next = TAILQ_FIRST(&names->all);
	}
	if (!names->next)
		return 0;
	for (unsigned int i = 1; names->next && now_ns - begin_ns < TURN_NS; i++) {
		struct unnamed_stack *stack = names->next;

		names->next = TAILQ_NEXT(stack, queue);
		err = stack_look(names, stack) ?: err;
		if (!names->next || i % CLOCK_EVERY == 0)
			now_ns = clock_mono_ns();
	}
	names->pass_ns += now_ns - begin_ns;
	if (!names->next)
		names->next_pass_ns = now_ns + PAUSE_TIMES * names->pass_ns;
	return err;
}

/* --- stacks that come ------------------------------------------------------------------------- */

/* It may be that nobody could tell when it was asked for last. */
static struct name_place *file_place(struct names *names, const struct unnamed_stack *stack,
				     uint32_t number, uint64_t offset)
{
	struct name_place *place = name_places_hold(names->places, number, offset, stack->user);
	struct name_file *file = place ? name_files_get(names->files, number) : NULL;
	const char *module = names->source.module(names->source.closure, number);

	if (!place)
		return NULL;
	if (!file) {
		name_places_settle_one(names->places, place, true);
		return place;
	}
	name_file_met(file, &stack->process, stack->user->uid);
	if (!place->is_asked) {
		place->is_asked = true;
		place->module = name_places_module(names->places, module);
		place->offset = names->source.address(names->source.closure, number, offset);
		name_file_want(file, place);
	} else if (place->settled && place->failed && name_file_may_tell(file)) {
		place->failed = place->settled = false;
		name_file_want(file, place);
	}
	return place;
}

/* Whether the place of a frame depends on what its process has mapped. */
static bool frame_is_of_mappings(uint64_t word)
{
	return word & FRAME_RAW && !(word & FRAME_OF_NO_FILE);
}

/* A return address may be the first byte of the next function: looked for is the byte before. */
static void raw_frame_place(struct names *names, const struct unnamed_stack *stack,
			    struct unnamed_frame *frame)
{
	uint64_t address = frame->address - !is_exact(frame);
	struct found_code found = { .file = FILE_NONE };

	if (frame_is_of_mappings(frame->word) &&
	    !name_processes_find(names->processes, &stack->process, stack->exec_pages, address,
				 &found))
		return;
	if (found.file != FILE_NONE) {
		frame->place = file_place(names, stack, found.file, found.offset);
		return;
	}
	frame->place = name_places_hold(names->places, FILE_NONE, address, stack->user);
	if (frame->place)
		name_processes_want(names->processes, &stack->process, frame->place, false);
}

static void file_frame_place(struct names *names, const struct unnamed_stack *stack,
			     struct unnamed_frame *frame)
{
	const struct code_source *source = &names->source;
	uint32_t file = (uint32_t)(frame->address >> FRAME_FILE_SHIFT);
	uint64_t offset = frame->address & FRAME_OFFSET_MASK;
	const char *module;

	if (file != FILE_NONE)
		frame->place = file_place(names, stack, file, offset - !is_exact(frame));
	if (frame->place)
		return;
	module = source->module(source->closure, file);
	frame->module = name_places_module(names->places, module);
	frame->address = source->address(source->closure, file, offset);
}

/* Places those frames that depend on mappings, or those that do not. */
static void frames_place(struct names *names, struct unnamed_stack *stack, bool of_mappings)
{
	for (size_t i = 0; i < stack->nr; i++) {
		struct unnamed_frame *frame = &stack->frames[i];

		if (frame_is_of_mappings(frame->word) != of_mappings)
			continue;
		if (frame->word & FRAME_RAW)
			raw_frame_place(names, stack, frame);
		else
			file_frame_place(names, stack, frame);
	}
}

static void stack_fill(struct names *names, const struct stack_event *event,
		       struct unnamed_stack *stack)
{
	bool of_mappings = false;

	for (size_t i = 0; i < stack->nr; i++) {
		struct unnamed_frame *frame = &stack->frames[i];

		frame->word = event->frames[i];
		frame->address = frame->word & ~FRAME_INTERRUPTED;
		if (frame->word & FRAME_RAW)
			frame->address &= ~(FRAME_RAW | FRAME_OF_NO_FILE);
		of_mappings |= frame_is_of_mappings(frame->word);
	}
	frames_place(names, stack, false);
	if (!of_mappings)
		return;
	stack->waits_for_mappings = name_processes_ask(names->processes, event, stack);
	if (!stack->waits_for_mappings)
		frames_place(names, stack, true);
}

int names_add_stack(struct names *names, const struct stack_event *event)
{
	size_t nr = min_u64(event->nr_frames, MAX_FRAMES);
	struct name_user *user;
	struct unnamed_stack *stack;

	if (stack_table_find(names->table, event->id))
		return 0;
	user = name_places_user(names->places, event->uid);
	stack = user ? calloc(1, sizeof(*stack) + nr * sizeof(struct unnamed_frame)) : NULL;
	if (!stack)
		return -ENOMEM;
	stack->serial = ++names->serial;
	stack->id = event->id;
	stack->kernel = event->kernel;
	stack->process = event->process;
	stack->exec_pages = event->exec_pages;
	stack->end = event->end < NR_STACK_END ? event->end : STACK_FRAMES_LOST;
	stack->nr = nr;
	stack->user = user;
	TAILQ_INSERT_TAIL(&names->all, stack, queue);
	stack_fill(names, event, stack);
	return stack_look(names, stack);
}

/* --- work ------------------------------------------------------------------------------------- */

/* Whether a stack waits whose names were asked for. */
static bool names_are_asked(const struct names *names)
{
	const struct unnamed_stack *first = TAILQ_FIRST(&names->all);

	return first && first->serial <= names->begun;
}

/* Asks for the names of code again that had none, if its JIT has said more meanwhile. */
static void stack_ask_again(struct names *names, struct unnamed_stack *stack)
{
	for (size_t i = 0; i < stack->nr; i++) {
		struct name_place *place = stack->frames[i].place;

		if (!place_is_anonymous(place))
			continue;
		place->settled = false;
		name_processes_want(names->processes, &stack->process, place, true);
	}
}

static void ask_again(struct names *names)
{
	struct unnamed_stack *stack;

	names->nr_anonymous = 0;
	while ((stack = TAILQ_LAST(&names->anonymous, stack_queue))) {
		TAILQ_REMOVE(&names->anonymous, stack, queue);
		TAILQ_INSERT_HEAD(&names->all, stack, queue);
		stack_ask_again(names, stack);
	}
}

void names_were_read(struct names *names)
{
	uint64_t now_ns = clock_mono_ns();

	if (!names->options.at_once || now_ns - names->again_ns < AGAIN_NS)
		return;
	names->again_ns = now_ns;
	ask_again(names);
}

void names_begin(struct names *names)
{
	names->begun = names->serial;
	ask_again(names);
	errands_pause(names->errands, ERRAND_NAMES, false);
}

int names_patience_ms(const struct names *names)
{
	if (names->next || names->is_late)
		return 0;
	return pass_is_due(names) ? clock_until_ms(names->next_pass_ns) : -1;
}

bool names_are_done(const struct names *names)
{
	const struct errands *errands = names->errands;
	uint64_t soon_ns = clock_mono_ns() + SOON_NS;

	if (names->next || names->is_late || pass_is_due(names))
		return false;
	return !names_are_asked(names) || (errands_are_idle(errands, ERRAND_NAMES, soon_ns) &&
					   errands_are_idle(errands, ERRAND_FETCH, soon_ns) &&
					   errands_are_idle(errands, ERRAND_PROCESS, UINT64_MAX));
}

int names_run(struct names *names)
{
	uint64_t end_ns = clock_mono_ns() + TURN_NS;
	struct unnamed_stack *stack;
	int err = 0;

	/* These stacks have waited for mappings, which are known now as far as they can be. */
	for (unsigned int i = 1; (stack = name_processes_take(names->processes)); i++) {
		stack->waits_for_mappings = false;
		stack->version = 0;
		frames_place(names, stack, true);
		err = stack_look(names, stack) ?: err;
		if (i % CLOCK_EVERY == 0 && clock_mono_ns() >= end_ns)
			break;
	}
	names->is_late = stack != NULL;
	err = pass_run(names) ?: err;
	if (!names->options.at_once)
		errands_pause(names->errands, ERRAND_NAMES, !names_are_asked(names));
	return err;
}

void names_count(const struct names *names, struct name_counts *ret)
{
	name_places_count(names->places, ret);
}
