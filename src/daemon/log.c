/* SPDX-License-Identifier: BSD-2-Clause */
/* Owns how the daemon speaks: one line a message on stderr. */
#include "daemon/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* JOURNAL_STREAM has device and inode of what the service's stderr was: it may be another now. */
static int journal_reads(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       !fstat(STDERR_FILENO, &st) && st.st_dev == device && st.st_ino == inode;
}

void log_line(int priority, const char *format, ...)
{
	char text[1024], line[sizeof(text) * 4 + 32];
	size_t length;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	length = journal_reads() ? (size_t)sprintf(line, "<%d>", priority)
				 : (size_t)sprintf(line, "bpftruss: ");
	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		length += (size_t)sprintf(line + length, *c < 0x20 || *c == 0x7f ? "\\x%02x" : "%c",
					  *c);
	line[length++] = '\n';
	/* In one piece; there is nobody to tell that it failed. */
	if (write(STDERR_FILENO, line, length) < 0)
		return;
}
