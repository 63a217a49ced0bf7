/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls that a function of the C library may make: open() is openat, for example. Which one it is
 * depends on the library, its version and the architecture.
 */
#pragma once

#include "base/mem.h"

/*
 * The names of calls that a function stands for, with blanks between them, itself included if there is
 * such a call. NULL: no such function is known, or it makes the call of its own name only.
 */
const char *family_of(const char *function);

/* Whether a call is the one of a name, or its variant for 32-bit programs: stat64, futex_time64, setuid32. */
bool name_is_variant(const char *call, const char *name);

/* Whether a call is one of those that a function stands for, or a variant of one: family_of(). */
bool name_is_of_family(const char *call, const char *function);

/* The names of the functions; NULL from the first index on that is out of range. */
const char *family_name(size_t index);
