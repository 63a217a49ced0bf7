/* SPDX-License-Identifier: BSD-2-Clause */
/* Spells numbers that have names: flags, values of a set, modes, signals, devices. */
#pragma once

#include "calls/line.h"
#include "calls/value_writer.h"

/* Holds any text that is made here; flags that do not fit are hexadecimal. */
#define SET_TEXT_MAX 1024

struct set_text {
	char text[SET_TEXT_MAX];
	size_t length;
};

/* One of a writer's sets: see enum own_set. NULL: it has no names. */
const struct flag_set *own_set_find(enum own_set set);

static inline const struct flag_set *own_set(const struct value_writer *to, enum own_set set)
{
	return to->sets[set];
}

/* Flags of a set, and what is left of them as a number. */
void set_put_flags(struct value_writer *to, const struct flag_set *set, uint64_t value);

/* One value, or its number. */
void set_put_enum(struct value_writer *to, const struct flag_set *set, uint64_t value);

/* Returns the name of a value of a set that has names; NULL: it has none. */
const char *set_find_name(const struct flag_set *set, uint64_t value);

/* Permissions, with the type of the file if there may be one. */
void set_put_mode(struct value_writer *to, uint64_t mode, bool has_type);

/* makedev(0x8, 0x1) */
void set_put_device(struct value_writer *to, uint64_t device);

/* SIGINT, SIGRTMIN+2 */
void set_put_signal(struct value_writer *to, uint64_t number);

/* Signals by the bits of a mask of up to 64. */
void set_put_signals(struct value_writer *to, uint64_t mask);

/* Writes the status that wait() returns for a child. */
void set_put_wait_status(struct value_writer *to, uint32_t status);
