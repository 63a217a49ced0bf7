/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts programs that do not share our fate: neither our signals nor our terminal are theirs. */
#ifndef BPFTRUSS_SPAWN_H
#define BPFTRUSS_SPAWN_H

#include <spawn.h>
#include <sys/types.h>

/* This program itself, with descriptors as the actions say. 0 or a negative errno. */
int spawn_self(char *const *argv, char *const *environment,
	       const posix_spawn_file_actions_t *actions, pid_t *ret);

#endif
