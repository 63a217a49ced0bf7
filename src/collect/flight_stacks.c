/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walks in rounds: a walk that meets a file or memory that nobody has looked at yet asks for it and begins anew.
 * Invariant: a stack is shown only if its thread slept from when it was listed until the last of its memory
 * was read.
 */
#include "collect/flight_stacks.h"

#include <poll.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/text.h"
#include "collect/call_facts.h"
#include "collect/code_files.h"
#include "collect/flight_code.h"
#include "collect/flight_memory.h"
#include "collect/futex_facts.h"
#include "collect/polled_files.h"
#include "collect/user_walk.h"
#include "stacks/names.h"

/* The time for tables, and that for names. */
#define LEARN_NS (10 * NS_PER_SEC)
#define NAMES_NS (10 * NS_PER_SEC)

/* Each round but the last has a new file or a new part of memory. */
#define MAX_ROUNDS (MAX_FLIGHT_FILES + MAX_WINDOWS)

#define WAIT_MS 50

/* Memory is kept of so many threads at a time. */
#define BATCH_STACKS 256

/* A thread whose stack is walked. */
struct flight_thread {
	struct flight *flight;
	size_t process; /* index */
	size_t place;   /* in the memory of its process */
	bool is_over;   /* there is no more to be found out */
	struct stack_event stack;

	/* The last walk has set these if it lacked something. */
	struct flight_place lacks; /* a file; pid 0: none */
	bool lacks_memory;
	uint64_t lacks_at;
};

struct flight_process {
	struct process_id id; /* all zero but its pid: it is gone */
	uint32_t uid;
	bool was_looked;
};

struct flight_stacks {
	struct flight_thread threads[MAX_FLIGHT_STACKS];
	size_t nr_threads, first, end; /* those of the batch are from first on, before end */
	struct flight_process processes[MAX_FLIGHT_STACKS];
	struct process_memory *memories[MAX_FLIGHT_STACKS]; /* of the batch; NULL: it is gone */
	size_t nr_processes;
	struct flight_code *code;
};

/* --- taking ----------------------------------------------------------------------------------- */

static bool flight_has_registers(const struct flight *flight)
{
	const struct listed_thread *thread = &flight->thread;

	return thread->state == LISTED_IN_CALL && thread->abi == ABI_X86_64 && thread->is_still &&
	       thread->sp;
}

static size_t process_at(struct flight_stacks *stacks, uint32_t pid)
{
	size_t i = 0;

	while (i < stacks->nr_processes && stacks->processes[i].id.pid != pid)
		i++;
	if (i == stacks->nr_processes)
		stacks->processes[stacks->nr_processes++].id.pid = pid;
	return i;
}

static void process_look(struct flight_process *process)
{
	int folder __cleanup(closep) = process_open(process->id.pid);
	struct stat status;

	process->was_looked = true;
	if (!process_identify(folder, process->id.pid, &process->id) || fstat(folder, &status))
		return;
	process->uid = status.st_uid;
}

static struct thread_memory *thread_memory(const struct flight_stacks *stacks,
					   const struct flight_thread *thread)
{
	struct process_memory *memory = stacks->memories[thread->process];

	return memory ? &memory->threads[thread->place] : NULL;
}

/* Makes the memory of a process, with a place for each of its threads in the batch. */
static int memory_make(struct flight_stacks *stacks, size_t process)
{
	struct process_memory *memory;
	size_t nr = 0;

	for (size_t i = stacks->first; i < stacks->end; i++) {
		if (stacks->threads[i].process == process)
			stacks->threads[i].place = nr++;
	}
	if (!nr)
		return 0;
	memory = process_memory_new(stacks->processes[process].id.pid, nr);
	if (!memory)
		return -ENOMEM;
	stacks->memories[process] = memory;
	memory->nr_threads = nr;
	for (size_t i = stacks->first; i < stacks->end; i++) {
		if (stacks->threads[i].process == process)
			thread_memory(stacks, &stacks->threads[i])->thread =
				&stacks->threads[i].flight->thread;
	}
	return 0;
}

static void stack_want(struct thread_memory *memory)
{
	thread_memory_want(memory, memory->thread->sp, WINDOW_BYTES);
}

static void all_want(struct thread_memory *memory)
{
	stack_want(memory);
	futex_want(memory);
	polled_files_want(memory);
	argument_memory_want(memory);
}

static void mappings_want(__attribute__((unused)) struct thread_memory *memory)
{
	/* They are always wanted. */
}

/* Makes memory for the processes that have none, and wants of their threads what is to be wanted. */
static int memories_want(struct flight_stacks *stacks, void (*want)(struct thread_memory *))
{
	for (size_t i = 0; i < stacks->nr_processes; i++) {
		if (stacks->memories[i])
			continue;
		if (memory_make(stacks, i))
			return -ENOMEM;
		for (size_t j = 0; stacks->memories[i] && j < stacks->memories[i]->nr_threads;
		     j++) {
			struct thread_memory *memory = &stacks->memories[i]->threads[j];

			if (memory->thread->sp)
				want(memory);
		}
	}
	return 0;
}

/* Memory that a thread waits for, from a disk that hangs, does not keep its stack from being read. */
static int memories_take(struct flight_stacks *stacks)
{
	static void (*const wants[])(struct thread_memory *) = { all_want, stack_want,
								 mappings_want };
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(wants) && !err; i++) {
		err = memories_want(stacks, wants[i]);
		if (!err)
			process_memory_take(stacks->memories, stacks->nr_processes);
	}
	return err;
}

/* Finds the file whose code made the call. */
static void flight_find_code(struct flight *flight, const struct process_memory *memory)
{
	const struct code_name_mapping *found =
		memory ? process_memory_find(memory, flight->thread.ip) : NULL;

	if (!found)
		return;
	flight->offset = flight->thread.ip - found->memory.start + found->memory.offset;
	if (memory->names[found->name])
		flight->module = strdup(memory->names + found->name);
}

/* Chooses threads that are in a call, as far as there is room. */
static void threads_choose(struct flight_stacks *stacks, struct in_flight *list, bool is_due)
{
	for (size_t i = 0; i < list->count; i++) {
		struct flight *flight = &list->items[i];

		if (!flight->is_wanted || flight->is_due != is_due ||
		    flight->thread.state != LISTED_IN_CALL || !flight->thread.ip)
			continue;
		if (stacks->nr_threads == MAX_FLIGHT_STACKS) {
			list->stacks_left_out++;
			continue;
		}
		stacks->threads[stacks->nr_threads++] = (struct flight_thread){
			.flight = flight,
			.process = process_at(stacks, flight->thread.pid),
			.is_over = !flight_has_registers(flight),
		};
	}
}

static void memories_free(struct flight_stacks *stacks)
{
	for (size_t i = 0; i < stacks->nr_processes; i++)
		process_memory_free(steal_ptr(&stacks->memories[i]));
}

/* Takes the next threads, if there are any. */
static int batch_take(struct flight_stacks *stacks)
{
	int err;

	memories_free(stacks);
	stacks->first = stacks->end;
	stacks->end = min_u64(stacks->first + BATCH_STACKS, stacks->nr_threads);
	err = memories_take(stacks);
	for (size_t i = stacks->first; i < stacks->end && !err; i++) {
		struct flight_process *process = &stacks->processes[stacks->threads[i].process];
		const struct thread_memory *memory = thread_memory(stacks, &stacks->threads[i]);

		if (memory) {
			futex_read(memory, stacks->threads[i].flight);
			polled_files_read(memory, stacks->threads[i].flight);
			err = argument_memory_keep(memory, stacks->threads[i].flight);
		}
		flight_find_code(stacks->threads[i].flight,
				 stacks->memories[stacks->threads[i].process]);
		if (!process->was_looked)
			process_look(process);
	}
	return err;
}

int flight_stacks_take(struct in_flight *list, struct flight_stacks **ret)
{
	struct flight_stacks *stacks __cleanup(flight_stacks_freep) = calloc(1, sizeof(*stacks));
	int err = stacks ? flight_code_new(&stacks->code) : -ENOMEM;

	if (err)
		return err;
	threads_choose(stacks, list, true);
	threads_choose(stacks, list, false);
	err = batch_take(stacks);
	if (!err)
		*ret = steal_ptr(&stacks);
	return err;
}

void flight_stacks_free(struct flight_stacks *stacks)
{
	if (!stacks)
		return;
	memories_free(stacks);
	flight_code_free(stacks->code);
	free(stacks);
}

/* --- one walk --------------------------------------------------------------------------------- */

struct walk_context {
	struct flight_stacks *stacks;
	struct flight_thread *thread;
};

static bool context_read(void *closure, uint64_t address, uint64_t *ret)
{
	const struct walk_context *context = closure;
	struct flight_thread *thread = context->thread;

	if (thread_memory_read(thread_memory(context->stacks, thread), address, ret))
		return true;
	if (!thread->lacks_memory)
		thread->lacks_at = address;
	thread->lacks_memory = true;
	return false;
}

static bool context_find(void *closure, uint64_t pc, struct walk_code *ret)
{
	const struct walk_context *context = closure;
	struct flight_stacks *stacks = context->stacks;
	struct flight_thread *thread = context->thread;
	const struct process_memory *memory = stacks->memories[thread->process];
	const struct code_name_mapping *mapping = process_memory_find(memory, pc);
	struct flight_place place = { .pid = memory->pid, .pc = pc };
	uint64_t offset;
	uint32_t file;

	if (!mapping)
		return false;
	if (!mapping->memory.ino) {
		ret->frame |= FRAME_OF_NO_FILE;
		return true;
	}
	place.mapping = mapping->memory;
	place.name = memory->names + mapping->name;
	file = flight_code_find(stacks->code, &place);
	if (file == FILE_NONE)
		return true;
	offset = pc - mapping->memory.start + mapping->memory.offset;
	ret->frame = (uint64_t)file << FRAME_FILE_SHIFT | (offset & FRAME_OFFSET_MASK);
	ret->is_pending = !flight_code_is_known(stacks->code, file);
	if (ret->is_pending)
		thread->lacks = place;
	else
		ret->rule = flight_code_rule(stacks->code, file, offset);
	return true;
}

static void thread_walk(struct flight_stacks *stacks, struct flight_thread *thread)
{
	struct walk_context context = { stacks, thread };
	const struct walk_source source = { &context, context_read, context_find };
	const struct listed_thread *listed = &thread->flight->thread;
	const struct walk_registers registers = { listed->ip, listed->sp, listed->bp, listed->di };

	thread->lacks.pid = 0;
	thread->lacks_memory = false;
	user_walk(&registers, &source, &thread->stack);
}

/* --- all of them ------------------------------------------------------------------------------ */

static bool thread_is_still(const struct flight_stacks *stacks, const struct flight_thread *thread)
{
	const struct thread_memory *memory = thread_memory(stacks, thread);

	return memory && memory->is_still && !thread->flight->gone && !thread->flight->moved;
}

/* Walks each stack of the batch that is not known yet once. False: all are known. */
static bool threads_walk(struct flight_stacks *stacks, uint64_t until_ns)
{
	bool lacks_memory = false, is_over = true;

	for (size_t i = stacks->first; i < stacks->end; i++) {
		struct flight_thread *thread = &stacks->threads[i];
		bool is_late = clock_mono_ns() >= until_ns || user_wants_end();

		if (thread->is_over)
			continue;
		if (!thread_is_still(stacks, thread)) {
			thread->stack.nr_frames = 0;
			thread->is_over = true;
			continue;
		}
		thread_walk(stacks, thread);
		if (thread->lacks_memory && !is_late)
			thread->lacks_memory = thread_memory_want(
				thread_memory(stacks, thread), thread->lacks_at, sizeof(uint64_t));
		lacks_memory |= thread->lacks_memory;
		if (thread->lacks.pid && !is_late)
			flight_code_learn(stacks->code,
					  flight_code_find(stacks->code, &thread->lacks),
					  &thread->lacks, until_ns);
		thread->is_over = is_late || (!thread->lacks_memory && !thread->lacks.pid);
		is_over &= thread->is_over;
	}
	if (lacks_memory)
		process_memory_take(stacks->memories, stacks->nr_processes);
	return !is_over;
}

static bool stacks_are_equal(const struct flight_thread *a, const struct flight_thread *b)
{
	return a->process == b->process && a->stack.end == b->stack.end &&
	       a->stack.nr_frames == b->stack.nr_frames &&
	       !memcmp(a->stack.frames, b->stack.frames,
		       a->stack.nr_frames * sizeof(a->stack.frames[0]));
}

/* The id of a stack is that of the first one like it. */
static void stacks_number(struct flight_stacks *stacks)
{
	for (size_t i = 0; i < stacks->nr_threads; i++) {
		struct flight_thread *thread = &stacks->threads[i];
		size_t first = 0;

		if (!thread->stack.nr_frames)
			continue;
		while (!stacks_are_equal(&stacks->threads[first], thread))
			first++;
		thread->stack.id = first + 1;
		thread->flight->stack_id = first + 1;
	}
}

static int names_add(struct flight_stacks *stacks, struct names *names)
{
	int err = 0;

	for (size_t i = 0; i < stacks->nr_threads && !err; i++) {
		struct flight_thread *thread = &stacks->threads[i];

		if (thread->stack.id != i + 1)
			continue;
		thread->stack.process = stacks->processes[thread->process].id;
		thread->stack.uid = stacks->processes[thread->process].uid;
		err = names_add_stack(names, &thread->stack);
	}
	return err;
}

static int names_wait(struct names *names, struct errands *errands, uint64_t until_ns)
{
	struct pollfd all = { .fd = errands_fd(errands), .events = POLLIN };
	int err = 0, patience;

	names_begin(names);
	while (!err && !names_are_done(names) && clock_mono_ns() < until_ns && !user_wants_end()) {
		patience = sooner_ms(names_patience_ms(names), errands_patience_ms(errands));
		poll(&all, 1, sooner_ms(WAIT_MS, patience));
		errands_run(errands);
		err = names_run(names);
	}
	return err;
}

static int stacks_name(struct flight_stacks *stacks, struct errands *errands,
		       struct stack_table *table)
{
	const struct code_source source = flight_code_source(stacks->code);
	const struct names_options options = { .inlines = false };
	struct names *names __cleanup(names_freep) = NULL;
	int err = names_new(&source, &options, errands, table, &names);

	err = err ?: names_add(stacks, names);
	err = err ?: names_wait(names, errands, clock_mono_ns() + NAMES_NS);
	return err;
}

static int stacks_walk(struct flight_stacks *stacks)
{
	uint64_t until_ns = clock_mono_ns() + LEARN_NS;
	int err = 0;

	while (!err && stacks->first < stacks->end) {
		for (int i = 0; i < MAX_ROUNDS && threads_walk(stacks, until_ns); i++)
			;
		err = batch_take(stacks);
	}
	stacks_number(stacks);
	return err;
}

int flight_stacks_name(struct flight_stacks *stacks, struct in_flight *list)
{
	struct errands *errands = NULL;
	int err = stack_table_new(&list->stacks);

	err = err ?: stacks_walk(stacks);
	err = err ?: errands_new(&errands);
	err = err ?: stacks_name(stacks, errands, list->stacks);
	errands_free(errands);
	for (size_t i = 0; i < stacks->nr_threads && !err; i++) {
		struct flight_thread *thread = &stacks->threads[i];

		if (thread->stack.id)
			thread->flight->stack = stack_table_find(list->stacks, thread->stack.id);
	}
	return err ?: futex_waits_find(list);
}
