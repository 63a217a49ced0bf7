/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Knows which descriptors a number of calls have closed or replaced: /proc no longer says what
 * earlier calls used. Invariant: none of the calls that it was told of changed a descriptor that is
 * not in it.
 */
#pragma once

#include "base/mem.h"
#include "bpftruss/call_abi.h"

struct replaced;

/* 0 or -ENOMEM. */
int replaced_new(struct replaced **ret);
void replaced_free(struct replaced *replaced);
CLEANUP_OF(replaced, replaced_free)

/* Takes a call, in any order. */
void replaced_note(struct replaced *replaced, const struct call_record *record);

/* Call it once all calls were noted. */
void replaced_settle(struct replaced *replaced);

/* Whether a descriptor, or DESCRIPTOR_CWD, may have been another one before. */
bool replaced_has(const struct replaced *replaced, uint32_t pid, int fd);
