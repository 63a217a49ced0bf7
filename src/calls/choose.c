/* SPDX-License-Identifier: BSD-2-Clause */
/* Says what an argument is where that depends on the others. */
#include "calls/choose.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <termios.h>

#include "calls/sets.h"

static const struct argument *as_in_table(const struct call *call, size_t i)
{
	return &call->shape->arguments->arguments[i];
}

/* The same argument as another kind. */
static const struct argument *as_kind(const struct call *call, size_t i, enum argument_kind kind,
				      const struct flag_set *set, struct argument *scratch)
{
	*scratch = *as_in_table(call, i);
	scratch->kind = kind;
	scratch->set = set;
	return scratch;
}

/* --- open, access ------------------------------------------------------------------------------- */

/* The mode comes last, and counts only when a file may be made. */
static const struct argument *choose_open(const struct call *call, size_t *at,
					  struct argument *scratch)
{
	const struct argument *argument = as_in_table(call, *at);
	const uint64_t makes_file = O_CREAT | (O_TMPFILE & ~O_DIRECTORY);

	(void)scratch;
	if (argument->kind == ARG_MODE && !(call_argument(call, *at - 1) & makes_file))
		return NULL;
	return argument;
}

/* Offsets of mappings are multiples of pages, so they are in hexadecimal. */
static const struct argument *choose_mmap(const struct call *call, size_t *at,
					  struct argument *scratch)
{
	if (as_in_table(call, *at)->kind == ARG_OFFSET)
		return as_kind(call, *at, ARG_HEX, NULL, scratch);
	return as_in_table(call, *at);
}

static const struct argument *choose_mremap(const struct call *call, size_t *at,
					    struct argument *scratch)
{
	bool has_address = call_argument(call, 3) & (MREMAP_FIXED | MREMAP_DONTUNMAP);

	(void)scratch;
	return *at == 4 && !has_address ? NULL : as_in_table(call, *at);
}

/* This length is part of an ABI, and known in hexadecimal. */
static const struct argument *choose_rseq(const struct call *call, size_t *at,
					  struct argument *scratch)
{
	return *at == 1 ? as_kind(call, *at, ARG_HEX, NULL, scratch) : as_in_table(call, *at);
}

/* --- fcntl -------------------------------------------------------------------------------------- */

static const struct {
	int command;
	enum argument_kind kind;
	enum own_set set;
	const char *type;
} fcntl_commands[] = {
	{ F_DUPFD, ARG_INT, OWN_NONE, NULL },
	{ F_DUPFD_CLOEXEC, ARG_INT, OWN_NONE, NULL },
	{ F_GETFD, ARG_UNUSED, OWN_NONE, NULL },
	{ F_SETFD, ARG_FLAGS, OWN_FD_FLAGS, NULL },
	{ F_GETFL, ARG_UNUSED, OWN_NONE, NULL },
	{ F_SETFL, ARG_FLAGS, OWN_OPEN, NULL },
	{ F_GETLK, ARG_STRUCT, OWN_NONE, "flock_held" },
	{ F_SETLK, ARG_STRUCT, OWN_NONE, "flock" },
	{ F_SETLKW, ARG_STRUCT, OWN_NONE, "flock" },
	{ 12, ARG_STRUCT, OWN_NONE, "flock64_held" }, /* F_GETLK64 to F_SETLKW64 of 32-bit ABIs */
	{ 13, ARG_STRUCT, OWN_NONE, "flock64" },
	{ 14, ARG_STRUCT, OWN_NONE, "flock64" },
	{ F_OFD_GETLK, ARG_STRUCT, OWN_NONE, "flock64_held" },
	{ F_OFD_SETLK, ARG_STRUCT, OWN_NONE, "flock64" },
	{ F_OFD_SETLKW, ARG_STRUCT, OWN_NONE, "flock64" },
	{ F_SETOWN, ARG_PID, OWN_NONE, NULL },
	{ F_GETOWN, ARG_UNUSED, OWN_NONE, NULL },
	{ F_SETSIG, ARG_SIGNAL, OWN_NONE, NULL },
	{ F_GETSIG, ARG_UNUSED, OWN_NONE, NULL },
	{ F_SETPIPE_SZ, ARG_INT, OWN_NONE, NULL },
	{ F_GETPIPE_SZ, ARG_UNUSED, OWN_NONE, NULL },
	{ F_GET_SEALS, ARG_UNUSED, OWN_NONE, NULL },
};

static const struct argument *choose_fcntl(const struct call *call, size_t *at,
					   struct argument *scratch)
{
	const size_t i = *at;
	int command = (int)call_argument(call, 1);

	if (i != 2)
		return as_in_table(call, i);
	for (size_t n = 0; n < ARRAY_SIZE(fcntl_commands); n++) {
		if (fcntl_commands[n].command != command)
			continue;
		if (fcntl_commands[n].kind == ARG_UNUSED)
			return NULL;
		as_kind(call, i, fcntl_commands[n].kind, own_set(call->to, fcntl_commands[n].set),
			scratch);
		if (fcntl_commands[n].type)
			snprintf(scratch->type, sizeof(scratch->type), "%s",
				 fcntl_commands[n].type);
		scratch->is_written = strstr(scratch->type, "_held");
		return scratch;
	}
	return as_in_table(call, i);
}

/* --- ioctl -------------------------------------------------------------------------------------- */

static const struct {
	uint32_t request;
	bool is_written;
	const char *type;
} ioctl_requests[] = {
	{ TCGETS, true, "termios" },     { TCSETS, false, "termios" },
	{ TCSETSW, false, "termios" },   { TCSETSF, false, "termios" },
	{ TIOCGWINSZ, true, "winsize" }, { TIOCSWINSZ, false, "winsize" },
	{ TIOCGPGRP, true, "int" },      { TIOCSPGRP, false, "int" },
	{ FIONREAD, true, "int" },       { FIONBIO, false, "int" },
	{ FIOASYNC, false, "int" },
};

static const struct argument *choose_ioctl(const struct call *call, size_t *at,
					   struct argument *scratch)
{
	const size_t i = *at;

	for (size_t n = 0; i == 2 && n < ARRAY_SIZE(ioctl_requests); n++) {
		if (ioctl_requests[n].request != (uint32_t)call_argument(call, 1))
			continue;
		as_kind(call, i, ARG_STRUCT, NULL, scratch);
		scratch->length_kind = LENGTH_ONE;
		scratch->is_written = ioctl_requests[n].is_written;
		snprintf(scratch->type, sizeof(scratch->type), "%s", ioctl_requests[n].type);
		return scratch;
	}
	return as_in_table(call, i);
}

/* --- futex -------------------------------------------------------------------------------------- */

/* The arguments of each operation from the third on, a letter each; "." leaves one out. */
static const char *const futex_forms[] = {
	[FUTEX_WAIT] = "ut",
	[FUTEX_WAKE] = "i",
	[FUTEX_FD] = "u",
	[FUTEX_REQUEUE] = "uua",
	[FUTEX_CMP_REQUEUE] = "uuau",
	[FUTEX_WAKE_OP] = "uuax",
	[FUTEX_LOCK_PI] = ".t",
	[FUTEX_UNLOCK_PI] = "",
	[FUTEX_TRYLOCK_PI] = "",
	[FUTEX_WAIT_BITSET] = "ut.b",
	[FUTEX_WAKE_BITSET] = "u..b",
	[FUTEX_WAIT_REQUEUE_PI] = "uta",
	[FUTEX_CMP_REQUEUE_PI] = "uuau",
	[FUTEX_LOCK_PI2] = ".t",
};

static const struct argument *choose_futex(const struct call *call, size_t *at,
					   struct argument *scratch)
{
	const size_t i = *at;
	static const struct flag_name any[] = { { "FUTEX_BITSET_MATCH_ANY", UINT32_MAX,
						  UINT64_MAX } };
	static const struct flag_set bits = { "futex_bits", any, 1, false };
	uint32_t command = (uint32_t)call_argument(call, 1) & FUTEX_CMD_MASK;
	const char *form;

	if (i < 2 || command >= ARRAY_SIZE(futex_forms))
		return as_in_table(call, i);
	form = futex_forms[command];
	if (strlen(form) <= i - 2)
		return NULL;
	switch (form[i - 2]) {
	case 'u':
		return as_kind(call, i, ARG_UINT, NULL, scratch);
	case 'i':
		return as_kind(call, i, ARG_INT, NULL, scratch);
	case 'x':
		return as_kind(call, i, ARG_HEX, NULL, scratch);
	case 'b':
		return as_kind(call, i, ARG_ENUM, &bits, scratch);
	case '.':
		return as_kind(call, i, ARG_UNUSED, NULL, scratch);
	default:
		return as_in_table(call, i);
	}
}

/* --- prctl -------------------------------------------------------------------------------------- */

static const struct {
	int option;
	/* Of the second argument, the last one; ARG_UNUSED: there is none. */
	enum argument_kind kind;
	enum own_set set;
} prctl_options[] = {
	{ PR_SET_NAME, ARG_STRING, 0 },
	{ PR_GET_NAME, ARG_STRING, 0 },
	{ PR_SET_PDEATHSIG, ARG_SIGNAL, 0 },
	{ PR_GET_PDEATHSIG, ARG_ADDRESS, 0 },
	{ PR_SET_DUMPABLE, ARG_UINT, 0 },
	{ PR_GET_DUMPABLE, ARG_UNUSED, 0 },
	{ PR_SET_KEEPCAPS, ARG_UINT, 0 },
	{ PR_GET_KEEPCAPS, ARG_UNUSED, 0 },
	{ PR_GET_SECCOMP, ARG_UNUSED, 0 },
	{ PR_CAPBSET_READ, ARG_ENUM, OWN_CAPABILITY },
	{ PR_CAPBSET_DROP, ARG_ENUM, OWN_CAPABILITY },
	{ PR_SET_TIMERSLACK, ARG_SIZE, 0 },
	{ PR_GET_TIMERSLACK, ARG_UNUSED, 0 },
	{ PR_SET_CHILD_SUBREAPER, ARG_UINT, 0 },
};

static const struct argument *choose_prctl(const struct call *call, size_t *at,
					   struct argument *scratch)
{
	const size_t i = *at;
	int option = (int)call_argument(call, 0);

	for (size_t n = 0; i && n < ARRAY_SIZE(prctl_options); n++) {
		if (prctl_options[n].option != option)
			continue;
		if (i > 1 || prctl_options[n].kind == ARG_UNUSED)
			return NULL;
		as_kind(call, i, prctl_options[n].kind, own_set(call->to, prctl_options[n].set),
			scratch);
		scratch->is_written = option == PR_GET_NAME;
		return scratch;
	}
	return as_in_table(call, i);
}

/* --- sockets ------------------------------------------------------------------------------------ */

static const struct flag_set *option_set(const struct call *call, int level)
{
	static const struct {
		int level;
		enum own_set set;
	} levels[] = {
		{ SOL_SOCKET, OWN_SOL_SOCKET },
		{ IPPROTO_TCP, OWN_SOL_TCP },
		{ IPPROTO_IP, OWN_SOL_IP },
		{ IPPROTO_IPV6, OWN_SOL_IPV6 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
		if (levels[i].level == level)
			return own_set(call->to, levels[i].set);
	}
	return NULL;
}

static bool is_error(const struct call *call)
{
	return (int)call_argument(call, 1) == SOL_SOCKET && (int)call_argument(call, 2) == SO_ERROR;
}

/* A value of four bytes is a number: options that have others of that size are rare. */
static const struct argument *choose_option(const struct call *call, size_t *at,
					    struct argument *scratch)
{
	const size_t i = *at;
	const struct argument *argument = as_in_table(call, i);
	struct call_memory memory;

	if (i == 2)
		return as_kind(call, i, ARG_ENUM, option_set(call, (int)call_argument(call, 1)),
			       scratch);
	if (i != 3 || !call->has_pieces ||
	    !call_pieces_find(&call->pieces, i, PART_SELF, &memory) ||
	    memory.flags & PIECE_UNREADABLE || memory.size != sizeof(uint32_t) ||
	    (memory.flags & PIECE_CUT))
		return argument;
	as_kind(call, i, ARG_STRUCT, NULL, scratch);
	scratch->length_kind = LENGTH_ONE;
	strcpy(scratch->type, is_error(call) ? "errno" : "int");
	return scratch;
}

static const struct argument *choose_socket(const struct call *call, size_t *at,
					    struct argument *scratch)
{
	const size_t i = *at;
	static const struct flag_name netlink[] = {
		{ "NETLINK_ROUTE", NETLINK_ROUTE, UINT64_MAX },
		{ "NETLINK_SOCK_DIAG", NETLINK_SOCK_DIAG, UINT64_MAX },
		{ "NETLINK_NETFILTER", NETLINK_NETFILTER, UINT64_MAX },
		{ "NETLINK_AUDIT", NETLINK_AUDIT, UINT64_MAX },
		{ "NETLINK_KOBJECT_UEVENT", NETLINK_KOBJECT_UEVENT, UINT64_MAX },
		{ "NETLINK_GENERIC", NETLINK_GENERIC, UINT64_MAX },
	};
	static const struct flag_set netlinks = { "netlink", netlink, ARRAY_SIZE(netlink), false };
	uint64_t family = call_argument(call, 0);

	if (i != 2)
		return as_in_table(call, i);
	if (family == AF_NETLINK)
		return as_kind(call, i, ARG_ENUM, &netlinks, scratch);
	if (family == AF_INET || family == AF_INET6)
		return as_kind(call, i, ARG_ENUM, own_set(call->to, OWN_PROTOCOL), scratch);
	return as_kind(call, i, ARG_UINT, NULL, scratch);
}

/* --- clone -------------------------------------------------------------------------------------- */

/* strace puts the stack first, and addresses only if a flag asks for them; it names all of them. */
static const struct {
	const char *name;   /* of strace */
	const char *manual; /* as the table has it */
	uint64_t flags;     /* 0: always */
} clone_arguments[] = {
	{ "child_stack", "stack", 0 },
	{ "flags", "flags", 0 },
	{ "parent_tid", "parent_tid", CLONE_PARENT_SETTID | CLONE_PIDFD },
	{ "tls", "tls", CLONE_SETTLS },
	{ "child_tidptr", "child_tid", CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID },
};

static size_t index_of(const struct call *call, const char *name)
{
	size_t i = 0;

	while (i < call->shape->arguments->count && strcmp(as_in_table(call, i)->name, name) != 0)
		i++;
	return i;
}

static const struct argument *choose_clone(const struct call *call, size_t *i,
					   struct argument *scratch)
{
	uint64_t flags = call_argument(call, index_of(call, "flags"));
	size_t n = *i, at;

	if (call->to->style != STYLE_STRACE || n >= ARRAY_SIZE(clone_arguments))
		return as_in_table(call, n);
	at = index_of(call, clone_arguments[n].manual);
	if (at == call->shape->arguments->count)
		return as_in_table(call, n);
	*i = at;
	if (clone_arguments[n].flags && !(clone_arguments[n].flags & flags))
		return as_kind(call, at, ARG_UNUSED, NULL, scratch);
	*scratch = *as_in_table(call, at);
	if (clone_arguments[n].flags & (CLONE_SETTLS | CLONE_CHILD_SETTID))
		scratch->kind = ARG_ADDRESS;
	snprintf(scratch->name, sizeof(scratch->name), "%s", clone_arguments[n].name);
	return scratch;
}

/* --- all ---------------------------------------------------------------------------------------- */

argument_chooser argument_chooser_find(const char *name)
{
	static const struct {
		const char *name;
		argument_chooser choose;
	} choosers[] = {
		{ "open", choose_open },         { "openat", choose_open },
		{ "mq_open", choose_open },      { "mmap", choose_mmap },
		{ "mremap", choose_mremap },     { "rseq", choose_rseq },
		{ "fcntl", choose_fcntl },       { "fcntl64", choose_fcntl },
		{ "futex", choose_futex },       { "futex_time64", choose_futex },
		{ "prctl", choose_prctl },       { "getsockopt", choose_option },
		{ "setsockopt", choose_option }, { "clone", choose_clone },
		{ "socket", choose_socket },     { "socketpair", choose_socket },
		{ "ioctl", choose_ioctl },
	};

	for (size_t i = 0; i < ARRAY_SIZE(choosers); i++) {
		if (!strcmp(choosers[i].name, name))
			return choosers[i].choose;
	}
	return NULL;
}
