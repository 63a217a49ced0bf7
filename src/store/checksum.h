/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checksums of rows: zlib's CRC-32 over their values in the order of the columns, each number as 8
 * bytes, least significant first, each text or blob as its length and its bytes, NULL as length
 * UINT64_MAX.
 */
#ifndef BPFTRUSS_STORE_CHECKSUM_H
#define BPFTRUSS_STORE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Begin with a sum of 0. */
uint32_t checksum_number(uint32_t sum, uint64_t number);
uint32_t checksum_bytes(uint32_t sum, const void *bytes, size_t size);
uint32_t checksum_text(uint32_t sum, const char *text);

#endif
