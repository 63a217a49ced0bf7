/* SPDX-License-Identifier: BSD-2-Clause */
/* Structures of which the contents say what members they have. */
#pragma once

#include "calls/call.h"

void siginfo_put(const struct call *call, const struct argument *argument,
		 const struct call_memory *memory);

/* Shows the messages of a msg_control of length bytes: descriptors, credentials, others as bytes. */
void control_put(const struct call *call, const struct argument *argument,
		 const struct call_memory *memory, uint64_t length);

/* Shows the names of files that getdents() and getdents64() have written. */
void dirents_put(const struct call *call, const struct argument *argument,
		 const struct call_memory *memory);
