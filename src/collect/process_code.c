/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps what /proc and a JIT's perf map say of one process. All of it is untrusted text, and all of
 * one process: it is read through one descriptor of its folder.
 */
#include "collect/process_code.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/mem.h"
#include "collect/mapped_file.h"
#include "elf/perf_map.h"
#include "elf/worker.h"

#define MAX_MAPPINGS 65536

void process_code_forget(struct process_code *code)
{
	if (code->id.pid)
		closep(&code->process);
	free(code->mappings);
	code->mappings = NULL;
	code->nr_mappings = 0;
	code->id = (struct process_id){ 0 };
}

void process_code_done(struct process_code *code)
{
	process_code_forget(code);
	elf_symbols_free(code->jit);
	code->jit = NULL;
}

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

/* By its start in ticks, as that is all /proc says: no pid comes twice within one. */
static bool process_is(int process, const struct process_id *id)
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

static void mappings_read(struct process_code *code)
{
	FILE *maps __cleanup(fclosep) = process_file(code->process, "maps");
	struct process_mapping *grown;
	struct code_mapping mapping;

	while (maps && process_maps_next(maps, &mapping) && code->nr_mappings < MAX_MAPPINGS) {
		if (!mapping.exec)
			continue;
		grown = reallocarray(code->mappings, code->nr_mappings + 1, sizeof(*grown));
		if (!grown)
			return;
		code->mappings = grown;
		code->mappings[code->nr_mappings++] =
			(struct process_mapping){ mapping, FILE_NONE };
	}
}

static struct process_mapping *mapping_find(const struct process_code *code, uint64_t address)
{
	for (size_t i = 0; i < code->nr_mappings; i++) {
		if (address >= code->mappings[i].memory.start &&
		    address < code->mappings[i].memory.end)
			return &code->mappings[i];
	}
	return NULL;
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

static int jit_open(int process)
{
	int root __cleanup(closep) = openat(process, "root", O_PATH | O_CLOEXEC | O_DIRECTORY);
	pid_t own_pid = 0;
	uid_t user = 0;

	if (root < 0 || !status_read(process, &own_pid, &user))
		return -1;
	return perf_map_open(root, own_pid, user);
}

static void jit_read(struct process_code *code)
{
	int fd __cleanup(closep) = jit_open(code->process);
	struct elf_symbols *symbols;
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st) && code->jit &&
	    process_id_equals(&code->jit_id, &code->id) && code->jit_bytes == (uint64_t)st.st_size)
		return;
	elf_symbols_free(code->jit);
	code->jit = NULL;
	if (fd < 0 || elf_worker_perf_map(fd, &symbols))
		return;
	code->jit = symbols;
	code->jit_id = code->id;
	code->jit_bytes = (uint64_t)st.st_size;
}

void process_code_read(struct process_code *code, const struct process_id *id)
{
	if (process_id_equals(&code->id, id))
		return;
	process_code_forget(code);
	code->id = *id;
	code->process = process_open(id->pid);
	if (!process_is(code->process, id))
		return;
	mappings_read(code);
	jit_read(code);
	if (process_has_executed(code->process, id))
		code->nr_mappings = 0;
}

void process_code_name(struct process_code *code, struct code_files *files,
		       const struct process_id *id, uint64_t address, bool exact,
		       struct code_name *ret)
{
	struct process_mapping *mapping;
	struct elf_symbol symbol;

	*ret = (struct code_name){ .offset = address };
	process_code_read(code, id);
	mapping = mapping_find(code, address - !exact);
	if (!mapping)
		return;
	if (mapping->memory.ino) {
		if (mapping->file == FILE_NONE)
			mapping->file = code_files_open(files, code->process, &mapping->memory);
		address = address - mapping->memory.start + mapping->memory.offset;
		code_files_name(files, mapping->file,
				code_files_address(files, mapping->file, address), exact, ret);
	} else if (code->jit && elf_symbols_find(code->jit, address - !exact, &symbol)) {
		*ret = (struct code_name){ "[jit]", symbol.name, address - symbol.addr };
	}
}
