/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides which memory of a call is read, from what its arguments are. If there is more than a plan has
 * room for, what says most about the call is read.
 */
#include "syscalls/arguments.h"

#include "base/text.h"

/* How many elements of an array are read, and bytes of the address of a socket. */
#define MAX_ELEMENTS 32
#define MAX_SOCKADDR 128

enum structure_trait {
	IN_BYTES = 1 << 0,    /* its length is one in bytes, not of elements */
	ALWAYS_READ = 1 << 1, /* also without -v */
};

/* What user space and the kernel exchange. */
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

/* What is wanted first; 0: nothing is read. */
static int importance(const struct argument *argument, const struct plan_options *options)
{
	switch (argument->kind) {
	case ARG_PATH:
		return 7;
	case ARG_STRING:
		return 6;
	case ARG_STRINGS:
		return is_environment(argument) && !options->environment ? 0 : 5;
	case ARG_BUFFER:
	case ARG_IOVEC:
	case ARG_MSGHDR:
		return 4;
	case ARG_SIGSET:
		return 2;
	case ARG_STRUCT:
		if (structure_find(argument->type)->traits & ALWAYS_READ)
			return 3;
		return options->structs;
	default:
		return 0;
	}
}

/* How much a fetch of elements of unit bytes reads, by the kind of length. */
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

static void fetch_structure(enum syscall_abi abi, const struct argument *argument,
			    struct call_fetch *ret)
{
	const struct structure *structure = structure_find(argument->type);
	size_t size = structure->sizes[abi];

	if (!size)
		return;
	if (argument->length_kind == LENGTH_ONE)
		fetch_elements(argument, size, size, ret);
	else if (structure->traits & IN_BYTES)
		fetch_elements(argument, 1, size, ret);
	else
		fetch_elements(argument, size, min_u64(MAX_ELEMENTS, MAX_FETCH / size) * size, ret);
}

/* The sets of older calls have a word. */
static void fetch_sigset(const struct argument *argument, struct call_fetch *ret)
{
	size_t size = argument->length_kind == LENGTH_ONE ? sizeof(uint32_t) : sizeof(uint64_t);

	if (argument->length_kind == LENGTH_ONE)
		fetch_elements(argument, size, size, ret);
	else
		fetch_elements(argument, 1, size, ret);
}

static void fetch_whole(enum fetch_kind kind, size_t unit, size_t limit, struct call_fetch *ret)
{
	ret->kind = (uint8_t)kind;
	ret->unit = (uint16_t)unit;
	ret->limit = (uint16_t)limit;
}

static void fetch_fill(enum syscall_abi abi, const struct argument *argument, uint8_t index,
		       const struct plan_options *options, struct call_fetch *ret)
{
	size_t paths = min_u64(options->path_bytes, MAX_FETCH - 2);
	size_t data = min_u64(options->data_bytes, MAX_FETCH);

	*ret = (struct call_fetch){ .argument = index, .at_exit = argument->is_written };
	switch (argument->kind) {
	case ARG_PATH:
	case ARG_STRING:
		fetch_whole(FETCH_STRING, 1, paths, ret);
		break;
	case ARG_STRINGS:
		fetch_whole(FETCH_STRINGS, structure_size(abi, "address"), paths, ret);
		break;
	case ARG_BUFFER:
		fetch_elements(argument, 1, data, ret);
		break;
	case ARG_IOVEC:
		ret->length = argument->length;
		fetch_whole(FETCH_IOVEC, structure_size(abi, "iovec_array"), data, ret);
		break;
	case ARG_MSGHDR:
		fetch_whole(FETCH_MSGHDR, structure_size(abi, "msghdr"), data, ret);
		break;
	case ARG_SIGSET:
		fetch_sigset(argument, ret);
		break;
	default:
		fetch_structure(abi, argument, ret);
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
	const int most = 7;

	*ret = (struct call_plan){ 0 };
	bits_fill(call, ret);
	for (int wanted = most; wanted > 0; wanted--) {
		for (size_t i = 0; i < call->count && ret->nr_fetches < CALL_FETCHES; i++) {
			struct call_fetch *fetch = &ret->fetches[ret->nr_fetches];

			if (importance(&call->arguments[i], options) != wanted)
				continue;
			fetch_fill(abi, &call->arguments[i], (uint8_t)i, options, fetch);
			if (fetch->limit)
				ret->nr_fetches++;
		}
	}
}
