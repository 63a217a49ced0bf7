/* SPDX-License-Identifier: BSD-2-Clause */
/* One call while it is decoded: what the parts of the decoder share. */
#pragma once

#include "calls/pieces.h"
#include "calls/value_writer.h"
#include "syscalls/names.h"

/* How structures lie in memory. */
enum layout {
	LAYOUT_64,
	LAYOUT_I386, /* 64 bits are aligned to 4 bytes */
	LAYOUT_ARM,
	LAYOUT_X32, /* as LAYOUT_64, but addresses and what goes with them have 32 bits */
	NR_LAYOUT,
};

struct call;

/*
 * Says what argument *i is in this call if other arguments decide that, or which argument stands in
 * its place; NULL: it and those behind it are not there. May fill and return scratch.
 */
typedef const struct argument *(*argument_chooser)(const struct call *call, size_t *i,
						   struct argument *scratch);

/* Facts about all calls of one number. */
struct call_shape {
	const struct call_arguments *arguments; /* NULL: not looked up yet */
	argument_chooser choose;                /* NULL: arguments are what they are */
	char name[SYSCALL_NAME_MAX];
	size_t name_length;
	bool is_raw, is_verbose;
	bool is_wait; /* without a child that has changed, 0 is returned and nothing is written */
};

struct call {
	struct fd_text (*fd_name)(void *context, const struct call_record *record, int fd,
				  bool is_made);
	void *context;
	const struct call_record *record;
	const struct call_shape *shape;
	struct value_writer *to;
	enum syscall_abi abi; /* one that exists */
	enum layout layout;
	size_t data_bytes; /* of a buffer, that are shown */
	bool has_failed;   /* the kernel wrote nothing */
	bool has_pieces;
	struct call_pieces pieces; /* if it has any */
};

static inline uint64_t call_argument(const struct call *call, size_t i)
{
	return i < CALL_ARGUMENTS ? call->record->arguments[i] : 0;
}

/* The size of an address, and of a long. */
static inline size_t layout_pointer(enum layout layout)
{
	return layout == LAYOUT_64 ? 8 : 4;
}

static inline bool abi_has_32_bits(enum syscall_abi abi)
{
	return abi == ABI_I386 || abi == ABI_ARM;
}

/* A part of what an argument points at; false: nobody tried to read it. */
bool call_find_memory(const struct call *call, size_t i, unsigned int part,
		      struct call_memory *ret);

/* What the kernel has left of what an argument points at; false: nobody knows. */
bool call_find_after(const struct call *call, size_t i, struct call_memory *ret);

/* Whether what the program passed was read, but only when the call had ended. */
bool call_was_read_late(const struct call *call, size_t i);

/* Whether the kernel had then written over it, so that nobody knows what the program passed. */
bool call_was_overwritten(const struct call *call, const struct argument *argument, size_t i);

/* Writes an address for lack of something better. */
void call_put_address(const struct call *call, uint64_t address, const struct call_memory *memory);

/* Finds the bytes of a part of an argument; false: an address has been written instead. */
bool call_take_memory(const struct call *call, const struct argument *argument, size_t i,
		      unsigned int part, uint64_t address, struct call_memory *ret);

/* Writes the data of a buffer, of which length bytes are valid; SIZE_MAX: all that were read. */
void call_put_data(const struct call *call, const struct call_memory *memory, size_t length);

enum fd_role {
	FD_USED,
	FD_DIRECTORY, /* it may be AT_FDCWD */
	FD_MADE,      /* by this call: what it was before is another file */
};

/* A descriptor with its name. */
void call_put_fd(const struct call *call, int fd, enum fd_role role);

/* Elements an address points at: SIZE_MAX if nobody knows. */
size_t call_length(const struct call *call, const struct argument *argument);
