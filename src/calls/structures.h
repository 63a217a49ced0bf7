/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Structures in memory: tables of their members, from which where each one stands follows for every
 * ABI, and how it is written.
 */
#pragma once

#include "calls/call.h"

/* Writes what memory holds of one or more elements of a type; false: the type is not known. */
bool structure_put(const struct call *call, const struct argument *argument, size_t i,
		   const struct call_memory *memory);

/* Whether a type has members that are known. */
bool structure_is_known(const struct call *call, const char *type);

/* Writes an array of struct iovec, the buffers of which hold no more than `bytes` in all. */
void structure_put_iovec(const struct call *call, const struct argument *argument, size_t i,
			 const struct call_memory *memory, size_t count, uint64_t bytes);

void structure_put_msghdr(const struct call *call, const struct argument *argument, size_t i,
			  const struct call_memory *memory);

/* Writes the descriptors that are ready after a poll(), as strace does after a result. */
void structure_put_ready(const struct call *call, const struct call_memory *memory);

/* The address of a socket. */
void sockaddr_put(struct value_writer *to, const struct call_memory *memory);
