/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receives the arguments of a call value by value, so that one walk makes both text and JSON. Each
 * argument is begun, has one value, and is ended; a value is a number, bytes, or a group of values.
 */
#pragma once

#include "base/mem.h"
#include "syscalls/arguments.h"

/* Whose words are used where formats differ. */
enum call_style {
	STYLE_TRUSS,
	STYLE_STRACE,
	STYLE_JSON,
};

/* Why an address is printed and not the data there. */
enum address_state {
	ADDRESS_PLAIN,  /* nobody wanted to know */
	ADDRESS_ABSENT, /* it was not in memory */
	ADDRESS_UNREAD, /* there was no room for it in the record */
};

enum group_kind {
	GROUP_STRUCT, /* each value has a field before it */
	GROUP_LIST,
	GROUP_SET,    /* a list of words: signals */
	GROUP_OTHERS, /* a set of all but them */
};

/* Sets of values in memory, or of arguments whose meaning depends on another one. */
enum own_set {
	OWN_NONE,
	OWN_POLL,
	OWN_EPOLL,
	OWN_FAMILY,
	OWN_SIGACTION,
	OWN_FD_FLAGS,
	OWN_LOCK,
	OWN_OPEN,
	OWN_CLONE,
	OWN_RESOLVE,
	OWN_STATX,
	OWN_SEEK,
	OWN_MSG,
	OWN_PROTOCOL,
	OWN_LEVEL,
	OWN_SOL_SOCKET,
	OWN_SOL_TCP,
	OWN_SOL_IP,
	OWN_SOL_IPV6,
	OWN_STACK,
	OWN_CAPABILITY,
	NR_OWN_SET,
};

/* The name of a descriptor. */
struct fd_text {
	const char *
		text; /* bytes of somebody else's choice: writers escape them; NULL: nobody knows */
	bool is_late; /* found out when the number may already have been another file's */
};

struct value_writer {
	const struct value_writer_ops *ops;
	enum call_style style;
	/* The decoder fills these in. */
	const struct flag_set *const *sets; /* by enum own_set; NULL: it has no names */
	bool shows_names;                   /* of arguments, in text */
};

struct value_writer_ops {
	/* was_read_late: the program passed the value, but it was read when the call had ended. */
	void (*argument)(struct value_writer *to, const struct argument *argument,
			 bool was_read_late);
	void (*argument_end)(struct value_writer *to);

	void (*number)(struct value_writer *to, int64_t value);
	void (*natural)(struct value_writer *to, uint64_t value);
	void (*hex)(struct value_writer *to, uint64_t value);
	/* A number that has a meaning: printable ASCII without quotes and backslashes. */
	void (*symbol)(struct value_writer *to, const char *text, size_t length, uint64_t value);
	void (*string)(struct value_writer *to, const void *bytes, size_t size, bool is_cut);
	/* word: instead of the number, or NULL. */
	void (*fd)(struct value_writer *to, int fd, const char *word, struct fd_text name);
	void (*address)(struct value_writer *to, uint64_t address, enum address_state state);

	/* The value that the kernel has left in place of the one before follows. */
	void (*after)(struct value_writer *to);

	void (*group)(struct value_writer *to, enum group_kind kind);
	void (*field)(struct value_writer *to, const char *name);
	/* Values that are not shown follow. */
	void (*more)(struct value_writer *to);
	void (*group_end)(struct value_writer *to);
};
