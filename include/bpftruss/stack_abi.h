/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The contract of --stacks between the BPF programs and user space: unwind tables one way, call
 * stacks the other. docs/internals/STACKS.md has the path of one frame.
 */
#pragma once

#include <linux/types.h>

/* --- frames and stacks ------------------------------------------------------------------------ */

#define MAX_FRAMES 127

/*
 * A frame is a file and the program counter as an offset in that file, so that it is the same in
 * every process and outlives them. A raw one is an address in a process; where it is known that no
 * file is mapped there, as of a JIT's code, that is said.
 */
#define FRAME_FILE_SHIFT  44
#define FRAME_OFFSET_MASK ((1ULL << FRAME_FILE_SHIFT) - 1)
#define FRAME_RAW         (1ULL << 63)
#define FRAME_OF_NO_FILE  (1ULL << 61) /* of a raw one */
#define FRAME_ADDRESS_END (1ULL << 60) /* no program has code beyond */
/*
 * A signal came here, or its handler returns here; all other frames are where a call returns to, one
 * past the code at work.
 */
#define FRAME_INTERRUPTED (1ULL << 62)

/* File 0 is none; the kernel's vdso is a file, too. */
#define FILE_NONE 0
#define FILE_VDSO 1

/* Why a stack has no more frames. */
enum stack_end {
	STACK_COMPLETE = 0,  /* the outermost frame was reached */
	STACK_TRUNCATED,     /* MAX_FRAMES */
	STACK_TABLE_PENDING, /* the file's table was not there yet */
	STACK_NO_RULE,       /* JIT or assembler code without a frame pointer */
	STACK_UNSUPPORTED,   /* an unwind rule beyond what the tables can say */
	STACK_PAGED_OUT,     /* stack memory that is not there without a page fault */
	STACK_MM_BUSY,       /* another thread held the lock of the address space */
	STACK_32_BIT,        /* a 32-bit task */
	STACK_KILLED,        /* the thread died in the call: no stack any more */
	STACK_FRAMES_LOST,   /* counted, but the ring buffer had no room for its frames */
	NR_STACK_END,
};

/* A process and the program that it executes: its pid may become another's, its memory changes. */
struct process_id {
	__u32 pid; /* in the reader's namespace */
	/*
	 * Changes when any code is mapped elsewhere or anew. The mappings of now are those of a
	 * stack if this is the same. 0: unknown.
	 */
	__u32 layout;
	__u64 started_ns;  /* CLOCK_BOOTTIME of its start */
	__u64 stack_start; /* where exec put its stack: random */
};

/*
 * A new stack, sent once. The id is a hash of end and frames, of the process if any is raw, and of
 * the kernel stack below. Frames of a kernel stack are addresses in the kernel.
 */
struct stack_event {
	__u64 id;
	__u64 kernel; /* id of the kernel stack in which the call slept last, or 0; the id itself: this is one */
	struct process_id process; /* that has it */
	__u32 uid;                 /* whose it is */
	__u32 exec_pages;          /* of code that it has mapped */
	__u16 end;                 /* enum stack_end */
	__u16 nr_frames;
	__u32 pad;
	__u64 frames[MAX_FRAMES]; /* innermost first; only nr_frames are sent */
};

/* How often one slot's calls were made from one stack: written by its task alone, as the slot. */
struct stack_entry {
	__u64 id;
	__u32 next; /* the slot's next entry, 0 = end */
	__u32 slot; /* whose it is */
	__u64 calls;
	__u64 errors;
	__u64 wall_ns; /* of the timed ones, as in struct call_slot */
	__u64 off_ns;
	__u64 runq_ns;
	__u64 max_ns;
};

/* Key of the hash that finds them. */
struct stack_key {
	__u64 id;
	__u32 slot;
	__u32 pad;
};

/* --- unwind tables ---------------------------------------------------------------------------- */

/* Where the canonical frame address (the caller's stack pointer before its call) is. */
enum cfa_kind {
	CFA_NONE = 0,  /* no row: frame pointer, if there is one */
	CFA_RSP,       /* rsp + cfa_offset * 8 */
	CFA_RBP,       /* rbp + cfa_offset * 8 */
	CFA_RBP_DEREF, /* *(rbp + deref_offset * 8) + cfa_offset * 8: realigned stacks */
	CFA_PLT,    /* rsp + 8, 8 more from the 11th byte of each 16 on: the stubs of the linker */
	CFA_SIGNAL, /* a signal frame: registers are in the ucontext that rsp points at */
	CFA_STUB,   /* rsp + 8, a guess: the outermost frame if no code is where it returns to */
	CFA_RDI, /* rsp + cfa_offset * 8, and returns to where rdi says: vfork(), innermost only */
	CFA_END, /* the outermost frame */
	CFA_UNSUPPORTED,
};

/* Where the caller's rbp is. */
enum rbp_kind {
	RBP_SAME = 0, /* not saved: still in the register */
	RBP_CFA,      /* at cfa + rbp_offset * 8 */
	RBP_FRAME,    /* at rbp + rbp_offset * 8: with CFA_RBP_DEREF */
};

struct unwind_rule {
	__s16 cfa_offset;
	__s16 rbp_offset;
	__u8 cfa; /* enum cfa_kind */
	__u8 rbp; /* enum rbp_kind */
	__s16 deref_offset;
};

/*
 * Rows of a file: from their pc on a rule holds, up to the next row. Packed as pc & 0xfff << 16 |
 * rule number, by pages of 4 KiB of text; each page begins with the row in force at its start.
 */
#define UNWIND_PAGE_SHIFT 12
#define SLAB_ROWS         65536
#define MAX_SLABS         256
#define MAX_UNWIND_PAGES  262144 /* 1 GiB of text */
#define MAX_UNWIND_RULES  16384
#define MAX_UNWIND_FILES  8192

struct unwind_slab {
	__u32 rows[SLAB_ROWS];
};

struct unwind_page {
	__u32 first; /* slab << 16 | index of the first row */
	__u32 count;
};

struct unwind_file {
	__u64 text_start;  /* address in the file of the first page */
	__u64 load_offset; /* address in the file minus offset in the file, of its text */
	__u32 first_page;
	__u32 nr_pages; /* 0: no table, frame pointers only */
	__u32 ready;    /* 0: user space has not said yet */
	__u32 pad;
};

/* A file as the kernel knows it: with other contents, or another file of that number, it is new. */
struct inode_key {
	__u32 dev;
	__u32 generation;
	__u64 ino;
	__s64 mtime_s;
	__u32 mtime_ns;
	__u32 subvolume; /* of btrfs: a snapshot's file may have all else in common with the original */
};

/* The length of a file's name in its folder, with its NUL. */
#define FILE_NAME_SIZE 256

/* This many may ask at a time which file is mapped somewhere: a power of two. */
#define FILE_ASKERS 32

/* The number of a file, given when its code is first seen. */
struct inode_file {
	__u32 number;
	/*
	 * FILE_ASKED: user space knows that a table is wanted. A file that it cannot open is asked
	 * for again: 0, or from which second of CLOCK_MONOTONIC on.
	 */
	__u32 asked;
};

#define FILE_ASKED 1

/* Code of a file without a table: user space is to make one. In the stacks' ring buffer, too. */
struct pending_event {
	__u64 zero; /* where a stack_event has its id, which is never 0 */
	__u32 pid;
	__u32 file;
	struct inode_key key;
	__u64 start, end; /* of the mapping, as in /proc/PID/map_files */
};

#ifndef __cplusplus
_Static_assert(sizeof(struct stack_entry) == 64, "one cache line");
_Static_assert(sizeof(struct unwind_rule) == 8, "");
_Static_assert(sizeof(struct inode_key) == 32, "no padding: it is hashed");
#endif
