/* SPDX-License-Identifier: BSD-2-Clause */
/* /tmp/perf-PID.map, in which a JIT says how its code is called. Later lines win. */
#ifndef BPFTRUSS_PERF_MAP_H
#define BPFTRUSS_PERF_MAP_H

#include <sys/types.h>

#include "elf/symbols.h"

/* A larger one names nothing: it would take a worker too long, and too much memory. */
#define MAX_PERF_MAP_BYTES (32u << 20)

/*
 * root_fd is /proc/PID/root, pid the one in the process's own namespace. A map that neither root
 * nor uid owns is refused: anybody may write to /tmp. So is one that only root may read: a mount may
 * have put it there. Returns a descriptor, or -ENOENT, -EPERM, …
 */
int perf_map_open(int root_fd, pid_t pid, uid_t uid);

/*
 * Of some addresses, or of all (NULL), as elf_symbols_read(). Parses in the calling process: see
 * elf/worker.h. Lines that make no sense are passed over.
 */
int perf_map_read(int fd, const struct elf_addresses *addresses, struct elf_symbols **ret);

#endif
