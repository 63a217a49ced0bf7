/* SPDX-License-Identifier: BSD-2-Clause */
/* The values that all JSON reports are made of. Those that allocate return NULL when they cannot. */
#ifndef BPFTRUSS_JSON_VALUES_H
#define BPFTRUSS_JSON_VALUES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "model/snapshot.h"

#define JSON_SCHEMA 1

static inline void json_freep(json_t **json)
{
	json_decref(*json);
}

json_t *json_number(uint64_t value);

/* null when it is not known. */
json_t *json_number_if(bool known, uint64_t value);

/* Bytes that somebody else chose, up to a NUL or size. */
json_t *json_untrusted(const char *bytes, size_t size);
json_t *json_untrusted_text(const char *text);

json_t *json_time(int64_t real_ns);

/* Every loss by its name. */
json_t *json_losses(const struct losses *losses);

/* The keys that every report begins with: its form, the machine, the time. 0 or -1. */
int json_add_head(json_t *to, const struct snapshot *snapshot);

/* Hands over what was built, unless some part of it failed. */
json_t *json_unless(int err, json_t *json);

/* Returns 0 or -EIO. */
int json_write_line(const json_t *json, FILE *out);

#endif
