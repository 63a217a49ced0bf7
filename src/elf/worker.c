/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs workers. A copy of this process opens the files, proves that they are those that are meant, and
 * becomes the worker: into the cage, then one file, then the end. No byte of the file is looked at before
 * the cage is shut.
 */
#include "elf/worker.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/process.h"
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

/* --- the copy that becomes a worker ----------------------------------------------------------- */

struct worker_start {
	const struct elf_question *question;
	int fds[NR_WORKER_FD]; /* what is to be in each place; -1: nothing */
};

/*
 * Opens the files for reading, and gives all descriptors numbers beyond all places. Nobody else has the
 * files open but by O_PATH: even to close one may be a question to its server.
 */
static int fds_open(int *fds)
{
	struct stat status;

	for (int place = WORKER_FD_FILE; place < NR_WORKER_FD; place++) {
		if (fds[place] < 0)
			continue;
		if (place != WORKER_FD_OUTPUT && place != WORKER_FD_QUESTION)
			fds[place] = regular_file_reopen(fds[place], UINT64_MAX, &status);
		if (fds[place] < 0)
			return fds[place];
		fds[place] = fcntl(fds[place], F_DUPFD_CLOEXEC, NR_WORKER_FD);
		if (fds[place] < 0)
			return -errno;
	}
	return 0;
}

/* Moves each to its place; none is in another's way, being beyond. Returns the extras or -errno. */
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
 * Runs in the copy. The file whose identity is checked is the one that is parsed: on some file
 * systems a file that is opened a second time may be another one.
 */
static int worker_become(void *closure, struct copy_answer *ret)
{
	struct worker_start *start = closure;
	const struct elf_question *question = start->question;
	char kind[16], extra[16];
	char *const argv[] = { "bpftruss", ELF_WORKER_ARGUMENT, extra, kind, NULL };
	char *const environment[] = { NULL };
	int extras, err = 0;

	(void)ret;
	if (fds_open(start->fds))
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
	child_become("/proc/self/exe", argv, environment);
	_exit(WORKER_NOT_OPENED);
}

static int files_add(int *fds, const struct elf_question *question)
{
	size_t nr_debug = question->debug ? question->debug->nr : 0;
	int err = file_check(question->fd, question->kind == ELF_PERF_MAP ? MAX_PERF_MAP_BYTES
									  : MAX_ELF_FILE_BYTES);

	fds[WORKER_FD_FILE] = question->fd;
	for (size_t i = 0; i < nr_debug && !err; i++) {
		fds[WORKER_FD_DEBUG + i] = question->debug->fds[i];
		err = file_check(question->debug->fds[i], MAX_ELF_FILE_BYTES);
	}
	return err;
}

/* The socket of the copy is closed when it becomes the worker, which answers by a file in memory. */
int elf_worker_start(const struct elf_question *question, struct child *ret)
{
	uint64_t seconds = question->kind == ELF_INLINES ? WORKER_INLINES_SECONDS : WORKER_SECONDS;
	int asked __cleanup(closep) = -1, output __cleanup(closep) = -1, err;
	struct worker_start start = { .question = question };

	memset(start.fds, -1, sizeof(start.fds));
	err = files_add(start.fds, question);
	if (err)
		return err;
	if (question->addresses) {
		asked = memory_file_create();
		err = asked < 0 ? asked : wire_write_addresses(asked, question->addresses);
	}
	output = memory_file_create();
	if (err || output < 0)
		return err ?: output;
	start.fds[WORKER_FD_QUESTION] = asked;
	start.fds[WORKER_FD_OUTPUT] = output;
	/* Stdin becomes what the proof needs: descriptors that are not there are left out. */
	start.fds[0] = question->proof ? question->proof->fd : -1;
	err = copy_start(worker_become, &start, start.fds, NR_WORKER_FD, ret);
	if (err)
		return err;
	close(ret->output);
	ret->output = steal_fd(&output);
	ret->deadline_ns = clock_mono_ns() + seconds * NS_PER_SEC;
	return 0;
}

/* --- its answer ------------------------------------------------------------------------------- */

/* Any other exit status of a worker is no answer. */
static int status_error(int status)
{
	static const struct {
		int status, err;
	} errors[] = {
		{ 0, 0 },
		{ ENOMEM, -ENOMEM },
		{ EBADMSG, -EBADMSG },
		{ ENOTSUP, -ENOTSUP },
		{ E2BIG, -E2BIG },
		{ WORKER_NO_CAGE, -ENOSYS },
		{ WORKER_NOT_OPENED, -EAGAIN },
		{ WORKER_OTHER_FILE, -ESTALE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		if (status == errors[i].status)
			return errors[i].err;
	}
	return status < 0 ? status : -EPROTO;
}

int elf_worker_unwind(struct child *worker, struct elf_unwind **ret)
{
	int err = status_error(child_reap(worker)) ?: wire_read_unwind(worker->output, ret);

	child_done(worker);
	return err;
}

int elf_worker_functions(struct child *worker, struct elf_functions **ret)
{
	int err = status_error(child_reap(worker)) ?: wire_read_functions(worker->output, ret);

	child_done(worker);
	return err;
}

/* --- the worker ------------------------------------------------------------------------------- */

static int question_answer(enum elf_question_kind kind, const struct debug_files *debug,
			   const struct elf_addresses *addresses)
{
	struct elf_functions *functions = NULL;
	struct elf_unwind *unwind = NULL;
	int err;

	if (kind == ELF_UNWIND) {
		err = elf_unwind_read(WORKER_FD_FILE, &unwind);
		return err ?: wire_write_unwind(WORKER_FD_OUTPUT, unwind);
	}
	if (kind == ELF_SYMBOLS)
		err = elf_symbols_read(WORKER_FD_FILE, debug, addresses, &functions);
	else if (kind == ELF_PERF_MAP)
		err = perf_map_read(WORKER_FD_FILE, addresses, &functions);
	else
		err = elf_inlines_read(WORKER_FD_FILE, addresses, &functions);
	return err ?: wire_write_functions(WORKER_FD_OUTPUT, functions);
}

/* Nothing is given back: the process ends, and its exit handlers know calls that are not allowed. */
void elf_worker_main(int argc, char **argv)
{
	struct elf_addresses addresses = { .nr = 0 };
	struct debug_files debug = { .nr = 0 };
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
		debug.fds[debug.nr++] = WORKER_FD_DEBUG + i;
	if (extras & WORKER_EXTRA(WORKER_FD_QUESTION))
		err = wire_read_addresses(WORKER_FD_QUESTION, &addresses);
	_exit(-(err ?: question_answer((enum elf_question_kind)kind, &debug, &addresses)));
}
