/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads what /proc says of a process: untrusted, and read through one descriptor of its folder. */
#ifndef BPFTRUSS_PROCESS_H
#define BPFTRUSS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "bpftruss/stack_abi.h"

/* A process that is a descriptor cannot become another one, as its number can. -1: there is none. */
int process_open(uint32_t pid);

/* A file of its folder; NULL: it cannot be read. */
FILE *process_file(int process, const char *name);

/* Whether it is that process, and executes that program. */
bool process_is(int process, const struct process_id *id);

/* Whether it executes another program: one that has ended does not. */
bool process_has_executed(int process, const struct process_id *id);

/* A user with a user namespace of his own may have arranged all that his process sees. */
bool process_is_of_our_users(int process);

/* Its pid in its own namespace, and its effective user. */
bool process_status(int process, pid_t *ret_pid, uid_t *ret_user);

#endif
