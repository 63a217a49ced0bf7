/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Debug files from the servers of DEBUGINFOD_URLS, for those who ask for it. elfutils' program
 * fetches them: as another user, into a folder of its own that is gone afterwards.
 */
#ifndef BPFTRUSS_DEBUGINFOD_H
#define BPFTRUSS_DEBUGINFOD_H

#include <stdint.h>

#include "elf/identity.h"

/* The first argument by which the program knows that it is to become the client. */
#define DEBUGINFOD_ARGUMENT "--debuginfod-client"

struct debuginfod;

/* 0, -ENOENT (its program is not installed) or -ENOMEM. */
int debuginfod_new(struct debuginfod **ret);

/* NULL is fine. */
void debuginfod_free(struct debuginfod *debuginfod);

static inline void debuginfod_freep(struct debuginfod **debuginfod)
{
	debuginfod_free(*debuginfod);
}

/* When servers may be asked again that were too slow, but at least a second from now. */
uint64_t debuginfod_again_ns(const struct debuginfod *debuginfod);

/* Looks for a debug file; a process of its own until it is finished. */
struct debuginfod_job;

/*
 * Asks the servers. -ENOENT: the file has no build id by which they could know it; -EAGAIN: they
 * were too slow for several files, one after the other, and are left alone for a while.
 */
int debuginfod_start(struct debuginfod *debuginfod, const struct elf_identity *identity,
		     struct debuginfod_job **ret);

/* Readable when there is an answer, or none any more. */
int debuginfod_job_fd(const struct debuginfod_job *job);

/* Until it is too late; 0: it is, stop it. */
int debuginfod_job_timeout_ms(const struct debuginfod_job *job);

/* Kills it without waiting for its end. */
void debuginfod_job_stop(struct debuginfod_job *job);

/*
 * Frees the job. Returns a descriptor of what claims to be the debug file, -ENOENT: no server has
 * it, -ETIMEDOUT: it was stopped, or another error.
 */
int debuginfod_finish(struct debuginfod_job *job);

/* Kills it; NULL is fine. */
void debuginfod_job_free(struct debuginfod_job *job);

static inline void debuginfod_job_freep(struct debuginfod_job **job)
{
	debuginfod_job_free(*job);
}

/* main() of the client; does not return. */
_Noreturn void debuginfod_client_main(int argc, char **argv);

#endif
