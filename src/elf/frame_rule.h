/* SPDX-License-Identifier: BSD-2-Clause */
/* What DWARF says of a place in code, in the few words that the unwinder knows. */
#ifndef BPFTRUSS_FRAME_RULE_H
#define BPFTRUSS_FRAME_RULE_H

#include <stdbool.h>

#include <elfutils/libdw.h>

#include "bpftruss/stack_abi.h"

/* Unused fields are 0, so that equal rules have equal bytes. */
struct unwind_rule frame_rule_make(Dwarf_Frame *frame, bool is_signal);

#endif
