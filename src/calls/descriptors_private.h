/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declares what the parts of descriptors.h share: lessons.c knows how a call changes descriptors
 * and stages the changes; descriptor_names.c applies them once the call's line is written, and
 * names descriptors.
 */
#pragma once

#include "bpftruss/abi.h"
#include "calls/descriptor_table.h"
#include "calls/descriptors.h"

/* More than any call number, x32 included. */
#define LESSON_NUMBERS 640

/* A descriptor that the last call has made or changed. */
struct change {
	int fd;
	struct fd_name *name; /* owned; NULL: it is to be asked for */
	uint32_t flags;       /* enum entry_flag */
	uint64_t since_ns;    /* when it became that */
};

#define MAX_CHANGES 2

/* The changes of the last call, which take effect with the next one. */
struct staged {
	uint32_t pid;
	bool refused; /* a descriptor of it is not open: whoever has the number now is another */
	struct change changes[MAX_CHANGES];
	size_t nr_changes;
	bool closes, marks;   /* these descriptors; or they are closed on exec from now on */
	uint32_t first, last; /* both included */
	bool execs, ends;
	uint32_t child;    /* 0: none */
	uint64_t child_ns; /* it is not older */
	bool child_shares, child_shares_folder;
};

struct descriptors {
	struct descriptor_source source;
	struct fd_table table;
	struct staged staged;
	uint64_t asked;
	uint64_t begin_ns; /* of the call whose descriptors are named; 0: not known */
	uint64_t end_ns;   /* of the call that was followed last */
	uint8_t lesson_of[NR_SYSCALL_ABI][LESSON_NUMBERS]; /* one more than its index; 0: none */
};

/* Finds the calls that change descriptors. */
void lessons_find(uint8_t lesson_of[NR_SYSCALL_ABI][LESSON_NUMBERS]);

/* Stages what a record's call has done. */
void lesson_learn(struct descriptors *d, struct fd_process *process,
		  const struct call_record *record);

/* Finds what is known of a descriptor without asking; NULL: nothing is certain to be valid. */
struct fd_entry *entry_known(struct descriptors *d, const struct fd_process *process, int fd);

/* The same, but /proc is asked if need be. */
struct fd_entry *entry_get(struct descriptors *d, struct fd_process *process, int fd);

/* Takes the name over. The descriptor is a new one, unless change_keep() follows. */
void change_stage(struct descriptors *d, int fd, struct fd_name *name, uint32_t flags);

/* The last change is of a descriptor that has been there since then, and is only named better. */
void change_keep(struct descriptors *d, uint64_t since_ns);
