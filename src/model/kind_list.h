/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers kinds of processes, by name, user and cgroup, in their order: groups of pid 0 have these as their start. */
#pragma once

#include "model/snapshot.h"

/* The fields that make a kind. */
enum kind_field {
	KIND_FIELD_COMM = 1 << 0,
	KIND_FIELD_USER = 1 << 1,
	KIND_FIELD_CGROUP = 1 << 2, /* also the unit, the container and the pod */
#define KIND_FIELDS (KIND_FIELD_COMM | KIND_FIELD_USER | KIND_FIELD_CGROUP)
};

/* Returns the fields that groups by some keys, a mask of enum group_key, do not need. */
unsigned int kind_fields_unused(unsigned int keys);

struct kind_list {
	struct process *items; /* owned; only what makes a kind means anything */
	size_t count;
};

void kind_list_done(struct kind_list *list);

/* Adds the kind of a process; kind_list_sort() is due before anything is looked up. Returns 0 or -ENOMEM. */
int kind_list_add(struct kind_list *list, const struct process *process);
void kind_list_sort(struct kind_list *list);

/* The start of the group of a kind that was added, FOLDED_FIRST or more. */
uint64_t kind_list_number(const struct kind_list *list, const struct process *process);
