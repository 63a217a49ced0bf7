/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns how an error reaches the user: one line on stderr. */
#include <stdio.h>

#include "cmd/cmd.h"

int cmd_fail(const struct diag *d)
{
	fputs("bpftruss: ", stderr);
	/* The text may quote what the user, or another process, chose. */
	for (const unsigned char *c = (const unsigned char *)d->text; *c; c++) {
		if (*c < 0x20 || *c == 0x7f)
			fprintf(stderr, "\\x%02x", *c);
		else
			fputc(*c, stderr);
	}
	fputc('\n', stderr);
	return d->kind;
}
