/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns what a process that we start inherits besides its descriptors: nothing. */
#include "elf/spawn.h"

#include <signal.h>

/* Of our signals none: not those we wait for, nor the terminal's, which end us, not a worker. */
static int attributes_fill(posix_spawnattr_t *attributes)
{
	sigset_t all, none;
	int err;

	sigfillset(&all);
	sigemptyset(&none);
	err = posix_spawnattr_setsigdefault(attributes, &all);
	if (!err)
		err = posix_spawnattr_setsigmask(attributes, &none);
	if (!err)
		err = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF |
								   POSIX_SPAWN_SETSIGMASK |
								   POSIX_SPAWN_SETSID);
	return -err;
}

int spawn_self(char *const *argv, char *const *environment,
	       const posix_spawn_file_actions_t *actions, pid_t *ret)
{
	posix_spawnattr_t attributes;
	int err = -posix_spawnattr_init(&attributes);

	if (err)
		return err;
	err = attributes_fill(&attributes);
	if (!err)
		err = -posix_spawn(ret, "/proc/self/exe", actions, &attributes, argv, environment);
	posix_spawnattr_destroy(&attributes);
	return err;
}
