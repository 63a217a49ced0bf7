/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns what /proc and a JIT's perf map say of processes, for code that no file's table tells of. All
 * of it is untrusted text, and all of one process: it is read through one descriptor of its folder,
 * at once, as processes end. A perf map is parsed by a worker, for all addresses that have come
 * meanwhile, and the more seldom the larger it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/mem.h"
#include "elf/perf_map.h"
#include "stacks/names_private.h"

#define MAX_MAPPINGS 4096

/* To read them, in a second. */
#define MAPS_NS (250 * NS_PER_MS)

/* Mappings are not read again for so many times as long as that took. */
#define PAUSE_TIMES 10

/* Nor is a perf map: that of 32 MiB for 9 s. */
#define PAUSE_NS_PER_BYTE 300

struct name_process {
	struct process_id id;
	int folder; /* in /proc; -1: it is not that process any more */
	struct process_mapping {
		struct code_mapping memory;
		uint32_t file; /* FILE_NONE: not asked for so far */
	} *mappings;
	size_t nr_mappings;
	uint64_t again_ns; /* they are not read before */
	uint64_t used_ns;
	struct place_list wanted, batch;
	uint64_t next_ns; /* no perf map before */
	uint64_t map_bytes;
	struct elf_job *job;
};

static FILE *process_file(int process, const char *name)
{
	int fd = openat(process, name, O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd >= 0 && !file)
		close(fd);
	return file;
}

/* --- who it is -------------------------------------------------------------------------------- */

#define STAT_STARTED     22 /* fields, as proc(5) counts them */
#define STAT_STACK_START 28

/* The numbers that stand behind the name, which may hold anything. */
static bool stat_read(int process, uint64_t *started_ticks, uint64_t *stack_start)
{
	FILE *stat __cleanup(fclosep) = process_file(process, "stat");
	char text[1024], *field;
	size_t length = stat ? fread(text, 1, sizeof(text) - 1, stat) : 0;

	text[length] = 0;
	field = strrchr(text, ')');
	for (int number = 2; field && number < STAT_STACK_START; field = strchr(field + 1, ' ')) {
		if (number++ == STAT_STARTED)
			*started_ticks = strtoull(field, NULL, 10);
	}
	if (field)
		*stack_start = strtoull(field, NULL, 10);
	return field;
}

bool process_is(int process, const struct process_id *id)
{
	uint64_t tick_ns = NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t started_ticks = 0, stack_start = 0;

	return process >= 0 && stat_read(process, &started_ticks, &stack_start) &&
	       started_ticks == id->started_ns / tick_ns && stack_start == id->stack_start;
}

/* A process that has ended has no stack any more, but what was read of it before is right. */
static bool process_has_executed(int process, const struct process_id *id)
{
	uint64_t started_ticks = 0, stack_start = 0;

	return stat_read(process, &started_ticks, &stack_start) && stack_start &&
	       stack_start != id->stack_start;
}

static bool process_id_equals(const struct process_id *a, const struct process_id *b)
{
	return a->pid == b->pid && a->started_ns == b->started_ns &&
	       a->stack_start == b->stack_start;
}

/* --- its mappings ----------------------------------------------------------------------------- */

static void mappings_forget(struct name_process *process)
{
	free(process->mappings);
	process->mappings = NULL;
	process->nr_mappings = 0;
}

static void mapping_add(struct name_process *process, const struct code_mapping *mapping)
{
	struct process_mapping *grown =
		reallocarray(process->mappings, process->nr_mappings + 1, sizeof(*grown));

	if (!grown)
		return;
	process->mappings = grown;
	process->mappings[process->nr_mappings++] = (struct process_mapping){ *mapping, FILE_NONE };
}

static void mappings_read(struct name_process *process)
{
	FILE *maps __cleanup(fclosep) = NULL;
	struct code_mapping mapping;

	mappings_forget(process);
	if (!process_is(process->folder, &process->id))
		return;
	maps = process_file(process->folder, "maps");
	while (maps && process->nr_mappings < MAX_MAPPINGS && process_maps_next(maps, &mapping)) {
		if (mapping.exec)
			mapping_add(process, &mapping);
	}
	if (process_has_executed(process->folder, &process->id))
		process->nr_mappings = 0;
}

/* Whoever has very many mappings, in many processes, is not to keep all others waiting. */
static void mappings_update(struct names *names, struct name_process *process)
{
	uint64_t now_ns = clock_mono_ns(), taken_ns;

	if (now_ns - names->maps_since_ns >= NS_PER_SEC) {
		names->maps_since_ns = now_ns;
		names->maps_taken_ns = 0;
	}
	if (names->maps_taken_ns >= MAPS_NS) {
		names->counts.refused++;
		return;
	}
	mappings_read(process);
	taken_ns = clock_mono_ns() - now_ns;
	process->again_ns = now_ns + PAUSE_TIMES * taken_ns;
	names->maps_taken_ns += taken_ns;
}

static struct process_mapping *mapping_find(const struct name_process *process, uint64_t address)
{
	for (size_t i = 0; i < process->nr_mappings; i++) {
		struct process_mapping *mapping = &process->mappings[i];

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
	elf_job_free(process->job);
	free(process->wanted.places);
	free(process->batch.places);
	mappings_forget(process);
	closep(&process->folder);
	free(process);
}

static struct name_process *process_new(struct names *names, const struct process_id *id)
{
	struct name_process *process = calloc(1, sizeof(*process));
	char path[32];

	if (!process)
		return NULL;
	process->id = *id;
	snprintf(path, sizeof(path), "/proc/%u", id->pid);
	process->folder = open(path, O_PATH | O_CLOEXEC | O_DIRECTORY);
	mappings_update(names, process);
	return process;
}

/* Where there is room: of the one that was used least lately, unless all are at work. */
static struct name_process **process_place(struct names *names)
{
	struct name_process **oldest = NULL;

	for (size_t i = 0; i < MAX_NAME_PROCESSES; i++) {
		struct name_process **at = &names->processes[i];

		if (!*at)
			return at;
		if (!(*at)->job && (!oldest || (*at)->used_ns < (*oldest)->used_ns))
			oldest = at;
	}
	if (!oldest)
		return NULL;
	places_settle(names, &(*oldest)->wanted, true);
	process_free(steal_ptr(oldest));
	return oldest;
}

static struct name_process *process_get(struct names *names, const struct process_id *id)
{
	struct name_process **at = NULL;

	for (size_t i = 0; i < MAX_NAME_PROCESSES && !at; i++) {
		if (names->processes[i] && process_id_equals(&names->processes[i]->id, id))
			at = &names->processes[i];
	}
	if (!at) {
		at = process_place(names);
		if (at)
			*at = process_new(names, id);
	}
	if (!at || !*at)
		return NULL;
	(*at)->used_ns = clock_mono_ns();
	return *at;
}

static struct name_place *place_of_jit(struct name_process *process, uint64_t address,
				       bool *ret_raw)
{
	struct name_place *place = place_new_raw(address);

	*ret_raw = place != NULL;
	if (place && place_list_add(&process->wanted, place))
		place->settled = true;
	return place;
}

struct name_place *name_process_place(struct names *names, const struct process_id *id,
				      uint64_t address, bool *ret_raw)
{
	const struct code_source *source = &names->source;
	struct name_process *process = process_get(names, id);
	struct process_mapping *mapping;

	if (!process)
		return NULL;
	mapping = mapping_find(process, address);
	if (!mapping && clock_mono_ns() >= process->again_ns) {
		mappings_update(names, process);
		mapping = mapping_find(process, address);
	}
	if (!mapping)
		return NULL;
	if (!mapping->memory.ino)
		return place_of_jit(process, address, ret_raw);
	if (mapping->file == FILE_NONE)
		mapping->file = source->find(source->closure, process->folder, &mapping->memory);
	return mapping->file == FILE_NONE
		       ? NULL
		       : names_place(names, mapping->file,
				     address - mapping->memory.start + mapping->memory.offset, id);
}

/* --- what a JIT says -------------------------------------------------------------------------- */

/* The pid of a process in its own namespace, the last of NStgid, and its effective user. */
static bool status_read(int process, pid_t *own_pid, uid_t *user)
{
	FILE *status __cleanup(fclosep) = process_file(process, "status");
	int found = 0;
	char line[512];

	while (status && fgets(line, sizeof(line), status)) {
		line[strcspn(line, "\n")] = 0;
		found += sscanf(line, "Uid:\t%*u\t%u", user) == 1;
		if (!strncmp(line, "NStgid:", 7)) {
			*own_pid = atoi(strrchr(line, '\t') + 1);
			found++;
		}
	}
	return found == 2;
}

static int jit_open(const struct name_process *process)
{
	int root __cleanup(closep) = -1;
	pid_t own_pid = 0;
	uid_t user = 0;

	if (!process_is(process->folder, &process->id))
		return -ESRCH;
	root = openat(process->folder, "root", O_PATH | O_CLOEXEC | O_DIRECTORY);
	if (root < 0 || !status_read(process->folder, &own_pid, &user))
		return -ESRCH;
	return perf_map_open(root, own_pid, user);
}

static int jit_start(struct names *names, struct name_process *process)
{
	int fd __cleanup(closep) = jit_open(process), err;
	struct elf_addresses addresses;
	struct stat status;

	if (fd < 0)
		return fd;
	if (!fstat(fd, &status))
		process->map_bytes = (uint64_t)status.st_size;
	err = place_list_question(&process->batch, 0, &addresses);
	if (err)
		return err;
	err = elf_job_start_perf_map(fd, &addresses, &process->job);
	free(addresses.addresses);
	return err ? err : names_watch(names, elf_job_fd(process->job));
}

static void jit_take(struct names *names, struct name_process *process,
		     const struct elf_symbols *symbols)
{
	struct elf_symbol symbol;

	for (size_t i = 0; i < process->batch.nr; i++) {
		struct name_place *place = process->batch.places[i];

		if (!elf_symbols_find(symbols, place->at, &symbol))
			continue;
		place_name(names, place, symbol.name, place->at - symbol.addr);
		if (place->symbol)
			place->module = "[jit]";
	}
}

static void jit_end(struct names *names, struct name_process *process, bool failed)
{
	process->next_ns = clock_mono_ns() + process->map_bytes * PAUSE_NS_PER_BYTE;
	places_settle(names, &process->batch, failed);
}

static void jit_finish(struct names *names, struct name_process *process)
{
	struct elf_symbols *symbols __cleanup(elf_symbols_freep) = NULL;
	int err = elf_job_finish_symbols(steal_ptr(&process->job), &symbols);

	if (!err && !process_has_executed(process->folder, &process->id))
		jit_take(names, process, symbols);
	jit_end(names, process, err != 0);
}

/* What has no perf map has no names, and that is all there is to say. */
static void jit_begin(struct names *names, struct name_process *process)
{
	int err;

	process->batch = process->wanted;
	process->wanted = (struct place_list){ 0 };
	process->map_bytes = 0;
	err = jit_start(names, process);
	if (!err)
		return;
	elf_job_free(steal_ptr(&process->job));
	jit_end(names, process, err != -ENOENT);
}

static size_t maps_reading(const struct names *names)
{
	size_t count = 0;

	for (size_t i = 0; i < MAX_NAME_PROCESSES; i++)
		count += names->processes[i] && names->processes[i]->job;
	return count;
}

static void process_run(struct names *names, struct name_process *process)
{
	if (process->job && fd_is_ready(elf_job_fd(process->job)))
		jit_finish(names, process);
	else if (process->job && !elf_job_timeout_ms(process->job))
		elf_job_stop(process->job);
	if (!process->job && process->wanted.nr && clock_mono_ns() >= process->next_ns &&
	    maps_reading(names) < MAX_PERF_MAPS)
		jit_begin(names, process);
}

void name_processes_run(struct names *names)
{
	for (size_t i = 0; i < MAX_NAME_PROCESSES; i++) {
		if (names->processes[i])
			process_run(names, names->processes[i]);
	}
}

int name_processes_patience_ms(const struct names *names)
{
	bool is_room = maps_reading(names) < MAX_PERF_MAPS;
	int patience = -1;

	for (size_t i = 0; i < MAX_NAME_PROCESSES; i++) {
		const struct name_process *process = names->processes[i];

		if (process && process->job)
			patience = sooner_ms(patience, elf_job_timeout_ms(process->job) ?: 1000);
		else if (process && process->wanted.nr && is_room)
			patience = sooner_ms(patience, until_ms(process->next_ns));
	}
	return patience;
}

bool name_processes_are_idle(const struct names *names)
{
	for (size_t i = 0; i < MAX_NAME_PROCESSES; i++) {
		if (names->processes[i] &&
		    (names->processes[i]->job || names->processes[i]->wanted.nr))
			return false;
	}
	return true;
}

void name_processes_free(struct names *names)
{
	for (size_t i = 0; i < MAX_NAME_PROCESSES; i++)
		process_free(steal_ptr(&names->processes[i]));
}
