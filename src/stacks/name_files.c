/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads files: a task takes places of a file that are wanted, and goes through its steps, each of which
 * waits for one child at most. Invariant: a file that wants something has an errand on the list; it is
 * open only as long as it has a task.
 */
#include "stacks/name_files.h"

#include <fcntl.h>

#include "base/clock.h"
#include "base/text.h"
#include "elf/debuginfod.h"

/* Stacks come in crowds: one worker is to be asked about many. */
#define CROWD_NS (200 * NS_PER_MS)

/* An unknown moment is soon. */
#define DELAY_NS   (NS_PER_SEC / 2)
#define MAX_DELAYS 20

/*
 * A file whose opening has not ended may be behind thousands of others: then pauses are longer, but
 * shorter than a source keeps files open. After a quarter of an hour it has failed.
 */
#define LONG_DELAY_NS (8 * NS_PER_SEC)
#define MAX_WAITS     (MAX_DELAYS + 110)

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
	struct name_files *files;
	struct name_file *file;
	enum task_step step;
	bool has_died; /* somebody who read for it: something is missing */
	struct place_list batch;
	struct code_search search;
	struct opened_code opened;
	struct elf_identity identity;
	struct debug_files debug;        /* that may be the file's */
	int debug_fd;                    /* the one that is; -1: none so far */
	struct debuginfod_folder folder; /* of the client that it waits for */
};

struct name_files {
	struct code_source source;
	struct names_options options;
	struct errands *errands;
	struct name_places *places;
	struct debuginfod *debuginfod; /* NULL: nobody is asked */
	void *files;                   /* tree of struct name_file */
};

/* --- steps ------------------------------------------------------------------------------------ */

/* A step starts a child or wants another turn (0), has nothing to do (1), or fails. */

static bool debug_is_wanted(const struct name_task *task)
{
	const struct elf_identity *identity = &task->identity;

	return task->debug_fd < 0 && clock_mono_ns() >= task->file->more_ns &&
	       (!identity->has_symtab || (task->files->options.inlines && !identity->has_dwarf));
}

static int worker_ask(struct name_task *task, enum elf_question_kind kind, int fd,
		      const struct debug_files *debug, uint64_t add)
{
	const struct code_source *source = &task->files->source;
	const struct elf_proof proof = {
		.is_it = source->is_it,
		.closure = source->closure,
		.fd = source->fds[0],
		.number = task->file->errand.number,
		.key = task->opened.key,
	};
	bool has_key = fd == task->opened.fd && task->opened.key.ino;
	struct elf_question question = {
		.kind = kind, .fd = fd, .debug = debug, .proof = has_key ? &proof : NULL
	};

	return place_list_ask(&task->batch, add, &question, &task->file->errand.child);
}

static int open_begin(struct name_task *task)
{
	const struct code_source *source = &task->files->source;
	struct name_file *file = task->file;
	int err = source->open(source->closure, file->number, &task->opened);

	if (err != -ESRCH)
		return err ? err : 1;
	task->search = (struct code_search){ source->closure, file->errand.number, file->number,
					     file->process };
	return copy_start(source->search, &task->search, source->fds, ARRAY_SIZE(source->fds),
			  &file->errand.child);
}

static int open_finish(struct name_task *task)
{
	struct copy_answer answer = { .nr_fds = 0 };
	int err = copy_finish(&task->file->errand.child, &answer);

	if (!err)
		opened_code_unpack(&answer, &task->opened);
	return err || task->opened.fd >= 0 ? err : -ESRCH;
}

/* Names what is found; what is not keeps the name that it has. */
static void symbols_take(struct name_task *task, const struct elf_functions *functions)
{
	const struct code_source *source = &task->files->source;
	const char *module = source->module(source->closure, task->file->number);
	struct name_places *places = task->files->places;

	for (size_t i = 0; i < task->batch.nr; i++) {
		struct name_place *place = task->batch.places[i];
		uint64_t address = place->at + functions->identity.load_offset;
		const struct elf_function *function = elf_functions_find(functions, address);

		name_places_put_module(places, place, module);
		if (function)
			name_places_put_symbol(places, place,
					       elf_function_name(functions, function, 0),
					       address - function->start);
		else
			name_places_put_offset(places, place, address);
	}
}

static int own_begin(struct name_task *task)
{
	return worker_ask(task, ELF_SYMBOLS, task->opened.fd, NULL, 0);
}

static int own_finish(struct name_task *task)
{
	const struct code_source *source = &task->files->source;
	struct elf_functions *functions __cleanup(elf_functions_freep) = NULL;
	int err = elf_worker_functions(&task->file->errand.child, &functions);

	/*
	 * The names read may be what somebody has just written there, perhaps to his own copy of it,
	 * in one of several containers: it is opened anew, by whoever has it still.
	 */
	if (err == -ESTALE || !opened_code_is_unchanged(&task->opened)) {
		source->drop(source->closure, task->file->number);
		return -EAGAIN;
	}
	if (err)
		return err;
	task->identity = functions->identity;
	symbols_take(task, functions);
	return 0;
}

/* Runs in the copy of this process: the paths are those of whoever runs the program. */
static int look_run(void *closure, struct copy_answer *ret)
{
	const struct name_task *task = closure;
	struct debug_files debug;

	debug_files_open(task->opened.root, task->opened.path, task->opened.owner, &task->identity,
			 &debug);
	for (size_t i = 0; i < debug.nr; i++)
		ret->fds[ret->nr_fds++] = debug.fds[i];
	return 0;
}

static int look_begin(struct name_task *task)
{
	if (!debug_is_wanted(task) || task->opened.root < 0)
		return 1;
	return copy_start(look_run, task, &task->opened.root, 1, &task->file->errand.child);
}

static int look_finish(struct name_task *task)
{
	struct copy_answer answer = { .nr_fds = 0 };
	int err = copy_finish(&task->file->errand.child, &answer);

	task->has_died |= err != 0;
	for (size_t i = 0; !err && i < answer.nr_fds; i++)
		task->debug.fds[task->debug.nr++] = answer.fds[i];
	return 0;
}

static int debug_begin(struct name_task *task)
{
	if (!task->debug.nr)
		return 1;
	return worker_ask(task, ELF_SYMBOLS, task->opened.fd, &task->debug, 0);
}

/* Whether a file that could not be read is what it is. Writing to it makes another file of it. */
static bool failure_lasts(int err)
{
	return err == -EBADMSG || err == -E2BIG || err == -EINVAL || err == -EFBIG ||
	       err == -ENOTSUP || err == -ENOSYS;
}

/* An addition that ends does not end the task. */
static bool more_is_good(struct name_task *task, int err)
{
	if (!opened_code_is_unchanged(&task->opened))
		return false;
	task->has_died |= err && (err == -E2BIG || !failure_lasts(err));
	return !err;
}

static int debug_finish(struct name_task *task)
{
	struct elf_functions *functions __cleanup(elf_functions_freep) = NULL;
	int err = elf_worker_functions(&task->file->errand.child, &functions);
	size_t chosen = more_is_good(task, err) ? functions->debug : DEBUG_FILE_NONE;

	if (chosen < task->debug.nr) {
		symbols_take(task, functions);
		task->debug_fd = task->debug.fds[chosen];
		task->debug.fds[chosen] = task->debug.fds[--task->debug.nr];
	}
	debug_files_close(&task->debug);
	return 0;
}

/*
 * Waiting for servers takes long: it is an errand of another kind, so that nobody waits behind it.
 */
static int fetch_begin(struct name_task *task)
{
	struct name_files *files = task->files;
	struct errand *errand = &task->file->errand;
	int err;

	if (!debug_is_wanted(task) || !files->debuginfod || task->file->is_fetched)
		return 1;
	if (errand->kind != ERRAND_FETCH) {
		if (!errands_have_room(files->errands, ERRAND_FETCH, errand->user))
			return -EAGAIN;
		errand->kind = ERRAND_FETCH;
		return 0;
	}
	err = debuginfod_start(files->debuginfod, &task->identity, &task->folder, &errand->child);
	if (err == -EAGAIN)
		return err;
	task->file->is_fetched = true;
	return err ? 1 : 0;
}

static int fetch_finish(struct name_task *task)
{
	struct name_file *file = task->file;
	int fd = debuginfod_finish(task->files->debuginfod, &task->folder, &file->errand.child);

	/* A server that was too slow may be asked another time. */
	if (fd == -ETIMEDOUT) {
		task->has_died = true;
		file->is_fetched = false;
	}
	file->fetched = fd < 0 ? -1 : fd;
	return 0;
}

static int fetched_begin(struct name_task *task)
{
	if (task->file->errand.kind == ERRAND_FETCH) {
		task->file->errand.kind = ERRAND_NAMES;
		return 0;
	}
	if (!debug_is_wanted(task) || task->file->fetched < 0)
		return 1;
	task->debug.fds[0] = fcntl(task->file->fetched, F_DUPFD_CLOEXEC, 0);
	task->debug.nr = task->debug.fds[0] >= 0;
	return debug_begin(task);
}

static int inlines_begin(struct name_task *task)
{
	int fd = task->identity.has_dwarf ? task->opened.fd : task->debug_fd;

	if (!task->files->options.inlines || clock_mono_ns() < task->file->more_ns || fd < 0)
		return 1;
	return worker_ask(task, ELF_INLINES, fd, NULL, task->identity.load_offset);
}

static int inlines_finish(struct name_task *task)
{
	struct elf_functions *functions __cleanup(elf_functions_freep) = NULL;
	int err = elf_worker_functions(&task->file->errand.child, &functions);

	if (!more_is_good(task, err))
		return 0;
	for (size_t i = 0; i < task->batch.nr; i++) {
		struct name_place *place = task->batch.places[i];

		name_places_put_inlined(task->files->places, place, functions,
					place->at + task->identity.load_offset);
	}
	return 0;
}

static const struct {
	int (*begin)(struct name_task *task);
	int (*finish)(struct name_task *task);
	bool is_needed; /* without it there is nothing to go on with */
} steps[NR_TASK_STEP] = {
	[TASK_OPEN] = { open_begin, open_finish, true },
	[TASK_OWN] = { own_begin, own_finish, true },
	[TASK_LOOK] = { look_begin, look_finish, false },
	[TASK_DEBUG] = { debug_begin, debug_finish, false },
	[TASK_FETCH] = { fetch_begin, fetch_finish, false },
	[TASK_FETCHED] = { fetched_begin, debug_finish, false },
	[TASK_INLINES] = { inlines_begin, inlines_finish, false },
};

/* --- tasks ------------------------------------------------------------------------------------ */

static void batch_put_back(struct name_file *file, struct place_list *batch)
{
	for (size_t i = 0; i < batch->nr; i++) {
		if (place_list_add(&file->wanted, batch->places[i]))
			name_places_settle_one(file->files->places, batch->places[i], true);
	}
	free(batch->places);
	*batch = (struct place_list){ 0 };
}

/* NULL is fine. Its child is gone. */
static void task_free(struct name_task *task)
{
	if (!task)
		return;
	debuginfod_folder_done(&task->folder);
	debug_files_close(&task->debug);
	closep(&task->debug_fd);
	opened_code_close(&task->opened);
	free(task->batch.places);
	free(task);
}

/* A worker that died of debug information is not sent there again for a while; names it lacks are counted. */
static void more_note(struct name_task *task)
{
	struct name_file *file = task->file;

	if (clock_mono_ns() < file->more_ns) {
		task->has_died = true;
	} else if (task->has_died) {
		file->more_failures++;
		file->more_ns = errand_retry_ns(file->more_failures + MAX_NAME_TRIES);
	} else {
		file->more_failures = 0;
	}
}

static void file_failed(struct name_file *file, struct place_list *batch, int err)
{
	struct name_places *places = file->files->places;

	file->failures++;
	file->is_lost = err == -ESRCH;
	file->is_barren = failure_lasts(err);
	file->is_barren_oddly = err != -EBADMSG;
	file->errand.due_ns =
		errand_retry_ns(file->is_barren ? MAX_RETRY_STEP + 1 : file->failures);
	if (file->is_barren) {
		name_places_settle(places, batch, file->is_barren_oddly);
		name_places_settle(places, &file->wanted, file->is_barren_oddly);
	} else {
		batch_put_back(file, batch);
	}
	/* A stack that waits for ever would keep all that is known from being kept. */
	if (file->failures >= MAX_NAME_WAITS)
		name_places_settle(places, &file->wanted, true);
	/* A permission that is missing now will be missing in a minute. */
	if (file->is_lost || err == -EACCES || file->failures >= MAX_NAME_TRIES)
		name_places_fail(&file->wanted);
}

/* Its batch is settled, or else wanted as before, but not soon. */
static enum errand_turn task_end(struct name_task *task, int err)
{
	struct name_file *file = task->file;
	uint64_t now_ns = clock_mono_ns();

	if (err != -EINPROGRESS)
		file->waits = 0;
	if (err == -EAGAIN && task->step == TASK_FETCH) {
		file->errand.due_ns = debuginfod_again_ns(task->files->debuginfod);
		batch_put_back(file, &task->batch);
	} else if (err == -EINPROGRESS && file->waits < MAX_WAITS) {
		file->errand.due_ns =
			now_ns + (++file->waits < MAX_DELAYS ? DELAY_NS : LONG_DELAY_NS);
		batch_put_back(file, &task->batch);
	} else if (err == -EAGAIN && ++file->delays < MAX_DELAYS) {
		file->errand.due_ns = now_ns + DELAY_NS;
		batch_put_back(file, &task->batch);
	} else if (err) {
		file_failed(file, &task->batch, err);
	} else {
		more_note(task);
		/* A place that has a name lacks only what was inlined there. */
		for (size_t i = 0; i < task->batch.nr; i++)
			name_places_settle_one(task->files->places, task->batch.places[i],
					       task->has_died && (task->files->options.inlines ||
								  !task->batch.places[i]->symbol));
		file->failures = file->delays = 0;
		file->is_barren = false;
		file->errand.due_ns = 0;
	}
	file->errand.kind = ERRAND_NAMES;
	file->task = NULL;
	task_free(task);
	return file->wanted.nr ? ERRAND_AGAIN : ERRAND_OVER;
}

/* Goes on to the next step that waits. 1: there is none. */
static int task_next(struct name_task *task)
{
	for (; task->step < NR_TASK_STEP; task->step++) {
		int err = steps[task->step].begin(task);

		if (!err || (err < 0 && steps[task->step].is_needed) || err == -EAGAIN)
			return err;
		/* The names there are stay, whatever could not be added. */
		task->has_died |= err < 0;
		if (task->step != TASK_LOOK)
			debug_files_close(&task->debug);
	}
	return 1;
}

static enum errand_turn file_step(void *closure)
{
	struct name_file *file = closure;
	struct name_task *task = file->task ?: calloc(1, sizeof(*task));
	int err = 0;

	if (!task) {
		file->errand.due_ns = clock_mono_ns() + DELAY_NS;
		return ERRAND_AGAIN;
	}
	if (!file->task) {
		*task = (struct name_task){ .files = file->files,
					    .file = file,
					    .opened = NO_CODE,
					    .debug_fd = -1,
					    .batch = file->wanted };
		file->wanted = (struct place_list){ 0 };
		file->task = task;
	}
	if (file->errand.child.pid) {
		err = steps[task->step].finish(task);
		task->step += !err;
	}
	if (!err)
		err = task_next(task);
	if (err)
		return task_end(task, err > 0 ? 0 : err);
	return file->errand.child.pid ? ERRAND_RUNS : ERRAND_AGAIN;
}

/* --- files ------------------------------------------------------------------------------------ */

int name_files_new(const struct code_source *source, const struct names_options *options,
		   struct errands *errands, struct name_places *places, struct name_files **ret)
{
	struct name_files *files __cleanup(freep) = calloc(1, sizeof(*files));
	int err = files ? 0 : -ENOMEM;

	if (!err && options->debuginfod)
		err = debuginfod_new(&files->debuginfod);
	if (err)
		return err;
	files->source = *source;
	files->options = *options;
	files->errands = errands;
	files->places = places;
	*ret = steal_ptr(&files);
	return 0;
}

static void file_free(void *node)
{
	struct name_file *file = node;

	errands_remove(file->files->errands, &file->errand);
	task_free(file->task);
	closep(&file->fetched);
	free(file->wanted.places);
	free(file);
}

void name_files_free(struct name_files *files)
{
	if (!files)
		return;
	tdestroy(files->files, file_free);
	debuginfod_free(files->debuginfod);
	free(files);
}

struct name_file *name_files_get(struct name_files *files, uint32_t number)
{
	const struct name_file fresh = { .number = number, .files = files, .fetched = -1 };
	struct name_file *const *found = tfind(&number, &files->files, compare_first_u32), *file;

	if (found)
		return *found;
	file = tree_add(&files->files, &fresh, sizeof(fresh), compare_first_u32);
	if (file)
		errand_init(&file->errand, ERRAND_NAMES, file_step, file);
	return file;
}

/* The user whose turn is next pays for it: nobody makes others wait by having their files. */
void name_file_met(struct name_file *file, const struct process_id *process, uint32_t user)
{
	struct errand *errand = &file->errand;

	if (!file->wanted.nr || file->is_lost || user == errand->user ||
	    errands_prefer(file->files->errands, errand->kind, user, errand->user)) {
		file->process = *process;
		if (!errand->is_running)
			errand->user = user;
	}
	if (!file->is_lost)
		return;
	file->is_lost = false;
	file->failures = 0;
	errands_set_due(file->files->errands, errand, 0);
}

static bool file_is_barren(const struct name_file *file)
{
	return file->is_barren && clock_mono_ns() < file->errand.due_ns;
}

bool name_file_may_tell(const struct name_file *file)
{
	return !file_is_barren(file) && clock_mono_ns() >= file->more_ns;
}

void name_file_want(struct name_file *file, struct name_place *place)
{
	struct name_files *files = file->files;
	uint64_t crowd_ns = files->options.at_once ? clock_mono_ns() + CROWD_NS : 0;

	if (file_is_barren(file)) {
		name_places_settle_one(files->places, place, file->is_barren_oddly);
		return;
	}
	if (place_list_add(&file->wanted, place)) {
		name_places_settle_one(files->places, place, true);
		return;
	}
	if (errand_is_busy(&file->errand))
		return;
	if (file->errand.due_ns < crowd_ns)
		file->errand.due_ns = crowd_ns;
	errands_add(files->errands, &file->errand);
}
