/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads files: a task takes places of a file that are wanted, and goes through its steps,
 * each of which waits for a process at most. Invariant: a task waits for a job, an errand or a fetch, or
 * is parked; its file is busy, and open only as long as that.
 */
#include "stacks/name_tasks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "elf/debuginfod.h"
#include "elf/inlines.h"
#include "elf/worker.h"
#include "stacks/watcher.h"

#define MAX_TASKS (MAX_FILE_TASKS + MAX_FETCHES + MAX_PARKED)

/* To start a process takes its time: no more of them before others have their turn. */
#define MAX_STARTS 4

/* Who waits for names waits for what fails at first, too, but not for long. */
#define SOON_NS NS_PER_SEC

enum task_step {
	TASK_OPEN,    /* the file, which may be open still */
	TASK_OWN,     /* its symbols */
	TASK_LOOK,    /* for its debug file */
	TASK_DEBUG,   /* symbols of that */
	TASK_FETCH,   /* servers are asked for one */
	TASK_FETCHED, /* symbols of what they gave */
	TASK_INLINES,
	NR_TASK_STEP,
};

struct name_task {
	struct name_tasks *tasks;
	struct name_file *file;
	struct name_user *user; /* who pays for it */
	enum task_step step;
	bool has_died; /* somebody who read for it: something is missing */
	struct place_list batch;
	struct code_search search;
	struct opened_code opened;
	struct elf_identity identity;
	uint64_t load_offset;
	struct debug_files debug;     /* that may be the file's */
	int debug_fd;                 /* the one that is; -1: none so far */
	struct errand *errand;        /* what is waited for: this */
	struct elf_job *job;          /* or this */
	struct debuginfod_job *fetch; /* or this */
	bool is_parked;               /* or until others are done with fetching */
};

struct name_tasks {
	struct code_source source;
	struct name_tasks_options options;
	struct name_places *places;
	struct name_files *files;
	struct debuginfod *debuginfod; /* NULL: nobody is asked */
	struct name_task *tasks[MAX_TASKS];
};

/* --- steps ------------------------------------------------------------------------------------ */

/* A step waits for a process, has nothing to do (1), or fails. */

static bool debug_is_wanted(const struct name_task *task)
{
	const struct elf_identity *identity = &task->identity;

	return task->debug_fd < 0 && clock_mono_ns() >= task->file->more_ns &&
	       (!identity->has_symtab || (task->tasks->options.inlines && !identity->has_dwarf));
}

static int job_wait(struct name_task *task, int err)
{
	return err ? err : watcher_add(task->tasks->options.watcher, elf_job_fd(task->job));
}

static int errand_wait(struct name_task *task, int err)
{
	return err ? err : watcher_add(task->tasks->options.watcher, errand_fd(task->errand));
}

/* A number that no other search has. */
static unsigned int searcher_free(const struct name_tasks *tasks)
{
	unsigned int used = 0, number = 1;

	for (size_t i = 0; i < MAX_TASKS; i++) {
		if (tasks->tasks[i] && tasks->tasks[i]->errand)
			used |= 1U << tasks->tasks[i]->search.searcher;
	}
	while (number <= MAX_SEARCHERS && used & 1U << number)
		number++;
	return number <= MAX_SEARCHERS ? number : 0;
}

static int open_start(struct name_task *task)
{
	const struct code_source *source = &task->tasks->source;
	int err = source->open(source->closure, task->file->number, &task->opened);
	int fds[MAX_ERRAND_FDS];
	size_t nr;

	if (err != -ESRCH)
		return err ? err : 1;
	task->search = (struct code_search){
		.closure = source->closure,
		.searcher = searcher_free(task->tasks),
		.file = task->file->number,
		.process = task->file->process,
	};
	if (!task->search.searcher)
		return -EAGAIN;
	nr = source->search_fds(source->closure, fds, ARRAY_SIZE(fds));
	return errand_wait(task,
			   errand_start(source->search, &task->search, fds, nr, &task->errand));
}

static int open_finish(struct name_task *task)
{
	const struct code_source *source = &task->tasks->source;
	struct errand_answer answer __cleanup(errand_answer_done) = { .nr_fds = 0 };
	int err = errand_finish(steal_ptr(&task->errand), &answer);

	return err ? err
		   : source->searched(source->closure, task->file->number, &answer, &task->opened);
}

static int symbols_start(struct name_task *task, const struct debug_files *debug)
{
	struct elf_addresses offsets;
	int err = place_list_question(&task->batch, 0, &offsets);

	if (err)
		return err;
	err = elf_job_start_symbols(task->opened.fd, debug, &offsets, &task->job);
	free(offsets.addresses);
	return job_wait(task, err);
}

/* Names what is found; what is not keeps the name that it has. */
static void symbols_take(struct name_task *task, const struct elf_symbols *symbols)
{
	const struct code_source *source = &task->tasks->source;
	const char *module = source->module(source->closure, task->file->number);
	struct name_places *places = task->tasks->places;
	uint64_t load_offset = elf_symbols_load_offset(symbols);
	struct elf_symbol symbol;

	for (size_t i = 0; i < task->batch.nr; i++) {
		struct name_place *place = task->batch.places[i];
		uint64_t address = place->at + load_offset;

		name_places_put_module(places, place, module);
		if (elf_symbols_find(symbols, address, &symbol))
			name_places_put_symbol(places, place, symbol.name, address - symbol.addr);
		else
			name_places_put_offset(places, place, address);
	}
}

static int own_start(struct name_task *task)
{
	return symbols_start(task, NULL);
}

static int own_finish(struct name_task *task)
{
	struct elf_symbols *symbols __cleanup(elf_symbols_freep) = NULL;
	int err = elf_job_finish_symbols(steal_ptr(&task->job), &symbols);

	/* The names read may be what somebody has just written there. */
	if (!opened_code_is_unchanged(&task->opened))
		return -EBADMSG;
	if (err)
		return err;
	task->identity = *elf_symbols_identity(symbols);
	task->load_offset = elf_symbols_load_offset(symbols);
	symbols_take(task, symbols);
	return 0;
}

/* In the copy of this process: the paths are those of whoever runs the program. */
static int look_run(void *closure, struct errand_answer *ret)
{
	const struct name_task *task = closure;
	struct debug_files debug;

	debug_files_open(task->opened.root, task->opened.path, task->opened.owner, &task->identity,
			 &debug);
	for (size_t i = 0; i < debug.nr; i++)
		ret->fds[ret->nr_fds++] = debug.fds[i];
	return 0;
}

static int look_start(struct name_task *task)
{
	if (!debug_is_wanted(task) || task->opened.root < 0)
		return 1;
	/* It asks nobody which file is mapped. */
	task->search.searcher = 0;
	return errand_wait(task,
			   errand_start(look_run, task, &task->opened.root, 1, &task->errand));
}

static int look_finish(struct name_task *task)
{
	struct errand_answer answer = { .nr_fds = 0 };
	int err = errand_finish(steal_ptr(&task->errand), &answer);

	task->has_died |= err != 0;
	for (size_t i = 0; !err && i < answer.nr_fds; i++)
		task->debug.fds[task->debug.nr++] = answer.fds[i];
	return 0;
}

static int debug_start(struct name_task *task)
{
	return task->debug.nr ? symbols_start(task, &task->debug) : 1;
}

/* Of what was only to add something, the end is not the end of the task. */
static bool more_is_good(struct name_task *task, int err)
{
	if (!opened_code_is_unchanged(&task->opened))
		return false;
	task->has_died |= err == -ETIMEDOUT || err == -EPROTO || err == -ENOMEM || err == -E2BIG;
	return !err;
}

static int debug_finish(struct name_task *task)
{
	struct elf_symbols *symbols __cleanup(elf_symbols_freep) = NULL;
	int err = elf_job_finish_symbols(steal_ptr(&task->job), &symbols);
	size_t chosen = more_is_good(task, err) ? elf_symbols_debug_file(symbols) : DEBUG_FILE_NONE;

	if (chosen < task->debug.nr) {
		symbols_take(task, symbols);
		task->debug_fd = task->debug.fds[chosen];
		task->debug.fds[chosen] = task->debug.fds[--task->debug.nr];
	}
	debug_files_close(&task->debug);
	return 0;
}

/* Of one user, or of all (NULL). */
static size_t fetches(const struct name_tasks *tasks, const struct name_user *user)
{
	size_t count = 0;

	for (size_t i = 0; i < MAX_TASKS; i++) {
		const struct name_task *task = tasks->tasks[i];

		count += task && task->fetch && (!user || task->user == user);
	}
	return count;
}

static size_t parked(const struct name_tasks *tasks, const struct name_user *user)
{
	size_t count = 0;

	for (size_t i = 0; i < MAX_TASKS; i++) {
		const struct name_task *task = tasks->tasks[i];

		count += task && task->is_parked && (!user || task->user == user);
	}
	return count;
}

/* One of them is for whoever else comes. */
static bool may_fetch(const struct name_task *task)
{
	return fetches(task->tasks, NULL) < MAX_FETCHES &&
	       (fetches(task->tasks, task->user) < MAX_FETCHES - 1 ||
		parked(task->tasks, NULL) == parked(task->tasks, task->user));
}

static int fetch_start(struct name_task *task)
{
	struct name_tasks *tasks = task->tasks;
	int err;

	if (!debug_is_wanted(task) || !tasks->debuginfod || task->file->is_fetched)
		return 1;
	if (!may_fetch(task)) {
		task->is_parked = parked(tasks, NULL) < MAX_PARKED &&
				  parked(tasks, task->user) < MAX_PARKED / 2;
		return task->is_parked ? 0 : -EAGAIN;
	}
	err = debuginfod_start(tasks->debuginfod, &task->identity, &task->fetch);
	if (err == -EAGAIN)
		return err;
	task->file->is_fetched = true;
	return err ? 1 : watcher_add(tasks->options.watcher, debuginfod_job_fd(task->fetch));
}

static int fetch_finish(struct name_task *task)
{
	int fd = debuginfod_finish(steal_ptr(&task->fetch));

	/* Whoever was too slow may be asked for it another time. */
	if (fd == -ETIMEDOUT) {
		task->has_died = true;
		task->file->is_fetched = false;
	}
	task->file->fetched = fd < 0 ? -1 : fd;
	return 0;
}

static int fetched_start(struct name_task *task)
{
	if (!debug_is_wanted(task) || task->file->fetched < 0)
		return 1;
	task->debug.fds[0] = fcntl(task->file->fetched, F_DUPFD_CLOEXEC, 0);
	task->debug.nr = task->debug.fds[0] >= 0;
	return symbols_start(task, &task->debug);
}

static int inlines_start(struct name_task *task)
{
	struct elf_addresses addresses;
	int err;

	if (!task->tasks->options.inlines || clock_mono_ns() < task->file->more_ns ||
	    (!task->identity.has_dwarf && task->debug_fd < 0))
		return 1;
	err = place_list_question(&task->batch, task->load_offset, &addresses);
	if (err)
		return err;
	err = elf_job_start_inlines(task->opened.fd, task->identity.has_dwarf ? -1 : task->debug_fd,
				    &addresses, &task->job);
	free(addresses.addresses);
	return job_wait(task, err);
}

static int inlines_finish(struct name_task *task)
{
	struct elf_inlines *inlines __cleanup(elf_inlines_freep) = NULL;
	const char *functions[MAX_INLINE_DEPTH];
	int err = elf_job_finish_inlines(steal_ptr(&task->job), &inlines);

	if (!more_is_good(task, err))
		return 0;
	for (size_t i = 0; i < task->batch.nr; i++) {
		struct name_place *place = task->batch.places[i];
		size_t count = elf_inlines_find(inlines, place->at + task->load_offset, functions);

		name_places_put_inlined(task->tasks->places, place, functions, count);
	}
	return 0;
}

static const struct {
	int (*start)(struct name_task *task);
	int (*finish)(struct name_task *task);
	bool is_needed; /* without it there is nothing to go on with */
} steps[NR_TASK_STEP] = {
	[TASK_OPEN] = { open_start, open_finish, true },
	[TASK_OWN] = { own_start, own_finish, true },
	[TASK_LOOK] = { look_start, look_finish, false },
	[TASK_DEBUG] = { debug_start, debug_finish, false },
	[TASK_FETCH] = { fetch_start, fetch_finish, false },
	[TASK_FETCHED] = { fetched_start, debug_finish, false },
	[TASK_INLINES] = { inlines_start, inlines_finish, false },
};

/* --- tasks ------------------------------------------------------------------------------------ */

static void task_free(struct name_task *task)
{
	task->user->running--;
	errand_free(task->errand);
	elf_job_free(task->job);
	debuginfod_job_free(task->fetch);
	debug_files_close(&task->debug);
	closep(&task->debug_fd);
	opened_code_close(&task->opened);
	free(task->batch.places);
	free(task);
}

/* Whoever dies of debug information is not sent there again for a while; what it lacks is counted. */
static void more_note(struct name_task *task)
{
	struct name_file *file = task->file;

	if (clock_mono_ns() < file->more_ns) {
		task->has_died = true;
	} else if (task->has_died) {
		file->more_failures++;
		file->more_ns = retry_at_ns(file->more_failures + MAX_NAME_TRIES);
	} else {
		file->more_failures = 0;
	}
}

/* A place that has a name lacks only what was inlined there. */
static void batch_settle(struct name_task *task)
{
	struct name_places *places = task->tasks->places;
	bool lacks = task->has_died && task->tasks->options.inlines;

	for (size_t i = 0; i < task->batch.nr; i++) {
		struct name_place *place = task->batch.places[i];

		name_places_settle_one(places, place, lacks || (task->has_died && !place->symbol));
	}
}

static void task_end(struct name_task *task, int err)
{
	struct name_tasks *tasks = task->tasks;

	if (err == -EAGAIN && task->step == TASK_FETCH) {
		name_files_delayed(tasks->files, task->file, &task->batch,
				   debuginfod_again_ns(tasks->debuginfod));
	} else if (err) {
		name_files_failed(tasks->files, task->file, &task->batch, err);
	} else {
		more_note(task);
		batch_settle(task);
		name_files_done(tasks->files, task->file);
	}
	task_free(task);
}

/* Goes on to the next step that waits. 1: there is none. */
static int task_next(struct name_task *task)
{
	int err = 1;

	for (; task->step < NR_TASK_STEP; task->step++) {
		err = steps[task->step].start(task);
		if (!err || (err < 0 && steps[task->step].is_needed) || err == -EAGAIN)
			return err;
		/* The names there are stay, whatever could not be added. */
		task->has_died |= err < 0;
		errand_free(steal_ptr(&task->errand));
		elf_job_free(steal_ptr(&task->job));
		if (task->step != TASK_LOOK)
			debug_files_close(&task->debug);
	}
	return 1;
}

static int task_fd(const struct name_task *task)
{
	if (task->errand)
		return errand_fd(task->errand);
	return task->job ? elf_job_fd(task->job) : debuginfod_job_fd(task->fetch);
}

static void task_stop_overdue(struct name_task *task)
{
	if (task->errand && !errand_timeout_ms(task->errand))
		errand_stop(task->errand);
	if (task->job && !elf_job_timeout_ms(task->job))
		elf_job_stop(task->job);
	if (task->fetch && !debuginfod_job_timeout_ms(task->fetch))
		debuginfod_job_stop(task->fetch);
}

/* Whether it is over. */
static bool task_run(struct name_task *task)
{
	int err;

	if (task->is_parked) {
		task->is_parked = false;
		err = task_next(task);
	} else if (fd_is_ready(task_fd(task))) {
		err = steps[task->step].finish(task);
		task->step += !err;
		err = err ?: task_next(task);
	} else {
		task_stop_overdue(task);
		return false;
	}
	if (!err)
		return false;
	task_end(task, err > 0 ? 0 : err);
	return true;
}

/* One of the readers is for users who have none. */
static unsigned int running_limit(const struct name_tasks *tasks)
{
	size_t reading = 0;

	for (size_t i = 0; i < MAX_TASKS; i++) {
		const struct name_task *task = tasks->tasks[i];

		reading += task && (task->job || task->errand);
	}
	if (reading >= MAX_FILE_TASKS)
		return 0;
	return reading == MAX_FILE_TASKS - 1 ? 1 : UINT_MAX;
}

/* NULL: none waits, or it is over already. */
static struct name_task *task_start(struct name_tasks *tasks)
{
	struct name_task *task = calloc(1, sizeof(*task));
	int err;

	if (!task)
		return NULL;
	task->tasks = tasks;
	task->opened = NO_CODE;
	task->debug_fd = -1;
	task->file = name_files_take(tasks->files, running_limit(tasks), &task->batch);
	if (!task->file) {
		free(task);
		return NULL;
	}
	task->user = task->file->user;
	task->user->running++;
	err = task_next(task);
	if (!err)
		return task;
	task_end(task, err > 0 ? 0 : err);
	return NULL;
}

void name_tasks_run(struct name_tasks *tasks, bool may_start)
{
	int starts = may_start ? MAX_STARTS : 0;

	for (size_t i = 0; i < MAX_TASKS; i++) {
		if (tasks->tasks[i] && task_run(tasks->tasks[i]))
			tasks->tasks[i] = NULL;
	}
	for (size_t i = 0; i < MAX_TASKS && starts; i++) {
		if (tasks->tasks[i])
			continue;
		tasks->tasks[i] = task_start(tasks);
		starts--;
	}
}

/* One that was stopped is not waited for but by its descriptor. */
static int task_patience_ms(const struct name_task *task)
{
	if (task->is_parked)
		return may_fetch(task) ? 0 : -1;
	if (task->errand)
		return errand_timeout_ms(task->errand) ?: 1000;
	return (task->job ? elf_job_timeout_ms(task->job) : debuginfod_job_timeout_ms(task->fetch))
		       ?: 1000;
}

int name_tasks_patience_ms(const struct name_tasks *tasks, bool may_start)
{
	int patience = -1;

	for (size_t i = 0; i < MAX_TASKS; i++) {
		if (tasks->tasks[i])
			patience = sooner_ms(patience, task_patience_ms(tasks->tasks[i]));
	}
	if (!may_start)
		return patience;
	return sooner_ms(patience,
			 until_ms(name_files_next_ns(tasks->files, running_limit(tasks))));
}

bool name_tasks_are_idle(const struct name_tasks *tasks)
{
	for (size_t i = 0; i < MAX_TASKS; i++) {
		if (tasks->tasks[i])
			return false;
	}
	return name_files_next_ns(tasks->files, UINT_MAX) > clock_mono_ns() + SOON_NS;
}

/* --- life ------------------------------------------------------------------------------------- */

int name_tasks_new(const struct code_source *source, const struct name_tasks_options *options,
		   struct name_places *places, struct name_files *files, struct name_tasks **ret)
{
	struct name_tasks *tasks = calloc(1, sizeof(*tasks));
	int err = tasks ? 0 : -ENOMEM;

	if (!err && options->debuginfod)
		err = debuginfod_new(&tasks->debuginfod);
	if (err) {
		free(tasks);
		return err;
	}
	tasks->source = *source;
	tasks->options = *options;
	tasks->places = places;
	tasks->files = files;
	*ret = tasks;
	return 0;
}

void name_tasks_free(struct name_tasks *tasks)
{
	if (!tasks)
		return;
	for (size_t i = 0; i < MAX_TASKS; i++) {
		if (tasks->tasks[i])
			task_free(tasks->tasks[i]);
	}
	debuginfod_free(tasks->debuginfod);
	free(tasks);
}
