/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of Linux error numbers; all ABIs we know share the kernel's generic ones. */
#ifndef SYSCALLS_ERRNOS_H
#define SYSCALLS_ERRNOS_H

#include <stddef.h>

/* Bytes that hold any label, its final NUL included. */
#define ERRNO_LABEL_MAX 24

/* "ENOENT" for 2, "ERESTARTSYS" for 512; NULL if the number has no name. */
const char *errno_name(int err);

/* The number of a name, or -ENOENT. */
int errno_find(const char *name);

/* As errno_name(), but a number without a name is "errno_…". */
void errno_label(int err, char *buf, size_t size);

#endif
