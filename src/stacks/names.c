/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns stacks that are not wholly named yet. Invariant: each of them waits for as many places as it
 * has that are not settled, and is in the table as far as it is known, or in the list of those
 * that are to be shown anew.
 */
#include "stacks/names.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "stacks/names_private.h"

/* Of a stack: the kernel's frames, then functions with all that was inlined into them. */
#define MAX_STACK_NAMES (MAX_FRAMES + MAX_FRAMES * (size_t)(MAX_INLINE_DEPTH + 1))

/* Stacks come in crowds: one worker is to be asked about many. */
#define CROWD_NS (200 * NS_PER_MS)

struct unnamed_frame {
	struct name_place *place; /* NULL: no more is known of it than this, nor will be */
	const char *module;
	uint64_t address;
	bool is_exact; /* the place is that of the frame; else the frame is just behind it */
	bool is_raw;   /* the place is the stack's own */
};

struct unnamed_stack {
	struct unnamed_stack *next, *previous;
	uint64_t serial, id, kernel;
	enum stack_end end;
	size_t open; /* frames whose places are not settled */
	bool dirty;
	size_t nr;
	struct unnamed_frame frames[];
};

/* --- life ------------------------------------------------------------------------------------- */

void opened_code_close(struct opened_code *code)
{
	closep(&code->fd);
	closep(&code->root);
	free(code->path);
	*code = (struct opened_code){ .fd = -1, .root = -1 };
}

int names_new(const struct code_source *source, const struct names_options *options,
	      struct stack_table *table, struct names **ret)
{
	struct names *names __cleanup(names_freep) = calloc(1, sizeof(*names));
	int err;

	if (!names)
		return -ENOMEM;
	names->source = *source;
	names->options = *options;
	names->table = table;
	names->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (names->epoll < 0)
		return -errno;
	err = options->debuginfod ? debuginfod_new(&names->debuginfod) : 0;
	names->frames = calloc(MAX_STACK_NAMES, sizeof(*names->frames));
	if (!err && !names->frames)
		err = -ENOMEM;
	if (!err)
		*ret = steal_ptr(&names);
	return err;
}

static void stack_free(struct names *names, struct unnamed_stack *stack)
{
	for (size_t i = 0; i < stack->nr; i++) {
		struct unnamed_frame *frame = &stack->frames[i];

		if (frame->is_raw && frame->place) {
			names->counts.bytes -= frame->place->bytes;
			place_free(frame->place);
		}
	}
	free(stack);
}

void names_free(struct names *names)
{
	struct unnamed_stack *next;

	if (!names)
		return;
	name_tasks_free(names);
	name_processes_free(names);
	for (struct unnamed_stack *stack = names->first; stack; stack = next) {
		next = stack->next;
		stack_free(names, stack);
	}
	tdestroy(names->places, place_free);
	tdestroy(names->files, name_file_free);
	debuginfod_free(names->debuginfod);
	closep(&names->epoll);
	free(names->queue);
	free(names->dirty);
	free(names->frames);
	free(names);
}

/* --- the table -------------------------------------------------------------------------------- */

static size_t frame_show_inlined(const struct name_place *place, struct stack_frame *ret)
{
	const char *name = place->inlined;

	for (size_t i = 0; i < place->nr_inlined; i++) {
		ret[i] = (struct stack_frame){
			.module = place->module,
			.symbol = name,
			.inlined = true,
		};
		name += strlen(name) + 1;
	}
	return place->nr_inlined;
}

/* Returns how many frames it has become. */
static size_t frame_show(const struct unnamed_frame *frame, struct stack_frame *ret)
{
	const struct name_place *place = frame->place;
	size_t inlined;

	if (!place) {
		*ret = (struct stack_frame){ .module = frame->module, .offset = frame->address };
		return 1;
	}
	inlined = frame_show_inlined(place, ret);
	ret[inlined] = (struct stack_frame){
		.module = place->module,
		.symbol = place->symbol,
		.offset = place->offset + !frame->is_exact,
	};
	return inlined + 1;
}

static int stack_show(struct names *names, const struct unnamed_stack *unnamed)
{
	const struct stack *kernel = stack_table_find(names->table, unnamed->kernel);
	struct stack stack = { .id = unnamed->id, .end = unnamed->end, .frames = names->frames };

	for (size_t i = 0; kernel && i < kernel->nr_frames; i++)
		stack.frames[stack.nr_frames++] = kernel->frames[i];
	for (size_t i = 0; i < unnamed->nr; i++)
		stack.nr_frames += frame_show(&unnamed->frames[i], &stack.frames[stack.nr_frames]);
	return stack_table_put(names->table, &stack);
}

static void stack_unlink(struct names *names, struct unnamed_stack *stack)
{
	*(stack->previous ? &stack->previous->next : &names->first) = stack->next;
	*(stack->next ? &stack->next->previous : &names->last) = stack->previous;
	names->nr_stacks--;
}

static int stacks_show_dirty(struct names *names)
{
	int err = 0;

	for (size_t i = 0; i < names->nr_dirty; i++) {
		struct unnamed_stack *stack = names->dirty[i];

		err = stack_show(names, stack) ?: err;
		stack->dirty = false;
		if (stack->open)
			continue;
		stack_unlink(names, stack);
		stack_free(names, stack);
	}
	names->nr_dirty = 0;
	return err;
}

/* There is room for all: it grows with their number. */
static void stack_touch(struct names *names, struct unnamed_stack *stack)
{
	if (!stack->dirty)
		names->dirty[names->nr_dirty++] = stack;
	stack->dirty = true;
}

void names_touch(struct names *names, const struct name_place *place)
{
	for (size_t i = 0; i < place->nr_waiters; i++)
		stack_touch(names, place->waiters[i]);
}

void names_release(struct names *names, struct name_place *place)
{
	names_touch(names, place);
	for (size_t i = 0; i < place->nr_waiters; i++)
		place->waiters[i]->open--;
	free(place->waiters);
	place->waiters = NULL;
	place->nr_waiters = 0;
}

/* --- stacks that come ------------------------------------------------------------------------- */

static int dirty_reserve(struct names *names, size_t count)
{
	struct unnamed_stack **grown;

	if (count <= names->dirty_capacity)
		return 0;
	grown = reallocarray(names->dirty, 2 * count, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	names->dirty = grown;
	names->dirty_capacity = 2 * count;
	return 0;
}

/* Powers of two, so that their number tells how many there is room for. */
static int waiter_add(struct name_place *place, struct unnamed_stack *stack)
{
	size_t nr = place->nr_waiters;
	struct unnamed_stack **grown;

	if (!(nr & (nr - 1))) {
		grown = reallocarray(place->waiters, nr ? 2 * nr : 1, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		place->waiters = grown;
	}
	place->waiters[place->nr_waiters++] = stack;
	stack->open++;
	return 0;
}

/* A return address may be the first byte of the next function: looked for is the byte before. */
static void raw_frame_place(struct names *names, const struct process_id *process,
			    struct unnamed_frame *frame)
{
	frame->place = name_process_place(names, process, frame->address - !frame->is_exact,
					  &frame->is_raw);
}

static void file_frame_place(struct names *names, const struct process_id *process,
			     struct unnamed_frame *frame)
{
	const struct code_source *source = &names->source;
	uint32_t file = (uint32_t)(frame->address >> FRAME_FILE_SHIFT);
	uint64_t offset = frame->address & FRAME_OFFSET_MASK;

	frame->place = names_place(names, file, offset - !frame->is_exact, process);
	frame->module = source->module(source->closure, file);
	frame->address = source->address(source->closure, file, offset);
}

static void frame_place(struct names *names, const struct process_id *process, uint64_t word,
			struct unnamed_frame *ret)
{
	*ret = (struct unnamed_frame){
		.address = word & ~(FRAME_RAW | FRAME_INTERRUPTED),
		.is_exact = word & FRAME_INTERRUPTED,
	};
	if (word & FRAME_RAW)
		raw_frame_place(names, process, ret);
	else
		file_frame_place(names, process, ret);
}

static int stack_fill(struct names *names, const struct stack_event *event,
		      struct unnamed_stack *stack)
{
	int err = 0;

	for (size_t i = 0; i < stack->nr && !err; i++) {
		struct unnamed_frame *frame = &stack->frames[i];

		frame_place(names, &event->process, event->frames[i], frame);
		if (frame->place && !frame->place->settled)
			err = waiter_add(frame->place, stack);
	}
	/* A place that cannot tell it must find it all the same: it stays. */
	stack->open += err != 0;
	return err;
}

static struct unnamed_stack *stack_new(struct names *names, const struct stack_event *event)
{
	size_t nr = event->nr_frames < MAX_FRAMES ? event->nr_frames : MAX_FRAMES;
	struct unnamed_stack *stack = calloc(1, sizeof(*stack) + nr * sizeof(struct unnamed_frame));

	if (!stack)
		return NULL;
	stack->serial = ++names->serial;
	stack->id = event->id;
	stack->kernel = event->kernel;
	stack->end = event->end < NR_STACK_END ? event->end : STACK_FRAMES_LOST;
	stack->nr = nr;
	stack->previous = names->last;
	*(names->last ? &names->last->next : &names->first) = stack;
	names->last = stack;
	names->nr_stacks++;
	return stack;
}

int names_add_stack(struct names *names, const struct stack_event *event)
{
	struct unnamed_stack *stack;
	int err;

	if (stack_table_find(names->table, event->id))
		return 0;
	err = dirty_reserve(names, names->nr_stacks + 1);
	stack = err ? NULL : stack_new(names, event);
	if (!stack)
		return -ENOMEM;
	err = stack_fill(names, event, stack);
	stack_touch(names, stack);
	return err ?: stack_show(names, stack);
}

/* --- work ------------------------------------------------------------------------------------- */

int names_watch(struct names *names, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(names->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int until_ms(uint64_t ns)
{
	uint64_t now_ns = clock_mono_ns();

	return now_ns < ns ? (int)((ns - now_ns) / NS_PER_MS) + 1 : 0;
}

void names_begin(struct names *names)
{
	names->begun = names->serial;
}

/* Whether a stack waits whose names were asked for. */
static bool names_are_asked(const struct names *names)
{
	return names->first && names->first->serial <= names->begun;
}

static bool names_may_start(const struct names *names)
{
	if (names_are_asked(names))
		return true;
	return names->options.at_once && names->nr_queue &&
	       clock_mono_ns() - names->queued_ns >= CROWD_NS;
}

bool names_are_done(const struct names *names)
{
	return !names_are_asked(names) ||
	       (name_tasks_are_idle(names) && name_processes_are_idle(names));
}

int names_fd(const struct names *names)
{
	return names->epoll;
}

int names_patience_ms(const struct names *names)
{
	int patience = sooner_ms(name_tasks_patience_ms(names, names_may_start(names)),
				 name_processes_patience_ms(names));

	if (names->options.at_once && names->nr_queue && !names_may_start(names))
		patience = sooner_ms(patience, until_ms(names->queued_ns + CROWD_NS));
	return patience;
}

int names_run(struct names *names)
{
	name_processes_run(names);
	name_tasks_run(names, names_may_start(names));
	return stacks_show_dirty(names);
}

void names_count(const struct names *names, struct names_counts *ret)
{
	*ret = names->counts;
	ret->bytes += ret->places * (sizeof(struct name_place) + 4 * sizeof(void *));
	ret->waiting = 0;
	for (const struct unnamed_stack *stack = names->first; stack; stack = stack->next)
		ret->waiting += stack->open;
}
