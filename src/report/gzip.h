/* SPDX-License-Identifier: BSD-2-Clause */
/* Files in the format of gzip(1). */
#ifndef BPFTRUSS_GZIP_H
#define BPFTRUSS_GZIP_H

#include <stddef.h>
#include <stdio.h>

/* Writes one whole file, without name and time in its header. Returns 0, -ENOMEM or -EIO. */
int gzip_write(const void *bytes, size_t size, FILE *out);

#endif
