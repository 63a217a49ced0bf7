/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns the order of bytes in checksums: it is part of the schema. */
#include "store/checksum.h"

#include <endian.h>
#include <string.h>
#include <zlib.h>

uint32_t checksum_number(uint32_t sum, uint64_t number)
{
	uint64_t little = htole64(number);

	return (uint32_t)crc32(sum, (const void *)&little, sizeof(little));
}

uint32_t checksum_bytes(uint32_t sum, const void *bytes, size_t size)
{
	sum = checksum_number(sum, bytes || size == 0 ? size : UINT64_MAX);
	return size ? (uint32_t)crc32_z(sum, bytes, size) : sum;
}

uint32_t checksum_text(uint32_t sum, const char *text)
{
	return text ? checksum_bytes(sum, text, strlen(text)) : checksum_number(sum, UINT64_MAX);
}
