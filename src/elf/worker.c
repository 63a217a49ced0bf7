/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs workers. The first part starts one and takes its answer, the second is the worker's own life: into
 * the cage, then one file, then the end. It looks at no byte of the file before the cage is shut.
 */
#include "elf/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/regular_file.h"
#include "elf/sandbox.h"
#include "elf/symbols.h"
#include "elf/wire.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8
#endif

/* --- who starts it ---------------------------------------------------------------------------- */

/* Some systems allow no memory file that could be run; older kernels do not know of such. */
static int memory_file_create(void)
{
	int fd = memfd_create("bpftruss-elf", MFD_CLOEXEC | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("bpftruss-elf", MFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int file_check(int fd, uint64_t max_bytes)
{
	struct statx status;

	/* No server is asked. */
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_SIZE, &status))
		return -errno;
	if (!S_ISREG(status.stx_mode))
		return -EINVAL;
	return status.stx_size > max_bytes ? -EFBIG : 0;
}

/* Puts the descriptors in their places. None of them is in another's way, being numbers beyond. */
static int actions_fill(posix_spawn_file_actions_t *actions, const int *fds)
{
	int err = 0;

	for (int fd = 0; fd < WORKER_FD_FILE && !err; fd++)
		err = posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_RDWR, 0);
	for (int fd = WORKER_FD_FILE; fd < NR_WORKER_FD && !err; fd++) {
		if (fds[fd] >= 0)
			err = posix_spawn_file_actions_adddup2(actions, fds[fd], fd);
	}
	return -err;
}

static int program_spawn(const struct elf_question *question, const int *fds, struct child *ret)
{
	uint64_t seconds = question->kind == ELF_INLINES ? WORKER_INLINES_SECONDS : WORKER_SECONDS;
	char kind[16], extras[16];
	char *const argv[] = { "bpftruss", ELF_WORKER_ARGUMENT, extras, kind, NULL };
	char *const environment[] = { NULL };
	posix_spawn_file_actions_t actions;
	unsigned int extra = 0;
	int err = -posix_spawn_file_actions_init(&actions);

	if (err)
		return err;
	for (int fd = WORKER_FD_DEBUG; fd < NR_WORKER_FD; fd++)
		extra |= fds[fd] >= 0 ? WORKER_EXTRA(fd) : 0;
	snprintf(kind, sizeof(kind), "%d", question->kind);
	snprintf(extras, sizeof(extras), "%u", extra);
	err = actions_fill(&actions, fds);
	if (!err)
		err = child_spawn(ret, argv, environment, &actions, seconds);
	posix_spawn_file_actions_destroy(&actions);
	return err;
}

static void fds_done(int (*fds)[NR_WORKER_FD])
{
	for (int fd = 0; fd < NR_WORKER_FD; fd++)
		closep(&(*fds)[fd]);
}

static int fd_add(int *fds, int place, int fd)
{
	fds[place] = fcntl(fd, F_DUPFD_CLOEXEC, NR_WORKER_FD);
	return fds[place] < 0 ? -errno : 0;
}

static int question_add(int *fds, const struct elf_addresses *addresses)
{
	int fd __cleanup(closep) = memory_file_create();
	int err = fd < 0 ? fd : wire_write_addresses(fd, addresses);

	return err ? err : fd_add(fds, WORKER_FD_QUESTION, fd);
}

static int files_add(int *fds, const struct elf_question *question)
{
	size_t nr_debug = question->debug ? question->debug->nr : 0;
	int err = file_check(question->fd, question->kind == ELF_PERF_MAP ? MAX_PERF_MAP_BYTES
									  : MAX_ELF_FILE_BYTES);

	if (!err)
		err = fd_add(fds, WORKER_FD_FILE, question->fd);
	for (size_t i = 0; i < nr_debug && !err; i++) {
		err = file_check(question->debug->fds[i], MAX_ELF_FILE_BYTES);
		if (!err)
			err = fd_add(fds, WORKER_FD_DEBUG + (int)i, question->debug->fds[i]);
	}
	return err;
}

int elf_worker_start(const struct elf_question *question, struct child *ret)
{
	int fds[NR_WORKER_FD] __cleanup(fds_done);
	struct child child = NO_CHILD;
	int err;

	for (int fd = 0; fd < NR_WORKER_FD; fd++)
		fds[fd] = -1;
	err = files_add(fds, question);
	if (!err && question->addresses)
		err = question_add(fds, question->addresses);
	if (err)
		return err;
	child.output = memory_file_create();
	err = child.output < 0 ? child.output : fd_add(fds, WORKER_FD_OUTPUT, child.output);
	if (!err)
		err = program_spawn(question, fds, &child);
	if (err)
		child_done(&child);
	else
		*ret = child;
	return err;
}

/* Whatever else a worker may say is no answer. */
static int status_error(int status)
{
	static const int errors[] = { 0, ENOMEM, EBADMSG, ENOTSUP, E2BIG };

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		if (status == errors[i])
			return -errors[i];
	}
	if (status < 0)
		return status;
	return status == WORKER_NO_CAGE ? -ENOSYS : -EPROTO;
}

int elf_worker_unwind(struct child *worker, struct elf_unwind **ret)
{
	int err = status_error(child_reap(worker));

	if (!err)
		err = wire_read_unwind(worker->output, ret);
	child_done(worker);
	return err;
}

int elf_worker_functions(struct child *worker, struct elf_functions **ret)
{
	int err = status_error(child_reap(worker));

	if (!err)
		err = wire_read_functions(worker->output, ret);
	child_done(worker);
	return err;
}

/* --- the worker ------------------------------------------------------------------------------- */

/* What it has been given. */
struct work {
	struct debug_files debug;
	struct elf_addresses addresses;
};

static int functions_answer(int err, const struct elf_functions *functions)
{
	return err ? err : wire_write_functions(WORKER_FD_OUTPUT, functions);
}

static int unwind_work(const struct work *work)
{
	struct elf_unwind *unwind;
	int err = elf_unwind_read(WORKER_FD_FILE, &unwind);

	(void)work;
	return err ? err : wire_write_unwind(WORKER_FD_OUTPUT, unwind);
}

static int symbols_work(const struct work *work)
{
	struct elf_functions *functions = NULL;
	int err = elf_symbols_read(WORKER_FD_FILE, &work->debug, &work->addresses, &functions);

	return functions_answer(err, functions);
}

static int perf_map_work(const struct work *work)
{
	struct elf_functions *functions = NULL;
	int err = perf_map_read(WORKER_FD_FILE, &work->addresses, &functions);

	return functions_answer(err, functions);
}

static int inlines_work(const struct work *work)
{
	struct elf_functions *functions = NULL;
	int err = elf_inlines_read(WORKER_FD_FILE, &work->addresses, &functions);

	return functions_answer(err, functions);
}

static int (*const works[NR_ELF_QUESTION])(const struct work *work) = {
	[ELF_UNWIND] = unwind_work,
	[ELF_SYMBOLS] = symbols_work,
	[ELF_PERF_MAP] = perf_map_work,
	[ELF_INLINES] = inlines_work,
};

/*
 * Opens its files for reading. Nobody else has them open but by O_PATH: even to close a file may be a
 * question to its server.
 */
static int files_open(unsigned long extras)
{
	struct stat status;
	int err = 0, opened;

	for (int fd = WORKER_FD_FILE; fd < WORKER_FD_QUESTION && !err; fd++) {
		if (fd == WORKER_FD_OUTPUT ||
		    (fd >= WORKER_FD_DEBUG && !(extras & WORKER_EXTRA(fd))))
			continue;
		opened = regular_file_reopen(fd, UINT64_MAX, &status);
		err = opened < 0 || dup2(opened, fd) < 0 ? -EIO : 0;
		closep(&opened);
	}
	return err;
}

/* Nothing is given back: the process ends, and its exit handlers know calls that are not allowed. */
void elf_worker_main(int argc, char **argv)
{
	struct work work = { .debug = { .nr = 0 } };
	unsigned long kind, extras;
	int err = 0;

	if (argc != NR_WORKER_ARGUMENT)
		_exit(WORKER_NO_CAGE);
	kind = strtoul(argv[WORKER_KIND], NULL, 10);
	extras = strtoul(argv[WORKER_EXTRAS], NULL, 10);
	if (kind >= NR_ELF_QUESTION || extras >= WORKER_EXTRAS_LIMIT)
		_exit(WORKER_NO_CAGE);
	/* Should the other side not be there any more to end it. */
	alarm(WORKER_SECONDS + 1);
	if (files_open(extras))
		_exit(EIO);
	if (sandbox_enter((unsigned int)extras))
		_exit(WORKER_NO_CAGE);
	for (int i = 0; i < MAX_DEBUG_FILES && extras & WORKER_EXTRA(WORKER_FD_DEBUG + i); i++)
		work.debug.fds[work.debug.nr++] = WORKER_FD_DEBUG + i;
	if (extras & WORKER_EXTRA(WORKER_FD_QUESTION))
		err = wire_read_addresses(WORKER_FD_QUESTION, &work.addresses);
	if (!err)
		err = works[kind](&work);
	_exit(-err);
}
