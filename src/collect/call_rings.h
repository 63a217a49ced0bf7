/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The user space side of the per-call view: tells the programs what to read for each call, and
 * takes the records that they send from the rings of the CPUs.
 */
#pragma once

#include "collect/options.h"

struct call_rings;
struct truss_bpf;

/* Call it before the object is loaded. */
void call_rings_configure(struct truss_bpf *skel, const struct collector_options *options);

/* Call it when the object is loaded and not yet attached. Returns 0 or -errno. */
int call_rings_new(struct truss_bpf *skel, const struct call_view *view, struct call_rings **ret);

/* Tells the programs what calls of each number have in memory. 0 or -errno. */
int call_plans_fill(const struct truss_bpf *skel, const struct plan_options *options);

void call_rings_free(struct call_rings *rings);
CLEANUP_OF(call_rings, call_rings_free)

/* The memory of all rings. */
size_t call_rings_bytes(const struct call_rings *rings);

/* Answers collector_take_calls(). */
int call_rings_take(struct call_rings *rings, uint64_t horizon_ns, call_taker *take, void *context);

/* The open call of a record; NULL: there is none. */
const struct open_call *call_rings_open_call(const struct call_rings *rings, uint32_t record);

/* Whether the call in which a thread slept at start_ns, when its record began, was noted. */
bool call_rings_knows_early(const struct call_rings *rings, uint32_t index, uint64_t start_ns);

/* Notes it. False: there is no memory. */
bool call_rings_note_early(struct call_rings *rings, uint32_t index, uint64_t start_ns);

/* Keeps the number of an ended thread's last call for the next taking, if there is memory. */
void call_rings_note_last(struct call_rings *rings, uint32_t index,
			  const struct task_record *record);
