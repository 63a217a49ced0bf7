/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides by the kinds of a call's arguments which memory is read. If there is more than a plan has
 * room for, the memory that says most about the call is read.
 */
#include "syscalls/arguments.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <termios.h>

#include "base/text.h"
#include "syscalls/names.h"

/* How many elements of an array are read, and bytes of the address of a socket. */
#define MAX_ELEMENTS 32
#define MAX_SOCKADDR 128

/* A name of prctl(PR_SET_NAME), without its NUL. */
#define TASK_NAME_BYTES 15

enum structure_trait {
	IN_BYTES = 1 << 0,    /* its length is one in bytes, not of elements */
	ALWAYS_READ = 1 << 1, /* also without -v */
};

/* A structure that user space and the kernel exchange. */
struct structure {
	const char *name;
	uint16_t sizes[NR_SYSCALL_ABI]; /* of x86_64, i386, x32, arm64, arm; 0: that ABI has none */
	unsigned int traits;            /* enum structure_trait */
};

#define SAME(size)           { size, size, size, size, size }
#define WIDE(wide, narrow)   { wide, narrow, wide, wide, narrow }
/* x32 calls that take structures of 32-bit programs. */
#define COMPAT(wide, narrow) { wide, narrow, narrow, wide, narrow }

static const struct structure structures[] = {
#include "syscalls/structures.inc"
};

static const struct structure *structure_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(structures); i++) {
		if (!strcmp(structures[i].name, name))
			return &structures[i];
	}
	return NULL;
}

size_t structure_size(enum syscall_abi abi, const char *type)
{
	const struct structure *structure = structure_find(type);

	return structure && (unsigned int)abi < NR_SYSCALL_ABI ? structure->sizes[abi] : 0;
}

static bool is_environment(const struct argument *argument)
{
	return argument->kind == ARG_STRINGS && !strcmp(argument->name, "envp");
}

/* Kinds with larger numbers are read first; 0: nothing is read. */
static const uint8_t importances[NR_ARGUMENT_KIND] = {
	[ARG_PATH] = 6,  [ARG_STRING] = 5, [ARG_STRINGS] = 4, [ARG_BUFFER] = 3,
	[ARG_IOVEC] = 3, [ARG_MSGHDR] = 3, [ARG_STRUCT] = 2,  [ARG_SIGSET] = 1,
};

#define MOST_IMPORTANT 6

static int importance(const struct argument *argument, const struct plan_options *options)
{
	if (is_environment(argument) && !options->environment)
		return 0;
	if (argument->kind == ARG_STRUCT && !options->structs &&
	    !(structure_find(argument->type)->traits & ALWAYS_READ))
		return 0;
	return importances[argument->kind];
}

/* Sets how much a fetch of elements of unit bytes reads, by the kind of length. */
static void fetch_elements(const struct argument *argument, size_t unit, size_t limit,
			   struct call_fetch *ret)
{
	static const uint8_t kinds[] = {
		[LENGTH_ONE] = FETCH_BYTES,       [LENGTH_ARGUMENT] = FETCH_COUNTED,
		[LENGTH_RESULT] = FETCH_RETURNED, [LENGTH_POINTED] = FETCH_POINTED,
		[LENGTH_FIXED] = FETCH_BYTES,
	};

	ret->kind = kinds[argument->length_kind];
	if (argument->length_kind == LENGTH_FIXED)
		unit *= argument->length;
	else if (argument->length_kind != LENGTH_ONE)
		ret->length = argument->length;
	ret->unit = (uint16_t)unit;
	ret->limit = (uint16_t)min_u64(ret->kind == FETCH_BYTES ? unit : limit, MAX_FETCH);
}

/* --- by kind of argument ------------------------------------------------------------------------ */

/* Describes the argument for which a fetch is filled in. */
struct wish {
	enum syscall_abi abi;
	const struct argument *argument;
	size_t path_bytes, string_bytes, data_bytes;
};

static void fetch_string(const struct wish *wish, struct call_fetch *ret)
{
	ret->kind = FETCH_STRING;
	ret->unit = 1;
	ret->limit = (uint16_t)(wish->argument->kind == ARG_PATH ? wish->path_bytes
								 : wish->string_bytes);
}

static void fetch_strings(const struct wish *wish, struct call_fetch *ret)
{
	ret->kind = FETCH_STRINGS;
	ret->unit = (uint16_t)structure_size(wish->abi, "address");
	ret->limit = (uint16_t)wish->string_bytes;
}

static void fetch_buffer(const struct wish *wish, struct call_fetch *ret)
{
	fetch_elements(wish->argument, 1, wish->data_bytes, ret);
}

static void fetch_iovec(const struct wish *wish, struct call_fetch *ret)
{
	ret->kind = FETCH_IOVEC;
	ret->length = wish->argument->length;
	ret->unit = (uint16_t)structure_size(wish->abi, "iovec_array");
	ret->limit = (uint16_t)wish->data_bytes;
}

static void fetch_msghdr(const struct wish *wish, struct call_fetch *ret)
{
	ret->kind = FETCH_MSGHDR;
	ret->unit = (uint16_t)structure_size(wish->abi, "msghdr");
	ret->limit = (uint16_t)wish->data_bytes;
}

/* Older calls have sets of one word, without a length. */
static void fetch_sigset(const struct wish *wish, struct call_fetch *ret)
{
	if (wish->argument->length_kind == LENGTH_ONE)
		fetch_elements(wish->argument, sizeof(uint32_t), sizeof(uint32_t), ret);
	else
		fetch_elements(wish->argument, 1, sizeof(uint64_t), ret);
}

static void fetch_structure(const struct wish *wish, struct call_fetch *ret)
{
	const struct structure *structure = structure_find(wish->argument->type);
	size_t size = structure->sizes[wish->abi];

	if (!size)
		return;
	if (structure->traits & IN_BYTES && wish->argument->length_kind != LENGTH_ONE)
		fetch_elements(wish->argument, 1, size, ret);
	else
		fetch_elements(wish->argument, size, min_u64(MAX_ELEMENTS, MAX_FETCH / size) * size,
			       ret);
}

static void (*const fetchers[NR_ARGUMENT_KIND])(const struct wish *wish, struct call_fetch *ret) = {
	[ARG_PATH] = fetch_string,   [ARG_STRING] = fetch_string,    [ARG_STRINGS] = fetch_strings,
	[ARG_BUFFER] = fetch_buffer, [ARG_IOVEC] = fetch_iovec,      [ARG_MSGHDR] = fetch_msghdr,
	[ARG_SIGSET] = fetch_sigset, [ARG_STRUCT] = fetch_structure,
};

/* --- where another argument decides ------------------------------------------------------------- */

#define WHEN(value) (1ULL << ((value) & 63))

/* Of the values of `which` all but the lower 6 bits are the same. */
struct conditional {
	const char *call;
	uint8_t argument, which;
	bool is_written;
	uint32_t base;
	uint64_t when;
	const char *type; /* NULL: a string */
};

#define LOCKS      (WHEN(F_SETLK) | WHEN(F_SETLKW))
#define WIDE_LOCKS (WHEN(13) | WHEN(14) | WHEN(F_OFD_SETLK) | WHEN(F_OFD_SETLKW))
#define LOCK_CALL(call)                                                                            \
	{ call, 2, 1, false, 0, LOCKS, "flock" }, { call, 2, 1, true, 0, WHEN(F_GETLK), "flock" }, \
		{ call, 2, 1, false, 0, WIDE_LOCKS, "flock64" },                                   \
		{ call, 2, 1, true, 0, WHEN(12) | WHEN(F_OFD_GETLK), "flock64" }
#define TERMINAL_BASE                    (TCGETS & ~63)
#define TERMINAL(is_written, type, when) { "ioctl", 2, 1, is_written, TERMINAL_BASE, when, type }

static const struct conditional conditionals[] = {
	LOCK_CALL("fcntl"),
	LOCK_CALL("fcntl64"),
	TERMINAL(true, "termios", WHEN(TCGETS)),
	TERMINAL(false, "termios", WHEN(TCSETS) | WHEN(TCSETSW) | WHEN(TCSETSF)),
	TERMINAL(true, "winsize", WHEN(TIOCGWINSZ)),
	TERMINAL(false, "winsize", WHEN(TIOCSWINSZ)),
	TERMINAL(true, "int", WHEN(TIOCGPGRP) | WHEN(FIONREAD)),
	TERMINAL(false, "int", WHEN(TIOCSPGRP) | WHEN(FIONBIO)),
	{ "ioctl", 2, 1, false, FIOASYNC & ~63, WHEN(FIOASYNC), "int" },
	{ "prctl", 1, 0, false, 0, WHEN(PR_SET_NAME), NULL },
	{ "prctl", 1, 0, true, 0, WHEN(PR_GET_NAME), NULL },
};

static void conditionals_fill(enum syscall_abi abi, int nr, struct call_plan *ret)
{
	char name[SYSCALL_NAME_MAX];

	syscall_name(abi, nr, name, sizeof(name));
	for (size_t i = 0; i < ARRAY_SIZE(conditionals); i++) {
		const struct conditional *from = &conditionals[i];
		size_t size = from->type ? structure_size(abi, from->type) : 0;

		if (strcmp(from->call, name) != 0 || ret->nr_fetches == CALL_FETCHES)
			continue;
		ret->fetches[ret->nr_fetches++] = (struct call_fetch){
			.kind = from->type ? FETCH_BYTES : FETCH_STRING,
			.argument = from->argument,
			.at_exit = from->is_written,
			.unit = (uint16_t)(size ?: 1),
			.limit = (uint16_t)(size ?: TASK_NAME_BYTES),
			.when = from->when,
			.base = from->base,
			.which = from->which,
		};
	}
}

/* Reads once more, when the call has ended, what the kernel may have changed. */
static void changes_fill(const struct call_arguments *call, struct call_plan *ret)
{
	size_t count = ret->nr_fetches;

	for (size_t i = 0; i < count && ret->nr_fetches < CALL_FETCHES; i++) {
		struct call_fetch fetch = ret->fetches[i];

		if (!call->arguments[fetch.argument].is_changed)
			continue;
		fetch.at_exit = true;
		fetch.part = PART_AFTER;
		ret->fetches[ret->nr_fetches++] = fetch;
	}
}

/* The kernel looks at the structures of these calls only if another argument is one of these values. */
static const struct {
	const char *call;
	uint8_t which;
	uint64_t when;
} restrictions[] = {
	{ "epoll_ctl", 1, WHEN(1) | WHEN(3) }, /* EPOLL_CTL_ADD and EPOLL_CTL_MOD */
};

static void restrictions_fill(enum syscall_abi abi, int nr, struct call_plan *ret)
{
	char name[SYSCALL_NAME_MAX];

	syscall_name(abi, nr, name, sizeof(name));
	for (size_t n = 0; n < ARRAY_SIZE(restrictions); n++) {
		for (size_t i = 0; !strcmp(restrictions[n].call, name) && i < ret->nr_fetches;
		     i++) {
			ret->fetches[i].which = restrictions[n].which;
			ret->fetches[i].when = restrictions[n].when;
		}
	}
}

static void bits_fill(const struct call_arguments *call, struct call_plan *ret)
{
	for (size_t i = 0; i < call->count; i++) {
		const struct argument *argument = &call->arguments[i];

		if (argument->kind == ARG_FD || argument->kind == ARG_DIRFD)
			ret->fd_arguments |= (uint8_t)(1 << i);
		else if (argument->kind == ARG_PATH && !argument->is_written)
			ret->path_arguments |= (uint8_t)(1 << i);
	}
	/* ffs() counts from 1, and is 0 if there is no bit. */
	ret->first_fd = (uint8_t)__builtin_ffs(ret->fd_arguments);
	ret->first_path = (uint8_t)__builtin_ffs(ret->path_arguments);
}

bool call_is_split_by(enum syscall_abi abi, int nr, enum call_split split)
{
	struct call_plan plan = { 0 };

	if (nr < 0 || nr >= CALLS_INDEXED)
		return false;
	bits_fill(call_arguments(abi, nr), &plan);
	return split == SPLIT_PATH ? plan.path_arguments : plan.fd_arguments;
}

void call_plan_fill(enum syscall_abi abi, int nr, const struct plan_options *options,
		    struct call_plan *ret)
{
	const struct call_arguments *call = call_arguments(abi, nr);
	struct wish wish = { .abi = abi,
			     .path_bytes = min_u64(options->path_bytes, MAX_FETCH - 2),
			     .data_bytes = min_u64(options->data_bytes, MAX_FETCH) };

	wish.string_bytes = options->only_paths ? 0 : wish.path_bytes;
	*ret = (struct call_plan){ 0 };
	bits_fill(call, ret);
	for (int wanted = MOST_IMPORTANT; wanted > 0; wanted--) {
		for (size_t i = 0; i < call->count && ret->nr_fetches < CALL_FETCHES; i++) {
			struct call_fetch *fetch = &ret->fetches[ret->nr_fetches];

			wish.argument = &call->arguments[i];
			if (importance(wish.argument, options) != wanted)
				continue;
			*fetch = (struct call_fetch){ .argument = (uint8_t)i,
						      .at_exit = wish.argument->is_written };
			fetchers[wish.argument->kind](&wish, fetch);
			fetch->length_is_32 = argument_length_is_32(call, wish.argument);
			ret->nr_fetches += fetch->kind != FETCH_NONE;
		}
	}
	if (ret->nr_fetches < CALL_FETCHES)
		ret->fetches[ret->nr_fetches] = (struct call_fetch){ 0 };
	changes_fill(call, ret);
	restrictions_fill(abi, nr, ret);
	conditionals_fill(abi, nr, ret);
}
