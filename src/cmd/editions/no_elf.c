/* SPDX-License-Identifier: BSD-2-Clause */
/* Stands in for the reader of foreign ELF files in an edition that refuses the options which ask for stacks. */
#include "elf/debuginfod.h"
#include "elf/symbols.h"
#include "elf/worker.h"

_Noreturn void elf_worker_main(int argc, char **argv)
{
	(void)argc, (void)argv;
	exit(EXIT_FAILURE);
}

int elf_worker_start(const struct elf_question *question, struct child *ret)
{
	(void)question, (void)ret;
	return -ENOTSUP;
}

int elf_worker_unwind(struct child *worker, struct elf_unwind **ret)
{
	(void)worker, (void)ret;
	return -ENOTSUP;
}

int elf_worker_functions(struct child *worker, struct elf_functions **ret)
{
	(void)worker, (void)ret;
	return -ENOTSUP;
}

void elf_unwind_free(struct elf_unwind *unwind)
{
	(void)unwind;
}

void elf_functions_free(struct elf_functions *functions)
{
	(void)functions;
}

const struct elf_function *elf_functions_find(const struct elf_functions *functions,
					      uint64_t address)
{
	(void)functions, (void)address;
	return NULL;
}

const char *elf_function_name(const struct elf_functions *functions,
			      const struct elf_function *function, uint32_t number)
{
	(void)functions, (void)function, (void)number;
	return NULL;
}

int perf_map_open(int root_fd, pid_t pid, uid_t uid)
{
	(void)root_fd, (void)pid, (void)uid;
	return -ENOTSUP;
}

void debug_files_open(int root_fd, const char *path, uid_t owner,
		      const struct elf_identity *identity, struct debug_files *ret)
{
	(void)root_fd, (void)path, (void)owner, (void)identity;
	ret->nr = 0;
}

void debug_files_close(struct debug_files *files)
{
	(void)files;
}

int debuginfod_new(struct debuginfod **ret)
{
	(void)ret;
	return -ENOTSUP;
}

void debuginfod_free(struct debuginfod *debuginfod)
{
	(void)debuginfod;
}

uint64_t debuginfod_again_ns(const struct debuginfod *debuginfod)
{
	(void)debuginfod;
	return 0;
}

int debuginfod_start(struct debuginfod *debuginfod, const struct elf_identity *identity,
		     struct debuginfod_folder *folder, struct child *ret)
{
	(void)debuginfod, (void)identity, (void)folder, (void)ret;
	return -ENOTSUP;
}

int debuginfod_finish(struct debuginfod *debuginfod, struct debuginfod_folder *folder,
		      struct child *client)
{
	(void)debuginfod, (void)folder, (void)client;
	return -ENOTSUP;
}

void debuginfod_folder_done(struct debuginfod_folder *folder)
{
	(void)folder;
}
