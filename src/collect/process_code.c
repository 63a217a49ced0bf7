/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns what /proc and a JIT's perf map say of one process. All of it is untrusted text. */
#include "collect/process_code.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/mem.h"
#include "elf/perf_map.h"
#include "elf/worker.h"

#define MAX_MAPPINGS 65536

void process_code_forget(struct process_code *code)
{
	free(code->mappings);
	code->mappings = NULL;
	code->nr_mappings = 0;
	code->pid = 0;
}

void process_code_done(struct process_code *code)
{
	process_code_forget(code);
	elf_symbols_free(code->jit);
	code->jit = NULL;
}

static bool mapping_parse(const char *line, struct code_mapping *ret)
{
	unsigned int major, minor;
	char execute;

	if (sscanf(line, "%lx-%lx %*c%*c%c%*c %lx %x:%x %lu", &ret->start, &ret->end, &execute,
		   &ret->offset, &major, &minor, &ret->ino) != 7)
		return false;
	ret->dev = major << 20 | minor;
	return execute == 'x';
}

static void mappings_read(struct process_code *code, uint32_t pid)
{
	char path[32], line[PATH_MAX + 128];
	FILE *maps __cleanup(fclosep) = NULL;
	struct code_mapping mapping, *grown;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps) && code->nr_mappings < MAX_MAPPINGS) {
		if (!mapping_parse(line, &mapping))
			continue;
		grown = reallocarray(code->mappings, code->nr_mappings + 1, sizeof(*grown));
		if (!grown)
			return;
		code->mappings = grown;
		code->mappings[code->nr_mappings++] = mapping;
	}
}

/* The pid of a process in its own namespace: the last of NStgid. */
static pid_t own_pid(uint32_t pid)
{
	char path[32], line[512];
	FILE *status __cleanup(fclosep) = NULL;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	status = fopen(path, "re");
	while (status && fgets(line, sizeof(line), status)) {
		if (strncmp(line, "NStgid:", 7))
			continue;
		line[strcspn(line, "\n")] = 0;
		return atoi(strrchr(line, '\t') + 1);
	}
	return (pid_t)pid;
}

static int jit_open(uint32_t pid)
{
	int root __cleanup(closep) = -1;
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u/root", pid);
	root = open(path, O_PATH | O_CLOEXEC | O_DIRECTORY);
	snprintf(path, sizeof(path), "/proc/%u", pid);
	if (root < 0 || stat(path, &st))
		return -1;
	return perf_map_open(root, own_pid(pid), st.st_uid);
}

static void jit_read(struct process_code *code, uint32_t pid)
{
	int fd __cleanup(closep) = jit_open(pid);
	struct elf_symbols *symbols;
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st) && code->jit && code->jit_pid == pid &&
	    code->jit_bytes == (uint64_t)st.st_size)
		return;
	elf_symbols_free(code->jit);
	code->jit = NULL;
	if (fd < 0 || elf_worker_perf_map(fd, &symbols))
		return;
	code->jit = symbols;
	code->jit_pid = pid;
	code->jit_bytes = (uint64_t)st.st_size;
}

static void process_read(struct process_code *code, uint32_t pid)
{
	if (code->pid == pid)
		return;
	process_code_forget(code);
	mappings_read(code, pid);
	jit_read(code, pid);
	code->pid = pid;
}

static const struct code_mapping *mapping_find(const struct process_code *code, uint64_t address)
{
	for (size_t i = 0; i < code->nr_mappings; i++) {
		if (address >= code->mappings[i].start && address < code->mappings[i].end)
			return &code->mappings[i];
	}
	return NULL;
}

void process_code_name(struct process_code *code, struct code_files *files, uint32_t pid,
		       uint64_t address, bool exact, struct code_name *ret)
{
	const struct code_mapping *mapping;
	struct elf_symbol symbol;
	uint32_t file;

	*ret = (struct code_name){ .offset = address };
	process_read(code, pid);
	mapping = mapping_find(code, address - !exact);
	if (!mapping)
		return;
	if (mapping->ino) {
		file = code_files_open(files, pid, mapping);
		address = address - mapping->start + mapping->offset;
		code_files_name(files, file, code_files_address(files, file, address), exact, ret);
	} else if (code->jit && elf_symbols_find(code->jit, address - !exact, &symbol)) {
		*ret = (struct code_name){ "[jit]", symbol.name, address - symbol.addr };
	}
}
