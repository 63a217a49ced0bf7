/* SPDX-License-Identifier: BSD-2-Clause */
/* Words errors for users; see diag.h. Never prints. */
#include "base/diag.h"

#include <errno.h>

int diag_set(struct diag *d, enum diag_kind kind, int err, const char *format, ...)
{
	va_list args;

	if (d) {
		d->kind = kind;
		va_start(args, format);
		vsnprintf(d->text, sizeof(d->text), format, args);
		va_end(args);
	}
	return -err;
}

int diag_oom(struct diag *d)
{
	return diag_set(d, DIAG_FAILED, ENOMEM, "out of memory");
}
