/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the arguments of a call by its number, or by its name if that is beyond the tables. */
#include "syscalls/arguments.h"

#include "syscalls/names.h"

struct row_name {
	const char *name;
	uint16_t row;
};

#include "arguments.inc"

static const struct {
	const uint16_t *rows;
	int count;
} abis[NR_SYSCALL_ABI] = {
	[ABI_X86_64] = { rows_x86_64, ARRAY_SIZE(rows_x86_64) },
	[ABI_I386] = { rows_i386, ARRAY_SIZE(rows_i386) },
	[ABI_X32] = { rows_x32, ARRAY_SIZE(rows_x32) },
	[ABI_ARM64] = { rows_arm64, ARRAY_SIZE(rows_arm64) },
	[ABI_ARM] = { rows_arm, ARRAY_SIZE(rows_arm) },
};

static int name_compare(const void *name, const void *row)
{
	return strcmp(name, ((const struct row_name *)row)->name);
}

bool argument_length_is_32(const struct call_arguments *call, const struct argument *argument)
{
	const bool is_given =
		argument->length_kind == LENGTH_ARGUMENT || argument->length_kind == LENGTH_RESULT;
	const enum argument_kind kind = is_given ? call->arguments[argument->length].kind : ARG_HEX;

	return kind == ARG_INT || kind == ARG_UINT;
}

const struct call_arguments *call_arguments(enum syscall_abi abi, int nr)
{
	const char *name = syscall_find_name(abi, nr);
	const struct row_name *row;

	if (!name)
		return &rows[0];
	if (nr < abis[abi].count)
		return &rows[abis[abi].rows[nr]];
	row = bsearch(name, names, ARRAY_SIZE(names), sizeof(names[0]), name_compare);
	return &rows[row ? row->row : 0];
}

/* --- sets that depend on other arguments -------------------------------------------------------- */

#define LEVEL_SOCKET 1
#define LEVEL_IP     0
#define LEVEL_TCP    6
#define LEVEL_IPV6   41

static const struct flag_set *socket_option_set(int level)
{
	static const struct {
		int level;
		const char *set;
	} sets[] = {
		{ LEVEL_SOCKET, "socket_option" },
		{ LEVEL_IP, "ip_option" },
		{ LEVEL_TCP, "tcp_option" },
		{ LEVEL_IPV6, "ipv6_option" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		if (sets[i].level == level)
			return flag_set_find(sets[i].set);
	}
	return NULL;
}

#define FAMILY_INET  2
#define FAMILY_INET6 10

const struct flag_set *argument_set(const struct argument *argument, const uint64_t *values)
{
	if (!argument->set)
		return NULL;
	if (!strcmp(argument->set->name, "socket_option"))
		return socket_option_set((int)values[1]);
	if (!strcmp(argument->set->name, "socket_protocol") && (int)values[0] != FAMILY_INET &&
	    (int)values[0] != FAMILY_INET6)
		return NULL;
	return argument->set;
}
