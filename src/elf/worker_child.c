/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the life of a worker: into the cage, then one file, then the end. No byte of the file is
 * looked at before the cage is shut.
 */
#include "elf/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "elf/perf_map.h"
#include "elf/wire.h"
#include "elf/wire_inlines.h"
#include "elf/worker_private.h"

static int unwind_work(unsigned int extras)
{
	struct elf_unwind *unwind;
	int err = elf_unwind_read(WORKER_FD_FILE, &unwind);

	(void)extras;
	return err ? err : wire_write_unwind(WORKER_FD_OUTPUT, unwind);
}

/* These addresses are asked for; NULL: nothing in particular. */
static int question_read(unsigned int extras, struct elf_addresses *space,
			 const struct elf_addresses **ret)
{
	*ret = extras & WORKER_EXTRA(WORKER_FD_QUESTION) ? space : NULL;
	return *ret ? wire_read_addresses(WORKER_FD_QUESTION, space) : 0;
}

static int symbols_work(unsigned int extras)
{
	struct debug_files debug = { .nr = 0 };
	const struct elf_addresses *offsets;
	struct elf_addresses space;
	struct elf_symbols *symbols;
	int err = question_read(extras, &space, &offsets);

	for (int i = 0; i < MAX_DEBUG_FILES && extras & WORKER_EXTRA(WORKER_FD_DEBUG + i); i++)
		debug.fds[debug.nr++] = WORKER_FD_DEBUG + i;
	if (!err)
		err = elf_symbols_read(WORKER_FD_FILE, &debug, offsets, &symbols);
	return err ? err : wire_write_symbols(WORKER_FD_OUTPUT, symbols);
}

static int perf_map_work(unsigned int extras)
{
	const struct elf_addresses *addresses;
	struct elf_addresses space;
	struct elf_symbols *symbols;
	int err = question_read(extras, &space, &addresses);

	if (!err)
		err = perf_map_read(WORKER_FD_FILE, addresses, &symbols);
	return err ? err : wire_write_symbols(WORKER_FD_OUTPUT, symbols);
}

static int inlines_work(unsigned int extras)
{
	int debug_fd = extras & WORKER_EXTRA(WORKER_FD_DEBUG) ? WORKER_FD_DEBUG : -1;
	struct elf_addresses addresses;
	struct elf_inlines *inlines;
	int err = wire_read_addresses(WORKER_FD_QUESTION, &addresses);

	if (!err)
		err = elf_inlines_read(WORKER_FD_FILE, debug_fd, &addresses, &inlines);
	return err ? err : wire_write_inlines(WORKER_FD_OUTPUT, inlines);
}

static int (*const works[NR_ELF_JOB])(unsigned int extras) = {
	[ELF_JOB_UNWIND] = unwind_work,
	[ELF_JOB_SYMBOLS] = symbols_work,
	[ELF_JOB_PERF_MAP] = perf_map_work,
	[ELF_JOB_INLINES] = inlines_work,
};

/* Nothing is given back: the process ends, and its exit handlers know calls that are not allowed. */
void elf_worker_main(int argc, char **argv)
{
	unsigned long kind, extras;

	if (argc != NR_WORKER_ARGUMENT)
		_exit(WORKER_NO_CAGE);
	kind = strtoul(argv[WORKER_KIND], NULL, 10);
	extras = strtoul(argv[WORKER_EXTRAS], NULL, 10);
	if (kind >= NR_ELF_JOB || extras >= WORKER_EXTRAS_LIMIT ||
	    sandbox_enter((unsigned int)extras))
		_exit(WORKER_NO_CAGE);
	_exit(-works[kind]((unsigned int)extras));
}
