/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds system calls by name and number, in tables that scripts/gen-syscalls makes, and knows which are
 * in which class. Names of errors are those of libc, which are the same on all machines we know.
 */
#include "syscalls/names.h"

#include "base/text.h"

static const char *const names_x86_64[] = {
#include "syscalls/table_x86_64.inc"
};

static const char *const names_i386[] = {
#include "syscalls/table_i386.inc"
};

static const char *const names_x32[] = {
#include "syscalls/table_x32.inc"
};

static const char *const names_arm64[] = {
#include "syscalls/table_arm64.inc"
};

static const char *const names_arm[] = {
#include "syscalls/table_arm.inc"
};

/* Arm's private calls: they are in its unistd.h only, and too far up for the main table. */
#define ARM_PRIVATE_BASE 0x0f0000

static const char *const names_arm_private[] = {
	[1] = "breakpoint", [2] = "cacheflush", [3] = "usr26",
	[4] = "usr32",      [5] = "set_tls",    [6] = "get_tls",
};

/* Names of the numbers from base on. */
struct name_range {
	int base;
	int count;
	const char *const *names;
};

#define NAME_RANGE(first, array) { .base = (first), .count = ARRAY_SIZE(array), .names = (array) }

#define RANGES_PER_ABI 2

/* Ascending by base within an ABI, for syscall_next(). */
static const struct {
	const char *name;
	struct name_range ranges[RANGES_PER_ABI];
} abis[NR_SYSCALL_ABI] = {
	[ABI_X86_64] = { "x86_64", { NAME_RANGE(0, names_x86_64) } },
	[ABI_I386] = { "i386", { NAME_RANGE(0, names_i386) } },
	[ABI_X32] = { "x32", { NAME_RANGE(0, names_x32) } },
	[ABI_ARM64] = { "arm64", { NAME_RANGE(0, names_arm64) } },
	[ABI_ARM] = { "arm",
		      { NAME_RANGE(0, names_arm),
			NAME_RANGE(ARM_PRIVATE_BASE, names_arm_private) } },
};

static bool abi_is_known(enum syscall_abi abi)
{
	return (unsigned int)abi < NR_SYSCALL_ABI;
}

const char *abi_name(enum syscall_abi abi)
{
	return abi_is_known(abi) ? abis[abi].name : "unknown";
}

const char *syscall_find_name(enum syscall_abi abi, int nr)
{
	if (!abi_is_known(abi))
		return NULL;
	for (size_t i = 0; i < RANGES_PER_ABI; i++) {
		const struct name_range *range = &abis[abi].ranges[i];

		if (nr >= range->base && nr - range->base < range->count)
			return range->names[nr - range->base];
	}
	return NULL;
}

void syscall_name(enum syscall_abi abi, int nr, char *buf, size_t size)
{
	const char *name = syscall_find_name(abi, nr);

	if (name)
		snprintf(buf, size, "%s", name);
	else
		snprintf(buf, size, "syscall_0x%x", (unsigned int)nr);
}

int syscall_find(enum syscall_abi abi, const char *name)
{
	for (int nr = syscall_next(abi, -1); nr >= 0; nr = syscall_next(abi, nr)) {
		if (strcmp(syscall_find_name(abi, nr), name) == 0)
			return nr;
	}
	return -ENOENT;
}

bool syscall_exists(const char *name)
{
	for (int abi = 0; abi < NR_SYSCALL_ABI; abi++) {
		if (syscall_find(abi, name) >= 0)
			return true;
	}
	return false;
}

int syscall_next(enum syscall_abi abi, int nr)
{
	for (size_t i = 0; abi_is_known(abi) && i < RANGES_PER_ABI; i++) {
		const struct name_range *range = &abis[abi].ranges[i];

		for (long at = nr < range->base ? 0 : nr - range->base + 1L; at < range->count;
		     at++) {
			if (range->names[at])
				return range->base + (int)at;
		}
	}
	return -1;
}

/* --- classes ---------------------------------------------------------------------------------- */

struct member {
	const char *name;
	unsigned int traits;
};

static const struct member members[] = {
#include "syscalls/classes.inc"
};

/* Only what a user can select; the order is that of messages and of the manual page. */
static const struct {
	const char *name;
	unsigned int trait;
} classes[] = {
	{ "file", TRAIT_FILE },     { "desc", TRAIT_DESC },       { "network", TRAIT_NETWORK },
	{ "memory", TRAIT_MEMORY }, { "process", TRAIT_PROCESS }, { "signal", TRAIT_SIGNAL },
	{ "ipc", TRAIT_IPC },       { "io", TRAIT_IO },           { "creds", TRAIT_CREDS },
	{ "clock", TRAIT_CLOCK },   { "stat", TRAIT_STAT },       { "lstat", TRAIT_LSTAT },
	{ "fstat", TRAIT_FSTAT },   { "statfs", TRAIT_STATFS },   { "fstatfs", TRAIT_FSTATFS },
};

static int member_compare(const void *name, const void *member)
{
	return strcmp(name, ((const struct member *)member)->name);
}

unsigned int syscall_name_traits(const char *name)
{
	const struct member *member =
		bsearch(name, members, ARRAY_SIZE(members), sizeof(members[0]), member_compare);

	return member ? member->traits : 0;
}

bool syscall_has_trait(enum syscall_abi abi, int nr, unsigned int mask)
{
	const char *name = syscall_find_name(abi, nr);

	return name && syscall_name_traits(name) & mask;
}

unsigned int class_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		if (strcmp(classes[i].name, name) == 0)
			return classes[i].trait;
	}
	return 0;
}

const char *class_name(size_t index)
{
	return index < ARRAY_SIZE(classes) ? classes[index].name : NULL;
}

/* --- errors ----------------------------------------------------------------------------------- */

/* Errors that the kernel keeps for itself, but a tracer may see. */
#define KERNEL_FIRST 512
static const char *const kernel_names[] = {
	[0] = "ERESTARTSYS",
	[1] = "ERESTARTNOINTR",
	[2] = "ERESTARTNOHAND",
	[3] = "ENOIOCTLCMD",
	[4] = "ERESTART_RESTARTBLOCK",
	[5] = "EPROBE_DEFER",
	[6] = "EOPENSTALE",
	[7] = "ENOPARAM",
	[9] = "EBADHANDLE",
	[10] = "ENOTSYNC",
	[11] = "EBADCOOKIE",
	[12] = "ENOTSUPP",
	[13] = "ETOOSMALL",
	[14] = "ESERVERFAULT",
	[15] = "EBADTYPE",
	[16] = "EJUKEBOX",
	[17] = "EIOCBQUEUED",
	[18] = "ERECALLCONFLICT",
	[19] = "ENOGRACE",
};

/* The newest, which an older libc does not know yet. */
#define NEWEST_ERRNO 134
#define NEWEST_NAME  "EFTYPE"

#define ERRNO_END (KERNEL_FIRST + (int)ARRAY_SIZE(kernel_names))

const char *errno_name(int err)
{
	if (err <= 0 || err >= ERRNO_END)
		return NULL;
	if (err == NEWEST_ERRNO)
		return NEWEST_NAME;
	return err < KERNEL_FIRST ? strerrorname_np(err) : kernel_names[err - KERNEL_FIRST];
}

int errno_find(const char *name)
{
	for (int err = 1; err < ERRNO_END; err++) {
		if (errno_name(err) && !strcmp(errno_name(err), name))
			return err;
	}
	return -ENOENT;
}

void errno_label(int err, char *buf, size_t size)
{
	const char *name = errno_name(err);

	if (name)
		snprintf(buf, size, "%s", name);
	else
		snprintf(buf, size, "errno_%d", err);
}
