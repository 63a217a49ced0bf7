/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The daemon: one process, one thread, one loop. It counts, keeps the history and answers over its
 * socket until SIGTERM or SIGINT; SIGHUP reloads. Nothing of it stays in the kernel.
 */
#ifndef BPFTRUSS_DAEMON_H
#define BPFTRUSS_DAEMON_H

#include "base/diag.h"
#include "daemon/config.h"

/*
 * Reads the configuration anew. Returns 0 with a configuration that lives until the call after the next, or
 * -errno with d filled: the old one is kept then.
 */
struct daemon_reload {
	int (*read)(void *closure, const struct daemon_config **ret, struct diag *d);
	void *closure;
};

/* Runs until told to stop. Returns 0, or -errno with d filled when it could not go on. */
int daemon_run(const struct daemon_config *config, const struct daemon_reload *reload,
	       struct diag *d);

#endif
