/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Says what the arguments and the result of each system call are, by name, so that one table serves every
 * ABI. What a call's memory is read for (call_plan) and how it is written both follow from this table,
 * which scripts/gen-arguments makes of arguments.list.
 */
#pragma once

#include "base/mem.h"
#include "bpftruss/call_abi.h"

enum argument_kind {
	ARG_INT,         /* signed, 32 bits */
	ARG_UINT,        /* unsigned, 32 bits */
	ARG_LONG,        /* signed, as wide as a register */
	ARG_SIZE,        /* unsigned, as wide as a register: a length, a count */
	ARG_OFFSET,      /* signed, of a file; two registers in 32-bit ABIs, if the row says so */
	ARG_OFFSET_HIGH, /* the other half of the one before, of which it is printed a part */
	ARG_HEX,         /* bits that have no names */
	ARG_ADDRESS,     /* of something that is not looked at */
	ARG_FD,
	ARG_DIRFD, /* the same, or AT_FDCWD: what a path is relative to */
	ARG_PATH,
	ARG_STRING,
	ARG_STRINGS, /* argv, envp */
	ARG_BUFFER,  /* bytes */
	ARG_IOVEC,
	ARG_MSGHDR,
	ARG_STRUCT, /* of `set->name`; an array if `length` is an argument */
	ARG_FLAGS,  /* some names of `set` or'd */
	ARG_ENUM,   /* one name of `set` */
	ARG_MODE,   /* permissions, octal, and a type of file: mode_write() */
	ARG_SIGNAL,
	ARG_SIGSET,
	ARG_PID,
	ARG_UID, /* a user or group; -1: none */
	ARG_DEV,
	ARG_FUTEX,  /* address of a futex word */
	ARG_MS,     /* a timeout in ms; negative: none */
	ARG_UNUSED, /* takes a register, is not printed (padding of 32-bit ABIs) */
	NR_ARGUMENT_KIND,
};

/* Where to find the number of elements (of bytes, for a buffer) behind an address. */
enum length_kind {
	LENGTH_ONE,      /* one element */
	LENGTH_ARGUMENT, /* in the argument `length` */
	LENGTH_RESULT,   /* in the result, but never more than the argument `length` */
	LENGTH_POINTED,  /* in the __u32 at the address in the argument `length`: of accept() */
	LENGTH_FIXED,    /* it is `length` */
};

/* Names of values: generated from the headers of the system that builds (scripts/gen-flags). */
struct flag_name {
	const char *name;
	uint64_t value;
	uint64_t
		mask; /* of the bits that it is one value of: the value itself for a single bit; all for 0 */
};

struct flag_set {
	const char *name; /* "open", "mmap_prot", … */
	const struct flag_name *names;
	size_t count; /* 0: the system that built has none of them */
	bool is_wide; /* of a register; else of its lower 32 bits, whatever the others are */
};

struct argument {
	char name[20]; /* as the manual page has it: "pathname" */
	enum argument_kind kind;
	bool is_written; /* the kernel writes there: it is read at the end */
	bool is_changed; /* the kernel reads what is there, and then writes: it is read twice */
	enum length_kind length_kind;
	uint8_t length;             /* index of the argument with the length, or LENGTH_FIXED */
	const struct flag_set *set; /* of ARG_FLAGS and ARG_ENUM */
	char type[20];              /* of ARG_STRUCT: "stat", "timespec", "sockaddr", … */
};

enum result_kind {
	RESULT_NUMBER,
	RESULT_FD,
	RESULT_HEX,  /* an address */
	RESULT_NONE, /* the call does not return */
};

struct call_arguments {
	size_t count;
	struct argument arguments[CALL_ARGUMENTS];
	enum result_kind result;
};

/* Never NULL: a call that is not in the table has six of ARG_HEX. */
const struct call_arguments *call_arguments(enum syscall_abi abi, int nr);

/* Whether the kernel looks at 32 bits only of the argument that says how long this one is. */
bool argument_length_is_32(const struct call_arguments *call, const struct argument *argument);

/* The set of a name; NULL if there is none. */
const struct flag_set *flag_set_find(const char *name);

/* Bytes in which flag_set_write() leaves no name out. */
#define FLAGS_MAX 512

/*
 * Writes "O_RDONLY|O_CLOEXEC"; bits without a name stand in hex behind the others, as do those whose
 * names find no room. size is 24 at least.
 */
void flag_set_write(const struct flag_set *set, uint64_t value, bool is_enum, char *buf,
		    size_t size);

/* Writes "0644" or "S_IFREG|0644". */
#define MODE_MAX 48
void mode_write(unsigned int mode, char *buf, size_t size);

/*
 * The set that an argument's value belongs to, where it depends on others: options of a socket on their
 * level. NULL: it has no names. values are all arguments of the call.
 */
const struct flag_set *argument_set(const struct argument *argument, const uint64_t *values);

/* Bytes of a structure in an ABI; 0 if it has none of that name. */
size_t structure_size(enum syscall_abi abi, const char *type);

/* Sets how much is read. */
struct plan_options {
	uint16_t path_bytes; /* of a path or string; at most MAX_FETCH - 2 */
	uint16_t data_bytes; /* of a buffer; at most MAX_FETCH */
	bool structs;        /* -v: also structures that are not printed otherwise */
	bool environment;    /* -e: of execve */
	bool only_paths;     /* nothing of other strings */
};

/* Fills in what the programs are to read of a call's memory. */
void call_plan_fill(enum syscall_abi abi, int nr, const struct plan_options *options,
		    struct call_plan *ret);

/* Whether calls of a number have what SPLIT_PATH or SPLIT_FILE splits by. */
bool call_is_split_by(enum syscall_abi abi, int nr, enum call_split split);
