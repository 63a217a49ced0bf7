/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a process has ended, asked of the kernel and not of /proc, which may be another's. */
#ifndef BPFTRUSS_PROCESS_END_H
#define BPFTRUSS_PROCESS_END_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Whether every thread of a process, by its pid in our own namespace, is past its last system call:
 * it is gone, or waits for its parent. False when that cannot be known, or somebody else has the
 * pid by now. Descriptors of processes need no right.
 */
bool process_has_ended(pid_t pid);

/* Whether nobody has a pid in our own namespace, not even what nobody has waited for. */
bool pid_is_free(pid_t pid);

#endif
