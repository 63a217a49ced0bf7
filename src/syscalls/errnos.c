/* SPDX-License-Identifier: BSD-2-Clause */
/* Names errors: those of programs as libc does, which are the same on all machines we know. */
#include "syscalls/errnos.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

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
