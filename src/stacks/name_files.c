/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the reading of files: a task takes all places of a file that are wanted, and goes through its
 * steps, each of which waits for a process at most. Invariant: a file with wanted places is in the
 * queue or busy, and open only while it is busy.
 */
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "stacks/names_private.h"

/* What fails by chance is tried again after 4, 32 seconds. */
#define MAX_FAILURES 3
#define RETRY_NS     (NS_PER_SEC / 2)

enum task_step {
	TASK_OWN,     /* symbols of the file */
	TASK_DEBUG,   /* of its debug file */
	TASK_FETCH,   /* servers are asked for that */
	TASK_FETCHED, /* symbols of what they gave */
	TASK_INLINES,
	NR_TASK_STEP,
};

struct name_task {
	struct names *names;
	struct name_file *file;
	enum task_step step;
	struct place_list batch;
	struct opened_code opened;
	struct elf_identity identity;
	uint64_t load_offset;
	struct debug_files debug;     /* that may be the file's */
	int debug_fd;                 /* the one that is; -1: none so far */
	struct elf_job *job;          /* what is waited for: this */
	struct debuginfod_job *fetch; /* or this */
	bool is_parked;               /* or until others are done with fetching */
};

/* --- files ------------------------------------------------------------------------------------ */

static int compare_files(const void *a, const void *b)
{
	const struct name_file *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

struct name_file *name_file_get(struct names *names, uint32_t number)
{
	const struct name_file like = { .number = number };
	struct name_file *const *found = tfind(&like, &names->files, compare_files);
	struct name_file *file;

	if (found || number == FILE_NONE)
		return found ? *found : NULL;
	file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	file->number = number;
	file->fetched = -1;
	if (tsearch(file, &names->files, compare_files))
		return file;
	free(file);
	return NULL;
}

void name_file_free(void *node)
{
	struct name_file *file = node;

	closep(&file->fetched);
	free(file->wanted.places);
	free(file);
}

static int queue_add(struct names *names, struct name_file *file)
{
	if (names->nr_queue == names->queue_capacity) {
		size_t capacity = 2 * names->queue_capacity + 16;
		struct name_file **grown = reallocarray(names->queue, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		names->queue = grown;
		names->queue_capacity = capacity;
	}
	if (!names->nr_queue)
		names->queued_ns = clock_mono_ns();
	names->queue[names->nr_queue++] = file;
	file->is_queued = true;
	return 0;
}

int name_file_want(struct names *names, struct name_file *file, struct name_place *place)
{
	if (file->is_hopeless) {
		place->settled = place->failed = true;
		names->counts.failed++;
		return 0;
	}
	if (!file->is_queued && !file->is_busy && queue_add(names, file))
		return -ENOMEM;
	return place_list_add(&file->wanted, place);
}

/* The first that may be begun now; NULL: none. */
static struct name_file *queue_take(struct names *names)
{
	uint64_t now_ns = clock_mono_ns();

	for (size_t i = 0; i < names->nr_queue; i++) {
		struct name_file *file = names->queue[i];

		if (file->retry_ns > now_ns)
			continue;
		memmove(&names->queue[i], &names->queue[i + 1],
			(--names->nr_queue - i) * sizeof(*names->queue));
		file->is_queued = false;
		return file;
	}
	return NULL;
}

/* --- the steps -------------------------------------------------------------------------------- */

/* A step waits for a process, has nothing to do (1), or fails. */

static bool debug_is_wanted(const struct name_task *task)
{
	const struct elf_identity *identity = &task->identity;

	return task->debug_fd < 0 &&
	       (!identity->has_symtab || (task->names->options.inlines && !identity->has_dwarf));
}

static int job_wait(struct name_task *task, int err)
{
	return err ? err : names_watch(task->names, elf_job_fd(task->job));
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
	const struct code_source *source = &task->names->source;
	uint64_t load_offset = elf_symbols_load_offset(symbols);
	struct elf_symbol symbol;

	for (size_t i = 0; i < task->batch.nr; i++) {
		struct name_place *place = task->batch.places[i];
		uint64_t address = place->at + load_offset;

		place->module = source->module(source->closure, place->file);
		if (elf_symbols_find(symbols, address, &symbol)) {
			place_name(task->names, place, symbol.name, address - symbol.addr);
		} else if (!place->symbol && place->offset != address) {
			place->offset = address;
			names_touch(task->names, place);
		}
	}
}

static int own_start(struct name_task *task)
{
	const struct code_source *source = &task->names->source;
	int err = source->open(source->closure, task->file->number, &task->file->process,
			       &task->opened);

	return err ? err : symbols_start(task, NULL);
}

static int own_finish(struct name_task *task)
{
	struct elf_symbols *symbols __cleanup(elf_symbols_freep) = NULL;
	int err = elf_job_finish_symbols(steal_ptr(&task->job), &symbols);

	if (err)
		return err;
	task->identity = *elf_symbols_identity(symbols);
	task->load_offset = elf_symbols_load_offset(symbols);
	symbols_take(task, symbols);
	return 0;
}

static int debug_start(struct name_task *task)
{
	if (!debug_is_wanted(task) || task->opened.root < 0)
		return 1;
	debug_files_open(task->opened.root, task->opened.path, task->opened.owner, &task->identity,
			 &task->debug);
	return task->debug.nr ? symbols_start(task, &task->debug) : 1;
}

static int debug_finish(struct name_task *task)
{
	struct elf_symbols *symbols __cleanup(elf_symbols_freep) = NULL;
	int err = elf_job_finish_symbols(steal_ptr(&task->job), &symbols);
	size_t chosen = err ? DEBUG_FILE_NONE : elf_symbols_debug_file(symbols);

	if (chosen < task->debug.nr) {
		symbols_take(task, symbols);
		task->debug_fd = task->debug.fds[chosen];
		task->debug.fds[chosen] = task->debug.fds[--task->debug.nr];
	}
	debug_files_close(&task->debug);
	return 0;
}

static size_t fetches(const struct names *names)
{
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names->tasks); i++)
		count += names->tasks[i] && names->tasks[i]->fetch;
	return count;
}

static size_t parked(const struct names *names)
{
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names->tasks); i++)
		count += names->tasks[i] && names->tasks[i]->is_parked;
	return count;
}

static int fetch_start(struct name_task *task)
{
	struct names *names = task->names;
	int err;

	if (!debug_is_wanted(task) || !names->debuginfod || task->file->is_fetched)
		return 1;
	if (fetches(names) >= MAX_FETCHES) {
		task->is_parked = parked(names) < MAX_PARKED;
		return task->is_parked ? 0 : 1;
	}
	err = debuginfod_start(names->debuginfod, &task->identity, &task->fetch);
	task->file->is_fetched = err != -EAGAIN;
	return err ? 1 : names_watch(names, debuginfod_job_fd(task->fetch));
}

static int fetch_finish(struct name_task *task)
{
	task->file->fetched = debuginfod_finish(steal_ptr(&task->fetch));
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

	if (!task->names->options.inlines || (!task->identity.has_dwarf && task->debug_fd < 0))
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

	if (elf_job_finish_inlines(steal_ptr(&task->job), &inlines))
		return 0;
	for (size_t i = 0; i < task->batch.nr; i++) {
		struct name_place *place = task->batch.places[i];
		size_t count = elf_inlines_find(inlines, place->at + task->load_offset, functions);

		place_name_inlined(task->names, place, functions, count);
	}
	return 0;
}

static const struct {
	int (*start)(struct name_task *task);
	int (*finish)(struct name_task *task);
} steps[NR_TASK_STEP] = {
	[TASK_OWN] = { own_start, own_finish },
	[TASK_DEBUG] = { debug_start, debug_finish },
	[TASK_FETCH] = { fetch_start, fetch_finish },
	[TASK_FETCHED] = { fetched_start, debug_finish },
	[TASK_INLINES] = { inlines_start, inlines_finish },
};

/* --- tasks ------------------------------------------------------------------------------------ */

static void task_free(struct name_task *task)
{
	elf_job_free(task->job);
	debuginfod_job_free(task->fetch);
	debug_files_close(&task->debug);
	closep(&task->debug_fd);
	opened_code_close(&task->opened);
	free(task->batch.places);
	free(task);
}

/* Whether a file that could not be read may be read another time. */
static bool failure_may_pass(int err)
{
	static const int lasting[] = { -EBADMSG, -E2BIG, -EINVAL, -EFBIG, -ENOTSUP, -ENOSYS };

	for (size_t i = 0; i < ARRAY_SIZE(lasting); i++) {
		if (err == lasting[i])
			return false;
	}
	return true;
}

/* They are wanted as before, but not soon. */
static int batch_put_back(struct names *names, struct name_file *file, struct place_list *batch)
{
	int err = 0;

	for (size_t i = 0; i < batch->nr && !err; i++)
		err = place_list_add(&file->wanted, batch->places[i]);
	if (err)
		return err;
	free(steal_ptr(&batch->places));
	batch->nr = 0;
	file->retry_ns = clock_mono_ns() + (RETRY_NS << 3 * file->failures);
	(void)names;
	return 0;
}

static void task_fail(struct names *names, struct name_task *task, int err)
{
	struct name_file *file = task->file;

	/* Nobody has it any more. Whoever comes to have it will be asked. */
	if (err == -ESRCH) {
		places_settle(names, &task->batch, true);
		return;
	}
	file->failures++;
	if (failure_may_pass(err) && file->failures < MAX_FAILURES &&
	    !batch_put_back(names, file, &task->batch))
		return;
	file->is_hopeless = true;
	/* No ELF file has no names, and that is all there is to say. */
	places_settle(names, &task->batch, err != -EBADMSG);
	places_settle(names, &file->wanted, err != -EBADMSG);
}

static void task_end(struct names *names, struct name_task *task, int err)
{
	struct name_file *file = task->file;

	if (err)
		task_fail(names, task, err);
	else
		places_settle(names, &task->batch, false);
	file->is_busy = false;
	if (file->wanted.nr && !file->is_queued && queue_add(names, file))
		places_settle(names, &file->wanted, true);
	task_free(task);
}

/* Goes on to the next step that waits. 1: there is none. */
static int task_next(struct name_task *task)
{
	int err = 1;

	for (; task->step < NR_TASK_STEP; task->step++) {
		err = steps[task->step].start(task);
		if (!err || (err < 0 && task->step == TASK_OWN))
			return err;
		/* What is there is not spoilt by what could not be added. */
		elf_job_free(steal_ptr(&task->job));
		debug_files_close(&task->debug);
	}
	return 1;
}

static bool task_is_ready(const struct name_task *task)
{
	return fd_is_ready(task->job ? elf_job_fd(task->job) : debuginfod_job_fd(task->fetch));
}

static void task_stop_overdue(struct name_task *task)
{
	if (task->job && !elf_job_timeout_ms(task->job))
		elf_job_stop(task->job);
	if (task->fetch && !debuginfod_job_timeout_ms(task->fetch))
		debuginfod_job_stop(task->fetch);
}

/* Whether it is over. */
static bool task_run(struct names *names, struct name_task *task)
{
	int err;

	if (task->is_parked) {
		if (fetches(names) >= MAX_FETCHES)
			return false;
		task->is_parked = false;
		err = task_next(task);
	} else if (task_is_ready(task)) {
		err = steps[task->step++].finish(task) ?: task_next(task);
	} else {
		task_stop_overdue(task);
		return false;
	}
	if (!err)
		return false;
	task_end(names, task, err > 0 ? 0 : err);
	return true;
}

static struct name_task *task_new(struct names *names, struct name_file *file)
{
	struct name_task *task = calloc(1, sizeof(*task));

	if (!task)
		return NULL;
	*task = (struct name_task){
		.names = names,
		.file = file,
		.batch = file->wanted,
		.opened = { .fd = -1, .root = -1 },
		.debug_fd = -1,
	};
	file->wanted = (struct place_list){ 0 };
	file->is_busy = true;
	return task;
}

/* NULL: it is over already. */
static struct name_task *task_start(struct names *names, struct name_file *file)
{
	struct name_task *task = task_new(names, file);
	int err;

	if (!task) {
		places_settle(names, &file->wanted, true);
		return NULL;
	}
	err = task_next(task);
	if (!err)
		return task;
	task_end(names, task, err);
	return NULL;
}

static size_t tasks_reading(const struct names *names)
{
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names->tasks); i++)
		count += names->tasks[i] && names->tasks[i]->job;
	return count;
}

void name_tasks_run(struct names *names, bool may_start)
{
	struct name_file *file;

	for (size_t i = 0; i < ARRAY_SIZE(names->tasks); i++) {
		if (names->tasks[i] && task_run(names, names->tasks[i]))
			names->tasks[i] = NULL;
	}
	for (size_t i = 0; i < ARRAY_SIZE(names->tasks) && may_start; i++) {
		while (!names->tasks[i] && tasks_reading(names) < MAX_FILE_TASKS &&
		       (file = queue_take(names)))
			names->tasks[i] = task_start(names, file);
	}
}

/* One that was stopped is not waited for but by its descriptor. */
static int task_patience_ms(const struct name_task *task)
{
	if (task->is_parked)
		return fetches(task->names) < MAX_FETCHES ? 0 : -1;
	return (task->job ? elf_job_timeout_ms(task->job) : debuginfod_job_timeout_ms(task->fetch))
		       ?: 1000;
}

int name_tasks_patience_ms(const struct names *names, bool may_start)
{
	int patience = -1;

	for (size_t i = 0; i < ARRAY_SIZE(names->tasks); i++) {
		if (names->tasks[i])
			patience = sooner_ms(patience, task_patience_ms(names->tasks[i]));
	}
	if (!may_start || tasks_reading(names) >= MAX_FILE_TASKS)
		return patience;
	for (size_t i = 0; i < names->nr_queue; i++)
		patience = sooner_ms(patience, until_ms(names->queue[i]->retry_ns));
	return patience;
}

bool name_tasks_are_idle(const struct names *names)
{
	uint64_t now_ns = clock_mono_ns();

	for (size_t i = 0; i < ARRAY_SIZE(names->tasks); i++) {
		if (names->tasks[i])
			return false;
	}
	for (size_t i = 0; i < names->nr_queue; i++) {
		if (names->queue[i]->retry_ns <= now_ns)
			return false;
	}
	return true;
}

void name_tasks_free(struct names *names)
{
	for (size_t i = 0; i < ARRAY_SIZE(names->tasks); i++) {
		if (names->tasks[i])
			task_free(steal_ptr(&names->tasks[i]));
	}
}
