/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses foreign files where it can do no harm: in a process of its own, without rights, that has
 * the file, a buffer for its answer and nothing else. Its answer is checked before it is believed.
 * What goes wrong there is an error here, and nothing more.
 *
 *	elf_job_start_unwind(fd, &job);
 *	poll(elf_job_fd(job), elf_job_timeout_ms(job));
 *	elf_job_finish_unwind(steal_ptr(&job), &unwind);
 */
#ifndef BPFTRUSS_WORKER_H
#define BPFTRUSS_WORKER_H

#include "elf/inlines.h"
#include "elf/symbols.h"
#include "elf/unwind_rows.h"

/* The first argument by which the program knows that it is a worker. */
#define ELF_WORKER_ARGUMENT "--elf-worker"

enum elf_job_kind {
	ELF_JOB_UNWIND,
	ELF_JOB_SYMBOLS,
	ELF_JOB_PERF_MAP, /* gives symbols */
	ELF_JOB_INLINES,
	NR_ELF_JOB,
};

struct elf_job;

/*
 * Start a worker; descriptors, open for reading only, stay the caller's and may be closed at once.
 * Any number may run at a time. -EINVAL: no regular file, -EFBIG: too large.
 */
int elf_job_start_unwind(int fd, struct elf_job **ret);

/* Gives the result of elf_symbols_read(). */
int elf_job_start_symbols(int fd, const struct debug_files *debug,
			  const struct elf_addresses *offsets, struct elf_job **ret);

/* Gives the result of perf_map_read(): symbols as well. */
int elf_job_start_perf_map(int fd, const struct elf_addresses *addresses, struct elf_job **ret);

/* Gives the result of elf_inlines_read(); debug_fd is -1 without a debug file. Its time is shorter. */
int elf_job_start_inlines(int fd, int debug_fd, const struct elf_addresses *addresses,
			  struct elf_job **ret);

/* Readable when the worker has ended. */
int elf_job_fd(const struct elf_job *job);

/* Until the worker is killed; 0: overdue, finish it now. */
int elf_job_timeout_ms(const struct elf_job *job);

/* Kills the worker without waiting for its end: then elf_job_fd() is readable, and it has failed. */
void elf_job_stop(struct elf_job *job);

/*
 * Waits for the worker, as long as it has time, frees the job and hands over its result. Besides
 * what the parsers return: -ETIMEDOUT, -EPROTO (it crashed, or its answer made no sense), -ENOSYS
 * (no file can be read here, as the kernel offers no sandbox).
 */
int elf_job_finish_unwind(struct elf_job *job, struct elf_unwind **ret);
int elf_job_finish_symbols(struct elf_job *job, struct elf_symbols **ret);
int elf_job_finish_inlines(struct elf_job *job, struct elf_inlines **ret);

/* Kills the worker. NULL is fine. */
void elf_job_free(struct elf_job *job);

static inline void elf_job_freep(struct elf_job **job)
{
	elf_job_free(*job);
}

/* Start and finish in one. */
int elf_worker_unwind(int fd, struct elf_unwind **ret);
int elf_worker_symbols(int fd, const struct debug_files *debug, const struct elf_addresses *offsets,
		       struct elf_symbols **ret);
int elf_worker_perf_map(int fd, const struct elf_addresses *addresses, struct elf_symbols **ret);
int elf_worker_inlines(int fd, int debug_fd, const struct elf_addresses *addresses,
		       struct elf_inlines **ret);

/* main() of the worker; does not return. */
_Noreturn void elf_worker_main(int argc, char **argv);

#endif
