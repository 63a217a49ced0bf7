/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Debug files from the servers of DEBUGINFOD_URLS, for those who ask for it. elfutils' program
 * fetches them: as another user, into a folder of its own that is gone afterwards.
 */
#ifndef BPFTRUSS_DEBUGINFOD_H
#define BPFTRUSS_DEBUGINFOD_H

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

/*
 * Waits for an answer, not for long, and for all answers together not for much longer. Returns a
 * descriptor of what claims to be the debug file, -ENOENT: no server has it, or another error.
 */
int debuginfod_fetch(struct debuginfod *debuginfod, const struct elf_identity *identity);

/* main() of the client; does not return. */
_Noreturn void debuginfod_client_main(int argc, char **argv);

#endif
