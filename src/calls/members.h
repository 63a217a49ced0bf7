/* SPDX-License-Identifier: BSD-2-Clause */
/* The members of structures, as tables: see members.c. */
#pragma once

#include "calls/call.h"

enum member_type {
	TYPE_U8,
	TYPE_S16,
	TYPE_U16,
	TYPE_S32,
	TYPE_U32,
	TYPE_S64,
	TYPE_U64,
	TYPE_LONG,
	TYPE_ULONG,
	TYPE_ADDRESS, /* and what has as many bits */
	TYPE_EVENT,   /* of epoll: 64 bits, which x86 does not align */
	TYPE_INNER,   /* another structure */
	NR_MEMBER_TYPE,
};

enum member_form {
	FORM_NUMBER,
	FORM_NATURAL,
	FORM_HEX,
	FORM_ADDRESS,
	FORM_ADDRESS_IF, /* not if it is 0 */
	FORM_PIDFD,      /* an address, if the flags have CLONE_PIDFD */
	FORM_FD,
	FORM_MADE_FD, /* a descriptor that the call has made */
	FORM_FLAGS,
	FORM_ENUM,
	FORM_READY,   /* flags that are there after the call */
	FORM_MODE,    /* of a file, with its type */
	FORM_MODE_IF, /* permissions; not if it is 0 */
	FORM_SIZE,    /* of a file, but not of a device */
	FORM_DEVICE,
	FORM_RDEVICE, /* of a device, but not of another file */
	FORM_SIGNAL,
	FORM_LIMIT,
	FORM_LIMIT64,
	FORM_EVENT,
	FORM_TEXT, /* TYPE_U8, up to a NUL */
	FORM_WAIT,
	FORM_ERRNO,
	FORM_NONE, /* padding, or of no interest */
	NR_MEMBER_FORM,
};

struct member {
	const char *name;
	enum member_type type;
	enum member_form form;
	uint8_t set;    /* enum own_set, of FORM_FLAGS and FORM_ENUM */
	uint16_t count; /* of an array; 0: it is none */
	bool is_extra;  /* only shown with -v */
	const struct structure *inner;
};

struct structure {
	const char *type; /* as struct argument has it */
	const struct member *members;
	size_t count;
	bool is_scalar; /* one member without a name */
	bool is_single; /* the length of an argument is one in bytes, not of elements */
};

/* NULL: it is not known. */
const struct structure *structure_find(const char *type, enum syscall_abi abi);
