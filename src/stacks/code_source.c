/* SPDX-License-Identifier: BSD-2-Clause */
/* Closes what was opened of a file. */
#include "stacks/code_source.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/mem.h"

void opened_code_close(struct opened_code *code)
{
	closep(&code->fd);
	closep(&code->root);
	free(code->path);
	*code = NO_CODE;
}

/* No server is asked: what it said when the file was opened is known here. */
bool opened_code_is_unchanged(const struct opened_code *code)
{
	struct statx status;

	if (!code->is_dated)
		return true;
	return !statx(code->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MTIME, &status) &&
	       status.stx_mtime.tv_sec == code->written.tv_sec &&
	       status.stx_mtime.tv_nsec == code->written.tv_nsec;
}
