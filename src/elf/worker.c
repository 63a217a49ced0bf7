/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns the starting side of a worker: its process is ours until it is reaped, and that is soon, as
 * it is killed at its deadline.
 */
#include "elf/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "elf/perf_map.h"
#include "elf/spawn.h"
#include "elf/wire.h"
#include "elf/wire_inlines.h"
#include "elf/worker_private.h"

/* A process that is killed is gone at once, unless the kernel keeps it waiting for a disk. */
#define KILLED_WAIT_MS 2000

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8
#endif

struct elf_job {
	enum elf_job_kind kind;
	pid_t pid; /* 0: reaped */
	int pidfd;
	int output;
	uint64_t deadline_ns;
};

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

/* Descriptors in their places; none of them is in another's way, being numbers beyond. */
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

static int program_spawn(char *const *argv, const int *fds, pid_t *ret)
{
	char *const environment[] = { NULL };
	posix_spawn_file_actions_t actions;
	int err = -posix_spawn_file_actions_init(&actions);

	if (err)
		return err;
	err = actions_fill(&actions, fds);
	if (!err)
		err = spawn_self(argv, environment, &actions, ret);
	posix_spawn_file_actions_destroy(&actions);
	return err;
}

static int worker_spawn(enum elf_job_kind kind, const int *fds, pid_t *ret)
{
	int moved[NR_WORKER_FD], err = 0;
	char number[16], extras_number[16];
	char *const argv[] = { "bpftruss", ELF_WORKER_ARGUMENT, extras_number, number, NULL };
	unsigned int extras = 0;

	for (int fd = 0; fd < NR_WORKER_FD; fd++)
		moved[fd] = -1;
	for (int fd = WORKER_FD_DEBUG; fd < NR_WORKER_FD; fd++)
		extras |= fds[fd] >= 0 ? WORKER_EXTRA(fd) : 0;
	snprintf(number, sizeof(number), "%d", kind);
	snprintf(extras_number, sizeof(extras_number), "%u", extras);
	for (int fd = WORKER_FD_FILE; fd < NR_WORKER_FD && !err; fd++) {
		if (fds[fd] < 0)
			continue;
		moved[fd] = fcntl(fds[fd], F_DUPFD_CLOEXEC, NR_WORKER_FD);
		if (moved[fd] < 0)
			err = -errno;
	}
	if (!err)
		err = program_spawn(argv, moved, ret);
	for (int fd = WORKER_FD_FILE; fd < NR_WORKER_FD; fd++)
		closep(&moved[fd]);
	return err;
}

static int files_check(enum elf_job_kind kind, const int *fds)
{
	int err = file_check(fds[WORKER_FD_FILE],
			     kind == ELF_JOB_PERF_MAP ? MAX_PERF_MAP_BYTES : MAX_ELF_FILE_BYTES);

	for (int i = 0; i < MAX_DEBUG_FILES && !err; i++) {
		if (fds[WORKER_FD_DEBUG + i] >= 0)
			err = file_check(fds[WORKER_FD_DEBUG + i], MAX_ELF_FILE_BYTES);
	}
	return err;
}

/* Fills in the descriptor for the answer. */
static int job_start(enum elf_job_kind kind, int *fds, uint64_t seconds, struct elf_job **ret)
{
	__cleanup(elf_job_freep) struct elf_job *job = NULL;
	int err = files_check(kind, fds);

	if (err)
		return err;
	job = malloc(sizeof(*job));
	if (!job)
		return -ENOMEM;
	*job = (struct elf_job){ .kind = kind, .pidfd = -1 };
	job->output = memory_file_create();
	if (job->output < 0)
		return job->output;
	fds[WORKER_FD_OUTPUT] = job->output;
	err = worker_spawn(kind, fds, &job->pid);
	if (err) {
		job->pid = 0;
		return err;
	}
	job->deadline_ns = clock_mono_ns() + seconds * NS_PER_SEC;
	job->pidfd = (int)syscall(SYS_pidfd_open, job->pid, 0);
	if (job->pidfd < 0)
		return -errno;
	*ret = steal_ptr(&job);
	return 0;
}

static void fds_init(int *fds, int fd)
{
	for (int i = 0; i < NR_WORKER_FD; i++)
		fds[i] = -1;
	fds[WORKER_FD_FILE] = fd;
}

int elf_job_start_unwind(int fd, struct elf_job **ret)
{
	int fds[NR_WORKER_FD];

	fds_init(fds, fd);
	return job_start(ELF_JOB_UNWIND, fds, WORKER_SECONDS, ret);
}

/* With a question, unless there is none. */
static int job_ask(enum elf_job_kind kind, int *fds, const struct elf_addresses *addresses,
		   uint64_t seconds, struct elf_job **ret)
{
	int question __cleanup(closep) = addresses ? memory_file_create() : -1;
	int err = 0;

	if (addresses)
		err = question < 0 ? question : wire_write_addresses(question, addresses);
	fds[WORKER_FD_QUESTION] = question;
	return err ? err : job_start(kind, fds, seconds, ret);
}

int elf_job_start_symbols(int fd, const struct debug_files *debug,
			  const struct elf_addresses *offsets, struct elf_job **ret)
{
	int fds[NR_WORKER_FD];

	fds_init(fds, fd);
	for (size_t i = 0; debug && i < debug->nr; i++)
		fds[WORKER_FD_DEBUG + i] = debug->fds[i];
	return job_ask(ELF_JOB_SYMBOLS, fds, offsets, WORKER_SECONDS, ret);
}

int elf_job_start_perf_map(int fd, const struct elf_addresses *addresses, struct elf_job **ret)
{
	int fds[NR_WORKER_FD];

	fds_init(fds, fd);
	return job_ask(ELF_JOB_PERF_MAP, fds, addresses, WORKER_SECONDS, ret);
}

int elf_job_start_inlines(int fd, int debug_fd, const struct elf_addresses *addresses,
			  struct elf_job **ret)
{
	int fds[NR_WORKER_FD];

	fds_init(fds, fd);
	fds[WORKER_FD_DEBUG] = debug_fd;
	return job_ask(ELF_JOB_INLINES, fds, addresses, WORKER_INLINES_SECONDS, ret);
}

int elf_job_fd(const struct elf_job *job)
{
	return job->pidfd;
}

int elf_job_timeout_ms(const struct elf_job *job)
{
	uint64_t now = clock_mono_ns();

	if (now >= job->deadline_ns)
		return 0;
	return (int)((job->deadline_ns - now + NS_PER_MS - 1) / NS_PER_MS);
}

/* True when it has ended. */
static bool job_wait(const struct elf_job *job, uint64_t deadline_ns)
{
	struct pollfd pollfd = { .fd = job->pidfd, .events = POLLIN };
	uint64_t now;

	for (;;) {
		int n;

		now = clock_mono_ns();
		n = poll(&pollfd, 1,
			 now < deadline_ns ? (int)((deadline_ns - now) / NS_PER_MS) + 1 : 0);
		if (n > 0)
			return true;
		if ((n < 0 && errno != EINTR) || now >= deadline_ns)
			return false;
	}
}

void elf_job_stop(struct elf_job *job)
{
	if (job->pid)
		kill(job->pid, SIGKILL);
}

static void job_kill(struct elf_job *job)
{
	kill(job->pid, SIGKILL);
	/* Without a pidfd it is that young that it waits for no disk. */
	if (job->pidfd < 0 || job_wait(job, clock_mono_ns() + KILLED_WAIT_MS * NS_PER_MS))
		waitpid(job->pid, NULL, 0);
	job->pid = 0;
}

/* What a worker may say; whatever else comes is no answer. */
static int status_error(int status)
{
	static const struct {
		int status;
		int err;
	} known[] = {
		{ 0, 0 },
		{ ENOMEM, -ENOMEM },
		{ EBADMSG, -EBADMSG },
		{ ENOTSUP, -ENOTSUP },
		{ E2BIG, -E2BIG },
		{ WORKER_NO_CAGE, -ENOSYS },
	};

	if (!WIFEXITED(status))
		return -EPROTO;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (WEXITSTATUS(status) == known[i].status)
			return known[i].err;
	}
	return -EPROTO;
}

static int job_reap(struct elf_job *job)
{
	int status = 0;
	pid_t pid;

	if (!job_wait(job, job->deadline_ns)) {
		job_kill(job);
		return -ETIMEDOUT;
	}
	do {
		pid = waitpid(job->pid, &status, 0);
	} while (pid < 0 && errno == EINTR);
	job->pid = 0;
	return pid < 0 ? -errno : status_error(status);
}

int elf_job_finish_unwind(struct elf_job *job, struct elf_unwind **ret)
{
	int err = -EINVAL;

	if (job->kind == ELF_JOB_UNWIND)
		err = job_reap(job);
	err = err ?: wire_read_unwind(job->output, ret);
	elf_job_free(job);
	return err;
}

int elf_job_finish_symbols(struct elf_job *job, struct elf_symbols **ret)
{
	int err = -EINVAL;

	if (job->kind == ELF_JOB_SYMBOLS || job->kind == ELF_JOB_PERF_MAP)
		err = job_reap(job);
	err = err ?: wire_read_symbols(job->output, ret);
	elf_job_free(job);
	return err;
}

int elf_job_finish_inlines(struct elf_job *job, struct elf_inlines **ret)
{
	int err = -EINVAL;

	if (job->kind == ELF_JOB_INLINES)
		err = job_reap(job);
	err = err ?: wire_read_inlines(job->output, ret);
	elf_job_free(job);
	return err;
}

void elf_job_free(struct elf_job *job)
{
	if (!job)
		return;
	if (job->pid)
		job_kill(job);
	closep(&job->pidfd);
	closep(&job->output);
	free(job);
}

int elf_worker_unwind(int fd, struct elf_unwind **ret)
{
	struct elf_job *job = NULL;
	int err = elf_job_start_unwind(fd, &job);

	return err ? err : elf_job_finish_unwind(job, ret);
}

int elf_worker_symbols(int fd, const struct debug_files *debug, const struct elf_addresses *offsets,
		       struct elf_symbols **ret)
{
	struct elf_job *job = NULL;
	int err = elf_job_start_symbols(fd, debug, offsets, &job);

	return err ? err : elf_job_finish_symbols(job, ret);
}

int elf_worker_perf_map(int fd, const struct elf_addresses *addresses, struct elf_symbols **ret)
{
	struct elf_job *job = NULL;
	int err = elf_job_start_perf_map(fd, addresses, &job);

	return err ? err : elf_job_finish_symbols(job, ret);
}

int elf_worker_inlines(int fd, int debug_fd, const struct elf_addresses *addresses,
		       struct elf_inlines **ret)
{
	struct elf_job *job = NULL;
	int err = elf_job_start_inlines(fd, debug_fd, addresses, &job);

	return err ? err : elf_job_finish_inlines(job, ret);
}
