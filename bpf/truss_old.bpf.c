// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * The same programs for kernels before 5.13: without task storage (tasks_hashed.bpf.h), atomic
 * operations that tell what was there before, tables to unwind by, and following the pointer to the
 * current task. Maps, variables and programs are the same: user space knows no difference.
 */
#define OLD_KERNEL
#include "truss.bpf.c"
