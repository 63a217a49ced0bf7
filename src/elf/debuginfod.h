/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Debug files from the servers of DEBUGINFOD_URLS, for those who ask for it. elfutils' program
 * fetches them: as another user, into a folder of its own that is gone afterwards.
 */
#pragma once

#include "base/child.h"
#include "elf/debug_file.h"

struct debuginfod;

/* 0, -ENOENT (its program is not installed) or -ENOMEM. */
int debuginfod_new(struct debuginfod **ret);
void debuginfod_free(struct debuginfod *debuginfod);
CLEANUP_OF(debuginfod, debuginfod_free)

/* When servers may be asked again that were too slow, but at least a second from now. */
uint64_t debuginfod_again_ns(const struct debuginfod *debuginfod);

/* The folder of a client, which belongs to the user that the client runs as. All zero: there is none. */
struct debuginfod_folder {
	char path[64];
	int fd;
};

/*
 * Asks the servers: starts a client, which is to be watched, and stopped when it is overdue. -ENOENT: the
 * file has no build id by which they could know it; -EAGAIN: they were too slow for several files, one
 * after the other, and are left alone for a while.
 */
int debuginfod_start(struct debuginfod *debuginfod, const struct elf_identity *identity,
		     struct debuginfod_folder *folder, struct child *ret);

/*
 * Takes the answer; child and folder are done then. Returns a descriptor of what claims to be the debug
 * file, -ENOENT: no server has it, -ETIMEDOUT: it was stopped, or another error.
 */
int debuginfod_finish(struct debuginfod *debuginfod, struct debuginfod_folder *folder,
		      struct child *client);

/* Removes the folder with all that is in it, once its client is done. */
void debuginfod_folder_done(struct debuginfod_folder *folder);
