/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds out what this kernel and these privileges allow. It asks the kernel, and goes by version only
 * where the kernel gives no answer. The same checks serve `doctor` and the sentence with which every
 * other verb refuses.
 */
#pragma once

#include "base/diag.h"

#define MAX_FEATURES 16

/* Runs every check, in the order in which they depend on each other. Returns how many. */
size_t features_probe(struct finding features[MAX_FEATURES]);

/* Runs the required checks but that of attaching; the first that fails fills d. 0 or -errno. */
int features_require(struct diag *d);

/* Whether programs on system calls may sleep, and so bring in what is not in memory (since 7.2). */
bool features_let_calls_sleep(void);

struct kernel_features {
	/*
	 * It accounts run-queue time (sched_info.run_delay), unless the environment variable
	 * BPFTRUSS_NO_RUN_DELAY is set.
	 */
	bool has_runq;
	/* Its programs can unwind by tables, as on x86-64; else by frame pointers only. */
	bool has_unwinding;
	/* A look-up may find no task storage only because somebody is changing some (before 6.2). */
	bool lookups_can_fail;
};

/* Loads tiny programs to find out, so call it after features_require(). */
void features_of_kernel(struct kernel_features *ret);

/*
 * Where btrfs keeps the number of a file's subvolume, in bytes: from its struct inode to the pointer
 * to a struct btrfs_root, and on to the number. Both are 0 if the BTF of the kernel lacks btrfs, and
 * no loaded module has BTF of it.
 */
void features_of_btrfs(int *inode_to_root, int *root_to_id);

/*
 * Whether the environment variable BPFTRUSS_NO_TASK_REGS asks for programs that look for a task's
 * saved registers on its kernel stack, as they do where they cannot ask for them (before 5.15).
 */
bool features_hide_task_regs(void);

/* Turns libbpf's own messages off, or on to stderr. */
void features_silence_libbpf(bool silent);
