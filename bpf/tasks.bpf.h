/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owns what is kept of each task: its struct task_ref, from the first interest in it until the
 * kernel frees the task. Two files know how; both have these:
 *
 *   task_may_count()      false for nearly every task that has none, at the price of one load
 *   task_ref_find()       what a task has, or NULL
 *   lookups_fail()        whether it finds nothing just now, if lookups_can_fail
 *   task_ref_create()     the same, made when there is none; NULL without room
 *   task_ref_free()       the task is gone
 *   task_ref_free_stale() the task is new: nothing of one that was before it may be left
 *   ref_is_counted()      whatever was stored before it was counted can be read after this
 *   ref_claim()           true for the one who is to make the task's record
 *   ref_publish()         it is counted from now on, by whoever claimed it
 *   ref_end_begin()       true for whoever is to end its counting; *ret_record is let go by it
 *   ref_end_finish()      true for the one by whom it is counted no more; may be claimed again
 *   ref_is_chosen()       by a selector, for now
 *   ref_choose()          1 if it was not chosen before, 0 if it was, negative without room
 *   ref_unchoose()        true if it was
 *   store_release()       a word that other CPUs take together with all that was stored before
 *   word_replace()        stores a word unless another program has replaced the old one
 */
#ifndef BPFTRUSS_TASKS_BPF_H
#define BPFTRUSS_TASKS_BPF_H

#include "kernel_types.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include "bpftruss/abi.h"
#include "losses.bpf.h"

/* What a task loses when it is counted no more. */
#define TASK_MEMBER (TASK_COUNTED | TASK_CLAIMED | TASK_TARGET | TASK_FOLLOW)

#ifdef OLD_KERNEL
#include "tasks_hashed.bpf.h"
#else
#include "tasks_stored.bpf.h"
#endif

#endif
