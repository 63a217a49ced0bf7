/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs workers. A copy of this process opens the files, proves that they are those that are meant, and
 * becomes the worker: into the cage, then one file, then the end. No byte of the file is looked at before
 * the cage is shut.
 */
#include "elf/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/copy.h"
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

/* --- the copy that becomes a worker ----------------------------------------------------------- */

struct worker_start {
	const struct elf_question *question;
	int *fds; /* each in its place, by numbers beyond all places; -1: none */
};

/*
 * Opens the files for reading. Nobody else has them open but by O_PATH: even to close a file may be a
 * question to its server.
 */
static int files_open(int *fds)
{
	struct stat status;
	int err = 0;

	for (int place = WORKER_FD_FILE; place < WORKER_FD_QUESTION && !err; place++) {
		int opened __cleanup(closep) = -1;

		if (place == WORKER_FD_OUTPUT || fds[place] < 0)
			continue;
		opened = regular_file_reopen(fds[place], UINT64_MAX, &status);
		err = opened < 0 ? opened : fd_add(fds, place, opened);
	}
	return err;
}

/* None of them is in another's way, being numbers beyond. Returns which extras there are, or -errno. */
static int places_fill(const int *fds)
{
	int nothing = open("/dev/null", O_RDWR), extras = 0;

	if (nothing < 0)
		return -errno;
	for (int place = 0; place < NR_WORKER_FD; place++) {
		int fd = place < WORKER_FD_FILE ? nothing : fds[place];

		if (fd < 0)
			continue;
		if (fd != place && dup2(fd, place) < 0)
			return -errno;
		if (place >= WORKER_FD_DEBUG)
			extras |= WORKER_EXTRA(place);
	}
	return extras;
}

/*
 * Runs in the copy. What is proved is what is parsed: on some file systems a file that is opened a second
 * time may be another one.
 */
static int worker_become(void *closure, struct copy_answer *ret)
{
	const struct worker_start *start = closure;
	const struct elf_question *question = start->question;
	char kind[16], extra[16];
	char *const argv[] = { "bpftruss", ELF_WORKER_ARGUMENT, extra, kind, NULL };
	int extras, err = 0;

	(void)ret;
	if (files_open(start->fds))
		_exit(WORKER_NOT_OPENED);
	if (question->proof)
		err = question->proof->is_it(question->proof, start->fds[WORKER_FD_FILE]);
	if (err)
		_exit(err == -ESTALE ? WORKER_OTHER_FILE : WORKER_NOT_OPENED);
	extras = places_fill(start->fds);
	if (extras < 0)
		_exit(WORKER_NOT_OPENED);
	if (question->kind == ELF_PERF_MAP)
		extras |= WORKER_READS_FILE;
	snprintf(kind, sizeof(kind), "%d", question->kind);
	snprintf(extra, sizeof(extra), "%d", extras);
	child_become(argv);
	_exit(WORKER_NOT_OPENED);
}

/* Its socket is closed when it becomes the worker, which answers by a file in memory. */
static int program_start(const struct elf_question *question, int *fds, int output,
			 struct child *ret)
{
	uint64_t seconds = question->kind == ELF_INLINES ? WORKER_INLINES_SECONDS : WORKER_SECONDS;
	struct worker_start start = { question, fds };
	int needed[NR_WORKER_FD + 1], err;
	size_t nr = 0;

	for (int place = WORKER_FD_FILE; place < NR_WORKER_FD; place++) {
		if (fds[place] >= 0)
			needed[nr++] = fds[place];
	}
	if (question->proof && question->proof->fd >= 0)
		needed[nr++] = question->proof->fd;
	err = copy_start(worker_become, &start, needed, nr, ret);
	if (err)
		return err;
	close(ret->output);
	ret->output = output;
	ret->deadline_ns = clock_mono_ns() + seconds * NS_PER_SEC;
	return 0;
}

int elf_worker_start(const struct elf_question *question, struct child *ret)
{
	int fds[NR_WORKER_FD] __cleanup(fds_done);
	int output __cleanup(closep) = -1, err;

	for (int fd = 0; fd < NR_WORKER_FD; fd++)
		fds[fd] = -1;
	err = files_add(fds, question);
	if (!err && question->addresses)
		err = question_add(fds, question->addresses);
	if (err)
		return err;
	output = memory_file_create();
	err = output < 0 ? output : fd_add(fds, WORKER_FD_OUTPUT, output);
	if (!err)
		err = program_start(question, fds, output, ret);
	if (!err)
		output = -1;
	return err;
}

/* --- its answer ------------------------------------------------------------------------------- */

/* Whatever else a worker may say is no answer. */
static int status_error(int status)
{
	static const int errors[] = { 0, ENOMEM, EBADMSG, ENOTSUP, E2BIG };
	static const struct {
		int status, err;
	} own[] = {
		{ WORKER_NO_CAGE, -ENOSYS },
		{ WORKER_NOT_OPENED, -EAGAIN },
		{ WORKER_OTHER_FILE, -ESTALE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		if (status == errors[i])
			return -errors[i];
	}
	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		if (status == own[i].status)
			return own[i].err;
	}
	return status < 0 ? status : -EPROTO;
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

/* The work that it has been given. */
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
