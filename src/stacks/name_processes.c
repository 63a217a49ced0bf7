/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps what /proc and a JIT's perf map say of processes, for code that no file's table tells of. All
 * of it is untrusted text, and all of one process: it is read through one descriptor of its folder,
 * at once, as processes end. Invariant: the mappings that are kept of a process are those of the layout
 * that stands beside them, which the kernel had before they were read and after. A perf map is parsed
 * by a worker, for all addresses that have come meanwhile, and the more seldom the larger it is.
 */
#include "stacks/name_processes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "elf/perf_map.h"
#include "elf/worker.h"
#include "stacks/process.h"
#include "stacks/watcher.h"

#define MAX_MAPPINGS 4096

/* To read mappings in a second: of all processes, and of those of one user. */
#define MAPS_NS      (250 * NS_PER_MS)
#define MAPS_USER_NS (MAPS_NS / 2)

/* A perf map of 32 MiB is not read again for 9 s. */
#define PAUSE_NS_PER_BYTE 300

/* No process of the kernel's has this much, and vsyscall is no process's. */
#define END_OF_USER_MEMORY (1ULL << 63)

struct process_mapping {
	struct code_mapping memory;
	uint32_t file; /* FILE_NONE: not asked for so far */
	char *name;    /* NULL: unknown */
};

struct mappings {
	struct process_mapping *list;
	size_t nr;
	uint32_t layout; /* 0: none are known */
	uint64_t exec_pages;
};

struct name_process {
	struct process_id id;
	int folder; /* in /proc; -1: it is not that process any more */
	struct name_user *user;
	struct mappings mappings;
	uint64_t used_ns;
	struct place_list wanted, batch;
	uint64_t next_ns; /* no perf map before */
	uint64_t map_bytes;
	struct errand *errand; /* opens its perf map */
	struct elf_job *job;   /* reads it */
};

struct name_processes {
	struct code_source source;
	int watcher;
	struct name_places *places;
	struct name_process *processes[MAX_NAME_PROCESSES];
	uint64_t maps_since_ns, maps_taken_ns; /* time for the mappings of processes, of late */
	uint64_t turn;
};

static bool process_id_equals(const struct process_id *a, const struct process_id *b)
{
	return a->pid == b->pid && a->started_ns == b->started_ns &&
	       a->stack_start == b->stack_start;
}

/* --- its mappings ----------------------------------------------------------------------------- */

static void mappings_done(struct mappings *mappings)
{
	for (size_t i = 0; i < mappings->nr; i++)
		free(mappings->list[i].name);
	free(mappings->list);
	*mappings = (struct mappings){ 0 };
}

/* Counts the pages of code as the kernel does. */
static void mappings_count(struct mappings *mappings, const struct code_mapping *mapping)
{
	static const uint64_t page_bytes = 4096;

	if (!mapping->write && mapping->start < END_OF_USER_MEMORY)
		mappings->exec_pages += (mapping->end - mapping->start) / page_bytes;
}

static int mapping_add(struct mappings *mappings, const struct code_mapping *mapping,
		       const char *name)
{
	struct process_mapping *grown =
		reallocarray(mappings->list, mappings->nr + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	mappings->list = grown;
	mappings->list[mappings->nr++] = (struct process_mapping){
		.memory = *mapping,
		.name = *name ? strdup(name) : NULL,
	};
	return 0;
}

/* Of a user with a user namespace of his own, names are what he has made of them. */
static int mappings_read(const struct name_process *process, struct mappings *ret)
{
	FILE *maps __cleanup(fclosep) = process_file(process->folder, "maps");
	bool is_arranged = !process_is_of_our_users(process->folder);
	struct code_mapping_name name;
	struct code_mapping mapping;
	int err = maps ? 0 : -ESRCH;

	while (!err && process_maps_next(maps, &mapping, &name)) {
		if (!mapping.exec)
			continue;
		mappings_count(ret, &mapping);
		if (ret->nr == MAX_MAPPINGS)
			err = -E2BIG;
		else
			err = mapping_add(ret, &mapping, is_arranged ? "" : name.text);
	}
	return err;
}

/* Those that the process had when it had the layout of a stack: if it has that still. */
static void mappings_update(struct name_processes *processes, struct name_process *process,
			    const struct stack_event *event)
{
	const struct code_source *source = &processes->source;
	struct mappings mappings __cleanup(mappings_done) = { .layout = event->process.layout };

	if (source->layout(source->closure, &event->process) != mappings.layout ||
	    !process_is(process->folder, &event->process) || mappings_read(process, &mappings) ||
	    process_has_executed(process->folder, &event->process) ||
	    source->layout(source->closure, &event->process) != mappings.layout)
		return;
	mappings_done(&process->mappings);
	process->mappings = mappings;
	mappings = (struct mappings){ 0 };
}

/* Whoever has very many mappings, in many processes, is not to keep all others waiting. */
static bool maps_may_be_read(struct name_processes *processes, struct name_user *user)
{
	uint64_t now_ns = clock_mono_ns();

	if (now_ns - processes->maps_since_ns >= NS_PER_SEC) {
		processes->maps_since_ns = now_ns;
		processes->maps_taken_ns = 0;
	}
	if (user->maps_since_ns != processes->maps_since_ns) {
		user->maps_since_ns = processes->maps_since_ns;
		user->maps_taken_ns = 0;
	}
	if (processes->maps_taken_ns < MAPS_NS && user->maps_taken_ns < MAPS_USER_NS)
		return true;
	name_places_refuse(processes->places);
	return false;
}

static struct process_mapping *mapping_find(const struct mappings *mappings, uint64_t address)
{
	for (size_t i = 0; i < mappings->nr; i++) {
		struct process_mapping *mapping = &mappings->list[i];

		if (address >= mapping->memory.start && address < mapping->memory.end)
			return mapping;
	}
	return NULL;
}

/* --- processes -------------------------------------------------------------------------------- */

static void process_free(struct name_process *process)
{
	if (!process)
		return;
	errand_free(process->errand);
	elf_job_free(process->job);
	free(process->wanted.places);
	free(process->batch.places);
	mappings_done(&process->mappings);
	closep(&process->folder);
	free(process);
}

static struct name_process *process_new(const struct process_id *id, struct name_user *user)
{
	struct name_process *process = calloc(1, sizeof(*process));

	if (!process)
		return NULL;
	process->id = *id;
	process->user = user;
	process->folder = process_open(id->pid);
	return process;
}

static bool process_is_at_work(const struct name_process *process)
{
	return process->job || process->errand || process->wanted.nr;
}

/* Where there is room: of the one that was used least lately, but of no one who waits for names. */
static struct name_process **room_find(struct name_processes *processes,
				       const struct name_user *user)
{
	struct name_process **oldest = NULL, **oldest_own = NULL, **empty = NULL;
	size_t own = 0;

	for (size_t i = 0; i < MAX_NAME_PROCESSES; i++) {
		struct name_process **at = &processes->processes[i];

		if (!*at) {
			empty = at;
			continue;
		}
		own += (*at)->user == user;
		if (process_is_at_work(*at))
			continue;
		if (!oldest || (*at)->used_ns < (*oldest)->used_ns)
			oldest = at;
		if ((*at)->user == user && (!oldest_own || (*at)->used_ns < (*oldest_own)->used_ns))
			oldest_own = at;
	}
	if (own >= MAX_NAME_PROCESSES / 2)
		return oldest_own;
	return empty ?: oldest;
}

static struct name_process *process_get(struct name_processes *processes,
					const struct process_id *id, struct name_user *user)
{
	struct name_process **at = NULL;

	for (size_t i = 0; i < MAX_NAME_PROCESSES && !at; i++) {
		if (processes->processes[i] && process_id_equals(&processes->processes[i]->id, id))
			at = &processes->processes[i];
	}
	if (!at) {
		at = room_find(processes, user);
		if (!at) {
			name_places_refuse(processes->places);
			return NULL;
		}
		process_free(*at);
		*at = process_new(id, user);
	}
	if (*at)
		(*at)->used_ns = clock_mono_ns();
	return *at;
}

bool name_processes_find(struct name_processes *processes, const struct stack_event *event,
			 struct name_user *user, uint64_t address, struct found_code *ret)
{
	const struct code_source *source = &processes->source;
	uint32_t layout = event->process.layout;
	struct name_process *process =
		layout ? process_get(processes, &event->process, user) : NULL;
	struct process_mapping *mapping;
	uint64_t begin_ns, taken_ns;

	if (!process)
		return false;
	if (process->mappings.layout != layout && maps_may_be_read(processes, user)) {
		begin_ns = clock_mono_ns();
		mappings_update(processes, process, event);
		taken_ns = clock_mono_ns() - begin_ns;
		processes->maps_taken_ns += taken_ns;
		user->maps_taken_ns += taken_ns;
	}
	if (process->mappings.layout != layout || process->mappings.exec_pages != event->exec_pages)
		return false;
	mapping = mapping_find(&process->mappings, address);
	if (!mapping)
		return false;
	if (mapping->memory.ino && mapping->file == FILE_NONE)
		mapping->file = source->find(source->closure, process->id.pid, process->folder,
					     &mapping->memory, mapping->name);
	ret->file = mapping->file;
	ret->offset = address - mapping->memory.start + mapping->memory.offset;
	return !mapping->memory.ino || ret->file != FILE_NONE;
}

/* --- what a JIT says -------------------------------------------------------------------------- */

void name_processes_want(struct name_processes *processes, const struct process_id *id,
			 struct name_place *place)
{
	struct name_process *process = process_get(processes, id, place->user);

	if (!process || place_list_add(&process->wanted, place))
		name_places_settle_one(processes->places, place, true);
}

/* In the copy of this process: the folder is one that the process sees. */
static int jit_open(void *closure, struct errand_answer *ret)
{
	const struct name_process *process = closure;
	int root __cleanup(closep) = -1;
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
	ret->numbers[0] = (uint64_t)lseek(fd, 0, SEEK_END);
	return 0;
}

/* No names is all there is to say of what has no perf map. */
static void jit_end(struct name_processes *processes, struct name_process *process, int err)
{
	process->next_ns = clock_mono_ns() + process->map_bytes * PAUSE_NS_PER_BYTE;
	name_places_settle(processes->places, &process->batch, err && err != -ENOENT);
}

static void jit_begin(struct name_processes *processes, struct name_process *process)
{
	int err;

	process->batch = process->wanted;
	process->wanted = (struct place_list){ 0 };
	process->map_bytes = 0;
	process->user->turn = ++processes->turn;
	err = process->folder < 0
		      ? -ESRCH
		      : errand_start(jit_open, process, &process->folder, 1, &process->errand);
	if (!err)
		err = watcher_add(processes->watcher, errand_fd(process->errand));
	if (!err)
		return;
	errand_free(steal_ptr(&process->errand));
	jit_end(processes, process, err);
}

static int jit_read(struct name_processes *processes, struct name_process *process)
{
	struct errand_answer answer __cleanup(errand_answer_done) = { .nr_fds = 0 };
	struct elf_addresses addresses;
	int err = errand_finish(steal_ptr(&process->errand), &answer);

	if (err)
		return err;
	process->map_bytes = answer.numbers[0];
	err = answer.nr_fds ? place_list_question(&process->batch, 0, &addresses) : -EPROTO;
	if (err)
		return err;
	err = elf_job_start_perf_map(answer.fds[0], &addresses, &process->job);
	free(addresses.addresses);
	return err ? err : watcher_add(processes->watcher, elf_job_fd(process->job));
}

static void jit_take(struct name_processes *processes, struct name_process *process,
		     const struct elf_symbols *symbols)
{
	struct name_places *places = processes->places;
	struct elf_symbol symbol;

	for (size_t i = 0; i < process->batch.nr; i++) {
		struct name_place *place = process->batch.places[i];

		if (!elf_symbols_find(symbols, place->at, &symbol))
			continue;
		name_places_put_symbol(places, place, symbol.name, place->at - symbol.addr);
		if (place->symbol)
			name_places_put_module(places, place, "[jit]");
	}
}

static void jit_finish(struct name_processes *processes, struct name_process *process)
{
	struct elf_symbols *symbols __cleanup(elf_symbols_freep) = NULL;
	int err = elf_job_finish_symbols(steal_ptr(&process->job), &symbols);

	if (!err && !process_has_executed(process->folder, &process->id))
		jit_take(processes, process, symbols);
	jit_end(processes, process, err);
}

/* --- work ------------------------------------------------------------------------------------- */

static void process_run(struct name_processes *processes, struct name_process *process)
{
	int err;

	if (process->job && fd_is_ready(elf_job_fd(process->job))) {
		jit_finish(processes, process);
	} else if (process->job && !elf_job_timeout_ms(process->job)) {
		elf_job_stop(process->job);
	} else if (process->errand && fd_is_ready(errand_fd(process->errand))) {
		err = jit_read(processes, process);
		if (!err)
			return;
		elf_job_free(steal_ptr(&process->job));
		jit_end(processes, process, err);
	} else if (process->errand && !errand_timeout_ms(process->errand)) {
		errand_stop(process->errand);
	}
}

static size_t maps_reading(const struct name_processes *processes)
{
	size_t count = 0;

	for (size_t i = 0; i < MAX_NAME_PROCESSES; i++) {
		const struct name_process *process = processes->processes[i];

		count += process && (process->job || process->errand);
	}
	return count;
}

/* Users take turns. NULL: none may be begun. */
static struct name_process *jit_choose(const struct name_processes *processes)
{
	struct name_process *best = NULL;
	uint64_t now_ns = clock_mono_ns();

	for (size_t i = 0; i < MAX_NAME_PROCESSES; i++) {
		struct name_process *process = processes->processes[i];

		if (!process || process->job || process->errand || !process->wanted.nr ||
		    process->next_ns > now_ns)
			continue;
		if (!best || process->user->turn < best->user->turn)
			best = process;
	}
	return best;
}

void name_processes_run(struct name_processes *processes)
{
	struct name_process *process;

	for (size_t i = 0; i < MAX_NAME_PROCESSES; i++) {
		if (processes->processes[i])
			process_run(processes, processes->processes[i]);
	}
	for (int i = 0; i < MAX_PERF_MAPS && maps_reading(processes) < MAX_PERF_MAPS; i++) {
		process = jit_choose(processes);
		if (process)
			jit_begin(processes, process);
	}
}

static int process_patience_ms(const struct name_process *process, bool is_room)
{
	if (process->job)
		return elf_job_timeout_ms(process->job) ?: 1000;
	if (process->errand)
		return errand_timeout_ms(process->errand) ?: 1000;
	return process->wanted.nr && is_room ? until_ms(process->next_ns) : -1;
}

int name_processes_patience_ms(const struct name_processes *processes)
{
	bool is_room = maps_reading(processes) < MAX_PERF_MAPS;
	int patience = -1;

	for (size_t i = 0; i < MAX_NAME_PROCESSES; i++) {
		const struct name_process *process = processes->processes[i];

		if (process)
			patience = sooner_ms(patience, process_patience_ms(process, is_room));
	}
	return patience;
}

bool name_processes_are_idle(const struct name_processes *processes)
{
	for (size_t i = 0; i < MAX_NAME_PROCESSES; i++) {
		if (processes->processes[i] && process_is_at_work(processes->processes[i]))
			return false;
	}
	return true;
}

/* --- life ------------------------------------------------------------------------------------- */

int name_processes_new(const struct code_source *source, int watcher, struct name_places *places,
		       struct name_processes **ret)
{
	struct name_processes *processes = calloc(1, sizeof(*processes));

	if (!processes)
		return -ENOMEM;
	processes->source = *source;
	processes->watcher = watcher;
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
