/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The contract of the per-call view between the BPF programs and user space: which memory a call's
 * arguments point at (plans, one way), and one record for each call that ended (the other way).
 * Invariant: the calls of a thread are numbered from 1 without a gap, so a number that a reader never
 * sees is a call that was left out by a condition or lost, and it knows which.
 */
#pragma once

#include <linux/types.h>

#include "bpftruss/abi.h"

/* --- plans: what to read --------------------------------------------------------------------- */

enum fetch_kind {
	FETCH_NONE = 0,
	FETCH_STRING,   /* up to its NUL */
	FETCH_STRINGS,  /* an array of addresses of strings, up to a NULL: argv */
	FETCH_BYTES,    /* unit bytes */
	FETCH_COUNTED,  /* unit bytes times the argument `length` */
	FETCH_RETURNED, /* unit bytes times the result, or the argument `length` if that is less */
	FETCH_POINTED, /* as many bytes as the __u32 at the address in the argument `length` says */
	FETCH_IOVEC, /* an array of struct iovec, as many as the argument `length` says, and their buffers */
	FETCH_MSGHDR, /* a struct msghdr, its address, iovec and buffers */
	NR_FETCH_KIND,
};

/* Reads what one argument points at. */
struct call_fetch {
	__u8 kind;     /* enum fetch_kind */
	__u8 argument; /* index of the address */
	__u8 length;   /* index of the argument that says how much */
	__u8 at_exit;  /* the kernel writes it: it is read when the call ends, unless that failed */
	__u16 unit;
	__u16 limit; /* bytes that are kept; of a string without its NUL; of FETCH_IOVEC in each buffer */
	/* Done only if of the argument `which` the lower 6 bits are one of `when`, and the others `base`. */
	__u64 when; /* a bit for each; 0: always */
	__u32 base;
	__u8 which;
	__u8 part; /* enum piece_part, of FETCH_BYTES to FETCH_POINTED: PART_SELF or PART_AFTER */
	__u8 length_is_32; /* the kernel looks at no more bits of the length */
	__u8 pad;
};

#define CALL_FETCHES 8

/* The plan of one call number of one ABI. */
struct call_plan {
	struct call_fetch fetches[CALL_FETCHES];
	__u8 nr_fetches;
	__u8 fd_arguments;   /* a bit for each argument that is a descriptor */
	__u8 path_arguments; /* a bit for each that is the address of a path */
	__u8 first_fd;       /* index of the first of them, plus 1; 0: there is none */
	__u8 first_path;
	__u8 pad[3];
};

/* The index of a call's plan; numbers beyond CALLS_INDEXED have none. */
#define CALL_PLAN(abi, nr) ((abi) * CALLS_INDEXED + (nr))

/* --- records: what was read ------------------------------------------------------------------- */

/* Parts of what an argument points at. */
enum piece_part {
	PART_SELF =
		0, /* the string, the bytes, the array of struct iovec, the struct msghdr; of strings nothing */
	PART_NAME = 1,  /* of a msghdr: msg_name */
	PART_IOVEC = 2, /* of a msghdr: the array */
	PART_AFTER =
		3, /* what the kernel has left where PART_SELF was: of select() the ready ones */
	PART_CONTROL = 4, /* of a msghdr: msg_control */
	PART_BUFFERS = 8, /* the buffer of the first iovec, the first of the strings, and so on */
};

enum piece_flag {
	PIECE_AT_EXIT =
		1 << 0, /* read when the call had ended; another thread may have changed it */
	PIECE_UNREADABLE = 1 << 1, /* not in memory, or no address: there are no bytes */
	PIECE_CUT = 1 << 2,        /* there was more */
};

/*
 * The header of a piece, before its bytes; the next piece begins at a multiple of 8. If a part of
 * an argument has two pieces, the later one counts. A part without a piece was not read.
 */
struct call_piece {
	__u8 argument;
	__u8 part; /* enum piece_part */
	__u8 flags;
	__u8 pad;
	__u16 size; /* of the bytes */
	__u16 pad2;
};

#define CALL_BUFFERS  8    /* of an iovec, that are read */
#define CALL_STRINGS  32   /* of an argv */
#define MAX_FETCH     1024 /* bytes of one piece */
#define CALL_BYTES    1024 /* of all pieces but the last */
#define DEFAULT_PATHS 256  /* bytes of a string that are kept */
#define DEFAULT_DATA  32   /* bytes of a buffer */

enum call_flag {
	CALL_RETURNED = 1 << 0, /* with result; else the thread ended in it */
	CALL_TIMED = 1 << 1,    /* its start was seen, so its times are known */
	CALL_DENIED = 1 << 2,   /* seccomp or a tracer refused it */
	CALL_SLOWEST = 1 << 3,  /* of its kind in its thread so far; sent with no others */
	CALL_NONE = 1 << 4,     /* by user space: no call, but the number behind a thread's last */
	CALL_REST = 1 << 5,     /* no call, but bytes of one that is still open: struct call_rest */
};

/* One call. The pieces follow. */
struct call_record {
	__u32 size; /* of all, the pieces too */
	__u16 abi;
	__u16 flags; /* enum call_flag */
	__s32 nr;
	__u32 record; /* index of the thread's task_record */
	__u32 pid, tid;
	char comm[16]; /* of the thread */
	__u64 number;  /* of this call among those of its thread; of CALL_SLOWEST 0 */
	union {
		/* How many calls before it were left out, by conditions; and a pid: see CALL_PARENT(). */
		__u64 left_out;
		__u64 inode; /* of CALL_SLOWEST: what its first descriptor that is none below 0 is */
	};
	__u64 end_ns; /* CLOCK_MONOTONIC */
	__u64 wall_ns, off_ns, runq_ns;
	__s64 result;
	__u64 arguments[CALL_ARGUMENTS];
	__u64 stack_id; /* 0: none */
};

/*
 * The upper bits of left_out have the pid of the process that made this one, in its first thread and while it
 * was counted itself; else 0. No pid has more than 22 bits.
 */
#define CALL_PARENT_SHIFT       42
#define CALL_PARENT(left_out)   ((left_out) >> CALL_PARENT_SHIFT)
#define CALL_LEFT_OUT(left_out) ((left_out) & ((1ULL << CALL_PARENT_SHIFT) - 1))

#define REST_BYTES 4096
#define MAX_RESTS  256 /* of a piece; there are at least as many bytes in it before them */

/*
 * Bytes for which a piece has no room: sent before the record of their call, if a buffer is wanted whole. Of the
 * call flags, record, number and end_ns (when they were read, not after the call's end) are set, and arguments[0]: the offset of the bytes in
 * the buffer.
 */
struct call_rest {
	struct call_record call;
	struct call_piece piece;
	__u8 bytes[REST_BYTES];
};

/* A thread's open call, and how many have ended. Index: that of its record. */
struct open_call {
	__u64 number;
	__u64 left_out;
	__u32 used;     /* bytes of pieces */
	__u32 failed;   /* a bit for each fetch that is to be tried again at the end */
	__u64 has_fd;   /* one of its descriptors is that of the conditions */
	__u64 is_whole; /* its buffers are sent whole */
	struct {
		__u8 argument, flags, is_string, pad;
		__u32 limit;   /* bytes of a piece */
		__u32 count;   /* of buffers */
		__u32 word;    /* bytes of an address */
		__u64 left;    /* bytes that the buffers have in all */
		__u64 missing; /* the last address that was not in memory */
		__u64 address; /* of the bytes of which more are sent */
		__u32 size;    /* of all of them */
		__u32 part;    /* and what they are */
	} reading;             /* what is being read */
	struct call_record call;
	__u8 bytes[CALL_BYTES + sizeof(struct call_piece) + MAX_FETCH];
};

/* How many calls ended while they were shown, and what became of them, on one CPU. */
struct call_totals {
	__u64 sent;
	__u64 left_out; /* by a condition */
	__u64 lost;     /* no room in the ring */
};

#define PATH_PREFIX_MAX 64

/* Conditions that a counted call must meet to be sent. All zero: each call is sent. */
struct call_conditions {
	__u64 errnos[64];           /* a bit for each error that is wanted, if only_failed */
	__u8 path[PATH_PREFIX_MAX]; /* how a path must begin */
	__u32 path_size;            /* of that; 0: any, or none */
	__u32 only_failed, only_succeeded;
	__s32 fd; /* one of the descriptors, if only_fd */
	__u32 only_fd;
};

#define RING_BYTES_MIN (256u << 10)
#define RING_BYTES_MAX (8u << 20) /* of one CPU */
