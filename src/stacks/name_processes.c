/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps what /proc and a JIT's perf map say of processes, for code that no file's table tells of. All
 * of it is untrusted text, and all of one process: it is read through one descriptor of its folder, by a
 * copy of this process, since whoever has written it may keep its reader waiting. Invariant: the
 * mappings that are kept of a process are those of the layout that stands beside them, which the kernel
 * had before they were read and after. A perf map is parsed by a worker, for all addresses that have come
 * meanwhile, and the more seldom the larger it is.
 */
#include "stacks/name_processes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "elf/symbols.h"

#define MAX_MAPPINGS 4096

/* Mappings are not read again for a quarter of a second, a perf map of 32 MiB not for 9 s. */
#define MAPPINGS_PAUSE_NS (250 * NS_PER_MS)
#define PAUSE_NS_PER_BYTE 300

/* No process of the kernel's has this much, and vsyscall is no process's. */
#define END_OF_USER_MEMORY (1ULL << 63)

#define PAGE_BYTES 4096

struct process_mapping {
	struct code_mapping memory;
	struct inode_key key; /* of its file; all zero: nobody knows it */
	uint32_t file;        /* FILE_NONE: not asked for so far */
	uint32_t name;        /* offset in names */
};

/* Shared with the copy that fills it. Only what is used takes memory. */
struct mappings {
	uint32_t layout;
	uint64_t exec_pages;
	size_t nr, names_bytes;
	struct process_mapping list[MAX_MAPPINGS];
	char names[MAX_MAPPINGS * (NAME_MAX + 1)]; /* each ends in NUL */
};

/* Tells whether a perf map is another one than before. All zero: there was none. */
struct map_state {
	uint64_t ino, bytes, mtime_s, mtime_ns;
};

struct name_process {
	struct name_processes *processes;
	struct process_id id;
	int folder; /* in /proc; -1: it is not that process any more */
	uint32_t user;
	uint64_t used_ns;

	struct errand mappings_errand;
	struct mappings *mappings, *fresh; /* those that are known, and being read; NULL: none */
	struct unnamed_stack **stacks;     /* that wait for its mappings */
	size_t nr_stacks, nr_asked;        /* so many of them for those that are being read */
	size_t nr_ready;                   /* and so many do not wait any more */

	struct errand map_errand; /* reads its perf map, for the batch */
	struct place_list wanted, batch;
	bool wants_fresh, has_fresh; /* some of them were not looked for in it before */
	struct map_state state;      /* when it was read last */
	bool is_read;                /* a worker reads it */
	uint64_t map_bytes;          /* that one has read */
};

struct name_processes {
	struct code_source source;
	struct errands *errands;
	struct name_places *places;
	struct name_process *processes[MAX_NAME_PROCESSES];
};

/* --- its mappings, in the copy ---------------------------------------------------------------- */

/* In a user namespace of his own, a user can give files any name. */
static int mappings_read(const struct name_process *process, struct mappings *ret)
{
	const struct code_source *source = &process->processes->source;
	FILE *maps __cleanup(fclosep) = process_file(process->folder, "maps");
	bool is_arranged = !process_is_of_our_users(process->folder);
	struct code_mapping_name name;
	struct code_mapping memory;

	while (maps && process_maps_next(maps, &memory, &name)) {
		struct process_mapping *mapping = &ret->list[ret->nr];

		if (!memory.exec)
			continue;
		/* The kernel counts pages of code like this. */
		if (!memory.write && memory.start < END_OF_USER_MEMORY)
			ret->exec_pages += (memory.end - memory.start) / PAGE_BYTES;
		if (ret->nr++ == MAX_MAPPINGS)
			return -E2BIG;
		mapping->memory = memory;
		mapping->name = (uint32_t)ret->names_bytes;
		strcpy(ret->names + ret->names_bytes, is_arranged ? "" : name.text);
		ret->names_bytes += strlen(ret->names + ret->names_bytes) + 1;
		if (!memory.ino || !source->key ||
		    !source->key(source->closure, process->folder, &memory, &mapping->key))
			mapping->key = (struct inode_key){ 0 };
	}
	return maps ? 0 : -ESRCH;
}

/* Reads the mappings that the process has in one layout, if it is still that process. */
static int mappings_run(void *closure, struct copy_answer *ret)
{
	const struct name_process *process = closure;
	const struct code_source *source = &process->processes->source;
	struct mappings *fresh = process->fresh;
	int err = -ESRCH;

	(void)ret;
	fresh->layout = source->layout ? source->layout(source->closure, &process->id) : 0;
	if (fresh->layout && process_is(process->folder, &process->id))
		err = mappings_read(process, fresh);
	if (!err && (process_has_executed(process->folder, &process->id) ||
		     source->layout(source->closure, &process->id) != fresh->layout))
		err = -EAGAIN;
	return err;
}

/* --- its mappings, here ----------------------------------------------------------------------- */

static void mappings_free(struct mappings *mappings)
{
	if (mappings)
		munmap(mappings, sizeof(*mappings));
}

static int mappings_begin(struct name_process *process)
{
	const struct code_source *source = &process->processes->source;
	const int fds[] = { process->folder, source->fds[0], source->fds[1] };
	void *fresh;

	process->nr_asked = process->nr_stacks;
	if (process->folder < 0)
		return -ESRCH;
	fresh = mmap(NULL, sizeof(*process->fresh), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (fresh == MAP_FAILED)
		return -errno;
	process->fresh = fresh;
	return copy_start(mappings_run, process, fds, ARRAY_SIZE(fds),
			  &process->mappings_errand.child);
}

static enum errand_turn mappings_step(void *closure)
{
	struct copy_answer answer __cleanup(copy_answer_done) = { .nr_fds = 0 };
	struct name_process *process = closure;
	struct errand *errand = &process->mappings_errand;

	if (!errand->child.pid && !mappings_begin(process))
		return ERRAND_RUNS;
	if (errand->child.pid && !copy_finish(&errand->child, &answer)) {
		mappings_free(process->mappings);
		process->mappings = steal_ptr(&process->fresh);
	}
	mappings_free(steal_ptr(&process->fresh));
	process->nr_ready = process->nr_asked;
	errand->due_ns = clock_mono_ns() + MAPPINGS_PAUSE_NS;
	return process->nr_stacks > process->nr_ready ? ERRAND_AGAIN : ERRAND_OVER;
}

/* --- what a JIT says -------------------------------------------------------------------------- */

/* Runs in the copy of this process: the folder is one that the process sees. */
static int jit_open(void *closure, struct copy_answer *ret)
{
	const struct name_process *process = closure;
	int root __cleanup(closep) = -1;
	struct map_state now;
	struct stat status;
	pid_t own_pid = 0;
	uid_t user = 0;
	int fd;

	if (!process_is(process->folder, &process->id))
		return -ESRCH;
	root = openat(process->folder, "root", O_PATH | O_CLOEXEC | O_DIRECTORY);
	if (root < 0 || !process_status(process->folder, &own_pid, &user))
		return -ESRCH;
	fd = perf_map_open(root, own_pid, user);
	if (fd < 0)
		return fd;
	ret->fds[ret->nr_fds++] = fd;
	if (fstat(fd, &status))
		return -errno;
	now.ino = status.st_ino;
	now.bytes = (uint64_t)status.st_size;
	now.mtime_s = (uint64_t)status.st_mtim.tv_sec;
	now.mtime_ns = (uint64_t)status.st_mtim.tv_nsec;
	memcpy(ret->numbers, &now, sizeof(now));
	return process->has_fresh || memcmp(&now, &process->state, sizeof(now)) ? 0 : -EALREADY;
}

static int jit_read(struct name_process *process)
{
	struct copy_answer answer __cleanup(copy_answer_done) = { .nr_fds = 0 };
	int err = copy_finish(&process->map_errand.child, &answer);

	if (!err && !answer.nr_fds)
		err = -EPROTO;
	if (!err)
		memcpy(&process->state, answer.numbers, sizeof(process->state));
	if (!err)
		err = place_list_ask(
			&process->batch, 0,
			&(struct elf_question){ .kind = ELF_PERF_MAP, .fd = answer.fds[0] },
			&process->map_errand.child);
	process->is_read = !err;
	return err;
}

static int jit_take(struct name_process *process)
{
	struct elf_functions *functions __cleanup(elf_functions_freep) = NULL;
	struct name_places *places = process->processes->places;
	int err = elf_worker_functions(&process->map_errand.child, &functions);

	/* Its size is that of what was read: it may have grown meanwhile. */
	process->map_bytes = err ? MAX_PERF_MAP_BYTES : functions->map_bytes;
	if (err || process_has_executed(process->folder, &process->id))
		return err;
	for (size_t i = 0; i < process->batch.nr; i++) {
		struct name_place *place = process->batch.places[i];
		const struct elf_function *found = elf_functions_find(functions, place->at);

		if (!found)
			continue;
		name_places_put_symbol(places, place, elf_function_name(functions, found, 0),
				       place->at - found->start);
		if (place->symbol)
			name_places_put_module(places, place, "[jit]");
	}
	return 0;
}

/* No names is all there is to say of what has no perf map, or the same as before. */
static enum errand_turn jit_end(struct name_process *process, int err)
{
	process->map_errand.due_ns = clock_mono_ns() + process->map_bytes * PAUSE_NS_PER_BYTE;
	process->map_bytes = 0;
	process->is_read = false;
	name_places_settle(process->processes->places, &process->batch,
			   err && err != -ENOENT && err != -EALREADY);
	return process->wanted.nr ? ERRAND_AGAIN : ERRAND_OVER;
}

static enum errand_turn jit_step(void *closure)
{
	struct name_process *process = closure;
	int err;

	if (process->is_read)
		return jit_end(process, jit_take(process));
	if (process->map_errand.child.pid) {
		err = jit_read(process);
	} else {
		process->batch = process->wanted;
		process->wanted = (struct place_list){ 0 };
		process->has_fresh = process->wants_fresh;
		process->wants_fresh = false;
		err = process->folder < 0 ? -ESRCH
					  : copy_start(jit_open, process, &process->folder, 1,
						       &process->map_errand.child);
	}
	return err ? jit_end(process, err) : ERRAND_RUNS;
}

/* --- processes -------------------------------------------------------------------------------- */

static void process_free(struct name_process *process)
{
	if (!process)
		return;
	errands_remove(process->processes->errands, &process->mappings_errand);
	errands_remove(process->processes->errands, &process->map_errand);
	free(process->stacks);
	free(process->wanted.places);
	free(process->batch.places);
	mappings_free(process->mappings);
	mappings_free(process->fresh);
	closep(&process->folder);
	free(process);
}

static bool process_is_busy(const struct name_process *process)
{
	return process->nr_stacks || errand_is_busy(&process->mappings_errand) ||
	       errand_is_busy(&process->map_errand);
}

/*
 * Finds room: that of the process that was used least lately, but never of one that waits for
 * names. A user who has half of all makes room among their own.
 */
static struct name_process **room_find(struct name_processes *processes, uint32_t user)
{
	struct name_process **all = processes->processes, **best = NULL;
	size_t own = 0;

	for (size_t i = 0; i < MAX_NAME_PROCESSES; i++)
		own += all[i] && all[i]->user == user;
	for (size_t i = 0; i < MAX_NAME_PROCESSES; i++) {
		if (!all[i] && own < MAX_NAME_PROCESSES / 2)
			return &all[i];
		if (!all[i] || process_is_busy(all[i]) ||
		    (own >= MAX_NAME_PROCESSES / 2 && all[i]->user != user))
			continue;
		if (!best || all[i]->used_ns < (*best)->used_ns)
			best = &all[i];
	}
	return best;
}

static struct name_process *process_find(const struct name_processes *processes,
					 const struct process_id *id)
{
	for (size_t i = 0; i < MAX_NAME_PROCESSES; i++) {
		struct name_process *process = processes->processes[i];

		if (process && process->id.pid == id->pid &&
		    process->id.started_ns == id->started_ns &&
		    process->id.stack_start == id->stack_start)
			return process;
	}
	return NULL;
}

/* NULL: there is no room, or no memory. */
static struct name_process *process_get(struct name_processes *processes,
					const struct process_id *id, uint32_t user)
{
	struct name_process *process = process_find(processes, id), **at;

	if (process) {
		process->used_ns = clock_mono_ns();
		return process;
	}
	at = room_find(processes, user);
	if (!at) {
		name_places_refuse(processes->places);
		return NULL;
	}
	process_free(*at);
	process = *at = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	errand_init(&process->mappings_errand, ERRAND_PROCESS, mappings_step, process);
	errand_init(&process->map_errand, ERRAND_PROCESS, jit_step, process);
	process->user = process->mappings_errand.user = process->map_errand.user = user;
	process->processes = processes;
	process->id = *id;
	process->folder = process_open(id->pid);
	process->used_ns = clock_mono_ns();
	return process;
}

bool name_processes_ask(struct name_processes *processes, const struct stack_event *event,
			struct unnamed_stack *stack)
{
	struct name_process *process;
	struct unnamed_stack **grown;

	if (!event->process.layout)
		return false;
	process = process_get(processes, &event->process, event->uid);
	if (!process || (process->mappings && process->mappings->layout == event->process.layout))
		return false;
	grown = reallocarray(process->stacks, process->nr_stacks + 1, sizeof(*grown));
	if (!grown)
		return false;
	process->stacks = grown;
	process->stacks[process->nr_stacks++] = stack;
	errands_add(processes->errands, &process->mappings_errand);
	return true;
}

struct unnamed_stack *name_processes_take(struct name_processes *processes)
{
	for (size_t i = 0; i < MAX_NAME_PROCESSES; i++) {
		struct name_process *process = processes->processes[i];
		struct unnamed_stack *stack;

		if (!process || !process->nr_ready)
			continue;
		/* The last one of each part takes the place of the last one of the part before. */
		stack = process->stacks[--process->nr_ready];
		process->stacks[process->nr_ready] = process->stacks[--process->nr_asked];
		process->stacks[process->nr_asked] = process->stacks[--process->nr_stacks];
		return stack;
	}
	return NULL;
}

bool name_processes_find(struct name_processes *processes, const struct process_id *id,
			 uint32_t exec_pages, uint64_t address, struct found_code *ret)
{
	const struct code_source *source = &processes->source;
	struct name_process *process = process_find(processes, id);
	struct mappings *mappings = process ? process->mappings : NULL;
	struct process_mapping *mapping;
	const char *name;
	size_t i = 0;

	if (!id->layout || !mappings || mappings->layout != id->layout ||
	    mappings->exec_pages != exec_pages)
		return false;
	while (i < mappings->nr && (address < mappings->list[i].memory.start ||
				    address >= mappings->list[i].memory.end))
		i++;
	if (i == mappings->nr)
		return false;
	mapping = &mappings->list[i];
	name = mappings->names + mapping->name;
	if (mapping->key.ino && mapping->file == FILE_NONE)
		mapping->file = source->find(source->closure, id->pid, &mapping->memory,
					     &mapping->key, *name ? name : NULL);
	ret->file = mapping->file;
	ret->offset = address - mapping->memory.start + mapping->memory.offset;
	return !mapping->memory.ino || ret->file != FILE_NONE;
}

void name_processes_want(struct name_processes *processes, const struct process_id *id,
			 struct name_place *place, bool again)
{
	struct name_process *process = process_get(processes, id, place->user->uid);

	if (!process || place_list_add(&process->wanted, place)) {
		name_places_settle_one(processes->places, place, true);
		return;
	}
	process->wants_fresh |= !again;
	errands_add(processes->errands, &process->map_errand);
}

/* --- life ------------------------------------------------------------------------------------- */

int name_processes_new(const struct code_source *source, struct errands *errands,
		       struct name_places *places, struct name_processes **ret)
{
	struct name_processes *processes = calloc(1, sizeof(*processes));

	if (!processes)
		return -ENOMEM;
	processes->source = *source;
	processes->errands = errands;
	processes->places = places;
	*ret = processes;
	return 0;
}

void name_processes_free(struct name_processes *processes)
{
	if (!processes)
		return;
	for (size_t i = 0; i < MAX_NAME_PROCESSES; i++)
		process_free(processes->processes[i]);
	free(processes);
}
