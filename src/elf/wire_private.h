/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes of answers, for those that know their form. */
#ifndef BPFTRUSS_WIRE_PRIVATE_H
#define BPFTRUSS_WIRE_PRIVATE_H

#include <stddef.h>
#include <stdint.h>

/* 0 or a negative errno. */
int wire_bytes_write(int fd, const void *bytes, size_t size);

/* All of them, or -EPROTO. */
int wire_bytes_read(int fd, void *bytes, size_t size, uint64_t offset);

/* 0 where it is unknown, too. */
uint64_t wire_file_size(int fd);

#endif
